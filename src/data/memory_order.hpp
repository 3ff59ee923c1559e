// Which accesses the memory order of the machine puts one after the other.
//
// Commands of one PE run out of order, so an event is ordered after another only through a chain of: a tile
// produced and read; wait, fence and load_scalar, which hold back what follows; accesses of one PE to
// overlapping bytes; a send and its receive; the end of a launch and what follows in its stream; the order of
// the host.
//
// Each event has a clock: prefixes of other PEs' programs that certainly came before it (fences and ends of
// launches make prefixes). If the clock does not answer, the chain is looked for backwards, command by
// command; only through events later than the one looked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "data/clock.hpp"
#include "data/run_facts.hpp"
#include "kernbench/error.hpp"
#include "kernbench/program.hpp"

namespace kernbench::data {

/// A command of a program, or a transfer of the host (`command` is kNone).
struct Event {
  std::uint32_t origin = 0;
  isa::CommandIndex command = isa::kNone;
  friend bool operator==(const Event&, const Event&) = default;
};

class MemoryOrder {
 public:
  explicit MemoryOrder(RunFacts& facts) : facts_(facts) {}

  /// The event has ended. To be called in the order of records; of sends and receives with their message. A send of a
  /// reference has ended for memory when it has read it, and is `sent` later.
  void ended(const Event& event);
  void sent(const Event& event, const Message& message);
  void received(const Event& event, const Message& message);
  /// Both are of one PE and touch the same bytes.
  void overlapped(const Event& earlier, const Event& later);

  /// Events of one agent are never hazards to each other.
  Agent agent_of(const Event& event) { return timeline(event.origin).agent; }
  std::uint64_t position_of(const Event& event) {
    const Timeline& mine = timeline(event.origin);
    return mine.program == nullptr ? mine.base : mine.base + event.command;
  }
  ClockPtr clock_of(const Event& event);
  /// Null for requests of the host. Something of the event's origin must have ended.
  const isa::Program* program_of(const Event& event) const {
    KB_ASSERT(event.origin < timelines_.size() && timelines_[event.origin] != nullptr,
              "nothing of origin {} has ended, but its place in the order is asked for", event.origin);
    return timelines_[event.origin]->program;
  }
  /// Both have ended, `a` before `b`, and they are of different agents.
  bool is_before(const Event& a, const Event& b);

 private:
  struct Mark {  // from this command on, issue has waited for what the clock says
    isa::CommandIndex from;
    ClockPtr clock;
  };
  struct Step {                // what became of a command
    ClockPtr known = nullptr;  // null: what issue knew
    std::uint64_t ended = 0;   // when, counted from 1
    Event send = {};           // of a receive
  };
  struct Timeline {  // a program at work, or a transfer of the host
    const isa::Program* program = nullptr;
    Agent agent = 0;
    std::uint64_t base = 0;  // position of its first command
    std::vector<Mark> issue;
    std::vector<isa::CommandIndex> controls;  // wait, fence and load_scalar
    std::size_t controls_passed = 0;
    isa::CommandIndex last_fence = 0;         // among those passed
    std::vector<Step> steps;                  // by command
    std::vector<isa::CommandIndex> receives;  // in the order they ended
    /// Pairs (later, earlier) of commands that touched the same bytes. The first `overlaps_in_order` are
    /// sorted.
    std::vector<std::pair<isa::CommandIndex, isa::CommandIndex>> overlaps;
    std::size_t overlaps_in_order = 0;
  };
  struct Request {
    ClockPtr start = nullptr;
    std::uint64_t position = 0;
    Agent stream = 0;
    std::vector<std::uint32_t> timelines;
    bool completed = false;
    ClockPtr end = nullptr;
  };
  struct Stream {
    Agent agent = 0;
    std::uint64_t requests = 0;
    std::uint32_t current = 0;
  };
  struct Sent {  // and not yet received
    std::uint32_t number;
    Event event;
    ClockPtr clock;
  };
  class Search;

  Timeline& timeline(std::uint32_t origin) {
    if (origin < timelines_.size() && timelines_[origin]) [[likely]]
      return *timelines_[origin];
    return new_timeline(origin);
  }
  Timeline& new_timeline(std::uint32_t origin);
  Request& request(std::uint32_t number);
  ClockPtr end_of(std::uint32_t request);
  ClockPtr end_of_all(const std::vector<std::uint32_t>& requests);
  ClockPtr end_of_timeline(Timeline& mine);

  ClockPtr issue_clock(Timeline& mine, isa::CommandIndex command);
  void pass(Timeline& mine, isa::CommandIndex control);
  ClockPtr after_fence(Timeline& mine, ClockPtr before, isa::CommandIndex fence);
  ClockPtr clock_of(Timeline& mine, isa::CommandIndex command);
  ClockPtr operands_clock(Timeline& mine, isa::CommandIndex command);
  void note(Timeline& mine, isa::CommandIndex command, ClockPtr clock);

  RunFacts& facts_;
  std::uint64_t now_ = 0;
  Agent agents_ = 0;
  Clocks clocks_;
  std::vector<std::unique_ptr<Timeline>> timelines_;  // by origin
  std::vector<std::unique_ptr<Request>> requests_;    // by number
  std::map<std::uint32_t, Stream> streams_;
  std::map<const std::vector<std::uint32_t>*, ClockPtr> ends_;  // of requests that many come after
  std::map<PeCoord, std::pair<Agent, std::uint64_t>> pes_;      // and the next free position
  std::vector<std::vector<Sent>> sent_;                         // by ring: not more than it has slots
};

}  // namespace kernbench::data
