// What had certainly happened by some moment, as a vector clock that is worked out when somebody asks.
//
// Nearly all moments of a run are never asked about, and most questions are answered by what happened just before.
// So a clock only remembers which clocks it was made of; the entries of all agents are added up once a question
// goes further back than a few steps, and kept then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kernbench::data {

/// A PE, or a stream of the host.
using Agent = std::uint32_t;

class Clock;
/// Null: nothing is known.
using ClockPtr = const Clock*;

/// For each agent how many of its first events are known to have happened; events count from 0.
class Clock {
 public:
  std::uint64_t of(Agent agent) const;
  /// Whether that event is known to have happened.
  static bool covers(ClockPtr clock, Agent agent, std::uint64_t event);
  /// The same by a short look: false may also mean that it would take a longer one.
  static bool covers_nearby(ClockPtr clock, Agent agent, std::uint64_t event) {
    return clock != nullptr && clock->covers_within(kShortLook, agent, event);
  }

 private:
  friend class Clocks;
  struct Entry {
    Agent agent;
    std::uint64_t events;
  };
  using Entries = std::vector<Entry>;  // ascending by agent
  // Clocks that are looked at. A long look is worth it where all entries would have to be added up otherwise.
  static constexpr std::size_t kShortLook = 8, kLongLook = 64;

  bool is_made_of(ClockPtr other) const { return parts_[0] == other || parts_[1] == other; }
  template <class Fn>
  void for_parts(Fn&& fn) const;
  bool covers_within(std::size_t steps, Agent agent, std::uint64_t event) const;
  const Entries& entries() const;
  void add_up() const;

  Agent agent_ = 0;
  std::uint64_t events_ = 0;  // of `agent_`; 0: none
  ClockPtr parts_[2] = {nullptr, nullptr};
  std::unique_ptr<std::vector<ClockPtr>> more_;  // parts beyond two
  mutable std::unique_ptr<const Entries> entries_;
};

/// Makes clocks and keeps them.
class Clocks {
 public:
  /// What either knows.
  ClockPtr join(ClockPtr a, ClockPtr b);
  /// What all of them know.
  ClockPtr join(std::span<const ClockPtr> all);
  /// What `a` knows, and the first `events` events of `agent`.
  ClockPtr with(ClockPtr a, Agent agent, std::uint64_t events);

 private:
  static constexpr std::size_t kChunk = 512;
  Clock& make();

  std::vector<std::unique_ptr<Clock[]>> chunks_;
  std::size_t left_ = 0;  // of the last one
};

}  // namespace kernbench::data
