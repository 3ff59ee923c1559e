// Messages and packets: what crosses the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/ready_times.hpp"
#include "device/route.hpp"
#include "kernbench/sim/event.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

class Fabric;
class Lane;
class Packet;
class Train;

/// Traffic classes. Each has a queue of its own where messages enter the fabric; they are served in turn.
enum class Channel : std::uint8_t { compute, queue, credit };
inline constexpr std::size_t kChannels = 3;

/// What a message is for: bytes that somebody wants to have elsewhere, or what it takes to get them.
enum class Purpose : std::uint8_t { data, request, acknowledgement };

/// When the packets of a message start on their route. Where nothing holds them up, they reach every hop, and
/// the end, that much later.
struct Timing {
  Time origin;                   // packet p starts at origin + p · period, if there is a period;
  Time period;                   //
  const Time* starts = nullptr;  // else at starts[p], if there is such a list; else at the route's pace
  const PacketTimes* pace = nullptr;

  Time start(std::int64_t p) const {
    if (period > Time()) return origin + period * p;
    return starts ? starts[p] : origin + pace->until(p);
  }
  /// The first packet of first … end − 1 that starts after `at`; `end` if none does.
  std::int64_t after(Time at, std::int64_t first, std::int64_t end) const;
};

/// Packets first … end − 1 of a message, which come at known times.
struct Run {
  std::int64_t first = 0;
  std::int64_t end = 0;
  Timing timing;
  /// Zero if they have waited nowhere: then they are as long as the slowest link so far made them. Otherwise they have all
  /// waited for the same time, which is in the timing, and are full packets of this length.
  Time length;

  bool waited() const { return length > Time(); }
};

// The events of a message are bases of it: as members they would each need a pointer back to it.
class Leaving : public sim::Event {
 protected:
  using Event::Event;
};

class Delivery : public sim::Event {
 protected:
  using Event::Event;
};

/// A number of bytes on its way from one node to another. Senders derive from it, say what is to be sent,
/// call `Fabric::send`, and keep it alive until it is delivered; then it may be sent again.
///
/// It is kept small, for there are many: while one waits for its turn, so much else happens on a large machine that its
/// cache lines have to be loaded again.
class Message : private Leaving, private Delivery {
 public:
  Message() : Leaving(&fire_leaving), Delivery(&fire_delivery) {}
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;

  Bytes bytes;  // at least 1

 private:
  struct Uneven;
  std::array<Train*, kLegs> trains_{};  // under way in each leg, in order; each leg's are its partition's
  std::unique_ptr<Uneven> uneven_;      // where its packets are not all alike: made when first needed
  std::int32_t next_packet_ = 0;        // the first that has not left
  std::int32_t packets_ = 0;
  std::uint64_t key_ = 0;

 public:
  // From here on, 64 bytes that a source looks at for each message that is open: a cache line.
  Route* route = nullptr;
  /// When each packet may leave; empty: at once.
  ReadyTimes ready;
  Channel channel = Channel::compute;
  /// Whether anybody wants to know when it has left and of its packets: else none of `on_left`, `on_packet`, `on_run`
  /// and `on_run_cut` is called.
  bool followed = true;
  Purpose purpose = Purpose::data;

 private:
  // Those who get it look at these while it is under way: nothing that changes then may lie in the same byte.
  bool short_tail_ : 1 = false;    // the last packet is not like the others
  bool looked_at_ : 1 = true;      // packet by packet, by who gets it
  bool wants_leaving_ : 1 = true;  // its sender wants to know when it has left

 public:
  /// Among messages of a class that come to a source at one instant, the smaller goes first; of equal ones, the one that was
  /// sent first, which must not depend on the order in which different components come to act.
  std::uint32_t rank = 0;

  /// Only so many packets as `ready` has times for may leave; the others when it has: see `Fabric::more_is_ready`.
  void wait_for_packets() { ready.wait_for_more(); }
  void forget_ready() { ready.clear(); }

  /// Whether who gets it looks at packets as they come: else none of `on_packet`, `on_run` and `on_run_cut` is called.
  void look_at_packets(bool look) { looked_at_ = look; }

  /// Whether its sender wants to know when it has left. If not, `on_left` is not called.
  void tell_when_left(bool tell) { wants_leaving_ = tell; }

  std::int64_t packets() const { return packets_; }
  /// Its order at links where heads arrive at one instant: by sender, then age.
  std::uint64_t key() const { return key_; }
  /// When the last byte of packet `p` of a run is at its destination.
  Time run_tail(const Run& run, std::int64_t p) const {
    return run.timing.start(p) + route->latency + (run.waited() ? run.length : pace(p));
  }
  // The times of packet `p`, as the route has them; those of the last packet are worked out once.
  Time occupancy(const Hop& hop, std::int64_t p) const {
    return is_measured(p) ? uneven_->tail[route->index(hop)].occupancy : route->occupancy(hop, p, bytes);
  }
  Time length(const Hop& hop, std::int64_t p) const {
    return is_measured(p) ? uneven_->tail[route->index(hop)].length : route->length(hop, p, bytes);
  }
  Time pace(std::int64_t p) const {
    return is_measured(p) ? uneven_->tail.back().length : route->pace.of(p, bytes);
  }

 protected:
  /// The last byte has left the sender. Called in the sender's partition.
  virtual void on_left() {}
  /// The last byte has arrived. Called in the receiver's partition.
  virtual void on_delivered() = 0;

  // For receivers that work on packets as they come. A packet that comes alone is told by `on_packet`: when
  // its head is there, or, the last packet of a message, at the latest when all of it is. Several packets are
  // told by one `on_run`, before they come: they arrive at `run_tail(p)`. `on_run_cut` takes that back from
  // packet `from` on, of the run that ends before `end`: these come alone after all.
  virtual void on_packet(std::int64_t /*packet*/, Time /*tail*/) {}
  virtual void on_run(const Run& /*run*/) {}
  virtual void on_run_cut(std::int64_t /*from*/, std::int64_t /*end*/) {}

 private:
  friend class Fabric;
  friend class Source;
  friend class Dispatcher;
  friend class Lane;

  /// Whether anything happens when it has left.
  bool leaving_matters() const { return (followed && wants_leaving_) || (lane_ && next_in_lane_); }
  /// Whether anything happens when the head of a packet is there.
  bool is_looked_at() const { return followed && looked_at_; }
  static void fire_leaving(sim::Event& e) { static_cast<Message&>(static_cast<Leaving&>(e)).leave(); }
  static void fire_delivery(sim::Event& e) { static_cast<Message&>(static_cast<Delivery&>(e)).deliver(); }
  void leave();
  void deliver();
  bool is_measured(std::int64_t p) const { return p + 1 == packets_ && short_tail_; }
  void measure_tail();
  Time ready_at(std::int64_t p) const {
    if (ready.waits_for_more() && p >= ready.packets()) return Time::never();
    return ready.empty() ? Time() : ready[p];
  }
  /// Whether it is known of all packets when they may leave.
  bool knows_all() const { return !ready.waits_for_more() || ready.packets() == packets_; }
  sim::Event& leaving() { return static_cast<Leaving&>(*this); }
  sim::Event& delivery() { return static_cast<Delivery&>(*this); }

  /// What is known of packets that are not all alike.
  struct Uneven {
    /// The times of a last packet that is shorter, on each hop. Messages are mostly sent again as they were.
    struct TailTimes {
      Time occupancy, length;
    };
    std::vector<TailTimes> tail;
    const Route* tail_route = nullptr;  // for which they were worked out,
    Bytes tail_bytes;                   // and for this size
    std::vector<Time> starts;           // of packets, where `ready` makes them uneven
  };
  Uneven& uneven();
  /// Of a message of one packet that is not full: its times from this hop on. Null of any other.
  const Uneven::TailTimes* tail_times(const Hop& hop) const {
    return packets_ == 1 && short_tail_ ? &uneven_->tail[route->index(hop)] : nullptr;
  }

  Lane* lane_ = nullptr;
  Message* next_in_lane_ = nullptr;
};

struct Guest;

/// The state of a link as the next arrival finds it.
struct LinkTimes {
  Time free_at;                      // when all that came alone, and all guests, are through
  Time instant = Time::from_ps(-1);  // when the latest of them came or will come
  Guest* guest = nullptr;            // comes at `instant` without a stop; stale when that is over (leap.cpp)
};

/// A packet that crosses a link without a stop.
struct Guest {
  LinkTimes before;  // what the link is like before it comes
  Packet* packet = nullptr;
};

/// The links that a packet crosses without a stop.
struct Leap {
  static constexpr std::size_t kMost = 25;  // links; on a longer way it lands and leaps again
  Leap* next = nullptr;                     // in a pool
  const Hop* first = nullptr;               // of these links
  std::array<Guest, kMost> guests;          // on each of them

  const Hop& hop_of(const Guest& guest) const { return first[&guest - guests.data()]; }
};

/// A packet in flight. Its event is the arrival of its head at the end of the link it has taken, or of those it crosses behind
/// that without a stop. Those of a link arrive in the order in which they took it, so only the first is scheduled: where thousands
/// wait for a link, the event queue has one of them.
class Packet : public sim::Event {
 public:
  Packet() : Event(&arrive) {}

  Message* message = nullptr;
  const Hop* hop = nullptr;      // the link it has taken last
  const Hop* landing = nullptr;  // the last link that it crosses without a stop (leap.cpp)
  Leap* leap = nullptr;    // these links: from the one behind `hop`, or from `hop` if it starts by itself
  Packet* next = nullptr;  // in a pool; or ahead of this one on the link; or the next one to be served again
  Packet* behind = nullptr;  // on the link
  Time due;                  // when its head (or last byte) is at the end of `hop`; booked: when it starts
  Time came;                 // when it came to the link; `never` if it started there
  Time tail;                 // when its last byte is where its head is now
  Time link_was_free_at;     // before this packet took its link
  Time tail_before_link;     // what `tail` was then
  Time landing_tail;         // what `tail` will be where it lands
  std::int32_t index = 0;    // which packet of the message
  std::int16_t home = 0;     // the partition whose pool it is from
  bool full = false;         // as large as packets are
  bool crossing = false;     // has taken a link to another partition and is still on this side

  /// On a link: with its header.
  Bytes bytes() const {
    const PacketFormat& format = message->route->pace.format();
    return format.end(index, message->bytes) - format.begin(index);
  }
  bool is_last() const { return index + 1 == message->packets(); }

 private:
  static void arrive(sim::Event& e);
};

}  // namespace kernbench::device
