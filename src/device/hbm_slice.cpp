#include "device/hbm_slice.hpp"

#include <algorithm>
#include <array>

namespace kernbench::device {

HbmSlice::HbmSlice(Fabric& fabric, topology::NodeId node, const HbmSpec& spec,
                   std::unique_ptr<models::MemoryModel> model)
    : HbmMemory(fabric, node, spec),
      model_(std::move(model)),
      dram_(*model_->prompt()),
      takes_turns_(dram_.copy() != nullptr),
      turns_(dram_),
      wakes_(*this),
      all_have_come_(*this) {}

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

/// When a burst is through that comes at `at` and finds nobody else.
Time ask(models::PromptMemory& dram, std::int64_t burst, Direction direction, Time at) {
  return dram.serve(burst, direction, std::max(at, dram.free_at(dram.channel_of(burst))));
}

}  // namespace

/// All bursts are asked for at once; a packet leaves when the last burst it needs is through.
void HbmSlice::serve_read(Access& access) {
  const Time now = partition().now();
  const Stream stream{access.issuer(), Direction::read};
  catch_up(now);
  come(stream, now);
  if (turns_.idle()) {
    Answered* note_of_it = note(access, stream, now);
    is_consecutive(access.extent()) ? read_consecutive(access) : read_rows(access);
    noted(note_of_it);
    promised_by_ = dram_.taken_by();
    Message& data = access.data();
    data.route->answers.send(fabric_, data);
  } else {
    read_in_turn(access, stream);
  }
  watch();
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
      through = std::max(through, ask(dram_, burst.number, Direction::read, now));
      note_served(spec_.burst);
      covered = burst.end;
    }
    data.ready.push_back(through);
  }
}

/// Serves what has arrived by now. Writes are looked at only when somebody asks, but in the order in which
/// they came.
void HbmSlice::catch_up(Time now) {
  for (Arrivals::Packets in = arrivals_.next(now); in.access; in = arrivals_.next(now)) take_packets(in);
  take_turns(now);
}

void HbmSlice::take_packets(const Arrivals::Packets& packets) {
  const Stream stream{packets.access->issuer(), Direction::write};
  take_turns(packets.at);
  come(stream, packets.at);
  if (turns_.idle() && is_series(packets)) return serve_series(packets);
  for (std::int64_t p = packets.first; p < packets.end; ++p)
    serve_packet(*packets.access, p, packets.at + packets.period * (p - packets.first));
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
  Answered* note_of_it =
      note(*packets.access, {packets.access->issuer(), Direction::write}, packets.at, packets.period);
  const Time through = dram_.serve_series(extent.offset / burst + packets.first, count, Direction::write,
                                          packets.at, packets.period);
  Access::Progress& progress = packets.access->progress();
  progress.done = std::max(progress.done, through);
  progress.bytes = packets.end * burst - (extent.rows == 1 ? extent.offset % burst : 0);
  note_served(spec_.burst * count);
  noted(note_of_it);
}

/// Serves the bursts whose last byte is in this packet.
void HbmSlice::serve_packet(Access& access, std::int64_t packet, Time tail) {
  const std::int64_t arrived =
      std::min((packet + 1) * fabric_.packet_bytes().count(), access.data().bytes.count());
  const Stream stream{access.issuer(), Direction::write};
  take_turns(tail);
  if (!turns_.idle()) return write_in_turn(access, stream, arrived, tail);
  Answered* note_of_it = note(access, stream, tail);
  Access::Progress& progress = access.progress();
  for (Bursts bursts(spec_, access.extent(), progress.bytes); progress.bytes < arrived;) {
    const Bursts::Burst burst = bursts.next();
    if (burst.end > arrived) break;
    progress.bytes = burst.end;
    progress.done = std::max(progress.done, ask(dram_, burst.number, Direction::write, tail));
    note_served(spec_.burst);
  }
  noted(note_of_it);
}

/// A write that waits for its turn is acknowledged when its last burst has had it.
Time HbmSlice::finish_write(Access& access) {
  catch_up(partition().now());
  OpenAccess* open = find_write(access);
  if (open) open->delivered = true;
  if (open && open->missing > 0) {
    watch();
    return Time::never();
  }
  for (const auto& answered : answered_) {
    if (answered->access != &access || answered->delivered) continue;
    answered->delivered = true;
    answered->done = access.progress().done;
  }
  promised_by_ = dram_.taken_by();
  watch();
  return access.progress().done;
}

}  // namespace kernbench::device
