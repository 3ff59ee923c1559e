#include "device/port.hpp"

#include <algorithm>

#include "device/fabric.hpp"

namespace kernbench::device {

void Port::occupy(const PortUse& use) {
  const Time now = partition_.now();
  Packet* heads = link_.instant == now ? fabric_.take_back_behind(link_, 0) : nullptr;
  if (instant_ != now) {
    instant_ = now;
    uses_.clear();
    link_was_free_at_ = std::max({now, link_.free_at, link_.passed_until});
    if (link_.passages)
      link_was_free_at_ = std::max(link_was_free_at_, link_.domain->dispatcher().busy_until(link_, now, 0));
  }
  const auto smaller = [](const PortUse& a, const PortUse& b) { return a.rank < b.rank; };
  uses_.insert(std::upper_bound(uses_.begin(), uses_.end(), use, smaller), use);
  link_.free_at = link_was_free_at_;
  for (const PortUse& each : uses_) {
    if (each.done->scheduled()) partition_.cancel(*each.done);
    link_.free_at += each.duration;
    partition_.schedule_at(*each.done, link_.free_at);
  }
  if (link_.passages) link_.domain->dispatcher().make_way(link_, now, 0, link_.free_at);
  fabric_.serve_again(heads);
}

}  // namespace kernbench::device
