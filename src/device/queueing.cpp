// Packets that wait for the port of a TCM without ceasing to be a train.
//
// A port is the last link of a route, and only when the last packet is through matters there. The units of the PE take it for
// their stores whenever they like, so packets wait: each for another time. A link serves them as they come: with `free` when it
// is free for a packet, and occupancy o, the packet is through at max(free + o, e), where e is its end had it found the
// link free. Packets that follow each other come no faster than the link serves them, so after n of them it is free at
// max(free + n · o, e of the last): one formula instead of n events. It is applied when somebody comes to the link, to
// those who came before him, and to all the rest to know when the message is delivered, until somebody comes again.
#include <algorithm>

#include "device/fabric.hpp"
#include "device/instant.hpp"

namespace kernbench::device {

namespace {

/// The next packet of a passage, when those before somebody who comes at `at` with that key have been served.
std::int64_t next_of(const Passage& p, Time at, std::uint64_t key) {
  return p.queues() ? p.train->fed : p.behind(at, key);
}

bool any_queue(const LinkState& link) {
  for (const Passage* p = link.passages; p; p = p->next)
    if (p->queues()) return true;
  return false;
}

/// Packets are served by arrival, then key.
struct Place {
  Time arrival;
  std::uint64_t key = 0;
  auto operator<=>(const Place&) const = default;
};

/// Of passages with packets behind somebody who comes at `at` with that key, the first one behind `since`.
Passage* next_behind(const LinkState& link, Time at, std::uint64_t key, const Place& since) {
  Passage* first = nullptr;
  Place best;
  for (Passage* p = link.passages; p; p = p->next) {
    const std::int64_t next = next_of(*p, at, key);
    if (next >= p->train->run.end) continue;
    const Place place{p->arrival(next), p->train->message->key()};
    if (place > since && (!first || place < best)) first = p, best = place;
  }
  return first;
}

/// The first passage that queues, of those with packets that come before `before`.
Passage* first_queued(const LinkState& link, Time before) {
  Passage* first = nullptr;
  Time best = before;
  for (Passage* p = link.passages; p; p = p->next) {
    if (!p->queues() || p->train->fed >= p->train->run.end) continue;
    if (const Time arrival = p->arrival(p->train->fed); arrival < best) first = p, best = arrival;
  }
  return first;
}

/// Whether the packets of a passage that have not been served come all before, or all behind, those from `first` to `last`.
bool keeps_clear(const Passage& p, Time first, Time last) {
  const Train& t = *p.train;
  const std::int64_t next = p.queues() ? t.fed : t.run.first;
  return next >= t.run.end || p.arrival(t.last()) < first || p.arrival(next) > last;
}

/// When the link is free for the next packet of a passage that queues.
Time free_for(const Passage& passage) {
  const LinkState& link = *passage.hop->state;
  const Time first = passage.arrival(passage.train->fed);
  Time free = std::max(link.free_at, link.passed_until);
  for (const Passage* p = link.passages; p; p = p->next) {
    const Train& t = *p->train;
    if (p == &passage || t.empty()) continue;
    if (p->queues()) {
      const bool before = t.fed < t.run.end && p->arrival(t.fed) < first;
      if (before) free = std::max(free, p->served(free_for(*p), t.fed, t.run.end));
    } else if (const std::int64_t end = p->after(first); end > t.run.first) {
      free = std::max(free, p->end(end - 1));
    }
  }
  return free;
}

}  // namespace

Time Passage::served(Time free, std::int64_t first, std::int64_t end) const {
  const bool has_short = !train->is_full(end - 1);
  const std::int64_t full_end = has_short ? end - 1 : end;
  if (first < full_end) free = std::max(free + hop->full * (full_end - first), this->end(full_end - 1));
  if (has_short) free = std::max(free + train->message->occupancy(*hop, end - 1), this->end(end - 1));
  return free;
}

/// Whether nobody looks at the packets one by one at this hop, and they are alike.
bool Dispatcher::may_queue(const Train& train, const Hop& hop) const {
  return hop.port && hop.last && !hop.crosses && !hop.arbitrated && !hop.is_first() &&
         hop.full != Time::never() && hop.longest != Time::never() && !train.message->followed;
}

/// Whether the train's packets from `next` on may queue there: not among those of other trains.
bool Dispatcher::can_queue(const Train& train, const Hop& hop, std::int64_t next) const {
  if (!may_queue(train, hop)) return false;
  const bool is_there = train.stop > &hop;
  const Time offset = is_there ? train.passages.back().offset : hop.before + train.held;
  const Time first = train.run.timing.start(next) + offset;
  const Time last = train.run.timing.start(train.last()) + offset;
  for (const Passage* p = hop.state->passages; p; p = p->next)
    if (p->train != &train && !keeps_clear(*p, first, is_there ? last : Time::never())) return false;
  return true;
}

/// At the hop behind its stretch.
bool Dispatcher::enter_queue(Train& train, const Hop& hop) {
  if (!can_queue(train, hop, train.run.first) || !enter(train, hop, Time())) return false;
  queue(train.passages.back(), train.run.first);
  return true;
}

/// From packet `next` on, packets of a passage wait for each other and for whoever else has the link.
void Dispatcher::queue(Passage& passage, std::int64_t next) {
  Train& train = *passage.train;
  LinkState& link = *passage.hop->state;
  if (next > train.run.first) {
    const Bytes bytes = train.bytes(train.run.first, next);
    link.passed_until = std::max(link.passed_until, passage.end(next - 1));
    link.bytes += bytes;
    if (fabric_.notes_.kept())
      fabric_.notes_.add(passage.hop->link, *train.message, next - train.run.first, bytes, Time());
  }
  train.fed = next;
  passage.through = Time::never();
}

/// Serves the packets that have come before `before`.
void Dispatcher::catch_up(LinkState& link, Time before) {
  while (Passage* p = first_queued(link, before)) serve_queued(*p, p->after(before - kTick));
}

void Dispatcher::serve_queued(Passage& passage, std::int64_t end) {
  Train& train = *passage.train;
  LinkState& link = *passage.hop->state;
  const Bytes bytes = train.bytes(train.fed, end);
  const Time free = free_for(passage);
  fabric_.note_wait(passage.hop->link, free - passage.arrival(train.fed));  // others wait less
  link.free_at = passage.served(free, train.fed, end);
  link.bytes += bytes;
  if (fabric_.notes_.kept())
    fabric_.notes_.add(passage.hop->link, *train.message, end - train.fed, bytes, Time());
  train.fed = end;
}

/// Those who have not come, when the link will be free at `free` for the first of them: when are they through?
void Dispatcher::line_up(LinkState& link, Time at, std::uint64_t key, Time free) {
  if (!any_queue(link)) return;
  Time passed;  // by trains that do not queue
  Place since{Time::from_ps(-1), 0};
  while (Passage* p = next_behind(link, at, key, since)) {
    const std::int64_t next = next_of(*p, at, key);
    since = {p->arrival(next), p->train->message->key()};
    if (!p->queues() && p->begin(next) < free && !give_way(*p, next, at)) continue;
    if (p->queues()) {
      free = p->served(std::max(free, passed), next, p->train->run.end);
      deliver_at(*p->train, free + p->hop->forward);
    } else {
      passed = std::max(passed, p->through);
    }
  }
}

/// Packets from `next` on cannot have the link as planned, because of somebody who comes at `at`: whether they queue now. Else they come alone.
bool Dispatcher::give_way(Passage& passage, std::int64_t next, Time at) {
  const bool is_among_heads = passage.hop->state->instant == at && passage.arrival(next) == at;
  const bool queues =
      !is_among_heads && passage.hold == Time() && can_queue(*passage.train, *passage.hop, next);
  queues ? queue(passage, next) : displace(passage, next);
  return queues;
}

void Dispatcher::deliver_at(Train& train, Time tail) {
  Message& message = *train.message;
  if (train.run.end != message.packets_) return;
  sim::Event& delivery = message.delivery();
  if (delivery.scheduled()) {
    if (delivery.time() == tail) return;
    partition_.cancel(delivery);
  }
  partition_.schedule_at(delivery, tail);
}

bool Dispatcher::bring_heads(LinkState& link) {
  if (!any_queue(link)) return false;
  const Time now = partition_.now();
  catch_up(link, now);
  Passage* p = first_queued(link, now + kTick);
  if (p) displace(*p, p->train->fed);
  return p != nullptr;
}

void Dispatcher::look_at_queue(const Passage& passage, Time now, LinkUse& use) const {
  const Train& train = *passage.train;
  const std::int64_t end = passage.after(now);
  if (end <= train.fed) return;
  const Bytes bytes = train.bytes(train.fed, end);
  use.bytes += bytes;
  use.deepest_wait = std::max(use.deepest_wait, free_for(passage) - passage.arrival(train.fed));
  fabric_.notes_.add(use.note, passage.hop->link, *train.message, end - train.fed, bytes, Time());
}

}  // namespace kernbench::device
