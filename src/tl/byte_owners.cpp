#include "tl/byte_owners.hpp"

#include <algorithm>
#include <iterator>

#include "tl/lane_runs.hpp"

namespace kernbench::tl {
namespace {

/// Calls `fn(begin, end)` for the bytes of each run, until it returns true.
template <class Fn>
void for_runs(const Lanes& lanes, int itemsize, Fn&& fn) {
  const ScatteredRuns runs(lanes, static_cast<std::int64_t>(lanes.addresses.size()), itemsize);
  for (std::size_t i = 0; i < runs.lanes.size(); ++i) {
    const std::int64_t elements = runs.lanes[i].end - runs.lanes[i].begin;
    const std::uint64_t begin = runs.addresses[i];
    if (fn(begin, begin + static_cast<std::uint64_t>(elements * itemsize))) return;
  }
}

}  // namespace

void ByteOwners::add(const Lanes& lanes, int itemsize, Access access) {
  for_runs(lanes, itemsize, [&](std::uint64_t begin, std::uint64_t end) {
    add(begin, end, access);
    return false;
  });
}

ByteOwners::Map::iterator ByteOwners::cut(std::uint64_t at) {
  const auto after = ranges_.lower_bound(at);
  if (after == ranges_.begin()) return after;
  Range& before = std::prev(after)->second;
  if (before.end <= at) return after;
  const Range upper = before;
  before.end = at;
  return ranges_.emplace_hint(after, at, upper);
}

void ByteOwners::add(std::uint64_t begin, std::uint64_t end, Access access) {
  cut(end);
  for (auto range = cut(begin); begin < end; ++range) {
    const std::uint64_t next = range == ranges_.end() ? end : std::min(end, range->first);
    if (begin < next) range = ranges_.emplace_hint(range, begin, Range{next, access, std::nullopt});
    Range& here = range->second;
    if (here.first.program != access.program && !here.second) here.second = access;
    begin = here.end;
  }
}

std::optional<ByteOwners::Access> ByteOwners::other(const Lanes& lanes, int itemsize,
                                                    std::uint32_t program) const {
  std::optional<Access> found;
  for_runs(lanes, itemsize, [&](std::uint64_t begin, std::uint64_t end) {
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second.end > begin) --range;
    for (; !found && range != ranges_.end() && range->first < end; ++range)
      found = range->second.first.program != program ? range->second.first : range->second.second;
    return found.has_value();
  });
  return found;
}

}  // namespace kernbench::tl
