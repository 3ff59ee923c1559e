#include <kernbench/sim/event_queue.hpp>

#include <algorithm>
#include <limits>

namespace kernbench::sim {

namespace {
// To enter a slot at its earliest event saves steps through the levels between. Looking for that event pays
// only in short lists.
constexpr int kWorthALook = 4;
}  // namespace

// The first occupied slot is of a higher level and holds several events.
Event* EventQueue::pop_from_range(std::size_t slot, Time limit) {
  if (start_of(slot) > limit) return nullptr;
  enter(slot, std::min(earliest_in(slot, kWorthALook), limit));
  return pop(limit);
}

// The time of the earliest event of `slot`, or the start of its range if it holds more events than
// `look_at_most`.
Time EventQueue::earliest_in(std::size_t slot, int look_at_most) const {
  const Event* tail = slots_[slot];
  Time earliest = tail->time_;
  if (!mixed(slot)) return earliest;
  for (const Event* e = tail->next_; e != tail; e = e->next_) {
    if (--look_at_most == 0) return start_of(slot);
    earliest = std::min(earliest, e->time_);
  }
  return earliest;
}

// Moves the clock to `to`, within the range of the first occupied slot, and the events of the slot to where
// they stand as seen from there. In a long list each event is a load that waits for the one before it: a scout
// comes from the other end and loads the second half meanwhile.
void EventQueue::enter(std::size_t slot, Time to) {
  Event* tail = slots_[slot];
  Event* e = tail->next_;
  const bool one_instant = !mixed(slot);
  vacate(slot);
  now_ = to;
  if (one_instant) return occupy(slot_of(tail->time_), *tail);
  for (const Event* scout = tail;;) {
    Event* next = e->next_;
    if (scout != nullptr) scout = scout == e || scout == next ? nullptr : scout->prev_;
    __builtin_prefetch(scout);  // or the compiler would leave the scout out
    link(*e);
    if (e == tail) return;
    e = next;
  }
}

bool EventQueue::cancel(Event& e) {
  if (e.prev_ == nullptr) return false;
  const std::size_t slot = slot_of(e.time_);
  Event* const tail = slots_[slot];
  KB_ASSERT(e.time_ >= now_ && tail != nullptr, "an event at {} ps is in another queue", e.time_.ps());
  if (tail->next_ == &e) {
    unlink_head(slot);
  } else {
    e.prev_->next_ = e.next_;
    if (&e == tail)
      slots_[slot] = e.prev_;
    else
      e.next_->prev_ = e.prev_;
    e.next_ = e.prev_ = nullptr;
    --size_;
  }
  if (Event* const last = slots_[slot]; last != nullptr && last->next_ == last)
    mixed_[slot / 64] &= ~bit_of(slot);  // a single event is of one instant
  return true;
}

void EventQueue::advance(Time to) {
  KB_ASSERT(to >= now_, "the clock stands at {} ps and cannot go back to {} ps", now_.ps(), to.ps());
  if (words_ != 0 && start_of(first_slot()) <= to)
    enter(first_slot(), std::min(to, earliest_in(first_slot(), std::numeric_limits<int>::max())));
  else
    now_ = to;
  KB_ASSERT(now_ == to, "an event at {} ps is still to come: the clock cannot pass it", now_.ps());
}

void EventQueue::clear() {
  while (words_ != 0) unlink_head(first_slot());
  now_ = Time();
  peak_ = 0;
}

}  // namespace kernbench::sim
