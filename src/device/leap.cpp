// Packets that cross links without a stop: those behind the link they have taken, as far as nobody is there.
//
// A packet is entered on such a link as its guest, with the instant at which its head will be there, and as if it had the link
// already; nothing happens when it comes. When that is over, there is nothing to be done: the link is as if it had been served.
// Whoever else comes to the link before (`Fabric::clear`) finds it as it was: the guest comes alone after all, at the same
// instant, and who goes first is decided as ever. So a guest never waits, and nobody ever waits for one that is still to come.
//
// A link has one guest at a time, and was free when it was entered. A packet that takes no countable time is never one: the next of
// its message may come at the same instant, and these two have no order but that of their events.
#include <algorithm>
#include <utility>

#include "device/fabric.hpp"

namespace kernbench::device {

/// The link is free, and nobody is known to come. Who crosses it in no time could be delivered, and gone, at the instant at which it
/// comes, while others still come.
bool Fabric::can_land(const Hop& hop, Time now) const {
  if (hop.arbitrated || hop.crosses || hop.forward == Time()) return false;
  const LinkState& link = *hop.state;
  return link.instant < now && link.free_at <= now && link.passed_until <= now && !link.passages;
}

/// The packet has taken a link at this instant, and nobody is before it on it. When it has to be looked at again.
Time Fabric::leap(Packet& packet) {
  const Hop* hop = packet.hop;
  Time length = packet.tail - packet.due;
  if (!options_.runs || watcher_ || hop->crosses || length == Time()) return packet.due;
  const Time now = packet.came;
  const Bytes bytes = packet.full ? full_ : packet.bytes();
  Time head = packet.due;
  for (; !hop->last && can_land(hop[1], now); ++hop) {
    const Hop& next = hop[1];
    LinkState& link = *next.state;
    length = std::max(length, occupancy(packet, next));
    link.instant = head;
    link.guest = &packet;
    link.free_at = head + length;
    link.bytes += bytes;
    if (notes_.kept()) notes_.add(next.link, *packet.message, 1, bytes, Time());
    head += next.forward;
  }
  if (hop == packet.hop) return packet.due;
  packet.landing = hop;
  packet.landing_tail = head + length;
  return is_silent(packet, *hop) ? packet.landing_tail : head;
}

/// Its head is at the end of the last link that it crossed so.
void Fabric::land(Packet& packet) {
  leave_link(packet);
  packet.hop->state->domain->counters_.packet_hops += static_cast<std::uint64_t>(packet.landing - packet.hop);
  packet.hop = packet.landing;
  packet.tail = packet.landing_tail;
  packet.landing = nullptr;
}

/// It is not entered on the links from this one on any more.
void Fabric::leave_links(Packet& packet, const Hop& from) {
  const Bytes bytes = packet.bytes();
  for (const Hop* hop = &from; hop <= packet.landing; ++hop) {
    LinkState& link = *hop->state;
    link.guest = nullptr;
    link.instant = Time::from_ps(-1);
    link.free_at = Time();
    link.bytes -= bytes;
    if (notes_.kept()) notes_.take_back(hop->link, *packet.message, 1, bytes, Time());
  }
  packet.landing = nullptr;
}

/// It comes alone to this link, which is behind the one that it has taken.
void Fabric::stop_before(Packet& packet, const Hop& stop) {
  sim::Partition& partition = stop.state->domain->partition_;
  partition.cancel(packet);
  leave_links(packet, stop);
  Time head = packet.due;
  Time length = packet.tail - packet.due;
  for (const Hop* hop = packet.hop + 1; hop != &stop; ++hop) {
    length = std::max(length, occupancy(packet, *hop));
    head += hop->forward;
    packet.landing = hop;
  }
  packet.landing_tail = head + length;
  partition.schedule_at(packet, head);
}

bool Fabric::turn_out(LinkState& link) {
  Packet* packet = std::exchange(link.guest, nullptr);
  const Time now = link.domain->partition_.now();
  if (link.instant < now) return false;
  const bool comes_now = link.instant == now;
  const Hop* stop = packet->hop + 1;
  while (stop->state != &link) ++stop;
  stop_before(*packet, *stop);
  return comes_now;
}

}  // namespace kernbench::device
