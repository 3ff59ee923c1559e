#include "device/train.hpp"

#include <algorithm>

namespace kernbench::device {

std::int64_t Timing::after(Time at, std::int64_t first, std::int64_t end) const {
  if (first == end || at < start(first)) return first;
  if (period > Time()) return std::min(end, (at - origin).ps() / period.ps() + 1);
  std::int64_t low = first;
  std::int64_t high = end;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    start(middle) <= at ? low = middle + 1 : high = middle;
  }
  return low;
}

Bytes Train::bytes(std::int64_t first, std::int64_t end) const {
  const PacketFormat& format = route().pace.format();
  return format.end(end - 1, message->bytes) - format.begin(first);
}

namespace {

/// From the first packet to the last.
Time span(const Run& run) { return run.timing.start(run.end - 1) - run.timing.start(run.first); }

/// `a` modulo `period`, from 0 on.
Time phase(Time a, Time period) {
  const std::int64_t rest = a.ps() % period.ps();
  return Time::from_ps(rest < 0 ? rest + period.ps() : rest);
}

}  // namespace

/// Who of two heads of one instant goes first.
bool Passage::waits_for(std::uint64_t key) const { return hop->is_first() || key < train->message->key(); }

std::int64_t Passage::behind(Time at, std::uint64_t key) const {
  return after(waits_for(key) ? at - Time::from_ps(1) : at);
}

bool Passage::is_over(Time by) const {
  return through < by || train->empty() || (through == by && begin(train->last()) < by);
}

bool Passage::is_in_way(std::int64_t p, std::uint64_t key, Time until) const {
  if (begin(p) != until || key != train->message->key()) return begin(p) < until;
  return train->route().may_coincide(*hop);
}

Time Passage::delays(const Train& other, Time first) const {
  const Train& t = *train;
  if (is_over(first)) return {};
  if (arrival(t.run.first) > first + span(other.run)) return {};
  const Time period = t.run.timing.period;
  if (period == Time() || period != other.run.timing.period) return Time::never();
  // As if it went on for ever in both directions: its last packet before the other's.
  Time ahead = phase(first - arrival(t.run.first), period);
  if (ahead == Time() && waits_for(other.message->key())) ahead = period;
  const Time delay = hold + most() - ahead;
  if (delay <= Time()) return {};
  const std::int64_t before = behind(first, other.message->key()) - 1;
  const std::int64_t packets = other.run.end - other.run.first;
  const std::int64_t full_end = t.is_full(t.last()) ? t.run.end : t.last();
  const bool always = before >= t.run.first && before + packets <= full_end;
  return always && length != Time::never() ? delay : Time::never();
}

bool Passage::leaves_room(const Train& other, Time first, Time time) const {
  const Train& t = *train;
  if (is_over(first)) return true;
  if (begin(t.run.first) >= first + span(other.run) + time) return true;
  const Time period = t.run.timing.period;
  if (period == Time() || period != other.run.timing.period) return false;
  Time ahead = phase(first - arrival(t.run.first), period);
  if (ahead == Time() && waits_for(other.message->key())) ahead = period;
  return period - ahead + hold >= time;
}

}  // namespace kernbench::device
