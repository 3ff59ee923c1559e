#include "device/source.hpp"

#include <algorithm>
#include <utility>

#include "device/fabric.hpp"
#include "device/instant.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

namespace {

/// Of two that came at one instant. Writes of one issuer may end at one instant, in any order of events: the older one is acknowledged
/// first, and both before data goes there.
bool goes_before(const Message& a, const Message& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  const bool acknowledges = a.purpose == Purpose::acknowledgement;
  if (acknowledges != (b.purpose == Purpose::acknowledgement)) return acknowledges;
  return acknowledges && static_cast<const Errand&>(a).about() < static_cast<const Errand&>(b).about();
}

}  // namespace

Source::Source(Fabric& fabric, Dispatcher& dispatcher, sim::Partition& partition, LinkState& first_link,
               std::uint32_t number, bool arbitrated)
    : fabric_(fabric),
      dispatcher_(dispatcher),
      partition_(partition),
      first_link_(first_link),
      number_(number),
      arbitrated_(arbitrated),
      link_is_free_(*this),
      all_have_come_(*this) {}

void Source::open(Message& message) {
  if (newest_.at != partition_.now()) newest_ = {partition_.now(), message.key_};
  settle();
  if (first_link_.free_at > partition_.now()) cut_held(message);
  const bool alone = open_count_ == 0;
  if (alone && (turn_ > 0 || others_turn_) && emptied_at_ != partition_.now()) begin_anew();
  if (alone && start_by_itself(message)) return;
  add(message);
  if (!alone && message.key_ != newest_.first_key) put_in_order(message);
  ask();
}

void Source::add(Message& message) {
  ring_of(message).messages.push_back(&message);
  sole_ = ++open_count_ == 1 ? &message : nullptr;
}

/// Notes that a packet of this class has started: the other classes and the uses of the link come next.
void Source::has_started(Channel channel) {
  others_turn_ = true;
  turn_ = (static_cast<std::size_t>(channel) + 1) % kChannels;
}

void Source::hear_of(Message& message) {
  settle();
  if (first_link_.free_at > partition_.now()) cut_held(message);
  ask();
}

void Source::take_back() {
  settle();
  if (!idle()) ask();
}

/// Among those who come at one instant, who has the smaller class and rank is the older one, and goes first: the order in which
/// they came must not matter. It has the largest key, and is the last of its ring.
void Source::put_in_order(Message& newcomer) {
  std::uint64_t key = newcomer.key_;
  const auto own = static_cast<std::size_t>(newcomer.channel);
  for (std::size_t c = kChannels - 1; c > own; --c) {
    auto& behind = rings_[c].messages;
    for (std::size_t i = behind.size(); i > 0 && has_just_come(*behind[i - 1]); --i)
      std::swap(key, behind[i - 1]->key_);
  }
  auto& ring = rings_[own].messages;
  std::size_t at = ring.size() - 1;
  for (; at > 0 && goes_before(newcomer, *ring[at - 1]) && has_just_come(*ring[at - 1]); --at) {
    std::swap(key, ring[at - 1]->key_);
    ring[at] = ring[at - 1];
  }
  ring[at] = &newcomer;
  newcomer.key_ = key;
}

/// A source without messages does not care who was served last. Who comes at the instant at which the last packet starts
/// finds it at work, whichever of the two events is the first: hence `emptied_at_`.
void Source::begin_anew() {
  turn_ = 0;
  others_turn_ = false;
}

void Source::take_turn(const PortUse& use) {
  settle();
  const Time now = partition_.now();
  auto at = others_.end();
  while (at != others_.begin() && at[-1].asked == now && at[-1].use.rank > use.rank) --at;
  others_.insert(at, {use, now, use.duration});
  ask();
}

void Source::yield() {
  settle();
  if (!idle()) ask();
}

bool Source::has_just_come(const Message& message) const {
  return newest_.at == partition_.now() && message.key_ >= newest_.first_key;
}

/// Who waits for a link with a model waits with its arbiter.
Time Source::link_busy_until() const {
  if (arbitrated_) return {};
  return first_link_.busy_until(partition_.now(), kLastOfInstant);
}

/// Among those who choose at one instant.
std::uint64_t Source::rank() const { return choice_rank(Chooser::source, number_); }

void Source::ask() {
  if (!all_have_come_.scheduled()) partition_.choose(all_have_come_, rank());
}

/// Who was there before this instant goes before who came at it.
void Source::choose() {
  settle();
  if (link_is_free_.scheduled()) partition_.cancel(link_is_free_);
  if (fabric_.clear(first_link_)) return ask();
  if (first_link_.passages && dispatcher_.bring_heads(first_link_)) return ask();
  const bool free = link_busy_until() <= partition_.now();
  if ((free || sole_) && plan()) return;
  const bool alone = sole_ && others_.empty();  // then there is nobody older
  if (free && (alone || !start_next(true))) start_next(false);
  if (!idle()) schedule();
}

bool Source::start_next(bool older_only) {
  const bool other = !others_.empty() && !(older_only && others_.front().asked == partition_.now());
  if (!other || !others_turn_) {
    const Turn turn = find_turn(older_only);
    if (turn.message) return start(turn), true;
  }
  if (other) start_other();
  return other;
}

/// When the next packet may be offered: when it is there, and the packet of its route before it has had its
/// time.
Time Source::offer(const Message& message) {
  return std::max(message.ready_at(message.next_packet_), message.route->next_offer);
}

/// When the first of the open messages can go; if one can by `enough`, some instant up to that.
Time Source::first_offer(Time enough) const {
  if (sole_) return offer(*sole_);
  Time first = Time::never();
  for (const Ring& ring : rings_)
    for (const Message* message : ring.messages) {
      first = std::min(first, offer(*message));
      if (first <= enough) return first;
    }
  return first;
}

/// The next in turn whose packet may be offered now.
Source::Turn Source::find_turn(bool older_only) const {
  const Time now = partition_.now();
  const auto may_go = [&](const Message& message) {
    return offer(message) <= now && !(older_only && has_just_come(message));
  };
  if (sole_) return {static_cast<std::size_t>(sole_->channel), 0, may_go(*sole_) ? sole_ : nullptr};
  for (std::size_t c = 0; c < kChannels; ++c) {
    const std::size_t channel = (turn_ + c) % kChannels;
    const Ring& ring = rings_[channel];
    for (std::size_t k = 0; k < ring.messages.size(); ++k) {
      const std::size_t index = (ring.next + k) % ring.messages.size();
      if (may_go(*ring.messages[index])) return {channel, index, ring.messages[index]};
    }
  }
  return {};
}

void Source::start(const Turn& turn) {
  const Time now = partition_.now();
  Message& message = *turn.message;
  Ring& ring = rings_[turn.channel];
  fabric_.start_packet(message, now);
  has_started(message.channel);
  ring.next = turn.index + 1;
  if (pause_ > 0) --pause_;
  if (message.next_packet_ < message.packets_) return;
  ring.messages.erase(turn.index);
  --ring.next;
  if (--open_count_ == 0) emptied_at_ = now;
  messages_have_gone(ring);
}

void Source::start_other() {
  const Time now = partition_.now();
  held_ = {others_.front(), now, now};
  others_.erase(others_.begin());
  others_turn_ = false;
  hold_until(turn_end(first_offer(now)));
  first_link_.take_until(now, kLastOfInstant, first_link_.free_at);
}

/// Until when a use has the link, if from `wanted` on some message can go: to the end of its turn.
Time Source::turn_end(Time wanted) const {
  const Other& other = held_.other;
  const Time end = held_.since + other.left;
  if (wanted >= end || other.use.turn >= other.left) return end;
  const std::int64_t turn = other.use.turn.ps();
  const std::int64_t turns = ((wanted - held_.since).ps() + turn - 1) / turn;
  return std::min(held_.since + other.use.turn * std::max<std::int64_t>(turns, 1), end);
}

/// What is left of the use then waits for its next turn, as the oldest.
void Source::hold_until(Time until) {
  const Other& other = held_.other;
  const Time end = held_.since + other.left;
  KB_ASSERT(!first_link_.guest, "an engine uses a link that packets cross without a stop");
  first_link_.free_at = held_.until = until;
  if (until == end)
    partition_.schedule_at(*other.use.done, end);
  else
    others_.insert(others_.begin(), {other.use, other.asked, end - until});
}

/// As if it had not been told until when it has the link.
void Source::let_go() {
  if (held_.until == held_.since + held_.other.left)
    partition_.cancel(*held_.other.use.done);
  else
    others_.erase(others_.begin());
}

/// A message comes while a use may hold the link. A turn that begins at this instant goes before it.
void Source::cut_held(const Message& newcomer) {
  const Time now = partition_.now();
  if (held_.until <= now) return;
  const Time until = turn_end(std::max(offer(newcomer), now + Time::from_ps(1)));
  if (until >= held_.until) return;
  let_go();
  hold_until(until);
}

/// A ring that was empty begins anew.
void Source::messages_have_gone(Ring& ring) {
  sole_ = find_sole();
  if (ring.messages.empty()) ring.next = 0;
}

Message* Source::find_sole() const {
  if (open_count_ != 1) return nullptr;
  for (const Ring& ring : rings_)
    if (!ring.messages.empty()) return ring.messages.front();
  return nullptr;
}

/// Looks again when the link is free and some packet may be offered.
void Source::schedule() {
  const Time free = std::max(link_busy_until(), partition_.now());
  const Time next = others_.empty() ? first_offer(free) : free;
  if (next == Time::never()) return;  // all wait for those who make their packets
  const Time then = std::max(next, free);
  then > partition_.now() ? partition_.schedule_at(link_is_free_, then) : ask();
}

}  // namespace kernbench::device
