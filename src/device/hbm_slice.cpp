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

void HbmSlice::on_packet(Access& access, std::int64_t packet, Time tail) {
  packets_.push_back({&access, packet, tail});
}

void HbmSlice::on_run(Access& access, const Run& run) { runs_.push_back({&access, run}); }

/// From here on its packets come one by one.
void HbmSlice::on_run_cut(Access& access, std::int64_t from, std::int64_t end) {
  for (IncomingRun& incoming : runs_)
    if (incoming.access == &access && incoming.run.end == end)
      incoming.run.end = std::max(from, incoming.run.first);
  std::erase_if(runs_, [](const IncomingRun& incoming) { return incoming.run.first == incoming.run.end; });
}

/// Serves what has arrived by now. Writes are looked at only when somebody asks, but in the order in which
/// they came.
void HbmSlice::catch_up(Time now) {
  for (; next_packet_ < packets_.size() && packets_[next_packet_].tail <= now; ++next_packet_) {
    const IncomingPacket in = packets_[next_packet_];
    serve_runs(in.tail);
    serve_packet(*in.access, in.packet, in.tail);
  }
  serve_runs(now);
  if (2 * next_packet_ < packets_.size()) return;
  packets_.erase(packets_.begin(), packets_.begin() + static_cast<std::ptrdiff_t>(next_packet_));
  next_packet_ = 0;
}

/// Serves packets of runs in order of arrival: each run up to the next packet of another one.
void HbmSlice::serve_runs(Time until) {
  while (!runs_.empty()) {
    auto first = runs_.begin();
    Time first_tail = first->next_tail();
    Time next_tail = until;
    for (auto run = first + 1; run != runs_.end(); ++run) {
      const Time tail = run->next_tail();
      next_tail = std::min(next_tail, std::max(tail, first_tail));
      if (tail < first_tail) first = run, first_tail = tail;
    }
    if (first_tail > until) return;
    serve_run(*first, next_tail);
    if (first->run.first == first->run.end) runs_.erase(first);
  }
}

/// Serves its next packet, and others that arrive by then as well, if they are alike.
void HbmSlice::serve_run(IncomingRun& incoming, Time until) {
  Access& access = *incoming.access;
  Run& run = incoming.run;
  if (is_series(access, run)) {
    const Route& route = *access.data().route;
    const std::int64_t last =
        std::min(run.end, access.data().packets() - 1);  // the message's last may be shorter
    const Time length = run.waited() ? run.length : route.pace.full();
    Run series = run;
    series.end = run.timing.after(until - route.latency - length, run.first, last);
    if (series.end > run.first + 1) {
      serve_series(access, series);
      run.first = series.end;
      return;
    }
  }
  serve_packet(access, run.first, incoming.next_tail());
  ++run.first;
}

/// Whether every packet but the message's last completes one burst, each the next one, at even distances: the first
/// bursts of a row that does not begin with a burst are completed with the packets they begin in.
bool HbmSlice::is_series(const Access& access, const Run& run) const {
  return run.timing.period > Time() && fabric_.packet_bytes() == spec_.burst &&
         is_consecutive(access.extent());
}

void HbmSlice::serve_series(Access& access, const Run& run) {
  const std::int64_t burst = spec_.burst.count();
  const Extent& extent = access.extent();
  const std::int64_t count = run.end - run.first;
  const Time through = dram_.serve_series(extent.offset / burst + run.first, count, Direction::write,
                                          access.data().run_tail(run, run.first), run.timing.period);
  Access::Progress& progress = access.progress();
  progress.done = std::max(progress.done, through);
  progress.bytes = run.end * burst - (extent.rows == 1 ? extent.offset % burst : 0);
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
