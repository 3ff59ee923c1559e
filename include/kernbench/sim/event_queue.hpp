// The event queue: a hierarchical timing wheel. Push, pop and cancel take constant time; none allocates.
#pragma once

#include <kernbench/error.hpp>
#include <kernbench/sim/event.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kernbench::sim {

/// Holds events in order of (time, insertion).
///
/// Eight levels of 256 slots, one level per byte of the time. An event stands at the level of the highest
/// byte in which its time differs from `now()`, in the slot that byte names. A slot of level 0 therefore
/// holds one instant; a slot of a higher level holds a range, and is spread over the lower levels, all empty
/// by then, when the clock reaches it. Lists keep insertion order in both moves, so equal times pop as they
/// were pushed.
class EventQueue {
 public:
  /// The clock: the time of the last event popped, or later after `pop` came back empty or `advance`.
  Time now() const { return now_; }
  std::size_t size() const { return size_; }
  std::size_t peak_size() const { return peak_; }

  /// Adds `e` behind all events of the same time. `at` must not lie in the past.
  void push(Event& e, Time at) {
    KB_ASSERT(at >= now_, "an event at {} ps was scheduled at {} ps: the past cannot be changed", at.ps(),
              now_.ps());
    KB_ASSERT(!e.scheduled(), "an event for {} ps was scheduled twice", e.time_.ps());
    e.time_ = at;
    link(e);
    if (++size_ > peak_) peak_ = size_;
  }

  /// Takes the next event if it is due at or before `limit`, and moves the clock to it. Otherwise returns
  /// null; the clock may then have moved, to `limit` at most.
  Event* pop(Time limit) {
    if (words_ == 0) return nullptr;
    const std::size_t slot = first_slot();
    Event* tail = slots_[slot];
    Event* head = tail->next_;
    if (slot >= kSlotsPerLevel && head != tail) return pop_from_range(slot, limit);
    if (head->time_ > limit) return nullptr;
    now_ = head->time_;
    unlink_head(slot);
    return head;
  }

  /// Takes `e` out again. Returns false if it is in no queue; it must not be in another one.
  bool cancel(Event& e);

  /// No event is earlier than this; exact unless events of different times share the first slot. `never` if
  /// empty.
  Time bound() const {
    if (words_ == 0) return Time::never();
    const std::size_t slot = first_slot();
    return mixed(slot) ? start_of(slot) : slots_[slot]->time_;
  }

  /// Moves the clock to `to`, which no event may precede.
  void advance(Time to);

  /// Moves the clock of an empty queue anywhere, also back.
  void set_clock(Time to) {
    KB_ASSERT(size_ == 0, "{} events are still to come: the clock cannot be set", size_);
    now_ = to;
  }
  /// Drops all events, sets the clock to zero and forgets the peak.
  void clear();

 private:
  static constexpr int kBits = 8;
  static constexpr std::size_t kSlotsPerLevel = 1U << kBits;
  static constexpr std::size_t kSlots = kSlotsPerLevel * (64 / kBits);

  static int shift_of(std::size_t slot) { return static_cast<int>(slot / kSlotsPerLevel) * kBits; }
  std::size_t slot_of(Time t) const {
    const auto ps = static_cast<std::uint64_t>(t.ps());
    const int differing = 63 - std::countl_zero((ps ^ static_cast<std::uint64_t>(now_.ps())) | 1);
    const int level = differing / kBits;
    return static_cast<std::size_t>(level) * kSlotsPerLevel +
           ((ps >> (level * kBits)) & (kSlotsPerLevel - 1));
  }
  std::size_t first_slot() const {
    const auto word = static_cast<std::size_t>(std::countr_zero(words_));
    return word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word]));
  }
  Time start_of(std::size_t slot) const {
    const int shift = shift_of(slot);
    return Time::from_ps(slots_[slot]->time_.ps() >> shift << shift);
  }

  static std::uint64_t bit_of(std::size_t slot) { return std::uint64_t{1} << (slot % 64); }
  bool mixed(std::size_t slot) const { return (mixed_[slot / 64] & bit_of(slot)) != 0; }

  void link(Event& e) {
    const std::size_t slot = slot_of(e.time_);
    if (Event* tail = slots_[slot]) {
      if (tail->time_ != e.time_) mixed_[slot / 64] |= bit_of(slot);
      e.next_ = tail->next_;
      e.prev_ = tail;
      tail->next_ = &e;
      slots_[slot] = &e;
    } else {
      e.next_ = e.prev_ = &e;
      occupy(slot, e);
    }
  }
  void unlink_head(std::size_t slot) {
    Event* tail = slots_[slot];
    Event* head = tail->next_;
    if (head != tail) {
      tail->next_ = head->next_;
      prefetch(head->next_);
    } else {
      vacate(slot);
      if (words_ != 0) prefetch(slots_[first_slot()]);
    }
    head->next_ = head->prev_ = nullptr;
    --size_;
  }
  // What fires next is loaded while the present event is at work: the event, and what it is embedded in.
  static void prefetch(const Event* e) {
    __builtin_prefetch(e);
    __builtin_prefetch(reinterpret_cast<const char*>(e) + 64);
  }
  void occupy(std::size_t slot, Event& tail) {
    slots_[slot] = &tail;
    occupied_[slot / 64] |= bit_of(slot);
    words_ |= std::uint32_t{1} << (slot / 64);
  }
  void vacate(std::size_t slot) {
    slots_[slot] = nullptr;
    mixed_[slot / 64] &= ~bit_of(slot);
    occupied_[slot / 64] &= ~bit_of(slot);
    if (occupied_[slot / 64] == 0) words_ &= ~(std::uint32_t{1} << (slot / 64));
  }
  Event* pop_from_range(std::size_t slot, Time limit);
  Time earliest_in(std::size_t slot, int look_at_most) const;
  void enter(std::size_t slot, Time to);

  Time now_;
  std::uint32_t words_ = 0;                            // which words of `occupied_` are not zero
  std::array<std::uint64_t, kSlots / 64> occupied_{};  // which slots are not empty
  std::array<std::uint64_t, kSlots / 64> mixed_{};     // which slots hold, or held, more than one instant
  std::size_t size_ = 0;
  std::size_t peak_ = 0;
  std::array<Event*, kSlots> slots_{};  // the last event of a circular list, or null
};

}  // namespace kernbench::sim
