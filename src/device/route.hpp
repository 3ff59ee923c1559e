// Routes as the fabric runs them: the links of a path with everything a packet needs to cross them.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "kernbench/graph.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

class Source;
class Message;
struct LinkState;

/// The time the packets of a message take at some bandwidth. Packet p carries the bytes
/// [p · packet, min((p + 1) · packet, message)); it takes ⌈end/bw⌉ − ⌈begin/bw⌉.
class PacketTimes {
 public:
  PacketTimes() = default;
  PacketTimes(Bandwidth bandwidth, Bytes packet);

  Bandwidth bandwidth() const { return bandwidth_; }
  /// What every full packet takes; `never` if rounding makes them differ.
  Time full() const { return uniform_ ? full_ : Time::never(); }
  /// From the first byte of the message to the first byte of packet `p`.
  Time until(std::int64_t p) const { return uniform_ ? full_ * p : bandwidth_.time_for(packet_ * p); }
  /// Packet `p` of a message of `bytes` alone.
  Time of(std::int64_t p, Bytes bytes) const {
    const Bytes end = packet_ * (p + 1);
    if (uniform_ && end <= bytes) return full_;
    return bandwidth_.time_for(packet_ * p, std::min(end, bytes));
  }

 private:
  Bandwidth bandwidth_;
  Bytes packet_;
  Time full_;             // a full packet
  bool uniform_ = false;  // every full packet takes `full_`, without rounding
};

struct Hop {
  // What every packet needs.
  LinkState* state = nullptr;  // the fabric's own
  Time forward;                // wire + overhead of the node the link leads to
  Time full;                   // occupancy of a full packet; `never` if they differ
  bool last = false;           // of the route
  bool crosses = false;        // leads to another partition

  topology::LinkId link;
  int partition = 0;       // of the node the link leaves
  int next_partition = 0;  // of the node it leads to
  PacketTimes times;
  Time before;  // Σ forward of the hops before this one
};

/// The one way from a node to another. Immutable but for the fabric's own bookkeeping.
struct Route {
  topology::NodeId from, to;
  std::vector<Hop> hops;
  PacketTimes pace;        // of the slowest link: no packet is offered faster
  Time latency;            // Σ forward: when a message of no bytes arrives
  int partition = 0;       // where it begins
  int last_partition = 0;  // where it ends
  bool local = false;      // all of it in one partition

  // The fabric's own.
  Source* source = nullptr;  // who offers packets to the first link
  Time next_offer;           // no packet of any message leaves earlier
  Message* runs = nullptr;   // messages under way in one piece
  int taken_apart = 0;       // messages under way packet by packet, in its first partition

  /// How long packet `p` occupies a hop: its time at the link's bandwidth. A faster link never takes longer
  /// than the slowest one, not even by the picosecond that rounding would give.
  Time occupancy(const Hop& hop, std::int64_t p, Bytes bytes) const {
    return std::min(hop.times.of(p, bytes), pace.of(p, bytes));
  }
};

/// Routes by their ends, made when first asked for. One book per partition: routes are the sender's.
class RouteBook {
 public:
  RouteBook(const topology::Graph& graph, Bytes packet) : graph_(graph), packet_(packet) {}
  Route& route(topology::NodeId from, topology::NodeId to);

 private:
  std::unique_ptr<Route> make(topology::NodeId from, topology::NodeId to) const;
  Time arrival_overhead(topology::NodeId node) const;

  const topology::Graph& graph_;
  Bytes packet_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Route>> routes_;
};

}  // namespace kernbench::device
