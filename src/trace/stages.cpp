#include "trace/stages.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "trace/interval_union.hpp"

namespace kernbench::trace {
namespace {

using device::OpKind;

struct BusyStage {
  std::uint64_t count = 0;
  IntervalUnion busy;
  void add(Time begin, Time end) {
    ++count;
    busy.add(begin, end);
  }
};

/// One PE.
struct PeStages {
  BusyStage dma_in, fetch, gemm, dma_out;
  Time first = Time::never(), last;

  void add(const OpRecord& r) {
    switch (r.kind) {
      case OpKind::tile_dma_in:
        dma_in.add(r.start, r.end);
        break;
      case OpKind::tile_dma_out:
        dma_out.add(r.start, r.end);
        break;
      case OpKind::tile_gemm: {
        // What is fetched stays in the stage until the unit takes it.
        const auto phases = phases_of(r);
        const Time taken = r.start + phases.length[0] + phases.length[1];
        fetch.add(r.start, taken);
        gemm.add(taken, taken + phases.length[2]);
        break;
      }
      case OpKind::tile_math:
        break;
      case OpKind::dma_read:
      case OpKind::dma_write:
      case OpKind::load_scalar:
      case OpKind::gemm:
      case OpKind::math:
      case OpKind::ipcq_send:
      case OpKind::ipcq_recv:
      case OpKind::program:
      case OpKind::host_write:
      case OpKind::host_read:
      case OpKind::host_map:
      case OpKind::host_launch:
        return;
    }
    first = std::min(first, r.start), last = std::max(last, r.end);
  }
};

void add_to(Stage& all, const BusyStage& one) {
  all.count += one.count;
  all.busy += one.busy.length();
}

nlohmann::ordered_json stage_json(const Stage& stage) {
  return {{"count", stage.count}, {"busy_ns", stage.busy.ns()}};
}

}  // namespace

std::optional<CompositeStages> composite_stages(const Recording& run) {
  std::map<std::tuple<int, int, int>, PeStages> pes;
  const auto add = [&](const OpRecord& r) {
    const bool is_tile = r.kind == OpKind::tile_dma_in || r.kind == OpKind::tile_gemm ||
                         r.kind == OpKind::tile_math || r.kind == OpKind::tile_dma_out;
    if (!is_tile) return;
    const PeCoord pe = run.origin(r).pe;
    pes[{pe.sip, pe.cube, pe.pe}].add(r);
  };
  for (const PartitionRecords& partition : run.records)
    for (std::uint32_t i = 0; i < partition.size(); ++i) add(partition[i]);
  if (pes.empty()) return {};
  CompositeStages all{.pes = static_cast<int>(pes.size())};
  for (const auto& [where, pe] : pes) {
    add_to(all.dma_in, pe.dma_in), add_to(all.fetch, pe.fetch);
    add_to(all.gemm, pe.gemm), add_to(all.dma_out, pe.dma_out);
    all.window = std::max(all.window, pe.last - pe.first);
  }
  return all;
}

nlohmann::ordered_json json_of(const CompositeStages& stages) {
  return {{"pes", stages.pes},
          {"window_ns", stages.window.ns()},
          {"dma_in", stage_json(stages.dma_in)},
          {"fetch", stage_json(stages.fetch)},
          {"gemm", stage_json(stages.gemm)},
          {"dma_out", stage_json(stages.dma_out)}};
}

}  // namespace kernbench::trace
