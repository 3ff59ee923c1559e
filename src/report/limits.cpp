#include "report/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "kernbench/error.hpp"
#include "report/saved_dram.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLeast = 0.01;

bool touches(const SavedLink& link, std::string_view part) {
  return link.source.find(part) != std::string::npos || link.target.find(part) != std::string::npos;
}

std::string_view advice_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::hbm:
      return "move less: keep tiles in TCM longer, use a smaller dtype, or spread the data over more slices";
    case LimitKind::link:
      return "place data nearer to who uses it, or spread the traffic over more links";
    case LimitKind::tcm:
      return "fewer, larger operations: every operand is fetched from TCM and every result stored there";
    case LimitKind::sram:
      return "spread the data over more cubes, or keep it in TCM";
    case LimitKind::gemm:
      return "the matrix unit is busy: more PEs, or fewer partly filled tiles";
    case LimitKind::math:
      return "fuse vector operations, use a smaller dtype, or share them among more PEs";
    case LimitKind::credits:
      return "more slots per queue (ccl.defaults.n_slots), or receive earlier";
    case LimitKind::window:
      return "a larger window (pe.pe_dma.window_bytes), or data nearer to who uses it: bytes in flight / "
             "round trip is the rate";
    case LimitKind::launches:
      return "fewer, larger launches: each pays the host (host.submit_ns, complete_ns) and its way to the "
             "PEs and back";
    case LimitKind::issue:
      return "fewer, larger commands, or a faster pe_cpu";
    case LimitKind::transfers:
      return "keep tensors on the device between launches";
    case LimitKind::latency:
      return "overlap: issue loads earlier, and give each PE more independent work";
  }
  return {};
}

/// How an engine of the busiest PE spent its time.
class Finder {
 public:
  explicit Finder(const SavedRun& run)
      : run_(run), total_(static_cast<double>(std::max<std::int64_t>(1, run.total().ps()))) {}

  std::vector<Limit> find() {
    add_memories();
    add_links();
    add_engines();
    add_path();
    std::erase_if(limits_, [](const Limit& limit) { return limit.share < kLeast; });
    std::ranges::stable_sort(limits_, std::greater(), &Limit::share);
    return std::move(limits_);
  }

 private:
  double share(Time time) const { return static_cast<double>(time.ps()) / total_; }

  void add(LimitKind kind, std::string where, double share, std::string why, std::string_view advice = {}) {
    if (const bool busy = kind <= LimitKind::math; busy) busiest_ = std::max(busiest_, share);
    limits_.push_back({kind, std::move(where), share, std::move(why),
                       std::string(advice.empty() ? advice_of(kind) : advice)});
  }

  /// A memory that says what it did: what its channels waited for counts, too.
  void add_dram(const SavedDram& dram) {
    const SavedDram::Part* lost = dram.most_lost();
    add(LimitKind::hbm, dram.slice, std::min(1.0, dram.wanted),
        fmt::format("something waited for its DRAM: {}", dram.text()),
        lost && lost->share > dram.parts[0].share / 2 ? dram_advice(lost->name) : "");
  }

  void add_memories() {
    const std::vector<SavedMemory> all = run_.memories();
    const auto busiest = [&](std::string_view kind) {
      const SavedMemory* most = nullptr;
      for (const SavedMemory& m : all)
        if (m.kind == kind && (most == nullptr || m.busy > most->busy)) most = &m;
      return most;
    };
    if (const auto dram = saved_dram(run_))
      add_dram(*dram);
    else if (const SavedMemory* hbm = busiest("hbm"))
      add(LimitKind::hbm, hbm->name, share(hbm->busy),
          fmt::format("moved {} B at {:g} GB/s", hbm->read_bytes + hbm->written_bytes, hbm->bandwidth_gbs));
    if (const SavedMemory* sram = busiest("sram"))
      add(LimitKind::sram, sram->name, share(sram->busy),
          fmt::format("moved {} B at {:g} GB/s", sram->read_bytes + sram->written_bytes,
                      sram->bandwidth_gbs));
  }

  /// The busiest of each sort; links of HBM and SRAM count as these.
  void add_links() {
    const SavedLink *port = nullptr, *other = nullptr;
    const std::vector<SavedLink> all = run_.links();
    for (const SavedLink& link : all) {
      if (touches(link, "hbm_ctrl") || touches(link, ".sram")) continue;
      const SavedLink*& most = touches(link, "pe_tcm") ? port : other;
      if (most == nullptr || link.busy > most->busy) most = &link;
    }
    const auto carried = [](const SavedLink& link) {
      return fmt::format("carried {} B at {:g} GB/s; packets waited up to {:.1f} ns for it", link.bytes,
                         link.bandwidth_gbs, link.deepest_wait.ns());
    };
    if (port) add(LimitKind::tcm, port->name, share(port->busy), carried(*port));
    add_fetches();
    if (other) add(LimitKind::link, other->name, share(other->busy), carried(*other));
  }

  /// Fetches and stores of the units take the ports as well, and are no messages: the PE that spent most time on them.
  void add_fetches() {
    for (const auto& [column, what] :
         {std::pair("phase2_ps", "fetches of operands"), std::pair("phase4_ps", "stores of results")})
      for (const auto& row : run_.query(fmt::format(
               "SELECT 'sip' || sip || '.cube' || cube || '.pe' || pe || '.pe_tcm', sum({}) AS ps FROM ops "
               "WHERE kind IN "
               "('gemm', 'math', 'tile_gemm', 'tile_math') GROUP BY sip, cube, pe ORDER BY ps DESC LIMIT 1",
               column)))
        add(LimitKind::tcm, std::get<std::string>(row.at(0)),
            std::min(1.0, share(Time::from_ps(std::get<std::int64_t>(row.at(1))))),
            fmt::format("{} that nothing else overlaps", what));
  }

  /// The PE whose unit was busy longest.
  void add_engines() {
    const Json summary = parse_json(run_.json()).at("op_log_summary");
    for (const auto& [engine, kind] :
         {std::pair("gemm", LimitKind::gemm), std::pair("math", LimitKind::math)}) {
      const Json* most = nullptr;
      const auto busy = [&](const Json& pe) {
        return pe.at("engines").at(engine).at("busy_ns").get<double>();
      };
      for (const Json& pe : summary.at("pes"))
        if (most == nullptr || busy(pe) > busy(*most)) most = &pe;
      if (most == nullptr) continue;
      add(kind, fmt::format("{}.pe_{}", most->at("pe").get<std::string>(), engine),
          1e3 * busy(*most) / total_,
          fmt::format("{} operations", most->at("engines").at(engine).at("count").get<std::int64_t>()));
    }
  }

  /// The sort of wait that a stretch of the path is, if it is not work of a part.
  static LimitKind kind_of(const SavedPiece& piece, std::string_view op) {
    if (op == "host_write" || op == "host_read") return LimitKind::transfers;
    if (op == "program" || op.starts_with("host_") || piece.what == "wait_start") return LimitKind::launches;
    if (op == "ipcq_send" && piece.reason == "credit") return LimitKind::credits;
    if (piece.what == "window") return LimitKind::window;
    if (piece.what == "wait_issue" || piece.what == "cpu") return LimitKind::issue;
    return LimitKind::latency;
  }

  void add_path() {
    const SavedPath path = run_.critical_path();
    const std::map<std::int64_t, std::string> kinds = this->kinds();
    std::map<LimitKind, Time> times;
    for (const SavedPiece& piece : path.pieces) {
      const auto op = kinds.find(piece.op);
      times[kind_of(piece, op == kinds.end() ? "" : op->second)] += piece.end - piece.begin;
    }
    const auto on_path = [&](LimitKind kind, const char* why) { add(kind, "", share(times[kind]), why); };
    on_path(LimitKind::credits, "on the critical path, sends wait until a slot of their queue is free");
    on_path(LimitKind::window,
            "on the critical path, bytes are not asked for: a DMA engine has enough in flight");
    on_path(LimitKind::launches,
            "the critical path goes through requests of the host and their way to the PEs and back");
    on_path(LimitKind::issue, "on the critical path, commands wait for the PE's CPU to issue them");
    on_path(LimitKind::transfers, "on the critical path, the host writes or reads tensors");
    // While a part is busy, waiting for each other is what operations do at it.
    const double idle = 1 - std::min(1.0, busiest_);
    add(LimitKind::latency, "", share(times[LimitKind::latency]) * idle,
        "operations wait for each other's results, while no part of the machine is busy");
  }

  /// The kinds of the operations on the path.
  std::map<std::int64_t, std::string> kinds() const {
    std::map<std::int64_t, std::string> kinds;
    for (const auto& row : run_.query(
             "SELECT DISTINCT ops.id, ops.kind FROM critical_path JOIN ops ON ops.id = critical_path.op"))
      kinds.emplace(std::get<std::int64_t>(row.at(0)), std::get<std::string>(row.at(1)));
    return kinds;
  }

  const SavedRun& run_;
  const double total_;
  double busiest_ = 0;
  std::vector<Limit> limits_;
};

}  // namespace

std::string_view to_string(LimitKind kind) {
  constexpr std::array<std::string_view, 12> kNames = {
      "HBM",           "link",       "TCM port", "SRAM",          "matrix unit",    "vector unit",
      "queue credits", "DMA window", "launches", "command issue", "host transfers", "latency"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Limit> find_limits(const SavedRun& run) { return Finder(run).find(); }

}  // namespace kernbench::report
