// The gate before a link that does not just serve packets as they come: it has a model (arbiter.hpp), or leads into or out of a
// router whose buffers are finite (credit_link.hpp). Packets come to such a gate one by one, and wait there.
#pragma once

#include "device/message.hpp"
#include "kernbench/link_model.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::device {

class LinkGate {
 public:
  LinkGate(Fabric& fabric, const Hop& hop);
  LinkGate(const LinkGate&) = delete;
  LinkGate& operator=(const LinkGate&) = delete;
  virtual ~LinkGate() = default;

  /// The head of a packet is at the link, or it starts here.
  virtual void arrive(Packet& packet, const Hop& hop) = 0;

 protected:
  struct Waiting {
    Packet* packet;
    const Hop* hop;  // the link, as the packet's route has it
    Time arrival;
  };

  /// Of those who come at one instant, the one with the smaller key goes first.
  static bool goes_before(const Waiting& a, const Waiting& b) {
    if (a.arrival != b.arrival) return a.arrival < b.arrival;
    return a.packet->message->key() < b.packet->message->key();
  }
  models::WaitingPacket shown(const Waiting& waiting) const;
  /// The formula of a link, with what a model adds; when the last byte will have left. What leaves a link arrives in the order in which
  /// it left.
  Time pass(const Waiting& chosen, const models::WaitingPacket& shown, const models::Passing& passing);

  Fabric& fabric_;
  LinkState& link_;
  sim::Partition& partition_;
  const std::uint64_t rank_;  // among those who choose at one instant

 private:
  Time last_head_, last_tail_;  // at the next node, of the packet before
};

}  // namespace kernbench::device
