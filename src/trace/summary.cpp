#include <array>
#include <map>
#include <optional>

#include "trace/interval_union.hpp"
#include "trace/launch_summary.hpp"
#include "trace/recording.hpp"

namespace kernbench::trace {
namespace {

using device::OpKind;
using device::Resource;

using Member = EngineUse EngineUses::*;
constexpr std::array<Member, 6> kEngines = {&EngineUses::gemm,      &EngineUses::math,
                                            &EngineUses::dma_read,  &EngineUses::dma_write,
                                            &EngineUses::ipcq_send, &EngineUses::ipcq_recv};

constexpr std::size_t kMath = 1;  // of kEngines; before it the GEMM unit, after it those that only move

/// Which of kEngines did it; programs and requests of the host are nobody's.
std::optional<std::size_t> engine_of(OpKind kind) {
  switch (kind) {
    case OpKind::gemm:
    case OpKind::tile_gemm:
      return 0;
    case OpKind::math:
    case OpKind::tile_math:
      return kMath;
    case OpKind::dma_read:
    case OpKind::load_scalar:
    case OpKind::tile_dma_in:
      return 2;
    case OpKind::dma_write:
    case OpKind::tile_dma_out:
      return 3;
    case OpKind::ipcq_send:
      return 4;
    case OpKind::ipcq_recv:
      return 5;
    default:
      return {};
  }
}

/// While its engine was busy with it: a GEMM or vector unit while it computes, the last but one of its phases
/// (fetch and store are other units, at work on other commands meanwhile), else from start to end.
std::pair<Time, Time> busy_interval(const OpRecord& r, std::size_t engine) {
  if (engine > kMath) return {r.start, r.end};
  const auto phases = phases_of(r);
  const Time begin = r.start + phases.length[0] + phases.length[1];
  return {begin, begin + phases.length[2]};
}

using LaunchKey = std::pair<std::uint32_t, int>;  // number and SIP

struct PeWork {
  PeSummary summary;
  std::array<IntervalUnion, kEngines.size()> busy;
  std::vector<LaunchKey> launches;  // with commands
};

/// From the first PE's start to the last one's end.
struct Window {
  Time first_start = Time::never(), last_end;
};

class Summarizer {
 public:
  explicit Summarizer(const Recording& run) : run_(run) {
    for (const auto& o : run.info.origins) by_origin_.push_back(o.is_host() ? nullptr : &pes_[o.pe]);
  }

  void add(const OpRecord& r) {
    if (r.kind == OpKind::host_launch) return end_launch(r);
    auto* pe = by_origin_[r.origin];
    if (pe == nullptr) return;
    const auto engine = engine_of(r.kind);
    if (!engine) return add_launch(*pe, r);
    auto& use = pe->summary.engines.*kEngines[*engine];
    ++use.count, use.amount += r.amount;
    const auto [begin, end] = busy_interval(r, *engine);
    pe->busy[*engine].add(begin, end);
  }

  Summary finish() {
    Summary out;
    out.records = count(run_.records);
    for (auto& [at, pe] : pes_) {
      pe.summary.pe = at;
      finish(pe);
      for (const auto engine : kEngines) {
        auto& sum = out.total.*engine;
        const auto& one = pe.summary.engines.*engine;
        sum.count += one.count, sum.amount += one.amount, sum.busy += one.busy;
      }
      out.exec += pe.summary.exec;
      out.pes.push_back(pe.summary);
    }
    return out;
  }

 private:
  LaunchKey key_of(const OpRecord& r) const {
    const auto& origin = run_.origin(r);
    return {origin.launch, origin.pe.sip};
  }

  /// The way to a PE ends with its start.
  void add_launch(PeWork& pe, const OpRecord& r) {
    if (r.kind != OpKind::program) return;
    auto& window = windows_[key_of(r)];
    window.first_start = std::min(window.first_start, r.end);
    if (!run_.origin(r).lines.empty()) pe.launches.push_back(key_of(r));
  }

  /// The way back begins with the last PE's end.
  void end_launch(const OpRecord& r) { windows_[key_of(r)].last_end = r.start; }

  void finish(PeWork& pe) {
    for (std::size_t i = 0; i < kEngines.size(); ++i)
      (pe.summary.engines.*kEngines[i]).busy = pe.busy[i].length();
    for (const auto& key : pe.launches) {
      const auto& window = windows_[key];
      pe.summary.exec += std::max(window.last_end - window.first_start, Time());  // 0: it never completed
    }
  }

  const Recording& run_;
  std::map<PeCoord, PeWork> pes_;
  std::vector<PeWork*> by_origin_;  // none for requests of the host
  std::map<LaunchKey, Window> windows_;
};

Utilization utilization(const EngineUses& engines, Time exec) {
  const auto share = [&](const EngineUse& use) {
    return exec == Time() ? 0.0 : static_cast<double>(use.busy.ps()) / static_cast<double>(exec.ps());
  };
  return {share(engines.gemm), share(engines.math), share(engines.dma_read), share(engines.dma_write)};
}

}  // namespace

Summary summarize(const Recording& run) {
  Summarizer all(run);
  in_total_order(run.records, [&](OpId, const OpRecord& r) { all.add(r); });
  return all.finish();
}

Summary summarize_launch(const Recording& run, std::uint32_t request) {
  Summarizer one(run);
  std::uint64_t records = 0;
  in_total_order(run.records, [&](OpId, const OpRecord& r) {
    if (run.origin(r).launch != request) return;
    one.add(r), ++records;
  });
  Summary summary = one.finish();
  summary.records = records;
  std::erase_if(summary.pes, [](const PeSummary& pe) { return pe.exec == Time(); });
  return summary;
}

Utilization utilization(const Summary& summary) { return utilization(summary.total, summary.exec); }
Utilization utilization(const PeSummary& pe) { return utilization(pe.engines, pe.exec); }

}  // namespace kernbench::trace
