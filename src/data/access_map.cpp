#include "data/access_map.hpp"

#include <algorithm>

namespace kernbench::data {

/// The first node that begins at `at` or after it, once a node that reaches over `at` is cut there.
AccessMap::Map::iterator AccessMap::cut_at(std::uint64_t at) {
  const auto after = nodes_.lower_bound(at);
  if (after == nodes_.begin()) return after;
  auto& before = std::prev(after)->second;
  if (before.end <= at) return after;
  auto upper = before;
  before.end = at;
  return nodes_.emplace_hint(after, at, std::move(upper));
}

void AccessMap::add_read(Node& node, const Event& event) {
  const auto agent = order_.agent_of(event);
  const auto position = order_.position_of(event);
  auto at = std::ranges::lower_bound(node.reads, agent, {}, &Reads::agent);
  if (at == node.reads.end() || at->agent != agent)
    at = node.reads.insert(at, {agent, position, {}});
  else if (Clock::covers_nearby(order_.clock_of(event), agent, at->last))
    at->events.clear(), at->last = position;
  at->last = std::max(at->last, position);
  at->events.push_back(event);
}

}  // namespace kernbench::data
