#include <array>

#include "trace/launch_summary.hpp"
#include "trace/recording.hpp"
#include "trace/summarizer.hpp"

namespace kernbench::trace {
namespace {

using device::OpKind;
using device::Resource;

/// Where the sums of each SummedEngine stand.
using Member = EngineUse EngineUses::*;
constexpr std::array<Member, kSummedEngines> kEngines = {&EngineUses::gemm,      &EngineUses::math,
                                                         &EngineUses::dma_read,  &EngineUses::dma_write,
                                                         &EngineUses::ipcq_send, &EngineUses::ipcq_recv};

/// While its engine was busy with it: a GEMM or vector unit while it computes, the last but one of its phases
/// (fetch and store are other units, at work on other commands meanwhile), else from start to end.
std::pair<Time, Time> busy_interval(const OpRecord& r, SummedEngine engine) {
  if (engine > SummedEngine::math) return {r.start, r.end};
  const Time begin = r.start + device::phase_length(r.phase[0]) + device::phase_length(r.phase[1]);
  return {begin, begin + device::phase_length(r.phase[2])};
}

void add(EngineUse& sum, const EngineUse& one) {
  sum.count += one.count, sum.amount += one.amount, sum.busy += one.busy;
}

Utilization utilization(const EngineUses& engines, Time exec) {
  const auto share = [&](const EngineUse& use) {
    return exec == Time() ? 0.0 : static_cast<double>(use.busy.ps()) / static_cast<double>(exec.ps());
  };
  return {share(engines.gemm), share(engines.math), share(engines.dma_read), share(engines.dma_write)};
}

}  // namespace

Summarizer::PeWork& Summarizer::work_of(PeCoord pe) {
  const auto at = [](auto& all, int i) -> auto& {
    const auto place = static_cast<std::size_t>(i);
    if (place >= all.size()) all.resize(place + 1);
    return all[place];
  };
  PeWork*& known = at(at(at(by_place_, pe.sip), pe.cube), pe.pe);
  if (known == nullptr) known = &pes_[pe];
  return *known;
}

void Summarizer::expect(const From& from) {
  if (from.pe.cube >= 0) pes_[from.pe];
}

void Summarizer::add_work(PeWork& pe, SummedEngine engine, const OpRecord& r) {
  const auto place = static_cast<std::size_t>(engine);
  EngineUse& use = pe.uses.*kEngines[place];
  ++use.count, use.amount += r.amount;
  const auto [begin, end] = busy_interval(r, engine);
  pe.busy[place].add(begin, end);
}

/// A launch ends where its completion's way back begins, with the last PE's end. The way to a PE ends with its start.
void Summarizer::add_other(const OpRecord& r, const From& from) {
  const LaunchKey key(from.launch, from.pe.sip);
  if (r.kind == OpKind::host_launch) {
    windows_[key].last_end = r.start;
    return;
  }
  if (from.pe.cube < 0) return;
  Window& window = windows_[key];
  window.first_start = std::min(window.first_start, r.end);
  PeWork& pe = work_of(from.pe);
  if (from.has_commands) pe.launches.push_back(key);
}

void Summarizer::settle(PeCoord pe) {
  for (IntervalUnion& busy : work_of(pe).busy) busy.settle();
}

void Summarizer::add(const Summarizer& other) {
  for (const auto& [at, theirs] : other.pes_) {
    PeWork& ours = pes_[at];
    for (std::size_t i = 0; i < kEngines.size(); ++i) {
      trace::add(ours.uses.*kEngines[i], theirs.uses.*kEngines[i]);
      ours.busy[i].add(theirs.busy[i]);
    }
    ours.launches.insert(ours.launches.end(), theirs.launches.begin(), theirs.launches.end());
  }
  for (const auto& [key, theirs] : other.windows_) {
    Window& ours = windows_[key];
    ours.first_start = std::min(ours.first_start, theirs.first_start);
    ours.last_end = std::max(ours.last_end, theirs.last_end);
  }
}

PeSummary Summarizer::summary_of(PeCoord at, PeWork& pe) {
  PeSummary out{.pe = at, .engines = pe.uses, .exec = {}};
  for (std::size_t i = 0; i < kEngines.size(); ++i) (out.engines.*kEngines[i]).busy = pe.busy[i].length();
  for (const auto& key : pe.launches) {
    const Window& window = windows_[key];
    out.exec += std::max(window.last_end - window.first_start, Time());  // 0: it never completed
  }
  return out;
}

Summary Summarizer::finish(std::uint64_t records) {
  Summary out;
  out.records = records;
  for (auto& [at, pe] : pes_) {
    out.pes.push_back(summary_of(at, pe));
    for (const auto engine : kEngines) trace::add(out.total.*engine, out.pes.back().engines.*engine);
    out.exec += out.pes.back().exec;
  }
  return out;
}

namespace {

Summarizer::From from(const OriginInfo& origin) { return {origin.pe, origin.launch, !origin.lines.empty()}; }

}  // namespace

Summary summarize(const Recording& run) {
  Summarizer all;
  for (const OriginInfo& origin : run.info.origins) all.expect(from(origin));
  for (const PartitionRecords& records : run.records)
    for (std::uint32_t id = 0; id < records.size(); ++id)
      all.add(records[id], [&] { return from(run.origin(records[id])); });
  return all.finish(count(run.records));
}

namespace {

/// The first record of a partition that ends at `time` or later: they stand in the order in which they end.
std::uint32_t first_ending_from(const PartitionRecords& records, Time time) {
  std::uint32_t low = 0, high = records.size();
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (records[middle].end < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

Summary summarize_launch(const Records& all, const device::Origins& origins, std::uint32_t request,
                         Time begin, Time end) {
  Summarizer one;
  std::uint64_t found = 0;
  for (const PartitionRecords& records : all)
    for (std::uint32_t id = first_ending_from(records, begin); id < records.size() && records[id].end <= end;
         ++id)
      if (const device::Origin& origin = origins[records[id].origin]; origin.launch == request)
        one.add(records[id], [&] { return from(origin); }), ++found;
  Summary summary = one.finish(found);
  std::erase_if(summary.pes, [](const PeSummary& pe) { return pe.exec == Time(); });
  return summary;
}

Utilization utilization(const Summary& summary) { return utilization(summary.total, summary.exec); }
Utilization utilization(const PeSummary& pe) { return utilization(pe.engines, pe.exec); }

}  // namespace kernbench::trace
