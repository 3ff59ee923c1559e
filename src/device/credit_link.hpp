// Links into and out of routers with finite buffers (`cube.routers.flow: credits`).
//
// A router keeps what comes over a link in a buffer for each virtual channel. A packet may start on a link into a router when the
// buffer it will lie in has room: the link has a credit for every place. It gives up its place when its last byte has left the router,
// and the credit is back at the link a wire's time later. Only the first packet of a buffer can go on. All other nodes take what comes
// without limit. ADR 41 says which channel a packet takes, and why packets never wait for each other in a circle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/link_gate.hpp"
#include "device/pool.hpp"

namespace kernbench::device {

class CreditLink final : public LinkGate {
 public:
  /// `model` may be null: first come, first served.
  CreditLink(Fabric& fabric, const Hop& hop, std::unique_ptr<models::LinkModel> model);
  ~CreditLink() override;

  void arrive(Packet& packet, const Hop& hop) override;

 private:
  /// Packets of one virtual channel at a node, in order. In a router they have come over `over`; elsewhere, or if they start here, they
  /// have not, and there is room for any number.
  struct Buffer {
    explicit Buffer(CreditLink* link, std::int64_t places) : over(link), room(places) {}
    CreditLink* over;
    std::int64_t room;
    std::vector<Waiting> packets;  // from `first` on
    std::size_t first = 0;

    bool empty() const { return first == packets.size(); }
    const Waiting& front() const { return packets[first]; }
    void push(const Waiting& newcomer);
    void pop();
  };
  using Buffers = std::vector<std::unique_ptr<Buffer>>;  // by channel

  /// A credit on its way back.
  class Credit : public sim::Event {
   public:
    Credit() : Event(&fire) {}
    Buffer* buffer = nullptr;
    Credit* next = nullptr;

   private:
    static void fire(sim::Event& e);
  };

  Buffer& buffer(Buffers& all, std::size_t channel, bool finite);
  Buffer& place_of(const Packet& packet, const Hop& hop);
  Buffer* room_for(const Waiting& waiting);
  void contend(Buffer& buffer);
  void ask();
  void decide();
  std::size_t choose();
  void send(std::size_t contender);
  void give_back(Buffer& buffer, Time at);
  void take_back(Credit& credit);

  const std::unique_ptr<models::LinkModel> model_;
  const bool into_router_, from_router_;
  const Time wire_;                  // that a credit takes back
  Buffers beyond_;                   // at the router it leads to
  Buffers here_;                     // of those who start here, or wait at a node that is no router
  std::vector<Buffer*> contenders_;  // whose first packet wants this link
  std::vector<Buffer*> can_go_;      // of these, those with room beyond
  std::vector<models::WaitingPacket> shown_;
  Time stalled_since_ = Time::never();  // it was free, and somebody wanted it, and nobody had room
  Pool<Credit, 8> credits_;
  sim::MemberEvent<&CreditLink::ask> link_is_free_;
  sim::MemberEvent<&CreditLink::decide> all_are_here_;
};

}  // namespace kernbench::device
