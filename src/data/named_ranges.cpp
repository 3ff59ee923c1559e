#include "data/named_ranges.hpp"

#include <fmt/format.h>

#include <utility>

namespace kernbench::data {

NamedRanges::Map::const_iterator NamedRanges::find(std::uint64_t at) const {
  auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return ranges_.end();
  const auto candidate = std::prev(after);
  return at < candidate->second.end ? candidate : ranges_.end();
}

void NamedRanges::cut_at(std::uint64_t at) {
  const auto found = find(at);
  if (found == ranges_.end() || found->first == at) return;
  const auto upper = found->second;
  ranges_.at(found->first).end = at;
  ranges_.emplace(at, upper);
}

void NamedRanges::remove(address::PhysAddr begin, Bytes size) {
  const auto end = begin.raw() + static_cast<std::uint64_t>(size.count());
  cut_at(begin.raw());
  cut_at(end);
  ranges_.erase(ranges_.lower_bound(begin.raw()), ranges_.lower_bound(end));
}

void NamedRanges::add(address::PhysAddr begin, Bytes size, std::string name) {
  if (size == Bytes(0)) return;
  remove(begin, size);
  const auto end = begin.raw() + static_cast<std::uint64_t>(size.count());
  ranges_.emplace(begin.raw(), Range{end, begin.raw(), std::move(name)});
}

std::string NamedRanges::name_of(address::PhysAddr at) const {
  const auto found = find(at.raw());
  return found == ranges_.end() ? std::string() : found->second.name;
}

std::string NamedRanges::describe(address::PhysAddr at) const {
  const auto found = find(at.raw());
  if (found == ranges_.end()) return to_string(at);
  return fmt::format("tensor '{}' +{:#x}, {}", found->second.name, at.raw() - found->second.origin,
                     to_string(at));
}

}  // namespace kernbench::data
