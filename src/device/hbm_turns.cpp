// What a slice has answered ahead of time, and how it goes on in turn when another stream comes.
#include <algorithm>
#include <utility>

#include "device/hbm_slice.hpp"
#include "device/instant.hpp"

namespace kernbench::device {

/// Bursts of a stream come. Those of another that have not been taken by then go in turn with them.
void HbmSlice::come(Stream stream, Time at) {
  while (!answered_.empty() && answered_.front()->taken_by < at) forget_oldest();
  if (!answered_.empty() && answered_.front()->stream != stream) fall_back(at);
}

/// What is to be answered ahead.
HbmSlice::Answered& HbmSlice::write_down(Stream stream) {
  if (forgotten_.empty()) {
    forgotten_.push_back(std::make_unique<Answered>());
    forgotten_.back()->before = dram_.copy();
  }
  answered_.push_back(std::move(forgotten_.back()));
  forgotten_.pop_back();
  Answered& answered = *answered_.back();
  answered.access = nullptr;
  answered.stream = stream;
  answered.delivered = false;
  answered.rest.clear();
  answered.before->become(dram_);
  return answered;
}

void HbmSlice::forget_oldest() {
  for (const OpenBurst& burst : answered_.front()->rest)
    if (burst.of->kept) close(*burst.of);
  answered_.front()->rest.clear();
  if (answered_.front()->rest.capacity() > 0) answered_.front()->rest.swap(rest_);
  forgotten_.push_back(std::move(answered_.front()));
  answered_.erase(answered_.begin());
}

/// Before the memory is asked.
HbmSlice::Answered* HbmSlice::note(Access& access, Stream stream, Time at, Time period) {
  if (!takes_turns_) return nullptr;
  Answered& answered = write_down(stream);
  answered.access = &access;
  answered.extent = access.extent();
  answered.first = stream.direction == Direction::write ? access.progress().bytes : 0;
  answered.at = at;
  answered.period = period;
  answered.done_before = access.progress().done;
  return &answered;
}

/// After it was asked.
void HbmSlice::noted(Answered* answered) {
  if (!answered) return;
  const bool writes = answered->stream.direction == Direction::write;
  answered->end = writes ? answered->access->progress().bytes : answered->extent.bytes().count();
  answered->taken_by = dram_.taken_by();
}

/// From here on in turn: the memory goes back to where it was before the first that has not been taken whole, takes again what
/// it had taken by then, and leaves the rest open.
void HbmSlice::fall_back(Time at) {
  dram_.become(*answered_.front()->before);
  stopped_.assign(dram_.channels(), 0);
  for (const auto& answered : answered_) {
    reopen(*answered, at);
    for (const OpenBurst& burst : listed_) try_again(burst, at);
    answered->rest.clear();
  }
  while (!answered_.empty()) forget_oldest();
  for (std::size_t i = 0; i < opens_.size();) {
    OpenAccess& open = *opens_[i];
    if (std::exchange(open.changed, false)) answer_less(open);
    open.missing == 0 ? close(open) : void(++i);
  }
}

/// A write that was through by then is over, and its access may be in use again: nobody is told of it.
OpenAccess& HbmSlice::reopen_access(const Answered& answered, Time at) {
  if (answered.stream.direction == Direction::read)
    return open_read(*answered.access, answered.extent, answered.stream);
  if (answered.delivered && answered.done <= at) return open(*answered.access, answered.stream);
  return open_write(*answered.access, answered.stream, answered.done_before);
}

/// Its bursts, none of which has been taken, are in `listed_`.
void HbmSlice::reopen(Answered& answered, Time at) {
  listed_.clear();
  if (!answered.rest.empty()) {
    listed_ = answered.rest;
    for (const OpenBurst& burst : listed_) {
      burst.of->through[burst.index] = Time::never();
      ++burst.of->missing;
      burst.of->kept = false;
      burst.of->changed = true;
    }
    return;
  }
  OpenAccess& open = reopen_access(answered, at);
  open.changed = true;
  open.delivered = open.delivered || answered.delivered;
  list_bursts(open, answered.extent, answered.first, answered.end, answered.at, answered.period);
}

/// The bursts of bytes first … end − 1: a write's are new to it, a read's are known.
void HbmSlice::list_bursts(OpenAccess& open, const Extent& extent, std::int64_t first, std::int64_t end,
                           Time at, Time period) {
  const bool reads = open.stream.direction == Direction::read;
  std::size_t index = reads ? 0 : open.through.size();
  for (Bursts bursts(spec_, extent, first); first < end; at += period) {
    const Bursts::Burst burst = bursts.next();
    first = burst.end;
    if (!reads) open.through.push_back(Time::never());
    listed_.push_back({&open, burst.number, index++, at});
    ++open.missing;
  }
}

void HbmSlice::try_again(const OpenBurst& burst, Time at) {
  const std::size_t channel = dram_.channel_of(burst.number);
  const Time taken = std::max(dram_.free_at(channel), burst.at);
  if (stopped_[channel] || taken >= at) {
    stopped_[channel] = 1;
    return turns_.add(burst);
  }
  burst.of->through[burst.index] = dram_.serve(burst.number, burst.of->stream.direction, taken);
  --burst.of->missing;
}

/// Whoever was told of its bursts is told that it is not so, as far as they have not been taken. If all have, what was said
/// stands; the access may be over and in use again.
void HbmSlice::answer_less(OpenAccess& open) {
  if (open.missing == 0) return;
  if (open.stream.direction == Direction::write) {
    open.access->progress().done = written_by(open);
    if (open.delivered) open.access->not_yet_written();
    return;
  }
  open.answered = 0;
  open.latest = Time();
  std::int64_t known = 0;
  for (; open.answered < open.through.size() && open.through[open.answered] != Time::never();
       ++open.answered) {
    open.latest = std::max(open.latest, open.through[open.answered]);
    known = open.ends[open.answered];
  }
  fabric_.less_is_ready(open.access->data(), known / fabric_.packet_bytes().count());
}

OpenAccess& HbmSlice::open(Access& access, Stream stream) {
  if (closed_.empty()) {
    closed_.push_back(std::make_unique<OpenAccess>());
    closed_.back()->through.reserve(256);
    closed_.back()->ends.reserve(256);
  }
  opens_.push_back(std::move(closed_.back()));
  closed_.pop_back();
  OpenAccess& open = *opens_.back();
  open.access = &access;
  open.stream = stream;
  open.through.clear();
  open.ends.clear();
  open.answered = 0;
  open.missing = 0;
  open.latest = Time();
  open.delivered = open.changed = open.kept = false;
  return open;
}

void HbmSlice::close(OpenAccess& open) {
  const auto at =
      std::find_if(opens_.begin(), opens_.end(), [&](const auto& other) { return other.get() == &open; });
  open.kept = false;
  closed_.push_back(std::move(*at));
  opens_.erase(at);
}

OpenAccess& HbmSlice::open_read(Access& access, const Extent& extent, Stream stream) {
  OpenAccess& read = open(access, stream);
  for (Bursts bursts(spec_, extent); bursts.more();) read.ends.push_back(bursts.next().end);
  read.through.assign(read.ends.size(), Time::never());
  return read;
}

/// One that is not over.
OpenAccess* HbmSlice::find_write(const Access& access) {
  for (const auto& open : opens_)
    if (open->access == &access && open->stream.direction == Direction::write &&
        (open->missing > 0 || !open->delivered))
      return open.get();
  return nullptr;
}

/// `done`: when what was taken before it was opened is through.
OpenAccess& HbmSlice::open_write(Access& access, Stream stream, Time done) {
  if (OpenAccess* known = find_write(access)) return *known;
  OpenAccess& write = open(access, stream);
  write.latest = done;
  return write;
}

/// When all that has been taken of a write is through.
Time HbmSlice::written_by(const OpenAccess& write) {
  Time latest = write.latest;
  for (const Time time : write.through)
    if (time != Time::never()) latest = std::max(latest, time);
  return latest;
}

void HbmSlice::read_in_turn(Access& access, Stream stream) {
  OpenAccess& read = open_read(access, access.extent(), stream);
  listed_.clear();
  list_bursts(read, access.extent(), 0, access.extent().bytes().count(), partition().now(), Time());
  for (const OpenBurst& burst : listed_) turns_.add(burst);
  note_served(spec_.burst * static_cast<std::int64_t>(listed_.size()));
  Message& data = access.data();
  data.wait_for_packets();
  data.route->answers.send(fabric_, data);
}

/// Asks for the bursts whose last byte is among the first `end` of the access.
void HbmSlice::write_in_turn(Access& access, Stream stream, std::int64_t end, Time at) {
  Access::Progress& progress = access.progress();
  std::int64_t whole = progress.bytes;
  for (Bursts bursts(spec_, access.extent(), whole); bursts.more();) {
    const std::int64_t next = bursts.next().end;
    if (next > end) break;
    whole = next;
  }
  if (whole == progress.bytes) return;
  OpenAccess& write = open_write(access, stream, progress.done);
  listed_.clear();
  list_bursts(write, access.extent(), progress.bytes, whole, at, Time());
  progress.bytes = whole;
  for (const OpenBurst& burst : listed_) turns_.add(burst);
  note_served(spec_.burst * static_cast<std::int64_t>(listed_.size()));
}

/// All that are taken before `until`.
void HbmSlice::take_turns(Time until) {
  if (turns_.idle()) return;
  taken_.clear();
  turns_.take(until, taken_);
  for (const OpenBurst& burst : taken_) burst.of->changed = true;
  for (const OpenBurst& burst : taken_)
    if (std::exchange(burst.of->changed, false)) answer(*burst.of);
}

void HbmSlice::answer(OpenAccess& open) {
  if (open.stream.direction == Direction::read) {
    open.let_packets_go(fabric_);
  } else if (open.missing == 0) {
    open.access->progress().done = written_by(open);
    if (open.delivered) open.access->written(open.access->progress().done);
  }
  if (open.missing == 0 && !open.kept) close(open);
}

/// One stream is left, and nobody is known to come: it is answered ahead.
void HbmSlice::answer_the_rest() {
  Answered& answered = write_down(turns_.lone());
  answered.rest.swap(rest_);
  turns_.give_up(answered.rest);
  for (const OpenBurst& burst : answered.rest) {
    const Time taken = std::max(dram_.free_at(dram_.channel_of(burst.number)), burst.at);
    burst.of->through[burst.index] = dram_.serve(burst.number, answered.stream.direction, taken);
    --burst.of->missing;
    burst.of->kept = burst.of->changed = true;
  }
  for (const OpenBurst& burst : answered.rest)
    if (std::exchange(burst.of->changed, false)) answer(*burst.of);
  promised_by_ = answered.taken_by = dram_.taken_by();
}

/// Wakes when a turn comes, or somebody else's bytes, before what was promised has been taken.
void HbmSlice::watch() {
  Time next = Time::never();
  if (!turns_.idle()) {
    next = std::min(turns_.next(), arrivals_.next_time());
  } else if (!answered_.empty() && promised_by_ >= partition().now()) {
    const Stream& stream = answered_.back()->stream;
    next =
        stream.direction == Direction::read ? arrivals_.next_time() : arrivals_.next_time_but(stream.issuer);
    if (next > promised_by_) next = Time::never();
  }
  if (wakes_.scheduled()) {
    if (wakes_.time() == next) return;
    partition().cancel(wakes_);
  }
  if (next != Time::never()) partition().schedule_at(wakes_, std::max(next, partition().now()));
}

void HbmSlice::wake() {
  if (!all_have_come_.scheduled())
    partition().choose(all_have_come_, choice_rank(Chooser::turns, node().index));
}

void HbmSlice::choose() {
  const Time now = partition().now();
  catch_up(now);
  take_turns(now + kTick);
  if (!turns_.idle() && turns_.is_lone() && arrivals_.next_time() == Time::never()) answer_the_rest();
  watch();
}

}  // namespace kernbench::device
