#include "data/clock.hpp"

#include <algorithm>

namespace kernbench::data {

std::uint64_t Clock::of(Agent agent) const {
  const auto found = std::ranges::lower_bound(entries_, agent, {}, &Entry::agent);
  return found != entries_.end() && found->agent == agent ? found->events : 0;
}

bool Clock::contains(const Clock& other) const {
  if (other.entries_.size() > entries_.size()) return false;
  auto mine = entries_.begin();
  for (const auto& entry : other.entries_) {
    while (mine != entries_.end() && mine->agent < entry.agent) ++mine;
    if (mine == entries_.end() || mine->agent != entry.agent || mine->events < entry.events) return false;
  }
  return true;
}

ClockPtr Clock::join(const ClockPtr& a, const ClockPtr& b) {
  if (a == b || b == nullptr || (a != nullptr && a->contains(*b))) return a;
  if (a == nullptr || b->contains(*a)) return b;
  auto joined = std::make_shared<Clock>();
  auto left = a->entries_.begin(), right = b->entries_.begin();
  while (left != a->entries_.end() || right != b->entries_.end()) {
    if (right == b->entries_.end() || (left != a->entries_.end() && left->agent < right->agent)) {
      joined->entries_.push_back(*left++);
    } else if (left == a->entries_.end() || right->agent < left->agent) {
      joined->entries_.push_back(*right++);
    } else {
      joined->entries_.push_back({left->agent, std::max(left->events, right->events)});
      ++left, ++right;
    }
  }
  return joined;
}

ClockPtr Clock::with(const ClockPtr& a, Agent agent, std::uint64_t events) {
  if (events == 0 || (a != nullptr && a->of(agent) >= events)) return a;
  auto more = a == nullptr ? std::make_shared<Clock>() : std::make_shared<Clock>(*a);
  auto at = std::ranges::lower_bound(more->entries_, agent, {}, &Entry::agent);
  if (at != more->entries_.end() && at->agent == agent)
    at->events = events;
  else
    more->entries_.insert(at, {agent, events});
  return more;
}

}  // namespace kernbench::data
