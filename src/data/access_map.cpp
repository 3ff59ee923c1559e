#include "data/access_map.hpp"

#include <algorithm>

namespace kernbench::data {

/// If a node reaches over `at`, cuts it there. `after` is the first node that begins at `at` or later.
/// Returns the first such node after the cut.
AccessMap::Map::iterator AccessMap::cut_before(Map::iterator after, std::uint64_t at) {
  if (after == nodes_.begin()) return after;
  auto& before = std::prev(after)->second;
  if (before.end <= at) return after;
  auto upper = before;
  before.end = at;
  return nodes_.emplace_hint(after, at, std::move(upper));
}

/// The same, but walks from `first` to `at`: the caller visits these nodes anyway.
AccessMap::Map::iterator AccessMap::cut_behind(Map::iterator first, std::uint64_t at) {
  while (first != nodes_.end() && first->first < at) ++first;
  return cut_before(first, at);
}

void AccessMap::add_read(Node& node, const Event& event) {
  const auto agent = order_.agent_of(event);
  const auto position = order_.position_of(event);
  auto [first, last] = std::ranges::equal_range(node.reads, agent, {}, &Read::agent);
  std::uint64_t before = 0;
  for (auto read = first; read != last; ++read) before = std::max(before, read->position);
  if (first != last && Clock::covers_nearby(order_.clock_of(event), agent, before))
    last = node.reads.erase(first, last);
  node.reads.insert(last, {agent, event, position});
}

}  // namespace kernbench::data
