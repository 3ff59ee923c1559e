#include "device/link_gate.hpp"

#include <algorithm>

#include "device/fabric.hpp"
#include "device/instant.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

LinkGate::LinkGate(Fabric& fabric, const Hop& hop)
    : fabric_(fabric),
      link_(*hop.state),
      partition_(hop.state->domain->partition_),
      rank_(choice_rank(Chooser::link, hop.link.index)) {}

models::WaitingPacket LinkGate::shown(const Waiting& waiting) const {
  const Packet& packet = *waiting.packet;
  return {.arrival = waiting.arrival,
          .tail = packet.tail,
          .bytes = packet.bytes(),
          .message_bytes = packet.message->bytes,
          .occupancy = fabric_.occupancy(packet, *waiting.hop),
          .traffic = static_cast<int>(packet.message->channel),
          .sender = packet.message->key() >> 32};
}

Time LinkGate::pass(const Waiting& chosen, const models::WaitingPacket& shown,
                    const models::Passing& passing) {
  Packet& packet = *chosen.packet;
  const Hop& hop = *chosen.hop;
  const Time now = partition_.now();
  KB_ASSERT(passing.busy >= shown.occupancy && passing.delay >= Time(),
            "a link model let {} bytes pass in {} ps, which take {} ps, with a delay of {} ps",
            shown.bytes.count(), passing.busy.ps(), shown.occupancy.ps(), passing.delay.ps());
  const Time end = std::max(now + passing.busy, packet.tail);
  link_.free_at = std::max(end, now + Time::from_ps(1));
  fabric_.note_wait(hop.link, now - chosen.arrival);
  link_.bytes += shown.bytes;
  if (fabric_.notes_.kept())
    fabric_.notes_.add(hop.link, *packet.message, 1, shown.bytes, now - chosen.arrival);
  ++link_.domain->counters_.packet_hops;
  if (fabric_.watcher_) [[unlikely]]
    fabric_.watcher_->on_link(*packet.message, packet.index, hop, now, end);
  Message& message = *packet.message;
  if (&hop == &message.route->first() && packet.is_last()) fabric_.leaves(message, link_.free_at);
  last_head_ = std::max(last_head_, now + hop.forward + passing.delay);
  last_tail_ = std::max(last_tail_, end + hop.forward + passing.delay);
  packet.hop = &hop;
  packet.tail = last_tail_;
  packet.crossing = false;
  partition_.post(fabric_.simulation_.partition(hop.next_partition), packet, last_head_ - now);
  return end;
}

}  // namespace kernbench::device
