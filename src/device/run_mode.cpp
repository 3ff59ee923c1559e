#include "device/run_mode.hpp"

#include <algorithm>
#include <tuple>

namespace kernbench::device {

bool RunMode::try_start(Message& message) {
  Route& route = *message.route;
  const Time now = message.opened_;
  const Time first_start = std::max({now, route.next_offer, message.ready_at(0)});
  if (!has_route_to_itself(route, first_start)) return false;
  message.offer_before_ = route.next_offer;
  plan_starts(message, first_start);
  for (const Hop& hop : route.hops) {
    LinkState& l = *hop.state;
    l.owner = &route;
    ++l.claims;
  }
  message.in_run_ = true;
  message.next_run_ = route.runs;
  route.runs = &message;
  const std::int64_t last = message.packets_ - 1;
  const Time last_start = message.run_start(last);
  route.next_offer = last_start + route.pace.of(last, message.bytes);
  sim::Partition& partition = fabric_.domain(route.partition).partition_;
  partition.schedule_at(message.left_, last_start + route.occupancy(route.hops.front(), last, message.bytes));
  partition.schedule_at(message.delivered_, message.run_tail(last));
  message.on_run();
  return true;
}

/// Alone on every link, or behind messages of the same route that also move in one piece and have left.
bool RunMode::has_route_to_itself(const Route& route, Time first_start) const {
  if (!route.local || route.taken_apart > 0 || !route.source->idle()) return false;
  if (route.runs && route.runs->left_.scheduled()) return false;
  return std::all_of(route.hops.begin(), route.hops.end(), [&](const Hop& hop) {
    const LinkState& l = *hop.state;
    return (l.claims == 0 || l.owner == &route) && l.free_at <= first_start + hop.before;
  });
}

/// When each packet leaves: at the route's pace, or as it becomes ready.
void RunMode::plan_starts(Message& message, Time first_start) {
  message.first_start_ = first_start;
  message.starts_.clear();
  const PacketTimes& pace = message.route->pace;
  std::int64_t even = 0;  // packets that are ready when it is their turn
  const auto ready = static_cast<std::int64_t>(message.ready.size());
  while (even < ready && message.ready_at(even) <= first_start + pace.until(even)) ++even;
  if (even == ready) return;
  Time start = first_start;
  for (std::int64_t p = 0; p < message.packets_; ++p) {
    start = std::max(start, message.ready_at(p));
    message.starts_.push_back(start);
    start += pace.of(p, message.bytes);
  }
}

void RunMode::finish(Message& message) {
  for (const Hop& hop : message.route->hops) {
    LinkState& l = *hop.state;
    l.bytes += message.bytes;
    if (--l.claims == 0) l.owner = nullptr;
  }
  FabricCounters& counters = fabric_.domain(message.route->partition).counters_;
  counters.packet_hops += static_cast<std::uint64_t>(message.packets_) * message.route->hops.size();
  ++counters.in_one_piece;
  unlink(message);
}

void RunMode::unlink(Message& message) {
  Message** at = &message.route->runs;
  while (*at != &message) at = &(*at)->next_run_;
  *at = message.next_run_;
  message.in_run_ = false;
}

void RunMode::take_apart(Route& route) {
  // Oldest first, as their packets are on the way in that order.
  std::vector<Message*>& messages = fabric_.domain(route.partition).messages_apart_;
  messages.clear();
  for (Message* m = route.runs; m; m = m->next_run_) messages.push_back(m);
  std::for_each(messages.rbegin(), messages.rend(), [&](Message* m) { take_apart(*m); });
}

/// How many packets have passed the point that lies `before` behind the start. None of a message that came at
/// this very instant: who goes first is still open.
std::int64_t RunMode::started_by(const Message& message, Time now, Time before) const {
  if (message.opened_ == now) return 0;
  std::int64_t low = 0;
  std::int64_t high = message.packets_;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    message.run_start(middle) + before <= now ? low = middle + 1 : high = middle;
  }
  return low;
}

void RunMode::take_apart(Message& message) {
  Route& route = *message.route;
  sim::Partition& partition = fabric_.domain(route.partition).partition_;
  const Time now = partition.now();
  const std::int64_t left = started_by(message, now, Time());
  const std::int64_t arrived = started_by(message, now, route.latency);
  settle_links(message, now);
  place_packets(message, now);
  unlink(message);
  message.on_run_cut(arrived);
  if (arrived < message.packets_) {
    partition.cancel(message.delivered_);
    ++route.taken_apart;
  } else {  // all heads are there: nothing can change any more
    for (const Hop& hop : route.hops)
      if (LinkState& l = *hop.state; --l.claims == 0) l.owner = nullptr;
  }
  if (left == message.packets_) return;
  partition.cancel(message.left_);
  message.next_packet_ = left;
  route.next_offer = left == 0 ? message.offer_before_
                               : message.run_start(left - 1) + route.pace.of(left - 1, message.bytes);
  left == 0 ? route.source->open(message) : route.source->resume(message);
}

/// Each link is busy until the last packet that has taken it has passed.
void RunMode::settle_links(Message& message, Time now) {
  const Route& route = *message.route;
  FabricCounters& counters = fabric_.domain(route.partition).counters_;
  for (std::size_t i = 0; i < route.hops.size(); ++i) {
    const Hop& hop = route.hops[i];
    LinkState& l = *hop.state;
    const std::int64_t passed = started_by(message, now, hop.before);
    if (passed == 0) continue;
    Time slowest_so_far;
    for (std::size_t j = 0; j <= i; ++j)
      slowest_so_far = std::max(slowest_so_far, route.occupancy(route.hops[j], passed - 1, message.bytes));
    l.free_at = std::max(l.free_at, message.run_start(passed - 1) + hop.before + slowest_so_far);
    l.bytes += std::min(message.bytes, fabric_.packet_ * passed);
    counters.packet_hops += static_cast<std::uint64_t>(passed);
  }
}

/// Puts every packet that is between two links on its way, in the order in which they took their last link.
void RunMode::place_packets(Message& message, Time now) {
  const Route& route = *message.route;
  FabricDomain& here = fabric_.domain(route.partition);
  const std::int64_t first = started_by(message, now, route.latency);
  const std::int64_t end = started_by(message, now, Time());
  std::vector<Packet*>& packets = here.packets_apart_;
  packets.clear();
  for (std::int64_t p = first; p < end; ++p) {
    const Time start = message.run_start(p);
    Packet& packet = fabric_.take_packet(message, p);
    std::size_t hop = 0;  // the hop it comes to next
    Time length;          // of the packet on the way, stretched by the slowest link so far
    for (; hop < route.hops.size() && start + route.hops[hop].before <= now; ++hop)
      length = std::max(length, route.occupancy(route.hops[hop], p, message.bytes));
    packet.hop = &route.hops[hop - 1];
    packet.link_was_free_at = start + packet.hop->before;  // here: when it took its last link
    packet.tail = packet.link_was_free_at + packet.hop->forward + length;
    packets.push_back(&packet);
  }
  std::sort(packets.begin(), packets.end(), [](const Packet* a, const Packet* b) {
    return std::tie(a->link_was_free_at, a->index) < std::tie(b->link_was_free_at, b->index);
  });
  for (Packet* packet : packets)
    here.partition_.schedule_at(*packet, packet->link_was_free_at + packet->hop->forward);
}

}  // namespace kernbench::device
