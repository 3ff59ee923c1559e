#include "report/save.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.hpp"
#include "base/new_file.hpp"
#include "base/text.hpp"
#include "bench/run_json.hpp"
#include "kernbench/error.hpp"
#include "report/command_text.hpp"
#include "report/database_file.hpp"
#include "report/kept_launches.hpp"
#include "report/link_load.hpp"
#include "report/op_rows.hpp"
#include "report/source_text.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;
using device::OpRecord;
using topology::NodeKind;

class Saver {
 public:
  Saver(const bench::RunResult& result, Torch& torch, const RunRecipe& recipe, const SaveOptions& options)
      : result_(result),
        engine_(torch.engine()),
        recipe_(recipe),
        options_(options),
        run_(result.log->recording()),
        numbers_(run_.records),
        kept_(run_, options.most_ops),
        loads_(link_loads(engine_, *result.log, result.critical_path.end)) {}

  int page_bytes() const {
    constexpr std::int64_t kMany = 100'000;
    return kept_.kept() > kMany ? 65'536 : 4'096;
  }

  void write(Database& database) {
    database.run("BEGIN");
    write_machine(database);
    write_launches(database);
    write_programs(database);
    write_commands(database);
    write_lines(database);
    write_ops(database);
    write_phase_names(database);
    write_links(database);
    write_memories(database);
    write_hazards(database);
    write_path(database);
    write_loads(database);
    write_run(database);
    write_sums(database);
    for (const auto sql : view_and_index_sql()) check_interrupt(), database.run(sql);
    database.run(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kSchemaVersion));
    database.run("COMMIT");
  }

 private:
  void check_interrupt() const {
    if (options_.interrupt && *options_.interrupt)
      throw runtime::Interrupted({"run-file.interrupted", "", "the run was stopped while it was saved", ""});
  }

  /// Every 4,096 rows.
  void count_row() {
    if ((++rows_ & 4095) == 0) check_interrupt();
  }

  void write_machine(Database& database) { TableWriter(database, "machine", sums_).row(run_.info.machine); }

  void write_launches(Database& database) {
    std::map<std::uint32_t, const bench::LaunchResult*> bounds;
    for (const bench::LaunchResult& launch : result_.launches) bounds[launch.number] = &launch;
    TableWriter table(database, "launches", sums_);
    for (const auto& request : engine_.requests()) {
      const LaunchOps& ops = kept_.of(request->number());
      const auto found = bounds.find(request->number());
      const bench::LowerBound* bound = found == bounds.end() ? nullptr : &found->second->bound;
      const auto put = [&](auto... times) {
        table.row(request->number(), to_string(request->phase()), request->name(), request->stream().sip(),
                  times..., bound ? std::optional(bound->time.ps()) : std::nullopt,
                  bound ? std::optional(bound->resource) : std::nullopt, ops.bytes, ops.macs, ops.ops,
                  ops.kept ? ops.ops : 0);
      };
      if (!request->done()) {
        put(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
        continue;
      }
      const runtime::Trace t = request->trace();
      put(t.submitted.ps(), t.queued.ps(), t.total.ps(), t.pe_exec.ps(), t.network.ps(), t.late_starts);
    }
  }

  void write_programs(Database& database) {
    TableWriter table(database, "programs", sums_);
    std::int64_t id = 0;
    for (const trace::OriginInfo& o : run_.info.origins)
      table.row(id++, o.launch, o.pe.sip, o.pe.cube, o.pe.pe, o.name,
                static_cast<std::int64_t>(o.fingerprint), o.lines.size());
  }

  void write_commands(Database& database) {
    TableWriter table(database, "commands", sums_);
    const auto& origins = engine_.processors().origins();
    texts_.resize(run_.info.lines.size());
    for (std::uint32_t id = 0; id < run_.info.origins.size(); ++id) {
      const isa::Program* program = origins[id].program;
      if (program == nullptr) continue;
      CommandWriter writer(*program);
      std::int64_t index = 0;
      for (const isa::Command& command : program->commands()) {
        const CommandText& c = writer.write(command);
        const std::uint32_t line = run_.info.origins[id].lines[static_cast<std::size_t>(index)];
        table.row(id, index++, line, c.text, c.operands, c.shapes);
        if (!texts_[line])
          texts_[line] = sources_.line(program->line(command).file, run_.info.lines[line].line);
        count_row();
      }
    }
  }

  void write_lines(Database& database) {
    TableWriter table(database, "lines", sums_);
    for (std::size_t i = 0; i < run_.info.lines.size(); ++i)
      table.row(i, run_.info.lines[i].file, run_.info.lines[i].line, texts_[i]);
  }

  void write_ops(Database& database) {
    TableWriter table(database, "ops", sums_);
    OpRowWriter writer(table, run_, numbers_);
    const auto& origins = engine_.processors().origins();
    trace::in_total_order(run_.records, [&](trace::OpId id, const OpRecord& r) {
      if (!kept_.of(run_.origin(r).launch).kept) return;
      std::optional<std::int64_t> queue;
      if (r.kind == device::OpKind::ipcq_send) queue = device::message_of(r, origins[r.origin]).ring;
      writer.write(id, r, queue);
      count_row();
    });
  }

  void write_phase_names(Database& database) {
    std::map<std::string_view, device::OpKind> kinds;  // by name, as the table has them
    for (std::size_t i = 0; i < device::kOpKinds; ++i) {
      const auto kind = static_cast<device::OpKind>(i);
      kinds.emplace(to_string(kind), kind);
    }
    TableWriter table(database, "phase_names", sums_);
    for (const auto& [name, kind] : kinds) {
      int phase = 0;
      for (const device::Resource resource : device::phase_resources(kind))
        if (resource != device::Resource::none) table.row(name, ++phase, to_string(resource));
    }
  }

  void write_links(Database& database) {
    TableWriter table(database, "links", sums_);
    const topology::Graph& graph = engine_.device().graph();
    for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
      const device::LinkUse use = engine_.device().fabric().use({i});
      if (use.bytes == Bytes(0)) continue;
      const topology::Link link = graph.link({i});
      const std::string from = graph.path(link.from), to = graph.path(link.to);
      table.row(i, fmt::format("{} → {}", from, to), from, to, use.bytes.count(),
                link.bandwidth.time_for(use.bytes).ps(), use.deepest_wait.ps(), link.bandwidth.gbs());
    }
  }

  struct Moved {
    std::int64_t read = 0, written = 0;
    NodeKind kind = NodeKind::hbm_ctrl;
    double gbs = 0;
    Time busy;
  };

  /// What went over the links of each memory.
  std::map<std::string, Moved> memories() {
    std::map<std::string, Moved> all;
    const topology::Graph& graph = engine_.device().graph();
    const auto is_memory = [](NodeKind kind) {
      return kind == NodeKind::hbm_ctrl || kind == NodeKind::sram || kind == NodeKind::pe_tcm;
    };
    for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
      const device::LinkUse use = engine_.device().fabric().use({i});
      const Bytes bytes = use.bytes - use.note.overhead;
      if (bytes == Bytes(0)) continue;
      const topology::Link link = graph.link({i});
      for (const topology::NodeId node : {link.from, link.to}) {
        const NodeKind kind = graph.node(node).kind;
        if (!is_memory(kind)) continue;
        Moved& moved = all[graph.path(node)];
        moved.kind = kind, moved.gbs = link.bandwidth.gbs();
        (node == link.from ? moved.read : moved.written) += bytes.count();
        moved.busy = std::max(moved.busy, link.bandwidth.time_for(use.bytes));
      }
    }
    return all;
  }

  /// The bursts of an HBM slice take its bandwidth whichever way they go.
  void put_hbm(std::map<std::string, Moved>& all) {
    const topology::Graph& graph = engine_.device().graph();
    const Bandwidth slice = engine_.machine().at("cube.hbm").bandwidth("hbm_to_router_bw_gbs");
    for (int sip = 0; sip < graph.sips(); ++sip)
      for (int cube = 0; cube < graph.cubes(); ++cube)
        for (int pe = 0; pe < graph.pes(); ++pe) {
          const Bytes served = engine_.device().hbm({sip, cube, pe}).bytes_served();
          if (served == Bytes(0)) continue;
          Moved& moved = all[graph.path(graph.hbm_ctrl({sip, cube, pe}))];
          moved.gbs = slice.gbs(), moved.busy = slice.time_for(served);
        }
  }

  void write_memories(Database& database) {
    std::map<std::string, Moved> all = memories();
    put_hbm(all);
    TableWriter table(database, "memories", sums_);
    for (const auto& [name, moved] : all) {
      const char* kind = moved.kind == NodeKind::hbm_ctrl ? "hbm"
                         : moved.kind == NodeKind::sram   ? "sram"
                                                          : "tcm";
      table.row(name, kind, moved.read, moved.written, moved.busy.ps(), moved.gbs);
    }
  }

  void write_hazards(Database& database) {
    TableWriter table(database, "hazards", sums_);
    std::int64_t id = 0;
    for (const auto& hazard : result_.hazards.value_or(std::vector<runtime::HazardReport>()))
      table.row(++id, hazard.kind, hazard.text, hazard.occurrences);
  }

  void write_path(Database& database) {
    TableWriter table(database, "critical_path", sums_);
    std::int64_t id = 0;
    for (const trace::Piece& piece : result_.critical_path.pieces) {
      const OpRecord& r = trace::record(run_.records, piece.op);
      const bool has_line = r.command != UINT32_MAX;
      table.row(++id, piece.begin.ps(), piece.end.ps(), piece.what, piece.reason, numbers_.of(piece.op),
                has_line ? std::optional(run_.origin(r).lines[r.command]) : std::nullopt, r.origin);
    }
  }

  void write_loads(Database& database) {
    TableWriter table(database, "links_over_time", sums_);
    const topology::Graph& graph = engine_.device().graph();
    for (const LinkSeries& series : loads_.series) {
      const double full = graph.link(series.link).bandwidth.gbs() * loads_.bucket.ns();
      double waiting = 0;  // what a bucket has no room for goes in the next one, as it would in a queue
      for (std::size_t i = 0; i < series.bytes.size(); ++i) {
        waiting += series.bytes[i];
        const double carried = std::min(waiting, full);
        waiting -= carried;
        if (carried > 0) table.row(series.link.index, i, carried / full);
      }
    }
  }

  Json document() const {
    Json all = bench::to_json(result_);
    if (result_.bench.empty()) all["bench"] = nullptr;
    all["hash"] = fmt::format("{:016x}", result_.hash);
    all["total_ps"] = result_.total.ps();
    all["ops"] = kept_.all();
    all["ops_kept"] = kept_.kept();
    all["partitions"] = run_.records.size();
    all["bucket_ps"] = loads_.bucket.ps();
    all["buckets"] = kBuckets;
    all["bound_by"] = result_.lower_bound.resource;
    all["critical_path_by_reason"] = shares(result_.critical_path.by_reason, "reason");
    all["critical_path_by_line"] = shares(result_.critical_path.by_line, "line");
    if (!result_.report.text().empty()) all["line"] = result_.report.text();
    if (!recipe_.command.empty()) all["command"] = recipe_.command;
    all["recipe"] = {
        {"ccl", recipe_.ccl}, {"ccl_overrides", recipe_.ccl_overrides}, {"verify", recipe_.verify}};
    if (recipe_.ccl != "default") all["recipe"]["ccl_text"] = result_.ccl_text;
    return all;
  }

  static Json shares(const std::vector<trace::Share>& shares, const char* key) {
    Json list = Json::array();
    for (const auto& s : shares) list.push_back({{key, s.name}, {"ns", s.time.ns()}, {"share", s.fraction}});
    return list;
  }

  void write_run(Database& database) {
    TableWriter table(database, "run", sums_);
    const Json all = document();
    std::map<std::string, const Json*> sorted;
    for (const auto& [key, value] : all.items()) sorted[key] = &value;
    const auto text = [](const Json& value) { return dump_json(value); };
    for (const auto& [key, value] : sorted) {
      if (value->is_null())
        table.row(key, nullptr);
      else if (value->is_string())
        table.row(key, value->get<std::string>());
      else if (value->is_number_float())
        table.row(key, value->get<double>());
      else if (value->is_number())
        table.row(key, value->get<std::int64_t>());
      else
        table.row(key, text(*value));
    }
  }

  void write_sums(Database& database) {
    TableSums of_sums;
    TableWriter table(database, "checksums", of_sums);
    RowHash hash;
    for (const auto& [name, sum] : sums_) {
      hash.add(std::string_view(name)), hash.add(sum.rows), hash.add(static_cast<std::int64_t>(sum.hash));
      table.row(name, sum.rows, static_cast<std::int64_t>(sum.hash));
    }
    table.row("~", static_cast<std::int64_t>(sums_.size()), static_cast<std::int64_t>(hash.sum().hash));
  }

  const bench::RunResult& result_;
  runtime::Engine& engine_;
  const RunRecipe& recipe_;
  const SaveOptions& options_;
  const trace::Recording& run_;
  const OpNumbers numbers_;
  const KeptLaunches kept_;
  const LinkLoads loads_;
  SourceTexts sources_;
  std::vector<std::optional<std::string>> texts_;  // of the run's lines
  TableSums sums_;
  std::uint64_t rows_ = 0;
};

}  // namespace

void check_place(const std::string& path) { const DatabaseFile never_committed(path); }

void save(const bench::RunResult& result, Torch& torch, const RunRecipe& recipe, const std::string& path,
          const SaveOptions& options) {
  if (!result.log)
    throw InputError({"report.no-log", shown_path(path), "a run without records cannot be saved",
                      "keep them: LogStorage::memory, or disk where memory is short"});
  DatabaseFile file(path);
  Saver saver(result, torch, recipe, options);
  try {
    Database database = Database::open_to_write(file.fd(), saver.page_bytes());
    saver.write(database);
  } catch (const SqliteError& error) {
    if (error.system_error != 0) refuse_write(path, error.system_error);
    throw InputError({"file.unwritable", shown_path(path),
                      fmt::format("cannot be written: {}", error.message),
                      "free some space, or write elsewhere"});
  }
  file.commit();
}

void save_run(Torch& torch, const std::string& path, const SaveOptions& options) {
  save(bench::result_of(torch), torch, {}, path, options);
}

}  // namespace kernbench::report
