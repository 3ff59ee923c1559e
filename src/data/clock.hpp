// What had certainly happened by some moment, as a vector clock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace kernbench::data {

/// A PE, or a stream of the host.
using Agent = std::uint32_t;

/// For each agent how many of its first events are known to have happened; events count from 0. Immutable and
/// shared, as most moments know no more than the one before. Null: nothing.
class Clock;
using ClockPtr = std::shared_ptr<const Clock>;

class Clock {
 public:
  std::uint64_t of(Agent agent) const;

  /// What either knows.
  static ClockPtr join(const ClockPtr& a, const ClockPtr& b);
  /// What `a` knows, and the first `events` events of `agent`.
  static ClockPtr with(const ClockPtr& a, Agent agent, std::uint64_t events);
  /// Whether that event is known to have happened.
  static bool covers(const ClockPtr& a, Agent agent, std::uint64_t event) {
    return a != nullptr && a->of(agent) > event;
  }

 private:
  struct Entry {
    Agent agent;
    std::uint64_t events;
  };
  bool contains(const Clock& other) const;

  std::vector<Entry> entries_;  // ascending by agent
};

}  // namespace kernbench::data
