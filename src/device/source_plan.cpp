// What a source will do while nobody comes: its packets as trains.
#include <algorithm>

#include "device/fabric.hpp"
#include "device/instant.hpp"
#include "device/source.hpp"

namespace kernbench::device {

namespace {

// A plan that ended after so few turns a message was in vain; then so many packets go alone before the next one.
constexpr std::int64_t kWorthATry = 8;
constexpr int kFirstPause = 4;
constexpr int kLongestPause = 256;

/// Whether packets from `first` on are ready when it is their turn: the first one of each step is.
bool all_ready_in_turn(const ReadyTimes& ready, const PacketTimes& pace, std::int64_t first, Time origin) {
  std::int64_t begin = 0;
  for (const ReadyTimes::Step& step : ready.steps()) {
    if (step.end > first && step.at > origin + pace.until(std::max(begin, first))) return false;
    begin = step.end;
  }
  return true;
}

}  // namespace

/// Plans what is to come, if it is regular.
bool Source::plan() {
  if (!fabric_.options_.shortcuts || !others_.empty() || pause_ > 0) return false;
  if (sole_ && !sole_->knows_all()) return false;
  if (sole_ && sole_->next_packet_ + 1 == sole_->packets_)
    return false;  // one packet takes fewer steps than a train
  if (sole_ ? plan_alone(*sole_) : plan_turns()) return true;
  pause_ = kFirstPause * static_cast<int>(open_count_);
  return false;
}

/// The only message: as fast as its route carries it, or as it becomes ready.
bool Source::plan_alone(Message& message) {
  Route& route = *message.route;
  if (route.pace.may_take_no_time() || !dispatcher_.can_start(route)) return false;
  const Time first_start = std::max({partition_.now(), link_busy_until(), offer(message)});
  const Run run{message.next_packet_, message.packets_, time_alone(message, first_start)};
  if (!dispatcher_.dispatch(message, route.first(), run)) return false;
  const std::int64_t last = run.end - 1;
  const Time leaving = std::max(message.occupancy(route.first(), last), kTick);
  fabric_.leaves(message, run.timing.start(last) + leaving);
  plan_.slots.push_back({&message, &route, message.bytes, run.first, true, message.pace(last)});
  plan_.channel = static_cast<std::size_t>(message.channel);
  plan_.index = 0;
  plan_.first = run.first;
  plan_.end = run.end;
  plan_.timing = run.timing;
  plan_.last_start = run.timing.start(last);
  plan_.made = partition_.now();
  return true;
}

Timing Source::time_alone(Message& message, Time first_start) {
  const PacketTimes& pace = message.route->pace;
  const std::int64_t first = message.next_packet_;
  const Time origin = first_start - pace.until(first);
  if (all_ready_in_turn(message.ready, pace, first, origin))
    return {origin, pace.full() == Time::never() ? Time() : pace.full(), nullptr, &pace};
  std::vector<Time>& starts = message.uneven().starts;
  starts.resize(static_cast<std::size_t>(message.packets_));
  Time start = first_start;
  for (std::int64_t p = first; p < message.packets_; ++p) {
    start = std::max(start, message.ready_at(p));
    starts[static_cast<std::size_t>(p)] = start;
    start += pace.of(p, message.bytes);
  }
  return {Time(), Time(), starts.data(), &pace};
}

/// Several messages in turn: full packets, one after the other, until one of the messages ends.
bool Source::plan_turns() {
  const Turn older = find_turn(true);
  const Turn turn = older.message ? older : find_turn(false);
  if (!turn.message || rings_[turn.channel].messages.size() != open_count_) return false;
  const Time now = partition_.now();
  const Ring& ring = rings_[turn.channel];
  const std::int64_t rounds = regular_rounds(ring, turn.index);
  if (rounds < 2 || !dispatcher_.is_clear(first_link_, now)) return false;
  const auto k = static_cast<std::int64_t>(open_count_);
  const Time slot = turn.message->route->first().full;
  plan_.channel = turn.channel;
  plan_.index = turn.index;
  plan_.first = 0;
  plan_.end = rounds * k;
  plan_.timing = {now, slot, nullptr, nullptr};
  plan_.last_start = plan_.timing.start(plan_.end - 1);
  plan_.made = now;
  for (std::int64_t j = 0; j < k; ++j) {
    Message& message = *ring.messages[(turn.index + static_cast<std::size_t>(j)) % open_count_];
    const std::int64_t base = message.next_packet_;
    const Time period = slot * k;
    const Timing timing{now + slot * j - period * base, period, nullptr, &message.route->pace};
    dispatcher_.dispatch(message, message.route->first(), {base, base + rounds, timing}, true);
    const bool completes = base + rounds == message.packets_;
    const Time last_pace = message.pace(base + rounds - 1);
    plan_.slots.push_back({&message, message.route, message.bytes, base, completes, last_pace});
    if (completes) fabric_.leaves(message, timing.start(base + rounds - 1) + slot);
  }
  partition_.schedule_at(link_is_free_, plan_.timing.start(plan_.end));
  return true;
}

/// How many rounds of full packets the messages of a ring will go, one packet after the other from this instant on;
/// 0 if they do not.
std::int64_t Source::regular_rounds(const Ring& ring, std::size_t first) {
  const Time now = partition_.now();
  const std::size_t k = ring.messages.size();
  const Time slot = ring.messages[first]->route->first().full;
  const Time period = slot == Time::never() ? slot : slot * static_cast<std::int64_t>(k);
  ++mark_;
  std::int64_t rounds = INT64_MAX;
  for (std::size_t j = 0; j < k; ++j) {
    const Message& message = *ring.messages[(first + j) % k];
    Route& route = *message.route;
    const Time turn = now + slot * static_cast<std::int64_t>(j);
    if (slot == Time::never() || route.first().full != slot || !dispatcher_.can_start(route)) return 0;
    if (route.next_offer > turn || !message.knows_all() ||
        (!message.ready.empty() && message.ready.back() > now))
      return 0;
    if (route.pace.full() > period || (route.pace.full() > slot && route.mark == mark_)) return 0;
    route.mark = mark_;
    rounds = std::min(rounds, message.bytes.count() / fabric_.packet_bytes().count() - message.next_packet_);
  }
  return rounds;
}

/// Ends what was planned: a start without a choice, and the plan. What has started stands, the rest is open
/// again. What was to start at this very instant will, if it is still its turn. What was chosen at this
/// instant stands.
void Source::settle() {
  if (starts_.packet) recall_start();
  if (plan_.slots.empty()) return;
  const Time now = partition_.now();
  const bool is_new = plan_.made == now;
  const bool has_begun = is_new && plan_.timing.start(plan_.first) == now;
  const std::int64_t started = is_new ? (has_begun ? 1 : 0) : started_before(now);
  if (started < plan_.end - plan_.first) recall(started);
  commit(started);
  plan_.slots.clear();
}

/// Nobody asks a plan that is over for what belongs to its messages.
std::int64_t Source::started_before(Time at) const {
  const std::int64_t all = plan_.end - plan_.first;
  return plan_.last_start < at ? all : plan_.timing.after(at - kTick, plan_.first, plan_.end) - plan_.first;
}

void Source::recall(std::int64_t started) {
  const auto k = static_cast<std::int64_t>(plan_.slots.size());
  const std::int64_t rounds = (plan_.end - plan_.first) / k;
  for (std::int64_t j = k - 1; j >= 0; --j) {  // links find first who was entered last
    const Plan::Slot& slot = plan_.slots[static_cast<std::size_t>(j)];
    const std::int64_t done = started / k + (j < started % k ? 1 : 0);
    if (done == rounds) continue;
    dispatcher_.recall(*slot.message, slot.base + done);
    if (slot.completes) fabric_.stays(*slot.message);
  }
  if (plan_.made == partition_.now()) return;
  next_pause_ = started < kWorthATry * k ? std::clamp(2 * next_pause_, kFirstPause, kLongestPause) : 0;
  pause_ = next_pause_ * static_cast<int>(k);
}

/// Writes down what the plan's first turns did.
void Source::commit(std::int64_t started) {
  if (started == 0) return;
  const std::size_t k = plan_.slots.size();
  Ring& ring = rings_[plan_.channel];
  const auto turns = static_cast<std::size_t>(started);
  const auto rounds = static_cast<std::size_t>(plan_.end - plan_.first) / k;
  const std::size_t served_last = (plan_.index + (turns - 1) % k) % k;
  std::size_t kept = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < k; ++i) {  // by place in the ring
    const std::size_t j = (i + k - plan_.index) % k;
    const Plan::Slot& slot = plan_.slots[j];
    const std::size_t done = turns / k + (j < turns % k ? 1 : 0);
    const bool complete = done == rounds && slot.completes;
    if (done > 0) {
      const std::int64_t turn = plan_.first + static_cast<std::int64_t>((done - 1) * k + j);
      const Time start = turn + 1 == plan_.end ? plan_.last_start : plan_.timing.start(turn);
      const std::int64_t packet = slot.base + static_cast<std::int64_t>(done) - 1;
      const Time pace = done == rounds ? slot.last_pace : slot.route->pace.of(packet, slot.bytes);
      slot.route->next_offer = std::max(slot.route->next_offer, start + pace);
    }
    if (!complete) {
      slot.message->next_packet_ = static_cast<std::int32_t>(slot.base) + static_cast<std::int32_t>(done);
      ring.messages[kept++] = slot.message;
    }
    if (i <= served_last) next = kept;
  }
  ring.messages.shrink(kept);
  open_count_ -= k - kept;
  ring.next = next;
  turn_ = (plan_.channel + 1) % kChannels;
  others_turn_ = true;
  messages_have_gone(ring);
  if (open_count_ == 0) begin_anew();
}

}  // namespace kernbench::device
