#include <kernbench/sim/event_queue.hpp>

#include <algorithm>

namespace kernbench::sim {

// Moves the clock into the range of `slot`, the first occupied one: to its earliest event, or to `limit` if
// that comes first. Returns whether an event is due by `limit`.
bool EventQueue::spread(std::size_t slot, Time limit) {
  if (start_of(slot) > limit) return false;
  const Event* tail = slots_[slot];
  Time earliest = tail->time_;
  for (const Event* e = tail->next_; e != tail; e = e->next_) earliest = std::min(earliest, e->time_);
  now_ = std::min(earliest, limit);
  relink_all(slot);
  return earliest <= limit;
}

// Sorts the events of `slot` in anew, relative to the present clock.
void EventQueue::relink_all(std::size_t slot) {
  Event* tail = slots_[slot];
  Event* e = tail->next_;
  vacate(slot);
  while (true) {
    Event* next = e->next_;
    link(*e);
    if (e == tail) return;
    e = next;
  }
}

bool EventQueue::cancel(Event& e) {
  if (!e.scheduled() || e.time_ < now_) return false;
  const std::size_t slot = slot_of(e.time_);
  Event* tail = slots_[slot];
  if (tail == nullptr) return false;
  Event* before = tail;
  while (before->next_ != &e) {
    before = before->next_;
    if (before == tail) return false;
  }
  if (&e == tail) slots_[slot] = before;
  before->next_ = e.next_;
  if (before == &e) vacate(slot);
  e.next_ = nullptr;
  --size_;
  return true;
}

void EventQueue::advance(Time to) {
  KB_ASSERT(to >= now_, "the clock stands at {} ps and cannot go back to {} ps", now_.ps(), to.ps());
  if (words_ != 0 && start_of(first_slot()) <= to)
    spread(first_slot(), to);
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
