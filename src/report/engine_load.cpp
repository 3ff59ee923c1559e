#include "report/engine_load.hpp"

#include <algorithm>
#include <map>

namespace kernbench::report {
namespace {

using Interval = std::pair<Time, Time>;

void add_busy(std::vector<double>& busy, Interval at, Time bucket) {
  for (std::int64_t i = at.first.ps() / bucket.ps(); i < static_cast<std::int64_t>(busy.size()); ++i) {
    const Time begin = std::max(at.first, bucket * i), end = std::min(at.second, bucket * (i + 1));
    if (end <= begin) return;
    busy[static_cast<std::size_t>(i)] += (end - begin).ns() / bucket.ns();
  }
}

std::vector<double> busy_over_time(std::vector<Interval>& intervals, Time bucket, std::size_t buckets) {
  std::vector<double> busy(buckets);
  std::ranges::sort(intervals);
  Time done;  // everything before is counted
  for (const auto& [begin, end] : intervals) {
    if (end > done) add_busy(busy, {std::max(begin, done), end}, bucket);
    done = std::max(done, end);
  }
  return busy;
}

}  // namespace

std::vector<EngineLoad> engine_loads(const PageOps& all, Time bucket, std::size_t buckets) {
  std::map<std::pair<PeCoord, std::string_view>, std::vector<Interval>> intervals;
  for (const PageOp& op : all.ops) {
    if (op.busy_end <= op.busy_begin) continue;
    const auto& kind = all.kinds[static_cast<std::size_t>(op.kind)];
    intervals[{all.tracks[static_cast<std::size_t>(op.track)].pe, busy_engine(kind)}].push_back(
        {op.busy_begin, op.busy_end});
  }
  std::vector<EngineLoad> loads;
  for (auto& [key, list] : intervals)
    loads.push_back({key.first, std::string(key.second), busy_over_time(list, bucket, buckets)});
  return loads;
}

}  // namespace kernbench::report
