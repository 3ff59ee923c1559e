// A link with a model (kernbench/link_model.hpp): packets wait here until the model lets them go.
//
// Whoever comes at an instant is there before the model chooses: the choice is made in the second phase of the instant. So nothing
// depends on the order of events, and nothing is taken back.
#pragma once

#include <memory>
#include <vector>

#include "device/message.hpp"
#include "kernbench/link_model.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::device {

class Arbiter {
 public:
  Arbiter(Fabric& fabric, const Hop& hop, std::unique_ptr<models::LinkModel> model);

  /// The head of a packet is at the link, or it starts here.
  void arrive(Packet& packet, const Hop& hop);

 private:
  struct Waiting {
    Packet* packet;
    const Hop* hop;  // the link, as the packet's route has it
    Time arrival;
    bool starts;  // here
  };

  void ask();
  void decide();
  void show();
  void send(const Waiting& chosen, const models::WaitingPacket& shown);

  Fabric& fabric_;
  LinkState& link_;
  sim::Partition& partition_;
  const std::uint64_t rank_;  // among those who choose at one instant
  const std::unique_ptr<models::LinkModel> model_;
  std::vector<Waiting> waiting_;  // by arrival, then by sender
  std::vector<models::WaitingPacket> shown_;
  std::vector<std::size_t> shown_at_;  // in `waiting_`
  Time last_head_, last_tail_;         // at the next node, of the packet before
  sim::MemberEvent<&Arbiter::ask> link_is_free_;
  sim::MemberEvent<&Arbiter::decide> all_are_here_;
};

}  // namespace kernbench::device
