#include "device/arrivals.hpp"

#include <algorithm>

#include "device/memory.hpp"

namespace kernbench::device {

void Access::on_packet(std::int64_t packet, Time tail) {
  Arrivals* arrivals = memory_->arrivals();
  if (!arrivals) return;
  arrivals->packet(*this, packet, tail);
  memory_->on_news();
}

void Access::on_run(const Run& run) {
  Arrivals* arrivals = memory_->arrivals();
  if (!arrivals) return;
  arrivals->run(*this, run);
  memory_->on_news();
}

void Access::on_run_cut(std::int64_t from, std::int64_t end) {
  Arrivals* arrivals = memory_->arrivals();
  if (!arrivals) return;
  arrivals->cut(*this, from, end);
  memory_->on_news();
}

/// Packets arrive in order, for a memory has one link. But they are announced at different times: some when
/// the head is there, the last one of a message when all of it is. So one may be announced before an earlier
/// one.
void Arrivals::packet(Access& access, std::int64_t packet, Time tail) {
  auto at = lone_.end();
  while (at != lone_.begin() + static_cast<std::ptrdiff_t>(next_lone_) && at[-1].tail > tail) --at;
  lone_.insert(at, {&access, packet, tail});
}

Time Arrivals::Coming::next_tail() const { return access->data().run_tail(run, run.first); }

/// From here on its packets come one by one.
void Arrivals::cut(const Access& access, std::int64_t from, std::int64_t end) {
  for (Coming& coming : runs_)
    if (coming.access == &access && coming.run.end == end) coming.run.end = std::max(from, coming.run.first);
  std::erase_if(runs_, [](const Coming& coming) { return coming.run.first == coming.run.end; });
}

Time Arrivals::next_time() const {
  Time next = next_lone_ < lone_.size() ? lone_[next_lone_].tail : Time::never();
  for (const Coming& coming : runs_) next = std::min(next, coming.next_tail());
  return next;
}

Time Arrivals::next_time_but(std::uint32_t issuer) const {
  Time next = Time::never();
  for (std::size_t i = next_lone_; i < lone_.size() && next == Time::never(); ++i)
    if (lone_[i].access->issuer() != issuer) next = lone_[i].tail;
  for (const Coming& coming : runs_)
    if (coming.access->issuer() != issuer) next = std::min(next, coming.next_tail());
  return next;
}

Arrivals::Packets Arrivals::next(Time until) {
  const bool has_lone = next_lone_ < lone_.size() && lone_[next_lone_].tail <= until;
  if (!runs_.empty()) {
    const Packets packets = next_of_runs(has_lone ? lone_[next_lone_].tail : until);
    if (packets.access) return packets;
  }
  return has_lone ? take_lone() : Packets{};
}

Arrivals::Packets Arrivals::take_lone() {
  const Lone lone = lone_[next_lone_++];
  if (2 * next_lone_ >= lone_.size()) {
    lone_.erase(lone_.begin(), lone_.begin() + static_cast<std::ptrdiff_t>(next_lone_));
    next_lone_ = 0;
  }
  return {lone.access, lone.packet, lone.packet + 1, lone.tail, Time()};
}

/// As many of the run whose packet comes first as come before a packet of another one.
Arrivals::Packets Arrivals::next_of_runs(Time until) {
  auto first = runs_.begin();
  Time first_tail = first->next_tail();
  Time next_tail = until;
  for (auto run = first + 1; run != runs_.end(); ++run) {
    const Time tail = run->next_tail();
    next_tail = std::min(next_tail, std::max(tail, first_tail));
    if (tail < first_tail) first = run, first_tail = tail;
  }
  if (first_tail > until) return {};
  const Packets packets = take(*first, next_tail);
  if (first->run.first == first->run.end) runs_.erase(first);
  return packets;
}

/// The next one, and others that come by then as well, if they come at even distances. The message's last may be shorter.
Arrivals::Packets Arrivals::take(Coming& coming, Time until) {
  Run& run = coming.run;
  const Message& data = coming.access->data();
  Packets packets{coming.access, run.first, run.first + 1, coming.next_tail(), run.timing.period};
  if (run.timing.period > Time()) {
    const Time length = run.waited() ? run.length : data.route->pace.full();
    const std::int64_t last = std::min(run.end, data.packets() - 1);
    const std::int64_t end = run.timing.after(until - data.route->latency - length, run.first, last);
    packets.end = std::max(end, packets.end);
  }
  run.first = packets.end;
  return packets;
}

}  // namespace kernbench::device
