// The links that leave a node (kinds `router`, `ucie`, `io_noc`, `pcie_ep`, `switch`), as a model: who goes next, when the link is
// free again, when the packet is at the next node.
//
//   class SmallFirst : public models::LinkModel {
//     std::size_t choose(std::span<const models::WaitingPacket> waiting, Time) override {
//       return std::min_element(…) by message_bytes …;
//     }
//   };
//   registry.components.add_impl("router", {"acme.small_first", "…", {}, models::links<SmallFirst>()});
//
// Contract. Every link has a model of its own, which may keep state. When a link is free and packets have come to it, `choose` is
// asked once, after everything that arrives at that instant has; then `pass` says what becomes of the one that was chosen. A
// packet that has been at the head of the queue longest is index 0. Packets of one message keep their order: of each message only
// the first is shown. What leaves a link arrives in the order in which it left. A model must choose one of those it is shown: it
// cannot leave the link idle while somebody waits. kernbench/testing/model_contracts.hpp checks what can be checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernbench/param.hpp"
#include "kernbench/units.hpp"

namespace kernbench::models {

/// A packet at a link, its head at least.
struct WaitingPacket {
  Time arrival;         // of its head
  Time tail;            // when its last byte is here
  Bytes bytes;          // of the packet
  Bytes message_bytes;  // of the message it is part of
  Time occupancy;       // its time at the link's bandwidth
  int traffic = 0;      // 0: loads and stores, 1: queues between PEs, 2: credits
  std::uint64_t sender =
      0;  // equal numbers: the same sender; the smaller one came first in the order of the machine
};

/// What becomes of a packet that starts on the link now.
struct Passing {
  Time busy;   // how long nobody else can start; never less than the packet's occupancy
  Time delay;  // how much later than by wire and overhead it is at the next node
};

class LinkModel {
 public:
  virtual ~LinkModel() = default;
  /// Who goes next: an index of `waiting`, which is in order of arrival, of one instant by sender, and not empty.
  virtual std::size_t choose(std::span<const WaitingPacket> /*waiting*/, Time /*now*/) { return 0; }
  /// The one that was chosen goes now. By default it has the link for its occupancy.
  virtual Passing pass(const WaitingPacket& packet, Time /*now*/) { return {packet.occupancy, Time()}; }
  /// Whether it serves packets in order of arrival and delays none, whatever happened before. Then it is never asked: the
  /// fabric computes this by itself, and may move runs of packets in one event.
  virtual bool regular() const { return false; }
};

/// First come, first served; what ships.
class RegularLink final : public LinkModel {
 public:
  RegularLink() = default;
  explicit RegularLink(const ParamSet&) {}
  bool regular() const override { return true; }
};

using LinkFactory = std::function<std::unique_ptr<LinkModel>(const ParamSet&)>;

/// For models that are made from their node's parameters.
template <class Model>
LinkFactory links() {
  return [](const ParamSet& params) { return std::make_unique<Model>(params); };
}

}  // namespace kernbench::models
