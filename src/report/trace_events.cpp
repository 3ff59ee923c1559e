#include "report/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "report/reading.hpp"
#include "report/trace_output.hpp"
#include "report/traced_ops.hpp"

namespace kernbench::report {
namespace {

constexpr std::size_t kMostLinks = 32;  // that get a counter

/// Process and thread.
struct Row {
  std::int64_t pid = 0, tid = 0;
};

/// Finds the process of a place: 1 is the host, then cubes in their order.
class Processes {
 public:
  void add(PeCoord pe) { cubes_.insert({pe.sip, pe.cube}); }
  std::int64_t of(int sip, int cube) const {
    if (cube < 0) return 1;
    return 2 + std::distance(cubes_.begin(), cubes_.find({sip, cube}));
  }
  const std::set<std::pair<int, int>>& cubes() const { return cubes_; }

 private:
  std::set<std::pair<int, int>> cubes_;
};

/// `sip0.cube3.hbm_ctrl.pe1` is in sip 0, cube 3.
std::optional<std::pair<int, int>> cube_of(std::string_view path) {
  int sip = 0, cube = 0;
  if (std::sscanf(std::string(path).c_str(), "sip%d.cube%d.", &sip, &cube) != 2) return std::nullopt;
  return std::pair(sip, cube);
}

class Writer {
 public:
  Writer(const SavedRun& run, const std::string& path, const TraceOptions& options)
      : run_(run),
        launches_(run.launches()),
        lines_(run.lines()),
        path_(run.critical_path()),
        ops_(run, path_, options.most_ops),
        out_(path) {}

  TraceSize write() {
    for (const Track& track : ops_.tracks())
      if (track.pe.cube >= 0) processes_.add(track.pe);
    read_commands();
    place_tracks();
    write_names();
    write_requests();
    for (const TracedOp& op : ops_.all()) write_op(op);
    write_messages();
    write_path();
    write_links();
    write_queues();
    const TraceSize size{static_cast<std::int64_t>(run_.op_count()),
                         static_cast<std::int64_t>(ops_.all().size()), flows_};
    out_.finish(about(size));
    return size;
  }

 private:
  // ── what a row is called ──

  /// Engines of a PE one below the other, lanes of an engine too; the host's requests by SIP.
  void place_tracks() {
    std::vector<std::size_t> order(ops_.tracks().size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto rank = [&](std::size_t i) {
      static constexpr std::array<std::string_view, 8> kOrder = {
          "start", "dma read", "dma write", "gemm", "math", "send", "receive", "requests"};
      const Track& track = ops_.tracks()[i];
      return std::tuple(track.pe, std::ranges::find(kOrder, track.engine) - kOrder.begin());
    };
    std::ranges::sort(order, {}, rank);
    first_lane_.resize(order.size());
    std::map<std::int64_t, std::int64_t> next;
    for (const std::size_t i : order) {
      const Track& track = ops_.tracks()[i];
      auto [at, is_new] = next.try_emplace(processes_.of(track.pe.sip, track.pe.cube), kFirstTid);
      first_lane_[i] = at->second;
      at->second += ops_.lanes(i);
    }
    order_ = std::move(order);
  }

  Row row_of(const TracedOp& op) const {
    const Track& track = ops_.tracks()[op.track];
    return {processes_.of(track.pe.sip, track.pe.cube), first_lane_[op.track] + op.lane};
  }

  void name(std::string_view what, Row row, std::string_view args) {
    out_.event(
        fmt::format(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}})", what, row.pid, row.tid, args));
  }
  void name_process(std::int64_t pid, const std::string& text) {
    name("process_name", {pid, 0}, fmt::format(R"("name":{})", json_string(text)));
    name("process_sort_index", {pid, 0}, fmt::format(R"("sort_index":{})", pid));
  }
  void name_thread(Row row, const std::string& text) {
    name("thread_name", row, fmt::format(R"("name":{})", json_string(text)));
    name("thread_sort_index", row, fmt::format(R"("sort_index":{})", row.tid));
  }

  void write_names() {
    name_process(1, "host");
    for (const auto& [sip, cube] : processes_.cubes())
      name_process(processes_.of(sip, cube), fmt::format("sip{}.cube{}", sip, cube));
    for (const std::size_t i : order_) {
      const Track& track = ops_.tracks()[i];
      const std::int64_t pid = processes_.of(track.pe.sip, track.pe.cube);
      const std::string base = track.pe.cube < 0 ? fmt::format("sip{} records", track.pe.sip)
                                                 : fmt::format("pe{} {}", track.pe.pe, track.engine);
      for (int lane = 0; lane < ops_.lanes(i); ++lane)
        name_thread({pid, first_lane_[i] + lane}, lane == 0 ? base : fmt::format("{} ({})", base, lane + 1));
    }
  }

  // ── slices ──

  void slice(Row row, std::string_view text, std::string_view category, Time start, Time end,
             std::string_view args) {
    out_.event(fmt::format(
        R"("ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})",
        json_string(text), category, row.pid, row.tid, microseconds(start), microseconds(end - start), args));
  }

  static std::uint64_t key_of(std::int64_t program, std::int64_t index) {
    return static_cast<std::uint64_t>(program) << 32 | static_cast<std::uint64_t>(index);
  }

  /// Those of the operations that are shown.
  void read_commands() {
    for (const TracedOp& op : ops_.all())
      if (op.command >= 0) commands_.try_emplace(key_of(op.program, op.command));
    run_.for_each_command([&](const SavedCommand& c) {
      if (const auto at = commands_.find(key_of(c.program, c.index)); at != commands_.end()) at->second = c;
    });
  }

  void write_op(const TracedOp& op) {
    const SavedCommand* command = op.command < 0 ? nullptr : &commands_.at(key_of(op.program, op.command));
    std::string args = fmt::format(R"("op":{},"kind":"{}","reason":"{}")", op.id, op.kind, op.reason);
    if (op.amount > 0) args += fmt::format(R"(,"{}":{})", unit_of(op.kind), op.amount);
    if (command && !command->shapes.empty())
      args += fmt::format(R"(,"shapes":{})", json_string(command->shapes));
    if (command)
      args += fmt::format(R"(,"command":{})", json_string(command->text + " " + command->operands));
    if (op.line >= 0) args += line_args(lines_.at(static_cast<std::size_t>(op.line)));
    if (op.cause >= 0) args += fmt::format(R"(,"cause":{})", cause_text(op));
    if (const SavedLaunch* launch = launch_of(op))
      args += fmt::format(R"(,"launch":{})", json_string(launch->name));
    const bool whole = command && !op.kind.starts_with("tile_");
    slice(row_of(op), whole ? std::string_view(command->text) : op.kind, "op", op.start, op.end, args);
  }

  static std::string_view unit_of(std::string_view kind) {
    if (kind.ends_with("gemm")) return "macs";
    return kind.ends_with("math") ? "elements" : "bytes";
  }
  static std::string line_args(const SavedLine& line) {
    std::string args = fmt::format(R"(,"line":{})", json_string(line.place()));
    if (line.text) args += fmt::format(R"(,"source":{})", json_string(*line.text));
    return args;
  }
  std::string cause_text(const TracedOp& op) const {
    const TracedOp* cause = ops_.find(op.cause);
    return json_string(cause ? fmt::format("op {} ({})", op.cause, cause->kind)
                             : fmt::format("op {}", op.cause));
  }
  const SavedLaunch* launch_of(const TracedOp& op) const {
    return op.launch >= 0 && op.launch < static_cast<std::int64_t>(launches_.size())
               ? &launches_[static_cast<std::size_t>(op.launch)]
               : nullptr;
  }

  /// The host's requests from leaving it to their completion, kernels that use queues on tracks of their own.
  void write_requests() {
    std::set<std::int64_t> collective;
    for (const TracedOp& op : ops_.all())
      if (op.sends() || op.receives()) collective.insert(op.launch);
    std::map<std::pair<bool, int>, std::vector<const SavedLaunch*>> rows;  // of collectives, by SIP
    for (const SavedLaunch& launch : launches_)
      if (launch.done) rows[{collective.contains(launch.id), launch.sip}].push_back(&launch);
    std::int64_t tid = 0;
    for (auto& [key, launches] : rows) {
      std::ranges::stable_sort(launches, {}, [](const SavedLaunch* l) { return l->left(); });
      write_request_row(fmt::format("sip{} {}", key.second, key.first ? "collectives" : "requests"), launches,
                        tid);
    }
  }

  void write_request_row(const std::string& title, const std::vector<const SavedLaunch*>& launches,
                         std::int64_t& tid) {
    std::vector<Time> free_at;
    for (const SavedLaunch* launch : launches) {
      auto lane = std::ranges::find_if(free_at, [&](Time free) { return free <= launch->left(); });
      if (lane == free_at.end()) lane = free_at.insert(lane, Time());
      *lane = launch->completed();
      const Row row{1, tid + 1 + (lane - free_at.begin())};
      slice(row, fmt::format("{} {}", launch->phase, launch->name), "request", launch->left(),
            launch->completed(),
            fmt::format(R"("request":{},"queued_ns":{},"pe_exec_ns":{},"lower_bound_ns":{},"bound_by":{})",
                        launch->id, launch->queued.ns(), launch->pe_exec.ns(), launch->lower_bound.ns(),
                        json_string(launch->bound_by)));
    }
    for (std::size_t lane = 0; lane < free_at.size(); ++lane)
      name_thread({1, ++tid}, lane == 0 ? title : fmt::format("{} ({})", title, lane + 1));
  }

  // ── arrows ──

  void flow(std::string_view category, const TracedOp& from, Time leaves, const TracedOp& to, Time arrives) {
    const Row a = row_of(from), b = row_of(to);
    const std::int64_t id = ++flows_;
    out_.event(fmt::format(R"("ph":"s","name":"{0}","cat":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4})",
                           category, id, a.pid, a.tid,
                           microseconds(std::clamp(leaves, from.start, from.end))));
    out_.event(
        fmt::format(R"("ph":"f","bp":"e","name":"{0}","cat":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4})",
                    category, id, b.pid, b.tid, microseconds(std::clamp(arrives, to.start, to.end))));
  }

  using Messages = std::map<std::pair<std::int64_t, std::int64_t>, const TracedOp*>;

  Messages sends() const {
    Messages sent;
    for (const TracedOp& op : ops_.all())
      if (op.sends()) sent[{op.queue, op.message}] = &op;
    return sent;
  }

  void write_messages() {
    const Messages sent = sends();
    for (const TracedOp& op : ops_.all()) {
      if (!op.receives()) continue;
      if (const auto send = sent.find({op.queue, op.message}); send != sent.end())
        flow("message", *send->second, send->second->start, op, op.start);
    }
  }

  void write_path() {
    for (std::size_t i = 1; i < path_.pieces.size(); ++i) {
      if (path_.pieces[i - 1].op == path_.pieces[i].op) continue;
      const TracedOp* from = ops_.find(path_.pieces[i - 1].op);
      const TracedOp* to = ops_.find(path_.pieces[i].op);
      if (from && to) flow("critical path", *from, path_.pieces[i - 1].end, *to, to->start);
    }
  }

  // ── counters ──

  void counter(std::int64_t pid, std::string_view text, Time at, std::string_view args) {
    out_.event(fmt::format(R"("ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{{}}})", json_string(text),
                           pid, microseconds(at), args));
  }

  void write_series(std::optional<std::int64_t> pid, const std::string& text,
                    const std::vector<double>& values, std::string_view unit) {
    if (!pid) return;
    double last = -1;
    for (std::size_t i = 0; i <= values.size(); ++i) {
      const double value = i < values.size() ? values[i] : 0;
      if (value != last)
        counter(*pid, text, Time::from_ps(run_.bucket().ps() * static_cast<std::int64_t>(i)),
                fmt::format(R"("{}":{:.4g})", unit, value));
      last = value;
    }
  }

  /// HBM slices in GB/s, and the links that carried most.
  void write_links() {
    std::map<std::int64_t, const SavedLink*> links;
    const std::vector<SavedLink> all = run_.links();
    for (const SavedLink& link : all) links[link.id] = &link;
    std::vector<std::pair<const SavedLink*, const SavedLoad*>> others;
    const std::vector<SavedLoad> loads = run_.loads();
    for (const SavedLoad& load : loads) {
      const auto found = links.find(load.link);
      if (found == links.end()) continue;
      if (!write_hbm(*found->second, load)) others.emplace_back(found->second, &load);
    }
    std::ranges::stable_sort(others,
                             [](const auto& a, const auto& b) { return a.first->busy > b.first->busy; });
    others.resize(std::min(others.size(), kMostLinks));
    for (const auto& [link, load] : others) {
      std::vector<double> percent = load->utilization;
      for (double& value : percent) value *= 100;
      write_series(pid_of(link->source), fmt::format("link {}", link->name), percent, "%");
    }
  }

  /// The host's for what is in no cube; nothing for a cube that is not shown.
  std::optional<std::int64_t> pid_of(std::string_view path) const {
    const auto cube = cube_of(path);
    if (!cube) return 1;
    if (!processes_.cubes().contains(*cube)) return std::nullopt;
    return processes_.of(cube->first, cube->second);
  }

  bool write_hbm(const SavedLink& link, const SavedLoad& load) {
    const bool reads = link.source.find("hbm_ctrl") != std::string::npos;
    if (!reads && link.target.find("hbm_ctrl") == std::string::npos) return false;
    const std::string& slice = reads ? link.source : link.target;
    std::vector<double> gbs = load.utilization;
    for (double& value : gbs) value *= link.bandwidth_gbs;
    write_series(pid_of(slice),
                 fmt::format("HBM {} {}", slice.substr(slice.rfind('.') + 1), reads ? "read" : "write"), gbs,
                 "GB/s");
    return true;
  }

  /// Messages that have arrived at a PE and not been received.
  void write_queues() {
    const Messages sent = sends();
    std::map<PeCoord, std::map<Time, int>> changes;
    for (const TracedOp& op : ops_.all()) {
      if (!op.receives()) continue;
      const auto send = sent.find({op.queue, op.message});
      if (send == sent.end()) continue;
      auto& of = changes[ops_.tracks()[op.track].pe];
      ++of[send->second->end], --of[op.end];
    }
    for (const auto& [pe, of] : changes) {
      int depth = 0;
      for (const auto& [at, by] : of)
        counter(processes_.of(pe.sip, pe.cube), fmt::format("queue depth pe{}", pe.pe), at,
                fmt::format(R"("messages":{})", depth += by));
    }
  }

  std::string about(const TraceSize& size) const {
    std::string note =
        size.shown == size.ops ? "all operations" : "the operations on and around the critical path";
    return fmt::format(R"({{"program":"kernbench","bench":{},"hash":{},"ops":{},"ops_shown":{},"shown":{}}})",
                       json_string(run_.value("bench")), json_string(run_.value("hash")), size.ops,
                       size.shown, json_string(note));
  }

  static constexpr std::int64_t kFirstTid = 1000;  // below: the host's requests

  const SavedRun& run_;
  const std::vector<SavedLaunch> launches_;
  const std::vector<SavedLine> lines_;
  const SavedPath path_;
  const TracedOps ops_;
  TraceOutput out_;
  Processes processes_;
  std::vector<std::size_t> order_;        // of tracks
  std::vector<std::int64_t> first_lane_;  // of each track
  std::unordered_map<std::uint64_t, SavedCommand> commands_;
  std::int64_t flows_ = 0;
};

}  // namespace

TraceSize write_trace(const SavedRun& run, const std::string& path, const TraceOptions& options) {
  return reading(run.path(), [&] { return Writer(run, path, options).write(); });
}

}  // namespace kernbench::report
