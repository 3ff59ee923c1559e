#include "device/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "device/fabric.hpp"
#include "device/instant.hpp"

namespace kernbench::device {

namespace {

// How many packets in a row must have waited alike before a train that was held up is tried again: at first, and
// at most, for every time it was in vain costs more than a packet.
constexpr int kFirstPatience = 4;
constexpr int kMostPatience = 512;

}  // namespace

Time LinkState::busy_with_trains(Time at, std::uint64_t key) {
  return domain->dispatcher().busy_until(*this, at, key);
}

void LinkState::displace_trains(Time at, std::uint64_t key, Time until) {
  domain->dispatcher().make_way(*this, at, key, until);
}

Train& Dispatcher::take(Message& message, const Run& run, const Hop& begin) {
  Train& train = trains_.take();
  train.message = &message;
  train.dispatcher = this;
  train.run = run;
  train.came_length = run.length;
  train.begin = train.stop = &begin;
  train.held = Time();
  train.feeds = false;
  train.fed = run.first;
  train.calm = 0;
  train.patience = kFirstPatience;
  train.passages.clear();
  train.passages.reserve(message.route->hops.size());
  train.next = nullptr;
  return train;
}

bool Dispatcher::dispatch(Message& message, const Hop& from, const Run& run, bool first_link_is_free) {
  Train& train = take(message, run, from);
  extend(train, first_link_is_free ? &from : nullptr);
  const bool at_source = from.is_first();
  if (at_source && train.stop == train.begin) {
    trains_.give_back(train);
    return false;
  }
  Train** at = &message.trains_[from.leg];
  while (*at) at = &(*at)->next;
  *at = &train;
  go_on(train);
  return true;
}

/// A border needs somebody behind it, and time to tell.
bool Dispatcher::can_cross(const Hop& hop) const { return !hop.last && fabric_.grace_ > Time(); }

bool Dispatcher::can_start(const Route& route) const {
  return !route.first().arbitrated && (!route.first().crosses || can_cross(route.first()));
}

/// Enters the train on further links of its leg, up to one on which its packets would not all be served alike. One of
/// them may be known to be free.
void Dispatcher::extend(Train& train, const Hop* free) {
  for (train.feeds = true; train.feeds;) {
    const Hop& hop = *train.stop;
    if (hop.arbitrated) return;
    // A list of starts is the source's, which may change it.
    if (hop.crosses && (train.run.timing.starts || !can_cross(hop))) return;
    fabric_.clear(*hop.state);
    const Time hold = &hop == free ? Time() : hold_at(train, hop);
    if (hold == Time::never() ? !enter_queue(train, hop) : !enter(train, hop, hold)) return;
    train.feeds = !hop.crosses && !hop.last;
  }
}

namespace {

/// How long packets are on the next hop, if they all wait there for `hold`.
Time length_on(const Hop& hop, const Run& run, Time hold) {
  if (!run.waited() && hold == Time()) return hop.longest;
  const bool at_source = hop.is_first();
  const Time came = run.waited() || at_source ? run.length : (&hop)[-1].longest;
  if (hop.full == Time::never() || came == Time::never()) return Time::never();
  return std::max(came - hold, hop.full);
}

/// As they come out of the stretch.
Run as_they_leave(const Train& train) {
  Run run = train.run;
  run.timing.origin += train.held;
  return run;
}

}  // namespace

/// How long each of the train's packets would have to wait at the hop behind its stretch; `never` if they would not wait
/// alike, or if somebody would have to wait for them.
Time Dispatcher::hold_at(const Train& train, const Hop& hop) const {
  const LinkState& link = *hop.state;
  const Time first = train.arrival(train.run.first);
  const Time free = std::max(link.free_at, link.passed_until);
  if (free > first) return Time::never();
  if (!hop.is_first() && free == first && train.route().may_coincide(hop)) return Time::never();
  if (is_clear(link, first)) return Time();
  Time hold;
  for (const Passage* p = link.passages; p; p = p->next)
    hold = std::max(hold, p->queues() ? Time::never() : p->delays(train, first));
  if (hold == Time::never()) return hold;
  const Time length = length_on(hop, train.run, hold);
  const Time most = length != Time::never() ? length : train.route().pace.most();
  for (const Passage* p = link.passages; p; p = p->next)
    if (!p->leaves_room(train, first, hold + most)) return Time::never();
  const bool can_wait = !hop.is_first() && length != Time::never() && train.is_full(train.last());
  return hold == Time() || can_wait ? hold : Time::never();
}

bool Dispatcher::enter(Train& train, const Hop& hop, Time hold) {
  const Time length = length_on(hop, train.run, hold);
  const bool waited = train.run.waited() || hold > Time();
  if (waited && length == Time::never()) return false;
  train.passages.push_back({&train, &hop, nullptr, hop.before + train.held, hold, length, Time()});
  Passage& passage = train.passages.back();
  passage.through = passage.end(train.last());
  link(passage);
  train.held += hold;
  train.run.length = waited ? length : Time();
  train.stop = &hop + 1;
  return true;
}

void Dispatcher::link(Passage& passage) {
  passage.next = std::exchange(passage.hop->state->passages, &passage);
  passage.previous = nullptr;
  if (passage.next) passage.next->previous = &passage;
  if (passage.hold > Time()) ++holds_;
}

/// What comes behind its stretch: its packets, one by one; or all of them, as the plan has it.
void Dispatcher::go_on(Train& train) {
  if (train.feeds) return partition_.schedule_at(train, train.arrival(train.fed));
  announce(train);
}

void Dispatcher::announce(Train& train) {
  Message& message = *train.message;
  const Run run = as_they_leave(train);
  if (train.stop[-1].crosses) {
    post(train, run, false);
    return partition_.schedule_at(train, train.through());
  }
  if (message.is_looked_at()) message.on_run(run);
  if (run.end == message.packets_)
    deliver_at(train, message.run_tail(run, train.last()));
  else
    partition_.schedule_at(train, train.through());
  if (LinkState& link = *train.stop[-1].state; train.passages.back().queues())
    line_up(link, partition_.now(), 0, busy_until(link, partition_.now(), 0));
}

void Train::fire(sim::Event& e) {
  auto& train = static_cast<Train&>(e);
  train.dispatcher->fire(train);
}

/// The next packet of the train reaches the link behind its stretch.
void Dispatcher::feed(Train& train) {
  const Hop& before = train.stop[-1];
  const std::int64_t p = train.fed++;
  const Run& run = train.run;
  Packet& packet = fabric_.take_packet(*train.message, p, domain_);
  packet.hop = &before;
  packet.tail = partition_.now() + (run.waited() ? run.length : train.message->length(before, p));
  const std::uint32_t serial = train.serial;
  train.fed == run.end ? remove(train) : go_on(train);
  const Time wait = fabric_.serve_in_order(packet, (&before)[1], partition_.now());
  if (train.serial != serial) return;  // it is no more
  train.calm = wait == std::exchange(train.last_wait, wait) ? train.calm + 1 : 0;
  if (train.stop->arbitrated) return;
  if (train.calm >= train.patience || can_queue(train, *train.stop, train.fed)) try_whole(train);
}

/// The packets that have not gone on alone try to go on as a train.
void Dispatcher::try_whole(Train& train) {
  train.calm = 0;
  train.patience = std::min(2 * train.patience, kMostPatience);
  settle(train, train.fed);
  train.run.first = train.fed;
  const Hop* was = train.stop;
  extend(train, nullptr);
  if (train.stop == was) return;
  partition_.cancel(train);
  go_on(train);
}

Time Dispatcher::busy_until(LinkState& link, Time at, std::uint64_t key) {
  catch_up(link, at);
  return std::max({link.free_at, link.passed_until, through_before(link, at, key)});
}

/// When the packets of trains that do not queue are through, of those that go before somebody who comes at `at` with that key.
Time Dispatcher::through_before(const LinkState& link, Time at, std::uint64_t key) {
  Time through;
  for (const Passage* p = link.passages; p; p = p->next) {
    if (p->through <= at || p->queues()) continue;
    const std::int64_t end = p->behind(at, key);
    if (end > p->train->run.first) through = std::max(through, p->end(end - 1));
  }
  return through;
}

bool Dispatcher::has_room(const LinkState& link, Time at, std::uint64_t key, Time until) {
  for (const Passage* p = link.passages; p; p = p->next) {
    if (p->through <= at) continue;
    if (p->queues()) return false;
    const std::int64_t next = p->behind(at, key);
    if (next > p->train->run.first && p->end(next - 1) > at) return false;
    if (next < p->train->run.end && p->is_in_way(next, key, until)) return false;
  }
  return true;
}

bool Dispatcher::leaves_room(const LinkState& link, Time at, std::uint64_t key, Time until) {
  for (const Passage* p = link.passages; p; p = p->next) {
    if (p->queues()) return false;
    const std::int64_t next = p->behind(at, key);
    if (next < p->train->run.end && p->is_in_way(next, key, until)) return false;
  }
  return true;
}

void Dispatcher::make_way(LinkState& link, Time at, std::uint64_t key, Time until) {
  for (Passage* p = link.passages; p;) {
    const std::int64_t next = p->behind(at, key);
    if (!p->queues() && next < p->train->run.end && p->is_in_way(next, key, until)) {
      give_way(*p, next, at);
      p = link.passages;  // others may have gone, too
    } else {
      p = p->next;
    }
  }
  line_up(link, at, key, until);
}

bool Dispatcher::is_clear(const LinkState& link, Time by) {
  for (const Passage* p = link.passages; p; p = p->next)
    if (p->queues() ? p->train->fed < p->train->run.end : !p->is_over(by)) return false;
  return true;
}

/// From packet `from` on, the train's packets reach the link one by one.
void Dispatcher::displace(Passage& passage, std::int64_t from) {
  Train& train = *passage.train;
  Message& message = *train.message;
  const Hop& hop = *passage.hop;
  if (hop.is_first()) return message.route->source->yield();
  Train& rest = take(message, {from, train.run.end, train.run.timing, train.came_length}, *train.begin);
  for (const Passage* p = train.passages.begin(); p->hop != &hop; ++p) enter(rest, *p->hop, p->hold);
  rest.feeds = true;
  const bool was_worth_it = from - train.run.first > 8 * train.patience;
  rest.patience = was_worth_it ? kFirstPatience : std::min(2 * train.patience, kMostPatience);
  rest.next = std::exchange(train.next, &rest);
  shorten(train, from, hop);
  go_on(rest);
}

/// The train ends with the packet before `end`: the others do not come to `hop`, nor to what is behind it.
void Dispatcher::shorten(Train& train, std::int64_t end, const Hop& hop) {
  if (!train.feeds) cut_beyond(train, end);
  train.run.end = end;
  for (Passage& passage : train.passages)
    if (!passage.queues()) passage.through = train.empty() ? Time() : passage.end(end - 1);
  if (!train.passages.empty() && train.passages.back().queues()) {
    LinkState& link = *train.passages.back().hop->state;
    line_up(link, partition_.now(), 0, busy_until(link, partition_.now(), 0));
  }
  const std::uint32_t serial = train.serial;
  for (std::size_t i = 0; holds_ > 0 && i < train.passages.size(); ++i) {
    if (train.passages[i].hop >= &hop) release_dependents(train.passages[i], end);
    if (train.serial != serial) return;  // one of them had it wait for itself further on
  }
  const bool is_over =
      train.feeds ? train.fed == train.run.end : train.empty() || train.through() <= partition_.now();
  if (train.scheduled() && (is_over || !train.feeds)) partition_.cancel(train);
  if (is_over) return remove(train);
  if (!train.feeds) partition_.schedule_at(train, train.through());
}

/// Packets of other trains that are to wait at a link for packets that do not come there will come alone.
void Dispatcher::release_dependents(const Passage& passage, std::int64_t lost) {
  const LinkState& link = *passage.hop->state;
  const Time since = passage.arrival(lost);
  for (Passage* p = link.passages; p;) {
    const std::int64_t from = p->hold > Time() && p != &passage ? p->after(since - kTick) : p->train->run.end;
    if (from < p->train->run.end) {
      displace(*p, from);
      p = link.passages;
    } else {
      p = p->next;
    }
  }
}

/// Who was told of the train's packets from `end` on is told that they do not come as a train.
void Dispatcher::cut_beyond(Train& train, std::int64_t end) {
  Message& message = *train.message;
  if (train.stop[-1].crosses) return post(train, {end, train.run.end}, true);
  if (message.is_looked_at()) message.on_run_cut(end, train.run.end);
  if (train.run.end == message.packets_) partition_.cancel(message.delivery());
}

void Dispatcher::recall(Message& message, std::int64_t from) {
  cut(message.trains_[0], from, message.packets_);
}

/// Packets from … end − 1 do not come to this partition as trains.
void Dispatcher::cut(Train*& trains, std::int64_t from, std::int64_t end) {
  for (Train* train = trains; train;) {
    if (train->run.first < end && train->run.end > from) {
      shorten(*train, std::max(from, train->run.first), *train->begin);
      train = trains;  // others may have changed, too
    } else {
      train = train->next;
    }
  }
}

void Dispatcher::finish(Message& message) {
  Train*& first = message.trains_[static_cast<std::size_t>(message.route->last_leg)];
  if (first && first->run.first == 0 && first->run.end == message.packets_) ++domain_.counters_.in_one_piece;
  while (first) {
    if (first->scheduled()) partition_.cancel(*first);
    remove(*first);
  }
}

/// Links of its stretch learn what the packets before `end`, which have all passed, did.
void Dispatcher::settle(Train& train, std::int64_t end) {
  if (end == train.run.first) return;
  const Bytes bytes = train.bytes(train.run.first, end);
  for (const Passage& passage : train.passages) {
    LinkState& link = *passage.hop->state;
    if (passage.queues()) {
      catch_up(link, passage.arrival(end - 1) + kTick);
      continue;
    }
    const Time through = end == train.run.end ? passage.through : passage.end(end - 1);
    link.passed_until = std::max(link.passed_until, through);
    fabric_.note_wait(passage.hop->link, passage.hold);
    link.bytes += bytes;
    if (fabric_.notes_.kept())
      fabric_.notes_.add(passage.hop->link, *train.message, end - train.run.first, bytes, passage.hold);
  }
  const auto hops = static_cast<std::uint64_t>(end - train.run.first) * train.passages.size();
  domain_.counters_.packet_hops += hops;
  domain_.counters_.train_hops += hops;
}

void Dispatcher::remove(Train& train) {
  settle(train, train.run.end);
  for (const Passage& passage : train.passages) {
    (passage.previous ? passage.previous->next : passage.hop->state->passages) = passage.next;
    if (passage.next) passage.next->previous = passage.previous;
    if (passage.hold > Time()) --holds_;
  }
  Train** at = &train.message->trains_[train.begin->leg];
  while (*at != &train) at = &(*at)->next;
  *at = train.next;
  ++train.serial;
  trains_.give_back(train);
}

/// Ahead of the packets it is about, which reach the border at this instant at the earliest.
void Dispatcher::post(Train& train, const Run& run, bool cut) {
  Notice& notice = notices_.take();
  const Hop& border = train.stop[-1];
  notice.message = train.message;
  notice.hop = &border;
  notice.run = run;
  notice.cut = cut;
  notice.home = partition_.id();
  partition_.post(fabric_.simulation_.partition(border.next_partition), notice,
                  border.forward - fabric_.grace_);
}

void Notice::fire(sim::Event& e) {
  auto& notice = static_cast<Notice&>(e);
  notice.hop->fabric->domain(notice.hop->next_partition).dispatcher().receive(notice);
}

void Dispatcher::receive(Notice& notice) {
  Message& message = *notice.message;
  const Hop& from = notice.hop[1];
  if (notice.cut)
    cut(message.trains_[from.leg], notice.run.first, notice.run.end);
  else
    dispatch(message, from, notice.run);
  fabric_.domain(notice.home).dispatcher_.notices_.hand_back(notice);
}

}  // namespace kernbench::device
