#include "report/page_data.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.hpp"
#include "report/engine_load.hpp"
#include "report/page_load.hpp"
#include "report/page_ops.hpp"
#include "report/timeline.hpp"
#include "topology/figures.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPieces = 4000;   // of the critical path, drawn over time
constexpr std::size_t kMostTableRows = 25;  // of a table of links or memories

/// The run's own document, less what the page has elsewhere or does not show.
Json run_json(const SavedRun& run) {
  Json json = parse_json(run.json());
  json.erase("machine");
  if (json.contains("op_log_summary")) json["op_log_summary"].erase("pes");
  return json;
}

Json machine_json(const SavedRun& run, const topology::Machine& machine) {
  const topology::Figures figures = topology::figures(machine);
  return {{"source", machine.source()},       {"headline", topology::headline(machine)},
          {"idealised", machine.idealised()}, {"pe_gemm_tflops", figures.pe.gemm_tflops},
          {"pe_hbm_gbs", figures.pe.hbm_gbs}, {"yaml", run.machine()}};
}

Json shares_json(const std::vector<trace::Share>& shares) {
  Json list = Json::array();
  for (const trace::Share& share : shares)
    list.push_back({{"name", share.name}, {"ps", share.time.ps()}, {"share", share.fraction}});
  return list;
}

/// Shares by source line, with the text of the line where it is known.
Json line_shares_json(const SavedPath& path, const std::vector<SavedLine>& lines) {
  std::map<std::string, std::string> texts;
  for (const SavedLine& line : lines)
    if (line.text) texts[line.place()] = *line.text;
  Json list = shares_json(path.by_line);
  for (Json& share : list)
    if (const auto text = texts.find(share["name"].get<std::string>()); text != texts.end())
      share["text"] = text->second;
  return list;
}

/// The stretches of the path in order of time; neighbours on one resource and line are one.
Json pieces_json(const SavedPath& path) {
  Json list = Json::array();
  const SavedPiece* last = nullptr;
  for (const SavedPiece& piece : path.pieces) {
    if (last != nullptr && last->what == piece.what && last->line == piece.line &&
        last->program == piece.program)
      list.back()[1] = piece.end.ps();
    else if (list.size() < kMostPieces)
      list.push_back({piece.begin.ps(), piece.end.ps(), piece.what, piece.line ? Json(*piece.line) : Json()});
    last = list.size() < kMostPieces ? &piece : nullptr;
  }
  return list;
}

Json path_json(const SavedRun& run, const SavedPath& path) {
  return {{"length_ps", path.length().ps()},
          {"by_resource", shares_json(path.by_resource)},
          {"by_reason", shares_json(path.by_reason)},
          {"by_line", line_shares_json(path, run.lines())},
          {"pieces", pieces_json(path)}};
}

Json launches_json(const SavedRun& run) {
  std::map<std::int64_t, std::int64_t> pes;
  for (const SavedProgram& program : run.programs()) pes[program.launch] += program.pe.pe >= 0 ? 1 : 0;
  Json list = Json::array();
  for (const SavedLaunch& l : run.launches())
    list.push_back({{"phase", l.phase},
                    {"name", l.name},
                    {"sip", l.sip},
                    {"done", l.done},
                    {"submitted_ps", l.submitted.ps()},
                    {"queued_ps", l.queued.ps()},
                    {"total_ps", l.total.ps()},
                    {"pe_exec_ps", l.pe_exec.ps()},
                    {"network_ps", l.network.ps()},
                    {"lower_bound_ps", l.lower_bound.ps()},
                    {"bound_by", l.bound_by},
                    {"bytes", l.bytes},
                    {"macs", l.macs},
                    {"ops", l.ops},
                    {"pes", pes[l.id]}});
  return list;
}

template <class T, class Key>
std::vector<T> first_by(std::vector<T> all, Key key) {
  std::ranges::stable_sort(all, std::greater(), key);
  if (all.size() > kMostTableRows) all.resize(kMostTableRows);
  return all;
}

Json links_json(const std::vector<SavedLink>& links) {
  Json list = Json::array();
  for (const SavedLink& l : links)
    list.push_back({{"name", l.name},
                    {"bytes", l.bytes},
                    {"busy_ps", l.busy.ps()},
                    {"deepest_wait_ps", l.deepest_wait.ps()},
                    {"bandwidth_gbs", l.bandwidth_gbs}});
  return list;
}

/// Null if nobody looked.
Json push_back_json(const SavedRun& run) {
  const std::string text = run.value("push_back");
  return text.empty() ? Json() : parse_json(text);
}

Json memories_json(const SavedRun& run) {
  Json list = Json::array();
  for (const SavedMemory& m : first_by(run.memories(), &SavedMemory::busy))
    list.push_back({{"name", m.name},
                    {"kind", m.kind},
                    {"read_bytes", m.read_bytes},
                    {"written_bytes", m.written_bytes},
                    {"busy_ps", m.busy.ps()},
                    {"bandwidth_gbs", m.bandwidth_gbs}});
  return list;
}

Json hazards_json(const SavedRun& run) {
  Json list = Json::array();
  for (const SavedHazard& h : run.hazards())
    list.push_back({{"kind", h.kind}, {"text", h.text}, {"occurrences", h.occurrences}});
  return list;
}

/// Which resource the phases of each kind of operation were on, and how long in all.
Json phases_json(const SavedRun& run, const PageOps& ops) {
  std::map<std::string, std::map<std::int64_t, std::string>> names;
  for (const auto& row : run.query("SELECT kind, phase, resource FROM phase_names"))
    names[std::get<std::string>(row[0])][std::get<std::int64_t>(row[1])] = std::get<std::string>(row[2]);
  Json list = Json::array();
  for (std::size_t kind = 0; kind < ops.kinds.size(); ++kind) {
    Json phases = Json::array();
    for (const auto& [phase, resource] : names[ops.kinds[kind]])
      phases.push_back({{"resource", resource},
                        {"ps", ops.phase_sums[kind].at(static_cast<std::size_t>(phase) - 1).ps()}});
    list.push_back({{"kind", ops.kinds[kind]}, {"phases", std::move(phases)}});
  }
  return list;
}

/// The bars of a track as columns; starts are differences to the start before.
class TrackColumns {
 public:
  TrackColumns(const PageTrack& track, Time zero) : track_(track), last_(zero) {}

  void add(const Bar& bar, const PageOp& op) {
    start_.push_back((bar.start - last_).ps());
    last_ = bar.start;
    length_.push_back((bar.end - bar.start).ps());
    lane_.push_back(bar.lane);
    count_.push_back(bar.count);
    kind_.push_back(op.kind);
    op_.push_back(op.id);
    line_.push_back(op.line);
    cause_.push_back(op.cause);
    reason_.push_back(op.reason);
    critical_.push_back(bar.critical ? 1 : 0);
  }
  Json json() && {
    return {
        {"sip", track_.pe.sip},          {"cube", track_.pe.cube},          {"pe", track_.pe.pe},
        {"component", track_.component}, {"start", std::move(start_)},      {"length", std::move(length_)},
        {"lane", std::move(lane_)},      {"count", std::move(count_)},      {"kind", std::move(kind_)},
        {"op", std::move(op_)},          {"line", std::move(line_)},        {"cause", std::move(cause_)},
        {"reason", std::move(reason_)},  {"critical", std::move(critical_)}};
  }

 private:
  const PageTrack& track_;
  Time last_;
  Json start_ = Json::array(), length_ = Json::array(), lane_ = Json::array(), count_ = Json::array(),
       kind_ = Json::array(), op_ = Json::array(), line_ = Json::array(), cause_ = Json::array(),
       reason_ = Json::array(), critical_ = Json::array();
};

std::set<std::int64_t> critical_ops(const SavedPath& path) {
  std::set<std::int64_t> ops;
  for (const SavedPiece& piece : path.pieces) ops.insert(piece.op);
  return ops;
}

Json tracks_json(const PageOps& ops, const std::vector<Bar>& bars) {
  Json list = Json::array();
  for (std::size_t i = 0; i < bars.size();) {
    TrackColumns columns(ops.tracks[static_cast<std::size_t>(bars[i].track)], Time());
    const int track = bars[i].track;
    for (; i < bars.size() && bars[i].track == track; ++i) columns.add(bars[i], ops.ops[bars[i].op]);
    list.push_back(std::move(columns).json());
  }
  return list;
}

Json timeline_json(const SavedRun& run, const PageOps& ops, const SavedPath& path, std::size_t most) {
  std::set<std::int64_t> critical = critical_ops(path);
  if (critical.size() > most / 2) critical.clear();
  const Bars bars = make_bars(ops, critical, most);
  Json lines = Json::array();
  for (const SavedLine& line : run.lines())
    lines.push_back(Json::array({line.place(), line.text ? Json(*line.text) : Json()}));
  return {{"bars", bars.bars.size()},
          {"ops", ops.ops.size()},
          {"joined_below_ps", bars.joined_below.ps()},
          {"kinds", ops.kinds},
          {"reasons", ops.reasons},
          {"lines", std::move(lines)},
          {"tracks", tracks_json(ops, bars.bars)}};
}

}  // namespace

Json page_data(const SavedRun& run, const topology::Machine& machine, const topology::Graph& graph,
               const PageLimits& limits) {
  const PageOps ops = read_ops(run);
  const SavedPath path = run.critical_path();
  const auto buckets = static_cast<std::size_t>(
      run.bucket().ps() > 0 ? (run.total().ps() + run.bucket().ps() - 1) / run.bucket().ps() : 0);
  const auto engines = engine_loads(ops, run.bucket(), buckets);
  const std::vector<SavedLink> links = run.links();
  return {{"file", std::filesystem::path(run.path()).filename().string()},
          {"run", run_json(run)},
          {"machine", machine_json(run, machine)},
          {"path", path_json(run, path)},
          {"launches", launches_json(run)},
          {"links", links.size()},
          {"busiest_links", links_json(first_by(links, &SavedLink::busy))},
          {"deepest_queues", links_json(first_by(links, &SavedLink::deepest_wait))},
          {"push_back", push_back_json(run)},
          {"memories", memories_json(run)},
          {"hazards", hazards_json(run)},
          {"phases", phases_json(run, ops)},
          {"load", load_json(run, engines, graph, limits.load)},
          {"utilization", utilization_json(run, engines)},
          {"timeline", timeline_json(run, ops, path, limits.bars)}};
}

}  // namespace kernbench::report
