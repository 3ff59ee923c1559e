// Messages in the slots of their rings: overwritten too early, or never received.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/memory_order.hpp"
#include "data/run_facts.hpp"

namespace kernbench::data {

class SlotWatch {
 public:
  explicit SlotWatch(RunFacts& facts) : facts_(facts) {}

  /// A slot that was written again: what still needed the old content, and the send that wrote it.
  struct Overwritten {
    Event user;  // the last reader of the tile; the send that put it there if it had not even been received
    Event send;
  };

  // To be called in the order of records.
  void sent(const Event& event, const Message& message, Time start);
  void received(const Event& event, const Message& message, Time end);
  /// Any command: it may be a reader of received tiles. A send that forwards one has retired before its record
  /// ends, so that what it read may rightly have been overwritten by then.
  void ended(const Event& event, Time retired);
  /// The run has ended: who has not retired never will.
  void finish();

  /// What was found since it was last asked.
  std::vector<Overwritten> take_found() { return std::exchange(found_, {}); }

  /// The sends of messages that nobody received, in order of ring and number; of one ring, or of all.
  std::vector<Event> unread(std::optional<std::uint64_t> ring = {}) const;
  /// The ring is gone: forget its messages.
  void drop(std::uint64_t ring);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // ring and number
  struct Slot {
    Event send;
    bool received = false;
    std::uint32_t readers_left = 0;
    Event last_reader;  // in program order
    Event last_user;    // of those that have retired, and when
    Time last_use;
    std::optional<Event> overwritten_by;
    Time overwritten;
  };

  void judge(std::map<Key, Slot>::iterator slot);

  RunFacts& facts_;
  std::map<Key, Slot> slots_;
  std::map<std::pair<std::uint32_t, isa::CommandIndex>, Key> tiles_;  // by the receive that made them
  std::vector<Overwritten> found_;
};

}  // namespace kernbench::data
