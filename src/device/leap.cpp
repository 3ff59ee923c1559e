// Packets that cross links without a stop: those behind the link they have taken, as far as nobody is there.
//
// A packet is entered on such a link as its guest, with the instant at which its head will be there, and as if it had the link
// already; nothing happens when it comes. When that is over, there is nothing to be done: the link is as if it had been served.
// Whoever else comes to the link before (`Fabric::clear`) finds it as it was: the guest comes alone after all, at the same
// instant, and who goes first is decided as ever. So a guest never waits, and nobody ever waits for one that is still to come.
//
// A link has any number of guests, each through before the next one comes. Guests do not depend on each
// other. One that is turned out leaves the others where they are, and meets them, if at all, when it comes
// alone. A packet that comes alone and is through before the next guest comes does not turn that guest out.
// Each guest keeps the state of the link before it; the link itself has the state behind the last guest.
//
// A packet that takes no countable time is never a guest. The next packet of its message may come at the same
// instant, and only the order of their events would tell them apart. For the same reason a link that may be
// so fast takes no guest if it becomes free at the very instant at which the guest comes: the packet before
// may be one of the same message that takes no time. Between the packets of trains a guest goes as between
// other guests; whoever plans a train turns the guests out.
//
// A message of one packet that is alone at its source does not ask for a choice, if it is known when it can
// start: its packet becomes a guest of the first link as well (`Fabric::book`). Whoever comes to the source
// or to that link before the start takes it back (`Source::recall_start`); then the source chooses as ever.
// At the instant of the start itself this holds until the turn at which the source would have chosen.
#include <algorithm>
#include <utility>

#include "device/fabric.hpp"
#include "device/instant.hpp"

namespace kernbench::device {

/// Guests are kept the last one first.
inline Fabric::Gap Fabric::gap_at(LinkState& link, Time at) {
  Gap gap{&link, Time::never()};
  while (gap.found->guest && gap.found->instant > at) {
    gap.until = gap.found->instant;
    gap.found = &gap.found->guest->before;
  }
  return gap;
}

/// A link without delay is not open: its guest could arrive, and be released, at the instant at which it comes.
bool Fabric::can_be_crossed(const Hop& hop) {
  return !hop.arbitrated && !hop.crosses && hop.forward != Time();
}

/// The packet has taken a link at this instant, and no packet is ahead of it there. Returns when it has to be
/// looked at again.
Time Fabric::leap(Packet& packet) {
  const Hop& hop = *packet.hop;
  if (!options_.shortcuts || watcher_ || hop.crosses || hop.last || packet.tail == packet.due)
    return packet.due;
  load_links(*packet.message->route, &hop + 2);
  const Time look = enter_links(packet, (&hop)[1], packet.came);
  return look == Time::never() ? packet.due : look;
}

/// Where the packet can be entered as a guest of a link, to come at `head` and have it for `length`: among those who come alone. Null:
/// nowhere. It would have to wait, or be in the way of the next one, or somebody has come at this instant and may still be put in
/// order with others.
inline LinkTimes* Fabric::room_for_guest(const Packet& packet, const Hop& hop, Time head, Time length,
                                         Time now) {
  LinkState& link = *hop.state;
  const Gap gap = gap_at(link, head);
  const Time free = std::max(gap.found->free_at, link.passed_until);
  if (gap.found->instant == now || gap.found->instant == head || free > head) return nullptr;
  if (free == head && packet.message->route->may_coincide(hop)) return nullptr;
  if (length == Time() || head + length > gap.until) return nullptr;
  if (!link.passages) return gap.found;
  const bool fits =
      may_go_among_trains(hop) && Dispatcher::has_room(link, head, packet.message->key_, head + length);
  return fits ? gap.found : nullptr;
}

/// Packets of trains wait at the port of a TCM, and go before who starts at a link; those that take no countable time would be told apart
/// by their events.
bool Fabric::may_go_among_trains(const Hop& hop) {
  return !hop.port && !hop.is_first() && hop.full != Time::never();
}

/// Enters the packet as a guest of the links from `from` on, as far as it can. Its head is at `from` at
/// `due`. Returns when it has to be looked at; `never` if it could not be entered on any.
Time Fabric::enter_links(Packet& packet, const Hop& from, Time now) {
  const Bytes bytes = packet.full ? full_ : packet.bytes();
  Time head = packet.due;
  Time length = packet.tail - packet.due;
  const bool noted = notes_.kept();
  Leap& leap = from.state->domain->leaps_.take();
  Guest* guest = leap.guests.data();
  Guest* const end = guest + Leap::kMost;
  const Message::Uneven::TailTimes* tail = packet.message->tail_times(from);
  const Hop* hop = &from;
  for (bool more = true; more && hop->open && guest != end; ++hop, ++guest) {
    LinkState& link = *hop->state;
    const Time longer = std::max(length, tail ? tail++->occupancy : occupancy(packet, *hop));
    LinkTimes* const found = room_for_guest(packet, *hop, head, longer, now);
    if (!found) break;
    length = longer;
    *guest = {std::exchange(*found, {head + length, head, guest}), &packet};
    link.bytes += bytes;
    if (noted) notes_.add(hop->link, *packet.message, 1, bytes, Time());
    head += hop->forward;
    more = !hop->last;
  }
  if (hop == &from) return from.state->domain->leaps_.give_back(leap), Time::never();
  leap.first = &from;
  packet.leap = &leap;
  packet.landing = hop - 1;
  packet.landing_tail = head + length;
  return is_silent(packet, *packet.landing) ? packet.landing_tail : head;
}

/// Enters the next packet of the message as a guest from its first link on, to start at `at`. Null if it
/// cannot.
Packet* Fabric::book(Message& message, Time at) {
  Route& route = *message.route;
  const Hop& first = route.first();
  FabricDomain& here = *first.state->domain;
  Packet& packet = take_packet(message, message.next_packet_, here);
  packet.hop = &first;
  packet.due = packet.tail = at;
  packet.crossing = false;
  packet.next = packet.behind = nullptr;
  load_links(route, route.hops.data() + 1);
  const Time look = enter_links(packet, first, here.partition_.now());
  if (look == Time::never()) return release(packet, here.partition_.id()), nullptr;
  here.partition_.schedule_at(packet, look);
  route.next_offer = at + message.pace(message.next_packet_++);
  leaves(message, at + std::max(occupancy(packet, first), kTick));
  return &packet;
}

/// Undoes `book`.
void Fabric::unbook(Packet& packet) {
  sim::Partition& partition = packet.hop->state->domain->partition_;
  partition.cancel(packet);
  leave_links(packet, *packet.leap->first);
  end_leap(packet);
  stays(*packet.message);
  --packet.message->next_packet_;
  release(packet, partition.id());
}

/// The head of the packet is at the end of the last link of its leap.
void Fabric::land(Packet& packet) {
  leave_link(packet);
  packet.hop->state->domain->counters_.packet_hops +=
      static_cast<std::uint64_t>(packet.landing + 1 - packet.leap->first);
  end_leap(packet);
  packet.hop = packet.landing;
  packet.tail = packet.landing_tail;
  packet.landing = nullptr;
}

/// Frees the record of the leap: the packet has crossed those links, or is no longer entered on them.
void Fabric::end_leap(Packet& packet) {
  packet.hop->state->domain->leaps_.give_back(*std::exchange(packet.leap, nullptr));
}

/// As if it had never been entered there.
void Fabric::leave_as_guest(Packet& packet, const Hop& hop) {
  const Guest& own = packet.leap->guests[static_cast<std::size_t>(&hop - packet.leap->first)];
  LinkTimes* behind = hop.state;
  while (behind->guest != &own) behind = &behind->guest->before;
  *behind = own.before;
}

/// It is not entered on the links from this one on any more.
void Fabric::leave_links(Packet& packet, const Hop& from) {
  const Bytes bytes = packet.bytes();
  for (const Hop* hop = &from; hop <= packet.landing; ++hop) {
    LinkState& link = *hop->state;
    leave_as_guest(packet, *hop);
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
  for (const Hop* hop = packet.leap->first; hop != &stop; ++hop) {
    length = std::max(length, occupancy(packet, *hop));
    head += hop->forward;
    packet.landing = hop;
  }
  if (!packet.landing) end_leap(packet);
  packet.landing_tail = head + length;
  partition.schedule_at(packet, head);
}

/// Whether the packet, which comes now, is through before the next guest comes. A packet that takes no time
/// must still have the link before the guest. If somebody else has come at this instant, the simple path
/// decides.
bool Fabric::fits(const Packet& packet, const Hop& hop, const Gap& gap, Time now) const {
  const LinkState& link = *hop.state;
  if (gap.until == Time::never() || gap.found->instant == now) return false;
  if (link.passages && !may_go_among_trains(hop)) return false;
  const std::uint64_t key = packet.message->key_;
  const Time trains = link.passages ? Dispatcher::through_before(link, now, key) : Time();
  const Time start = std::max({now, gap.found->free_at, link.passed_until, trains});
  const Time end = std::max(start + occupancy(packet, hop), packet.tail);
  return start < gap.until && end <= gap.until && Dispatcher::leaves_room(link, now, key, end);
}

/// Serves the packet as if no guest came later, and puts it below these. Returns how long it waits.
Time Fabric::serve_in_gap(Packet& packet, const Hop& hop, LinkTimes& found, Time now) {
  LinkState& link = *hop.state;
  const LinkTimes last = std::exchange(static_cast<LinkTimes&>(link), {found.free_at, now, nullptr});
  const Time wait = serve(packet, hop, now);
  found = std::exchange(static_cast<LinkTimes&>(link), last);
  return wait;
}

/// A packet comes to a link with guests. If it is through before the next guest comes, it is served between
/// them: returns how long it waits. Otherwise the guests that are still to come are turned out.
std::optional<Time> Fabric::serve_between_guests(Packet& packet, const Hop& hop, Time now) {
  const Gap room = gap_at(*hop.state, now);
  if (fits(packet, hop, room, now)) return serve_in_gap(packet, hop, *room.found, now);
  turn_out(*hop.state);
  return std::nullopt;
}

/// `use` already counts the bytes of guests that have not come yet: takes them off.
void Fabric::take_off_guests(topology::LinkId id, Time now, LinkUse& use) const {
  const LinkState& link = links_[id.index];
  for (const LinkTimes* at = &link; at->guest && at->instant > now; at = &at->guest->before) {
    const Packet& packet = *at->guest->packet;
    const Bytes bytes = packet.bytes();
    use.bytes -= bytes;
    notes_.add(use.note, id, *packet.message, -1, Bytes() - bytes, Time());
  }
}

/// Turns out the guests that have not come yet, the last one first, so that each leaves the link as it was
/// before.
bool Fabric::turn_out(LinkState& link) {
  const Time now = link.domain->partition_.now();
  bool comes_now = false;
  while (link.guest && link.instant >= now) {
    Packet& packet = *link.guest->packet;
    const Hop& stop = packet.leap->hop_of(*link.guest);
    if (&stop == packet.hop) {  // it starts here
      if (!packet.message->route->source->give_up_start(packet)) break;
      continue;
    }
    comes_now = link.instant == now;
    stop_before(packet, stop);
  }
  link.guest = nullptr;
  return comes_now;
}

}  // namespace kernbench::device
