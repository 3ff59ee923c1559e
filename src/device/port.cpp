#include "device/port.hpp"

#include <algorithm>

#include "device/fabric.hpp"
#include "device/instant.hpp"

namespace kernbench::device {

void Port::occupy(const PortUse& use) {
  const auto smaller = [](const PortUse& a, const PortUse& b) { return a.rank < b.rank; };
  uses_.insert(std::upper_bound(uses_.begin(), uses_.end(), use, smaller), use);
  if (!all_have_asked_.scheduled()) partition_.choose(all_have_asked_, choice_rank(Chooser::port, number_));
}

/// Heads that came at this instant were served as they came: they go behind.
void Port::take() {
  const Time now = partition_.now();
  fabric_.clear(link_);  // if it comes at this instant, it comes behind
  Packet* heads = link_.instant == now ? fabric_.take_back_behind(link_, 0) : nullptr;
  Time free = std::max(now, link_.busy_until(now, 0));
  for (const PortUse& use : uses_) {
    free += use.duration;
    partition_.schedule_at(*use.done, free);
  }
  uses_.clear();
  link_.free_at = free;
  link_.take_until(now, 0, free);
  fabric_.serve_again(heads);
}

}  // namespace kernbench::device
