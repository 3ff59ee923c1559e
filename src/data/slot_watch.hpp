// Messages in the slots of their rings: overwritten too early, or never received.
#pragma once

#include <cstdint>
#include <optional>
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

  bool has_found() const { return !found_.empty(); }
  /// What was found since it was last asked.
  std::vector<Overwritten> take_found() { return std::exchange(found_, {}); }

  /// The sends of messages that nobody received, in order of ring and number; of one ring, or of all.
  std::vector<Event> unread(std::optional<std::uint32_t> ring = {}) const;
  /// The ring is gone: forget its messages.
  void drop(std::uint32_t ring);

 private:
  struct Slot {
    std::uint32_t number = 0;
    std::uint32_t readers_left = 0;
    Event send;
    bool received = false;
    Event last_reader;  // in program order
    Event last_user;    // of those that have retired, and when
    Time last_use;
    std::optional<Event> overwritten_by;
    Time overwritten;
  };
  struct Watched {             // a ring
    std::optional<Ring> ring;  // none: nothing was sent yet, or it is gone
    std::vector<Slot>
        slots;  // messages that may still be overwritten, or were too early: about as many as slots
  };
  struct Tile {                       // received, with readers left
    std::uint32_t ring = isa::kNone;  // kNone: none left
    std::uint32_t number = 0;
  };

  Watched& watched(std::uint32_t ring);
  static Slot* find(Watched& ring, std::uint32_t number);
  void judge(Watched& ring, Slot& slot);
  void read(Tile& tile, const Event& reader, Time retired);
  template <class Fn>
  void for_slots(const Watched& ring, Fn&& fn) const;  // in order

  RunFacts& facts_;
  std::vector<Watched> rings_;            // by number
  std::vector<std::vector<Tile>> tiles_;  // by origin, and by the receive that made them
  std::vector<Overwritten> found_;
};

}  // namespace kernbench::data
