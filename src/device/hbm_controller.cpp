#include "device/hbm_controller.hpp"

#include <algorithm>

#include "kernbench/error.hpp"

namespace kernbench::device {

HbmController::HbmController(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
                             const models::MemoryBehaviour& behaviour, const ParamSet& params)
    : HbmMemory(fabric, node, spec),
      bytes_come_(*this),
      model_(behaviour.make(params, {partition(), *this})) {}

std::uint32_t HbmController::open(Access& access, Direction direction) {
  if (idle_.empty()) {
    idle_.push_back(static_cast<std::uint32_t>(opens_.size()));
    opens_.push_back(std::make_unique<Open>());
  }
  const std::uint32_t number = idle_.back();
  idle_.pop_back();
  Open& open = *opens_[number];
  open.access = &access;
  open.direction = direction;
  open.through.clear();
  open.ends.clear();
  open.answered = 0;
  open.missing = 0;
  open.delivered = false;
  open.latest = Time();
  return number;
}

void HbmController::close(std::uint32_t number) {
  opens_[number]->access = nullptr;
  idle_.push_back(number);
}

/// The tag: which access, and which of its bursts is the request's first.
void HbmController::request(std::uint32_t number, std::int64_t base, std::int64_t first, std::int64_t count) {
  const Access& access = *opens_[number]->access;
  note_served(spec_.burst * count);
  model_->request({.first = first,
                   .count = count,
                   .direction = opens_[number]->direction,
                   .at = partition().now(),
                   .issuer = access.issuer(),
                   .tag = std::uint64_t{number} << 32 | static_cast<std::uint64_t>(base)});
}

/// Bursts that follow each other are one request. What has come by now, of writes, was here before it.
void HbmController::serve_read(Access& access) {
  hand_over();
  const std::uint32_t number = open(access, Direction::read);
  Open& read = *opens_[number];
  series_.clear();
  for (Bursts bursts(spec_, access.extent()); bursts.more();) {
    const Bursts::Burst burst = bursts.next();
    const auto base = static_cast<std::int64_t>(read.ends.size());
    if (!series_.empty() && series_.back().first + series_.back().count == burst.number)
      ++series_.back().count;
    else
      series_.push_back({base, burst.number, 1});
    read.ends.push_back(burst.end);
  }
  read.through.assign(read.ends.size(), Time::never());
  read.missing = static_cast<std::int64_t>(read.ends.size());
  Message& data = access.data();
  data.wait_for_packets();
  data.route->answers.send(fabric_, data);
  for (const Series& s : series_) request(number, s.base, s.first, s.count);
}

void HbmController::through(std::uint64_t tag, std::int64_t first, std::span<const Time> at) {
  const auto number = static_cast<std::uint32_t>(tag >> 32);
  KB_ASSERT(number < opens_.size() && opens_[number]->access, "the memory of {} answered what nobody asked",
            fabric_.graph().path(node()));
  Open& open = *opens_[number];
  const bool reads = open.direction == Direction::read;
  auto burst = static_cast<std::size_t>((tag & 0xffffffff) + static_cast<std::uint64_t>(first));
  for (const Time time : at) {
    KB_ASSERT(time >= partition().now(), "the memory of {} answered with a time that is past",
              fabric_.graph().path(node()));
    if (reads) {
      KB_ASSERT(open.through[burst] == Time::never(), "the memory of {} answered a burst twice",
                fabric_.graph().path(node()));
      open.through[burst++] = time;
    } else {
      open.latest = std::max(open.latest, time);
    }
    --open.missing;
  }
  if (reads) open.let_packets_go(fabric_);
  const bool done = open.missing == 0 && (reads || open.delivered);
  if (!done) return;
  Access& access = *open.access;
  const Time latest = open.latest;
  close(number);
  if (!reads) access.written(latest);
}

/// An event for the packet that comes next.
void HbmController::expect_next() {
  const Time next = arrivals_.next_time();
  if (bytes_come_.scheduled()) {
    if (bytes_come_.time() == next) return;
    partition().cancel(bytes_come_);
  }
  if (next != Time::never()) partition().schedule_at(bytes_come_, std::max(next, partition().now()));
}

/// All packets whose last byte has come, in the order in which they came.
void HbmController::hand_over() {
  const Time now = partition().now();
  for (Arrivals::Packets in = arrivals_.next(now); in.access; in = arrivals_.next(now))
    for (std::int64_t p = in.first; p < in.end; ++p) serve_packet(*in.access, p);
  expect_next();
}

/// Asks for the bursts whose last byte is in this packet.
void HbmController::serve_packet(Access& access, std::int64_t packet) {
  const std::int64_t arrived =
      std::min((packet + 1) * fabric_.packet_bytes().count(), access.data().bytes.count());
  const std::uint32_t number = open_write(access);
  Access::Progress& progress = access.progress();
  while (progress.bytes < arrived) {
    const Bursts::Burst burst = Bursts(spec_, access.extent(), progress.bytes).next();
    if (burst.end > arrived) return;
    progress.bytes = burst.end;
    ++opens_[number]->missing;
    request(number, 0, burst.number, 1);
  }
}

std::uint32_t HbmController::open_write(Access& access) {
  for (std::uint32_t i = 0; i < opens_.size(); ++i)
    if (opens_[i]->access == &access && opens_[i]->direction == Direction::write) return i;
  return open(access, Direction::write);
}

Time HbmController::finish_write(Access& access) {
  hand_over();
  const std::uint32_t number = open_write(access);
  Open& write = *opens_[number];
  write.delivered = true;
  if (write.missing > 0) return Time::never();
  const Time latest = write.latest;
  close(number);
  return std::max(latest, partition().now());
}

}  // namespace kernbench::device
