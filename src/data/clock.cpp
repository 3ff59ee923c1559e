#include "data/clock.hpp"

#include <algorithm>
#include <array>

namespace kernbench::data {

template <class Fn>
void Clock::for_parts(Fn&& fn) const {
  for (const ClockPtr part : parts_)
    if (part != nullptr) fn(*part);
  if (more_)
    for (const ClockPtr part : *more_) fn(*part);
}

/// Looks at no more than `steps` clocks, and of each at no more than its first parts.
bool Clock::covers_within(std::size_t steps, Agent agent, std::uint64_t event) const {
  constexpr std::size_t kParts = 8;
  std::array<const Clock*, kLongLook> near;
  near[0] = this;
  std::size_t known = 1;
  for (std::size_t i = 0; i < known; ++i) {
    if (near[i]->agent_ == agent && near[i]->events_ > event) return true;
    std::size_t parts = 0;
    near[i]->for_parts([&](const Clock& part) {
      if (known < steps && parts++ < kParts) near[known++] = &part;
    });
  }
  return false;
}

bool Clock::covers(ClockPtr clock, Agent agent, std::uint64_t event) {
  return clock != nullptr && (clock->covers_within(kLongLook, agent, event) || clock->of(agent) > event);
}

std::uint64_t Clock::of(Agent agent) const {
  const Entries& all = entries();
  const auto found = std::ranges::lower_bound(all, agent, {}, &Entry::agent);
  return found != all.end() && found->agent == agent ? found->events : 0;
}

/// What it is made of comes first, and before that what these are made of; no recursion, for chains are as long as runs.
const Clock::Entries& Clock::entries() const {
  std::vector<const Clock*> open{this};
  while (!entries_) {
    const Clock& clock = *open.back();
    const std::size_t before = open.size();
    clock.for_parts([&](const Clock& part) {
      if (!part.entries_) open.push_back(&part);
    });
    if (open.size() > before) continue;
    if (!clock.entries_) clock.add_up();
    open.pop_back();
  }
  return *entries_;
}

void Clock::add_up() const {
  Entries sum, longer;
  if (events_ > 0) sum.push_back({agent_, events_});
  for_parts([&](const Clock& part) {
    longer.clear();
    auto mine = sum.cbegin();
    for (const Entry& entry : *part.entries_) {
      while (mine != sum.cend() && mine->agent < entry.agent) longer.push_back(*mine++);
      const bool both = mine != sum.cend() && mine->agent == entry.agent;
      longer.push_back({entry.agent, both ? std::max(mine->events, entry.events) : entry.events});
      if (both) ++mine;
    }
    longer.insert(longer.end(), mine, sum.cend());
    std::swap(sum, longer);
  });
  entries_ = std::make_unique<const Entries>(std::move(sum));
}

Clock& Clocks::make() {
  if (left_ == 0) {
    chunks_.push_back(std::make_unique<Clock[]>(kChunk));
    left_ = kChunk;
  }
  return chunks_.back()[kChunk - left_--];
}

ClockPtr Clocks::join(ClockPtr a, ClockPtr b) {
  if (a == b || b == nullptr || (a != nullptr && a->is_made_of(b))) return a;
  if (a == nullptr || b->is_made_of(a)) return b;
  Clock& joined = make();
  joined.parts_[0] = a;
  joined.parts_[1] = b;
  return &joined;
}

ClockPtr Clocks::join(std::span<const ClockPtr> all) {
  if (all.size() <= 2) return join(all.empty() ? nullptr : all.front(), all.empty() ? nullptr : all.back());
  Clock& joined = make();
  joined.more_ = std::make_unique<std::vector<ClockPtr>>(all.begin(), all.end());
  std::erase(*joined.more_, nullptr);
  return &joined;
}

ClockPtr Clocks::with(ClockPtr a, Agent agent, std::uint64_t events) {
  if (events == 0 || (a != nullptr && a->agent_ == agent && a->events_ >= events)) return a;
  Clock& more = make();
  more.agent_ = agent;
  more.events_ = events;
  more.parts_[0] = a;
  return &more;
}

}  // namespace kernbench::data
