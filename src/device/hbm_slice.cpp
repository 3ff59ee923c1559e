#include "device/hbm_slice.hpp"

#include <algorithm>
#include <array>

namespace kernbench::device {

HbmSlice::HbmSlice(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
                   std::unique_ptr<models::MemoryModel> model)
    : HbmMemory(fabric, node, spec), model_(std::move(model)), dram_(*model_->prompt()) {}

namespace {

/// Bursts that follow each other and are read at one instant. The DRAM is asked for some at a time.
class ConsecutiveReads {
 public:
  ConsecutiveReads(models::PromptMemory& dram, std::int64_t first, std::int64_t count, Time arrival)
      : dram_(dram), first_(first), left_(count), arrival_(arrival) {}

  /// When the next one is through.
  Time next() {
    if (next_ == through_.size()) ask();
    return through_[next_++];
  }

 private:
  void ask() {
    const std::int64_t count = std::min(left_, static_cast<std::int64_t>(through_.size()));
    dram_.serve_all(first_, Direction::read, arrival_, {through_.data(), static_cast<std::size_t>(count)});
    first_ += count;
    left_ -= count;
    next_ = 0;
  }

  models::PromptMemory& dram_;
  std::int64_t first_;
  std::int64_t left_;
  const Time arrival_;
  std::array<Time, 32> through_;
  std::size_t next_ = through_.size();
};

}  // namespace

/// All bursts are asked for at once; a packet leaves when the last burst it needs is through.
void HbmSlice::serve_read(Access& access) {
  catch_up(partition().now());
  is_consecutive(access.extent()) ? read_consecutive(access) : read_rows(access);
  Message& data = access.data();
  data.route->answers.send(fabric_, data);
}

/// Its bursts follow each other.
bool HbmSlice::is_consecutive(const Extent& extent) const {
  return extent.rows == 1 || spec_.strided == Strided::linear;
}

void HbmSlice::read_consecutive(Access& access) {
  Message& data = access.data();
  const Extent& extent = access.extent();
  const std::int64_t burst = spec_.burst.count();
  const std::int64_t packet = fabric_.packet_bytes().count();
  const std::int64_t skipped = extent.rows == 1 ? extent.offset % burst : 0;  // of the first burst
  const std::int64_t count = (skipped + data.bytes.count() + burst - 1) / burst;
  ConsecutiveReads bursts(dram_, extent.offset / burst, count, partition().now());
  Time through;
  std::int64_t covered = -skipped;
  for (std::int64_t end = 0; end < data.bytes.count();) {
    end = std::min(end + packet, data.bytes.count());
    for (; covered < end; covered += burst) through = std::max(through, bursts.next());
    data.ready.push_back(through);
  }
  note_served(spec_.burst * count);
}

void HbmSlice::read_rows(Access& access) {
  const Time now = partition().now();
  Message& data = access.data();
  const std::int64_t packet = fabric_.packet_bytes().count();
  Bursts bursts(spec_, access.extent());
  Time through;
  std::int64_t covered = 0;
  for (std::int64_t end = 0; end < data.bytes.count();) {
    end = std::min(end + packet, data.bytes.count());
    while (covered < end) {
      const auto burst = bursts.next();
      through = std::max(through, dram_.serve(burst.number, Direction::read, now));
      note_served(spec_.burst);
      covered = burst.end;
    }
    data.ready.push_back(through);
  }
}

/// Serves what has arrived by now. Writes are looked at only when somebody asks, but in the order in which
/// they came.
void HbmSlice::catch_up(Time now) {
  for (Arrivals::Packets in = arrivals_.next(now); in.access; in = arrivals_.next(now)) {
    if (is_series(in)) {
      serve_series(in);
      continue;
    }
    for (std::int64_t p = in.first; p < in.end; ++p)
      serve_packet(*in.access, p, in.at + in.period * (p - in.first));
  }
}

/// Whether every packet completes one burst, each the next one: the first bursts of a row that does not begin with a burst are
/// completed with the packets they begin in.
bool HbmSlice::is_series(const Arrivals::Packets& packets) const {
  return packets.end > packets.first + 1 && fabric_.packet_bytes() == spec_.burst &&
         is_consecutive(packets.access->extent());
}

void HbmSlice::serve_series(const Arrivals::Packets& packets) {
  const std::int64_t burst = spec_.burst.count();
  const Extent& extent = packets.access->extent();
  const std::int64_t count = packets.end - packets.first;
  const Time through = dram_.serve_series(extent.offset / burst + packets.first, count, Direction::write,
                                          packets.at, packets.period);
  Access::Progress& progress = packets.access->progress();
  progress.done = std::max(progress.done, through);
  progress.bytes = packets.end * burst - (extent.rows == 1 ? extent.offset % burst : 0);
  note_served(spec_.burst * count);
}

/// Serves the bursts whose last byte is in this packet.
void HbmSlice::serve_packet(Access& access, std::int64_t packet, Time tail) {
  const std::int64_t arrived =
      std::min((packet + 1) * fabric_.packet_bytes().count(), access.data().bytes.count());
  Access::Progress& progress = access.progress();
  Bursts bursts(spec_, access.extent(), progress.bytes);
  while (progress.bytes < arrived) {
    const Bursts::Burst burst = bursts.next();
    if (burst.end > arrived) return;
    progress.bytes = burst.end;
    progress.done = std::max(progress.done, dram_.serve(burst.number, Direction::write, tail));
    note_served(spec_.burst);
  }
}

Time HbmSlice::finish_write(Access& access) {
  catch_up(partition().now());
  return access.progress().done;
}

}  // namespace kernbench::device
