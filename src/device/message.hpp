// Messages and packets: what crosses the fabric.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/route.hpp"
#include "kernbench/sim/event.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

class Fabric;
class Lane;

/// Traffic classes. Each has a queue of its own where messages enter the fabric; they are served in turn.
enum class Channel : std::uint8_t { compute, queue, credit };
inline constexpr std::size_t kChannels = 3;

/// A number of bytes on its way from one node to another. Senders derive from it, say what is to be sent,
/// call `Fabric::send`, and keep it alive until it is delivered; then it may be sent again.
class Message {
 public:
  Message() : left_(*this), delivered_(*this) {}
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;

  Route* route = nullptr;
  Bytes bytes;  // at least 1
  Channel channel = Channel::compute;
  /// When each packet may leave, ascending; empty: at once.
  std::vector<Time> ready;

  std::int64_t packets() const { return packets_; }
  /// While the message moves in one piece: when the last byte of packet `p` is at its destination.
  Time run_tail(std::int64_t p) const { return run_start(p) + route->latency + route->pace.of(p, bytes); }

 protected:
  /// The last byte has left the sender. Called in the sender's partition.
  virtual void on_left() {}
  /// The last byte has arrived. Called in the receiver's partition.
  virtual void on_delivered() = 0;

  // For receivers that work on packets as they come. Either `on_packet` for each packet, from its head's
  // arrival, or `on_run` once: then packets arrive at `run_tail(p)`, unless `on_run_cut(p)` says that from
  // packet p on they come one by one after all.
  virtual void on_packet(std::int64_t /*packet*/, Time /*tail*/) {}
  virtual void on_run() {}
  virtual void on_run_cut(std::int64_t /*from*/) {}

 private:
  friend class Fabric;
  friend class Source;
  friend class RunMode;
  friend class Packet;
  friend class Lane;

  void leave();
  void deliver();
  Time run_start(std::int64_t p) const {
    return starts_.empty() ? first_start_ + route->pace.until(p) : starts_[static_cast<std::size_t>(p)];
  }
  Time ready_at(std::int64_t p) const { return ready.empty() ? Time() : ready[static_cast<std::size_t>(p)]; }

  sim::MemberEvent<&Message::leave> left_;
  sim::MemberEvent<&Message::deliver> delivered_;
  Fabric* fabric_ = nullptr;
  Lane* lane_ = nullptr;
  Message* next_in_lane_ = nullptr;
  std::int64_t packets_ = 0;
  std::int64_t next_packet_ = 0;  // the first that has not left
  std::uint64_t key_ = 0;         // order at links where heads arrive at one instant: by sender, then age
  Time opened_;

  // In one piece.
  bool in_run_ = false;
  Message* next_run_ = nullptr;  // of the same route
  Time first_start_;
  Time offer_before_;         // the route's next offer before this message took its place
  std::vector<Time> starts_;  // where `ready` makes them uneven
};

/// A packet in flight. Its event is the arrival of its head at the end of the link it has taken.
class Packet : public sim::Event {
 public:
  Packet() : Event(&arrive) {}

  Message* message = nullptr;
  const Hop* hop = nullptr;  // the link it has taken last
  Packet* next = nullptr;    // in a pool; or served before this one at the same link and instant
  Time tail;                 // when its last byte is where its head is now
  Time link_was_free_at;     // before this packet took its link
  Time tail_before_link;     // what `tail` was then
  std::int32_t index = 0;    // which packet of the message
  std::int32_t bytes = 0;
  bool crossing = false;  // has taken a link to another partition and is still on this side

 private:
  static void arrive(sim::Event& e);
};

/// Packets of one partition. A packet may end its way in another partition, and on another thread; it is then
/// handed back.
class PacketPool {
 public:
  Packet& take() {
    if (!free_) refill();
    return *std::exchange(free_, free_->next);
  }
  /// In the pool's own partition.
  void give_back(Packet& packet) { packet.next = std::exchange(free_, &packet); }
  /// From another partition.
  void hand_back(Packet& packet);
  std::size_t made() const { return chunks_.size() * kChunk; }

 private:
  static constexpr std::size_t kChunk = 64;
  void refill();

  Packet* free_ = nullptr;
  std::atomic<Packet*> returned_ = nullptr;
  std::vector<std::unique_ptr<std::array<Packet, kChunk>>> chunks_;
};

}  // namespace kernbench::device
