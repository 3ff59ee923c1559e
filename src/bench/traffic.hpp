// Made-up traffic over the fabric: nodes that send messages to each other at a given rate, whatever becomes of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "kernbench/graph.hpp"

namespace kernbench::bench {

enum class Pattern : std::uint8_t { uniform, hotspot, transpose, neighbour, complement };
inline const std::vector<std::string> kPatterns = {"uniform", "hotspot", "transpose", "neighbour",
                                                   "complement"};

struct TrafficSpec {
  Pattern pattern = Pattern::uniform;
  bool over_cubes = false;  // else over the routers of a cube
  int sip = 0, cube = 0;    // the SIP, and the cube whose routers it is
  Bytes message;
  double hot_share = 0.25;    // of the messages that go to the hot spot; the others are uniform
  std::int64_t messages = 0;  // of each node, in two intervals
  std::uint64_t seed = 0;
  const std::atomic<bool>* interrupt = nullptr;  // set: `run` stops between two events with Interrupted
};

/// The fabric keeps up with a load if at least this share of what is offered is accepted.
inline constexpr double kKeepsUp = 0.95;

/// What came of one offered load.
struct TrafficPoint {
  double load = 0;          // of what a node can send
  double offered_gbs = 0;   // of each node that sends, while messages were measured
  double accepted_gbs = 0;  // that arrived in that time
  double mean_ns = 0, most_ns = 0,
         p99_ns = 0;          // from the instant a message is made until its last byte is there
  std::int64_t messages = 0;  // measured
  bool stable = false;        // both means were, before the most intervals had passed
};

/// A place that sends and receives. A cube's messages come from any of its PEs and go to any PE of the other.
struct TrafficNode {
  int x = 0, y = 0;
  std::vector<topology::NodeId> from, to;
};

class Traffic {
 public:
  /// InputError if the pattern does not fit the machine.
  Traffic(device::Device& device, const TrafficSpec& spec);

  const std::vector<TrafficNode>& nodes() const { return nodes_; }
  /// Which of them is the hot spot.
  int hot_spot() const { return hot_spot_; }
  /// The rate of a node at a load of 1: of a router what one link carries, of a cube what one of its ports does.
  Bandwidth full_rate() const { return rate_; }
  /// How many times what it can carry the busiest link is asked for at a load of 1, headers and all.
  double demand() const;
  /// Lets the nodes send at this share of the full rate until the mean time of messages is stable, and then waits until the fabric is empty
  /// again. Time goes in intervals in which a node makes `messages` / 2 messages on average. The first ones warm up, until the mean time
  /// of the messages that arrive in one is within 5 % of that in the one before. Then messages are measured until the mean time of all
  /// that were made since and have arrived has moved by at most 1 % in an interval. At most 8 intervals warm up and at most 32 are
  /// measured; two, if it did not warm up or less than 95 % of what is offered arrives. Then the point is not stable. After an interrupt the
  /// device is good for nothing any more.
  TrafficPoint run(double load);
  /// Of all messages so far: those that never arrived, and those that were faster than wires, overheads and their bytes allow.
  std::int64_t lost() const { return made_ - arrived_; }
  std::int64_t too_fast() const { return too_fast_; }

 private:
  class Sender;
  class Shot;
  struct Measured;

  void find_routers();
  void find_cubes();
  void check() const;
  std::vector<int> targets_of(int node) const;
  void find_hot_spot();
  Time longest_way() const;
  void proceed(Time until);
  bool warm_up(Measured& measured, Time interval);
  bool measure(Measured& measured, Time interval, bool warm);

  device::Device& device_;
  const TrafficSpec spec_;
  int w_ = 0, h_ = 0;
  int hot_spot_ = 0;  // the node nearest the middle of the grid, the first of equals
  Bandwidth rate_;
  std::vector<TrafficNode> nodes_;
  std::int64_t made_ = 0, arrived_ = 0, too_fast_ = 0;
};

}  // namespace kernbench::bench
