// A link with a model (kernbench/link_model.hpp): packets wait here until the model lets them go.
//
// Whoever comes at an instant is there before the model chooses: the choice is made in the second phase of the instant. So nothing
// depends on the order of events, and nothing is taken back.
#pragma once

#include <memory>
#include <vector>

#include "device/link_gate.hpp"

namespace kernbench::device {

class Arbiter final : public LinkGate {
 public:
  Arbiter(Fabric& fabric, const Hop& hop, std::unique_ptr<models::LinkModel> model);

  void arrive(Packet& packet, const Hop& hop) override;

 private:
  void ask();
  void decide();
  void show();

  const std::unique_ptr<models::LinkModel> model_;
  std::vector<Waiting> waiting_;  // by arrival, then by sender
  std::vector<models::WaitingPacket> shown_;
  std::vector<std::size_t> shown_at_;  // in `waiting_`
  sim::MemberEvent<&Arbiter::ask> link_is_free_;
  sim::MemberEvent<&Arbiter::decide> all_are_here_;
};

}  // namespace kernbench::device
