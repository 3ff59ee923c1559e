// Requests that reach a memory at one instant: the order in which they are served does not depend on how the simulation
// came to that instant.
#include <gtest/gtest.h>

#include <deque>

#include "device/device_world.hpp"

namespace kernbench::device::memory_order_test {
namespace {

using testing::Machine;
using topology::NodeKind;

constexpr std::int64_t kKiB = 1024;

/// Reads of a PE, one after the other.
class Reads final : public Access {
 public:
  struct Read {
    PeCoord slice;
    std::int64_t bytes;
  };
  Reads(Machine& machine, PeCoord pe, std::vector<Read> reads, Channel traffic = Channel::compute)
      : machine_(machine),
        partition_(machine.device.simulation().partition(pe.sip + 1)),
        dma_(machine.device.graph().pe(pe, NodeKind::pe_dma)),
        channel_(traffic),
        reads_(std::move(reads)),
        begin_(*this) {}

  void begin_at(Time at) { partition_.schedule_at(begin_, at); }
  std::vector<Time> done;

 private:
  void begin() {
    const Read& read = reads_[done.size()];
    start(machine_.device.hbm(read.slice), dma_, dma_, Direction::read, {.row_bytes = read.bytes}, channel_);
  }
  void on_done() override {
    done.push_back(partition_.now());
    if (done.size() < reads_.size()) begin();
  }

  Machine& machine_;
  sim::Partition& partition_;
  const topology::NodeId dma_;
  const Channel channel_;
  const std::vector<Read> reads_;
  sim::MemberEvent<&Reads::begin> begin_;
};

// PE 6 reads 64 KiB from its own slice: 2 ps there, 8 ns for a burst, 256 ns at 256 GB/s, 2 ps back. PE 0 reads 4 KiB from the
// next cube: 16,203 ps there, 8 ns, 32 ns at 128 GB/s, 16,299 ps back. If it begins 191,502 ps later, both have
// their data at 264,004 ps. In one piece, PE 6's arrival was known first; packet by packet, PE 0's is, for its last
// packet's head comes 2 ns before its tail, that of PE 6 1 ns.
// Then both ask for 4 KiB of slice 2, 122 ps away from each. Of its 8 channels' bursts of 8 ns, PE 0, whose node comes
// first, gets the first round and the third: packets 0 … 7 leave from 8 ns on, 8 … 15 from 24 ns on. PE 6 gets the other two.
TEST(RequestsOfOneInstant, AreServedByIssuer) {
  for (const bool runs : {true, false}) {
    Machine machine({}, "default", {.shortcuts = runs});
    Reads six(machine, {0, 0, 6}, {{{0, 0, 6}, 64 * kKiB}, {{0, 0, 2}, 4 * kKiB}});
    Reads zero(machine, {0, 0, 0}, {{{0, 1, 0}, 4 * kKiB}, {{0, 0, 2}, 4 * kKiB}});
    six.begin_at(Time());
    zero.begin_at(191'502_ps);
    machine.run();
    const Time both = 264'004_ps;
    EXPECT_EQ(zero.done, (std::vector{both, both + 122_ps + 24_ns + 8_ns + 122_ps})) << runs;
    EXPECT_EQ(six.done, (std::vector{both, both + 122_ps + 32_ns + 8_ns + 122_ps})) << runs;
  }
}

TEST(RequestsOfOneInstant, OfOneIssuerAreServedByTrafficClass) {
  for (const bool queue_first : {true, false}) {
    Machine machine;
    const std::vector<Reads::Read> read = {{{0, 0, 0}, 2 * kKiB}};  // a burst of each channel
    Reads compute(machine, {0, 0, 0}, read, Channel::compute);
    Reads queue(machine, {0, 0, 0}, read, Channel::queue);
    (queue_first ? queue : compute).begin_at(Time());
    (queue_first ? compute : queue).begin_at(Time());
    machine.run();
    EXPECT_EQ(compute.done.front(), 2_ps + 8_ns + 8_ns + 2_ps);
    EXPECT_EQ(queue.done.front(), 2_ps + 16_ns + 8_ns + 2_ps);
  }
}

/// A write of 4 KiB from a PE's engine.
class Write final : public Access {
 public:
  Write(Machine& machine, PeCoord pe, PeCoord slice, std::int64_t offset = 0)
      : machine_(machine),
        partition_(machine.device.simulation().partition(pe.sip + 1)),
        dma_(machine.device.graph().pe(pe, NodeKind::pe_dma)),
        slice_(slice),
        extent_{.offset = offset, .row_bytes = 4 * kKiB},
        begin_(*this) {}

  void begin_at(Time at) { partition_.schedule_at(begin_, at); }
  Time done;

 private:
  void begin() { start(machine_.device.hbm(slice_), dma_, dma_, Direction::write, extent_); }
  void on_done() override { done = partition_.now(); }

  Machine& machine_;
  sim::Partition& partition_;
  const topology::NodeId dma_;
  const PeCoord slice_;
  const Extent extent_;
  sim::MemberEvent<&Write::begin> begin_;
};

// PE 0 and PE 7 both write slice 0, 2 ps and 272 ps away, and each of them two more slices in turn: a packet of 1 ns every
// 3 ns. Those of PE 0 are complete at the slice at 1,002 ps + p · 3 ns, those of PE 7, which begins 1 ns later, at
// 2,272 ps + p · 3 ns: one between two of the other. Packet p is a burst of channel p mod 8, which takes 8 ns:
//   packet p < 8 of PE 0      1,002 ps + p · 3 ns …  9,002 ps + p · 3 ns
//   packet p of PE 7, behind it                   … 17,002 ps + p · 3 ns
//   packet p + 8 of PE 0     25,002 ps + p · 3 ns … 33,002 ps + p · 3 ns
//   packet p + 8 of PE 7, behind it               … 41,002 ps + p · 3 ns
// The last ones, of p = 7, end at 54,002 ps and 62,002 ps. Nobody asks before the last packet of PE 0 has come, at 46,002 ps:
// then what has come of both is served in the order in which it came.
TEST(Writes, ThatComeInTurnAreServedInTurn) {
  for (const bool runs : {true, false}) {
    Machine machine({"pe.pe_dma.bw_gbs=256"}, "default", {.shortcuts = runs});
    std::deque<Write> writes;
    for (const int slice : {0, 1, 2}) writes.emplace_back(machine, PeCoord{0, 0, 0}, PeCoord{0, 0, slice});
    for (const int slice : {0, 6, 7}) writes.emplace_back(machine, PeCoord{0, 0, 7}, PeCoord{0, 0, slice});
    for (std::size_t i = 0; i < writes.size(); ++i) writes[i].begin_at(i < 3 ? Time() : 1_ns);
    machine.run();
    EXPECT_EQ(writes[0].done, 54'002_ps + 2_ps) << runs;
    EXPECT_EQ(writes[3].done, 62'002_ps + 272_ps) << runs;
    EXPECT_EQ(machine.device.fabric().counters().in_one_piece, runs ? writes.size() : 0);
  }
}

// PE 0, at r0c0, and PE 1, at r0c1, each write three slices in turn, a packet of 1 ns every 3 ns. Packets of PE 0 for slice 2
// reach the link from r0c1 to r0c2 after 31 ps and take 1,000 ps of it. PE 1 begins at 430 ps: packets for slice 3 reach
// that link at 431 ps, wait there for 600 ps of the 1,000 ps they are long, and go on at 512 GB/s, 500 ps long. Slice 3 is
// 122 ps away: they are complete there at 430 + 122 + 600 + 500 = 1,652 ps + p · 3 ns. A burst takes 4 ns, and packet p,
// written from burst 1 on, is of channel (p + 1) mod 8: packet 7 has channel 0 from 22,652 ps to 26,652 ps.
// PE 3 asks for burst 0 of slice 3 at 23,652 ps: it gets the channel behind that packet, until 30,652 ps, and its data is
// there 1,000 ps (256 B at 256 GB/s) and 2 ps later. It is one packet, the writes are trains.
TEST(Writes, ThatHaveWaitedAlikeAreServedWhenTheyAreComplete) {
  for (const bool runs : {true, false}) {
    Machine machine({"pe.pe_dma.bw_gbs=256", "cube.hbm.hbm_to_router_bw_gbs=512"}, "default",
                    {.shortcuts = runs});
    std::deque<Write> writes;
    for (const int slice : {2, 0, 4}) writes.emplace_back(machine, PeCoord{0, 0, 0}, PeCoord{0, 0, slice});
    for (const int slice : {3, 1, 5})
      writes.emplace_back(machine, PeCoord{0, 0, 1}, PeCoord{0, 0, slice}, 256);
    for (std::size_t i = 0; i < writes.size(); ++i) writes[i].begin_at(i < 3 ? Time() : 430_ps);
    Reads read(machine, {0, 0, 3}, {{{0, 0, 3}, 256}});
    read.begin_at(23'650_ps);
    machine.run();
    EXPECT_EQ(read.done.front(), 30'652_ps + 1'000_ps + 2_ps) << runs;
    EXPECT_EQ(writes[3].done, 1'652_ps + 15 * 3_ns + 4_ns + 122_ps) << runs;
    EXPECT_EQ(machine.device.fabric().counters().in_one_piece, runs ? writes.size() : 0);
  }
}

}  // namespace
}  // namespace kernbench::device::memory_order_test
