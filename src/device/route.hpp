// Routes as the fabric runs them: the links of a path with everything a packet needs to cross them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernbench/graph.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

class Fabric;
class Source;
class Message;
struct LinkState;

/// Messages that go out in order: each is sent when the one before has left.
class Lane {
 public:
  /// `rank` is that of its messages, where the sender cares.
  explicit Lane(std::uint32_t rank = 0) : rank_(rank) {}
  std::uint32_t rank() const { return rank_; }
  void send(Fabric& fabric, Message& message);
  bool sends(const Message& message) const { return first_ == &message; }

 private:
  friend class Message;
  friend class Fabric;
  void advance(Fabric& fabric);

  Message* first_ = nullptr;  // being sent
  Message* last_ = nullptr;
  /// When the first one will have left, if nobody waits for that: after this time it may be gone. `never`:
  /// not known yet, or an event will say.
  Time left_at_ = Time::never();
  const std::uint32_t rank_;
};

/// What a packet carries at most, and what it takes on a link beside that.
struct PacketFormat {
  Bytes payload;
  Bytes header;

  Bytes wire() const { return payload + header; }
  /// Where packet `p` of a message of `bytes` begins and ends on a link, counted from the message's first byte there.
  Bytes begin(std::int64_t p) const { return wire() * p; }
  Bytes end(std::int64_t p, Bytes bytes) const {
    return std::min(payload * (p + 1), bytes) + header * (p + 1);
  }
};

/// The time the packets of a message take at some bandwidth. Packet p carries the bytes
/// [p · payload, min((p + 1) · payload, message)) and its header; it takes ⌈end/bw⌉ − ⌈begin/bw⌉.
class PacketTimes {
 public:
  PacketTimes() = default;
  PacketTimes(Bandwidth bandwidth, PacketFormat format);

  Bandwidth bandwidth() const { return bandwidth_; }
  const PacketFormat& format() const { return format_; }
  Bytes packet() const { return format_.payload; }
  /// What every full packet takes; `never` if rounding makes them differ.
  Time full() const { return uniform_ ? full_ : Time::never(); }
  /// No packet takes longer: ⌈a + b⌉ ≤ ⌈a⌉ + ⌈b⌉.
  Time most() const { return full_; }
  /// Whether there are packets that take none: several of them leave at one instant.
  bool may_take_no_time() const { return !uniform_ && full_ == Time::from_ps(1); }
  /// From the first byte of the message to the first byte of packet `p`.
  Time until(std::int64_t p) const { return uniform_ ? full_ * p : bandwidth_.time_for(format_.begin(p)); }
  /// Packet `p` of a message of `bytes` alone.
  Time of(std::int64_t p, Bytes bytes) const {
    if (uniform_ && format_.payload * (p + 1) <= bytes) return full_;
    return bandwidth_.time_for(format_.begin(p), format_.end(p, bytes));
  }

 private:
  Bandwidth bandwidth_;
  PacketFormat format_;
  Time full_;             // a full packet
  bool uniform_ = false;  // every full packet takes `full_`, without rounding
};

/// A link of a route. One cache line.
struct alignas(64) Hop {
  Fabric* fabric = nullptr;    // that it is of,
  LinkState* state = nullptr;  // and what that knows of the link
  Time forward;                // wire + overhead of the node the link leads to
  Time before;                 // Σ forward of the hops before this one
  Time full;                   // how long a full packet occupies it alone; `never` if they differ
  Time longest;                // the longest `full` up to here: how long a packet is that waited nowhere
  topology::LinkId link;
  std::int16_t partition = 0;       // of the node the link leaves
  std::int16_t next_partition = 0;  // of the node it leads to
  std::uint8_t leg = 0;             // which part of the route: parts lie in one partition each
  bool last = false;                // of the route
  bool crosses = false;             // leads to another partition
  bool arbitrated = false;          // packets come to it one by one, and wait at its gate (link_gate.hpp)
  bool open = false;                // packets may cross it without a stop (leap.cpp)
  bool port = false;                // a TCM's, which the units of its PE use, too (port.hpp)
  std::uint8_t bandwidth = 0;       // which of its route's
  std::uint8_t layer = 0;  // of the virtual channels at its end, if that is a router with finite buffers

  /// Whether messages start here: every link takes some time.
  bool is_first() const { return before == Time(); }
};
static_assert(sizeof(Hop) == 64);

/// A route lies in one partition; or goes to or comes from the host's; or leads through it to another SIP's.
inline constexpr std::size_t kLegs = 3;

/// All that a message of no bytes needs to know of its route.
struct SignalRoute {
  Time latency;            // Σ forward: when it arrives
  int partition = 0;       // where it begins
  int last_partition = 0;  // where it ends
};

/// The one way from a node to another. Immutable but for the fabric's own bookkeeping.
struct alignas(64) Route : SignalRoute {
  // A message needs two cache lines. What is the fabric's own is marked with *.
  int last_leg = 0;
  std::vector<Hop> hops;
  Source* source = nullptr;  // * who offers packets to the first link
  Time next_offer;           // * no packet of any message leaves earlier
  PacketTimes pace;          // of the slowest link: no packet is offered faster
  Lane answers;              // * of a memory: data of reads leaves in the order of the requests
  topology::NodeId from, to;
  std::vector<Bandwidth> bandwidths;  // of the hops: the few there are
  std::uint64_t mark = 0;             // * of whoever looks for routes that occur twice

  const Hop& first() const { return hops.front(); }
  std::size_t index(const Hop& hop) const { return static_cast<std::size_t>(&hop - hops.data()); }
  bool is_full(std::int64_t p, Bytes bytes) const { return pace.packet() * (p + 1) <= bytes; }

  /// How long packet `p` occupies a hop: its time at the link's bandwidth. A faster link never takes longer
  /// than the slowest one, not even by the picosecond that rounding would give.
  Time occupancy(const Hop& hop, std::int64_t p, Bytes bytes) const {
    if (hop.full != Time::never() && is_full(p, bytes)) return hop.full;
    const PacketFormat& format = pace.format();
    const Time alone = bandwidths[hop.bandwidth].time_for(format.begin(p), format.end(p, bytes));
    return std::min(alone, pace.of(p, bytes));
  }
  /// Whether two packets of a message may take a hop at the same instant, because the first takes no
  /// countable time. Both are at its end at one instant, too, and only the order of their events would tell
  /// them apart.
  bool may_coincide(const Hop& hop) const {
    return hop.full == Time::never() &&
           PacketTimes(bandwidths[hop.bandwidth], pace.format()).may_take_no_time();
  }
  /// How long the packet occupies a hop if it waited nowhere: its tail comes as the slowest link so far let it.
  Time length(const Hop& hop, std::int64_t p, Bytes bytes) const {
    if (hop.longest != Time::never() && is_full(p, bytes)) return hop.longest;
    Time longest;
    for (const Hop* h = hops.data(); h <= &hop; ++h) longest = std::max(longest, occupancy(*h, p, bytes));
    return longest;
  }
};

/// Routes by their ends, made when first asked for. One book per partition: routes are the sender's.
class RouteBook {
 public:
  RouteBook(const topology::Graph& graph, PacketFormat format) : graph_(graph), format_(format) {}
  Route& route(topology::NodeId from, topology::NodeId to);
  /// The same past a third node: data that an engine passes on as it comes.
  Route& route(topology::NodeId from, topology::NodeId via, topology::NodeId to);
  /// For messages of no bytes.
  SignalRoute& signal_route(topology::NodeId from, topology::NodeId to);

 private:
  std::unique_ptr<Route> make(topology::NodeId from, topology::NodeId to,
                              const std::vector<topology::LinkId>& links) const;

  const topology::Graph& graph_;
  PacketFormat format_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Route>> routes_;
  std::unordered_map<std::uint64_t, SignalRoute> signal_routes_;
  std::map<std::array<std::uint32_t, 3>, std::unique_ptr<Route>> detours_;
};

}  // namespace kernbench::device
