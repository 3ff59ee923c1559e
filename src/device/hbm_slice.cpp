#include "device/hbm_slice.hpp"

#include <algorithm>

namespace kernbench::device {

HbmSpec HbmSpec::of(const topology::Machine& machine) {
  const ParamSet& hbm = machine.at("cube.hbm");
  const std::string& strided = machine.at("pe.pe_dma").text("strided");
  const bool gather = strided == "gather" || (strided == "auto" && hbm.text("model") == "rows");
  return {hbm.bytes("burst_bytes"), gather ? Strided::gather : Strided::linear};
}

Bursts::Bursts(const HbmSpec& spec, const Extent& extent, std::int64_t taken)
    : extent_(extent),
      burst_(spec.burst.count()),
      linear_(spec.strided == Strided::linear && extent.rows > 1),
      taken_(taken) {}

/// A transfer of one row, or of several where each is charged, is cut at burst boundaries. A linear one of
/// several rows takes ⌈bytes / burst⌉ bursts from the one that holds its first byte.
Bursts::Burst Bursts::next() {
  if (linear_) {
    const std::int64_t number = extent_.offset / burst_ + taken_ / burst_;
    taken_ = std::min(taken_ + burst_, extent_.bytes().count());
    return {number, taken_};
  }
  const std::int64_t in_row = taken_ % extent_.row_bytes;
  const std::int64_t address = extent_.offset + taken_ / extent_.row_bytes * extent_.stride + in_row;
  const std::int64_t number = address / burst_;
  taken_ += std::min((number + 1) * burst_ - address, extent_.row_bytes - in_row);
  return {number, taken_};
}

HbmSlice::HbmSlice(Fabric& fabric, topology::NodeId node, HbmSpec spec, std::unique_ptr<Dram> dram)
    : Memory(fabric, node), spec_(spec), dram_(std::move(dram)) {}

/// All bursts are asked for at once; a packet leaves when the last burst it needs is through.
void HbmSlice::serve_read(Access& access) {
  const Time now = partition().now();
  catch_up(now);
  Message& data = access.data();
  const std::int64_t packet = fabric_.packet_bytes().count();
  Bursts bursts(spec_, access.extent());
  Time through;
  std::int64_t covered = 0;
  for (std::int64_t end = 0; end < data.bytes.count();) {
    end = std::min(end + packet, data.bytes.count());
    while (covered < end) {
      const auto burst = bursts.next();
      through = std::max(through, dram_->serve(burst.number, Direction::read, now));
      served_ += spec_.burst;
      covered = burst.end;
    }
    data.ready.push_back(through);
  }
  data.route->answers.send(fabric_, data);
}

void HbmSlice::on_packet(Access& access, std::int64_t packet, Time tail) {
  incoming_.push_back({&access, packet, packet + 1, false, tail});
}

void HbmSlice::on_run(Access& access) {
  incoming_.push_back({&access, 0, access.data().packets(), true, {}});
}

/// From here on the packets come one by one.
void HbmSlice::on_run_cut(Access& access, std::int64_t from) {
  catch_up(partition().now());
  for (std::size_t i = next_incoming_; i < incoming_.size(); ++i)
    if (Incoming& in = incoming_[i]; in.access == &access && in.in_run) in.end = from;
}

/// Serves what has arrived by now. Writes are looked at only when somebody asks, but in the order in which
/// they came.
void HbmSlice::catch_up(Time now) {
  for (; next_incoming_ < incoming_.size(); ++next_incoming_) {
    Incoming& in = incoming_[next_incoming_];
    for (; in.first < in.end; ++in.first) {
      const Time tail = in.in_run ? in.access->data().run_tail(in.first) : in.tail;
      if (tail > now) return forget_served();
      serve_packet(*in.access, in.first, tail);
    }
  }
  incoming_.clear();
  next_incoming_ = 0;
}

/// Drops what has been served, once that is most of what is kept.
void HbmSlice::forget_served() {
  if (next_incoming_ < incoming_.size() / 2) return;
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(next_incoming_));
  next_incoming_ = 0;
}

/// Serves the bursts whose last byte is in this packet.
void HbmSlice::serve_packet(Access& access, std::int64_t packet, Time tail) {
  const std::int64_t arrived =
      std::min((packet + 1) * fabric_.packet_bytes().count(), access.data().bytes.count());
  Access::Progress& progress = access.progress;
  Bursts bursts(spec_, access.extent(), progress.bytes);
  while (progress.bytes < arrived) {
    const Bursts::Burst burst = bursts.next();
    if (burst.end > arrived) return;
    progress.bytes = burst.end;
    progress.done = std::max(progress.done, dram_->serve(burst.number, Direction::write, tail));
    served_ += spec_.burst;
  }
}

Time HbmSlice::finish_write(Access& access) {
  catch_up(partition().now());
  return access.progress.done;
}

}  // namespace kernbench::device
