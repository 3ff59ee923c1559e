#include "report/timeline.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace kernbench::report {
namespace {

constexpr std::size_t kMostLanes = 8;  // what overlaps more is drawn on top of each other

std::vector<std::size_t> by_track_and_start(const PageOps& all) {
  std::vector<std::size_t> order(all.ops.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const PageOp& op = all.ops[i];
    return std::tuple(op.track, op.start, op.end, op.id);
  });
  return order;
}

/// One bar for each operation, with its lane.
std::vector<Bar> single_bars(const PageOps& all, const std::set<std::int64_t>& critical) {
  std::vector<Bar> bars;
  bars.reserve(all.ops.size());
  std::vector<Time> ends;
  int track = -1;
  for (const std::size_t i : by_track_and_start(all)) {
    const PageOp& op = all.ops[i];
    if (op.track != track) ends.clear();
    track = op.track;
    auto lane = std::ranges::find_if(ends, [&](Time end) { return end <= op.start; });
    if (lane == ends.end() && ends.size() < kMostLanes) lane = ends.insert(lane, Time());
    if (lane == ends.end()) --lane;
    *lane = std::max(*lane, op.end);
    bars.push_back(
        {op.start, op.end, track, static_cast<int>(lane - ends.begin()), 1, i, critical.contains(op.id)});
  }
  return bars;
}

bool may_join(const Bar& a, const Bar& b, Time limit) {
  const bool short_a = a.count > 1 || a.end - a.start < limit;
  return !a.critical && !b.critical && a.track == b.track && short_a && b.end - b.start < limit &&
         b.start - a.end < limit;
}

void join_bars(Bar& a, const Bar& b, const PageOps& all) {
  const auto length = [&](const Bar& bar) { return all.ops[bar.op].end - all.ops[bar.op].start; };
  if (length(b) > length(a)) a.op = b.op;
  a.end = std::max(a.end, b.end);
  ++a.count;
}

std::vector<Bar> joined_bars(const std::vector<Bar>& singles, const PageOps& all, Time limit) {
  std::vector<Bar> bars;
  std::array<std::optional<std::size_t>, kMostLanes> open;  // the last bar of each lane
  for (const Bar& bar : singles) {
    auto& last = open[static_cast<std::size_t>(bar.lane)];
    if (last && may_join(bars[*last], bar, limit)) {
      join_bars(bars[*last], bar, all);
      continue;
    }
    last = bars.size();
    bars.push_back(bar);
  }
  return bars;
}

}  // namespace

Bars make_bars(const PageOps& all, const std::set<std::int64_t>& critical, std::size_t most) {
  const std::vector<Bar> singles = single_bars(all, critical);
  if (singles.size() <= most) return {singles, Time()};
  Time end;
  for (const Bar& bar : singles) end = std::max(end, bar.end);
  for (Time limit = Time::from_ps(std::max<std::int64_t>(1, end.ps() / 65'536));; limit = limit * 2) {
    std::vector<Bar> bars = joined_bars(singles, all, limit);
    if (bars.size() <= most || limit > end) return {std::move(bars), limit};
  }
}

}  // namespace kernbench::report
