// stream: every PE reads from memory, 4 KiB at a time with 8 transfers in flight, into its TCM. Unit: a
// packet-hop, that is a packet over a link. The checksum is made of all times of retirement: it is the same
// whether messages move packet by packet or in one piece.
#include "device/device.hpp"

#include <deque>

#include "workload.hpp"

namespace kernbench::bench {
namespace {

using device::Device;
using device::DmaTransfer;
using topology::NodeKind;

constexpr std::int64_t kRead = 4096;
constexpr int kInFlight = 8;

/// One PE and its transfers: each is issued again when it retires.
class Streamer {
 public:
  Streamer(Device& device, PeCoord pe, PeCoord slice, int reads)
      : device_(device), pe_(pe), left_(reads), here_(device.simulation().partition(pe.sip + 1)) {
    for (int i = 0; i < kInFlight; ++i) {
      Read& read = reads_.emplace_back(*this);
      read.end = device.graph().pe(pe, NodeKind::pe_tcm);
      read.pieces = {{&device.hbm(slice), {.offset = 0, .row_bytes = kRead}}};
    }
  }
  void start() {
    for (Read& read : reads_) issue(read);
  }
  std::uint64_t checksum() const { return checksum_; }

 private:
  struct Read final : DmaTransfer {
    explicit Read(Streamer& s) : streamer(s) {}
    void on_retired() override { streamer.retire(*this); }
    Streamer& streamer;
  };

  void issue(Read& read) {
    if (left_-- <= 0) return;
    read.pieces.front().extent.offset = next_;
    next_ += kRead;
    device_.dma(pe_).issue(read);
  }
  void retire(Read& read) {
    checksum_ = checksum_ * 31 + static_cast<std::uint64_t>(here_.now().ps());
    issue(read);
  }

  Device& device_;
  const PeCoord pe_;
  int left_;
  std::int64_t next_ = 0;
  sim::Partition& here_;
  std::uint64_t checksum_ = 0;
  std::deque<Read> reads_;
};

topology::Machine machine_of(int sips) {
  const std::vector<std::string> overrides = {"system.sips.count=" + std::to_string(sips)};
  return topology::load_machine("default", overrides, topology::builtin_registry());
}

/// All PEs stream; `slice_of` says from which slice each of them does.
template <class SliceOf>
Result run(int sips, int reads, device::FabricOptions options, SliceOf&& slice_of) {
  Device device(machine_of(sips), options);
  const topology::Graph& graph = device.graph();
  std::deque<Streamer> streamers;
  for (int sip = 0; sip < sips; ++sip)
    for (int cube = 0; cube < graph.cubes(); ++cube)
      for (int pe = 0; pe < graph.pes(); ++pe)
        streamers.emplace_back(device, PeCoord{sip, cube, pe}, slice_of(PeCoord{sip, cube, pe}), reads);
  for (Streamer& streamer : streamers) streamer.start();
  // The first nanoseconds make routes and pools; what is measured is the steady state.
  device.simulation().run({.until = 200_ns});
  const std::uint64_t before = device.fabric().counters().packet_hops;
  const double seconds = seconds_of([&] { device.simulation().run(); });
  Result result{.units = static_cast<std::int64_t>(device.fabric().counters().packet_hops - before),
                .seconds = seconds};
  for (const Streamer& streamer : streamers) result.checksum += streamer.checksum();
  return result;
}

}  // namespace

Result stream(int sips, bool runs) {
  return run(sips, 2000 / sips, {.shortcuts = runs}, [](PeCoord pe) { return pe; });
}

/// The next cube along the row, around at its end.
Result neighbour(bool runs) {
  return run(1, 100, {.shortcuts = runs}, [](PeCoord pe) {
    return PeCoord{pe.sip, pe.cube / 4 * 4 + (pe.cube + 1) % 4, pe.pe};
  });
}

std::size_t bytes_per_packet() { return sizeof(device::Packet); }

}  // namespace kernbench::bench
