// Sends of a reference: bytes that are read where they lie and go out as they come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/pe.hpp"
#include "device/queue_world.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device::ipcq_reference_test {
namespace {

using namespace kernbench::dtypes;
using address::MemorySpace;
using ::testing::HasSubstr;
using testing::kSlice;
using testing::pe_of;
using testing::QueueWorld;
using Span = QueueWorld::Span;
using Spans = std::vector<Span>;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kOther{1, 0, 0};
constexpr std::uint64_t kElsewhere = 0x2'0000'0000;

// Times count from the start of the PE's program. The CPU takes 2 ns to start and 1 ns to dispatch the send.
constexpr Time kIssued = 3_ns;
// The request: port 1, controller 1. A burst of 8 ns.
constexpr Time kFirstByte = kIssued + 2_ps + 8_ns;
// Back to the engine: r0c0 1, port 1.
constexpr Time kToEngine = 2_ps;
// On to the neighbour's TCM: r0c0 1, r0c1 30, port 1, TCM 1.
constexpr Time kToNeighbour = 33_ps;

tl::Tile here(tl::Context& tl, std::int64_t elements) { return tl.ref(tl::Ptr(kSlice), {elements}, f16); }

struct Passing : QueueWorld {
  explicit Passing(PeCoord to, std::int64_t elements, MemorySpace memory = MemorySpace::Tcm,
                   std::vector<std::string> overrides = {}, FabricOptions options = {})
      : QueueWorld(std::move(overrides), options) {
    wiring.rules.memory = memory;
    link(kPe0, "E", to, "W");
    run({kPe0, to}, [&](tl::Context& tl) {
      if (pe_of(tl) == kPe0) tl.send("E", here(tl, elements));
      if (pe_of(tl) == to) tl.recv("W", {elements}, f16);
    });
  }
  OpRecord send() const { return of(kPe0, OpKind::ipcq_send).at(0); }
  Time left() const { return send().retired() - start_of(kPe0); }
};

// 256 B leave the slice at 256 GB/s in 1 ns. No load: one record. The tile would have been in the TCM at 12.005 ns and in
// the slot at 12.539 ns.
TEST(IpcqReference, IsReadWhereItLiesAndGoesOutAsItComes) {
  const Passing w(kPe1, 128);
  const Time commit = kFirstByte + kToEngine + kToNeighbour + 1_ns;
  EXPECT_EQ(commit, 12'037_ps);
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kIssued, commit}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv), (Spans{{commit + 2_ps, commit + 2_ps}}));
  EXPECT_TRUE(w.of(kPe0, OpKind::dma_read).empty());
  EXPECT_EQ(w.send().amount, 256u);
  EXPECT_EQ(w.left(), kFirstByte + 1_ns + kToEngine);  // its last byte has passed the engine
}

// 16 bursts on 8 pseudo-channels: two rounds of 8 ns; a packet a nanosecond, without a gap. A load and a send would have taken
// 3 + 24.005 and then 8.034 ns more.
TEST(IpcqReference, OfAWholeSlotIsOneStream) {
  const Passing w(kPe1, 2048);
  const Time commit = kFirstByte + kToEngine + kToNeighbour + 16_ns;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kIssued, commit}}));
  EXPECT_EQ(w.left(), kFirstByte + 16_ns + kToEngine);
}

// From the engine to the other SIP's TCM 47.103 ns (Ipcq.ToAnotherSip has the way, which is 1 ps longer from the TCM); 256 B at
// 128 GB/s 2 ns. They leave the slice at its own rate.
TEST(IpcqReference, ToAnotherSip) {
  const Passing w(kOther, 128);
  const Time commit = kFirstByte + kToEngine + 47'103_ps + 2_ns;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kIssued, commit}}));
  EXPECT_EQ(w.left(), kFirstByte + 1_ns + kToEngine);
  EXPECT_EQ(w.log.logs()[2].back().kind, OpKind::ipcq_recv);
}

// Into the neighbour's slice: r0c0 1, r0c1 30, controller 1; 1 ns; the burst that is written 8 ns.
TEST(IpcqReference, IntoARingInHbm) {
  const Passing w(kPe1, 128, MemorySpace::Hbm);
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send),
            (Spans{{kIssued, kFirstByte + kToEngine + 32_ps + 1_ns + 8_ns}}));
}

// The MMU's look-up comes before the request, the engine's overhead likewise.
TEST(IpcqReference, WaitsForTheMmuAndTheEngine) {
  const Passing plain(kPe1, 128);
  const Passing slow(kPe1, 128, MemorySpace::Tcm, {"pe.pe_mmu.overhead_ns=3", "pe.pe_dma.overhead_ns=4"});
  EXPECT_EQ(slow.send().end - slow.send().start, plain.send().end - plain.send().start + 7_ns);
}

TEST(IpcqReference, IsTheSamePacketByPacket) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm, MemorySpace::Sram})
    for (const PeCoord to : {kPe1, PeCoord{0, 5, 3}, kOther}) {
      const Passing trains(to, 2000, memory), packets(to, 2000, memory, {}, {.shortcuts = false});
      EXPECT_EQ(trains.spans(kPe0, OpKind::ipcq_send), packets.spans(kPe0, OpKind::ipcq_send));
      EXPECT_EQ(trains.left(), packets.left());
    }
}

// A store that comes after it waits until the bytes have left, not until they have arrived; one that comes before it is
// waited for.
TEST(IpcqReference, KeepsItsPlaceAmongTheAccessesOfItsPe) {
  QueueWorld w;
  w.link(kPe0, "E", kOther, "W");
  w.run({kPe0, kOther}, [&](tl::Context& tl) {
    if (pe_of(tl) == kOther) return void(tl.recv("W", {128}, f16));
    const auto x = tl.full({128}, 1.0, f16);
    tl.store(tl::Ptr(kSlice), x);
    tl.send("E", here(tl, 128));
    tl.store(tl::Ptr(kSlice), x);
  });
  const auto stores = w.of(kPe0, OpKind::dma_write);
  const OpRecord send = w.of(kPe0, OpKind::ipcq_send)[0];
  EXPECT_EQ(send.start, stores[0].end);
  EXPECT_EQ(send.cause_serial, stores[0].serial);
  EXPECT_EQ(stores[1].start, send.retired());
  EXPECT_EQ(stores[1].cause_serial, send.serial);
  EXPECT_LT(stores[1].end, send.end);
}

// Rows of 64 B, 128 B apart, are one transfer of 256 B: by default as much as 256 B in a row.
TEST(IpcqReference, OfRows) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe1) return void(tl.recv("W", {4, 32}, f16));
    tl.send("E", tl.ref(tl::Ptr(kSlice), {4, 32}, f16, {64, 1}));
  });
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_send)[0].amount, 256u);
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send),
            (Spans{{kIssued, kFirstByte + kToEngine + kToNeighbour + 1_ns}}));
}

// Half of it lies in the PE's own slice, half in its neighbour's, which is 30 ps further there and back: both halves are asked
// for at once, 128 B take 0.5 ns each, and they meet at the engine's port, where 128 B take 0.25 ns. The second waits for
// nobody there: the first has passed 60 ps before it comes at the rate of its slice, so that its own tail follows after
// 0.5 ns. One message, one record.
TEST(IpcqReference, OverTwoMemories) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.map(kPe0);
  const Bytes slice = w.device.machine().hbm_slice();
  w.device.mmu(kPe0).insert(address::VirtAddr(kElsewhere), {address::pe_hbm_addr(kPe0, slice, 0_B), 128_B},
                            "a");
  w.device.mmu(kPe0).insert(address::VirtAddr(kElsewhere + 128),
                            {address::pe_hbm_addr(kPe1, slice, 0_B), 128_B}, "b");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe1) return void(tl.recv("W", {128}, f16));
    tl.send("E", tl.ref(tl::Ptr(kElsewhere), {128}, f16));
  });
  const auto sends = w.of(kPe0, OpKind::ipcq_send);
  ASSERT_EQ(sends.size(), 1u);
  EXPECT_EQ(sends[0].amount, 256u);
  const Time from_neighbour = kFirstByte + 30_ps + 500_ps + kToEngine + 30_ps;
  EXPECT_EQ(sends[0].retired() - w.start_of(kPe0), from_neighbour);
  EXPECT_GE(sends[0].end - w.start_of(kPe0), from_neighbour + kToNeighbour);
  EXPECT_EQ(w.of(kPe1, OpKind::ipcq_recv).size(), 1u);
}

// Tiles and references through one direction: messages keep the order of the program, whoever is there first.
TEST(IpcqReference, BesideTilesKeepsTheOrderOfMessages) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    constexpr int kMessages = 12;
    if (pe_of(tl) == kPe1) {
      for (int i = 0; i < kMessages; ++i) tl.recv("W", {i % 3 == 0 ? 2048 : 16}, f16);
      return;
    }
    const auto tile = tl.full({16}, 1.0, f16);
    for (int i = 0; i < kMessages; ++i) tl.send("E", i % 3 == 0 ? here(tl, 2048) : tile);
  });
  const auto received = w.of(kPe1, OpKind::ipcq_recv);
  ASSERT_EQ(received.size(), 12u);
  for (std::size_t i = 0; i < received.size(); ++i) EXPECT_EQ(received[i].amount, i % 3 == 0 ? 4096u : 32u);
}

// Data would have to come from one SIP to the engine in another and leave again: no such command.
TEST(IpcqReference, InAnotherSipIsAnError) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.map(kPe0);
  w.device.mmu(kPe0).insert(address::VirtAddr(kElsewhere),
                            {address::pe_hbm_addr(kOther, w.device.machine().hbm_slice(), 0_B), 1_MiB},
                            "far");
  w.launch({kPe0}, [](tl::Context& tl) { tl.send("E", tl.ref(tl::Ptr(kElsewhere), {128}, f16)); });
  try {
    w.simulate();
    FAIL() << "it was sent";
  } catch (const SimulationError& e) {
    EXPECT_EQ(e.id(), "device.reference");
    EXPECT_THAT(e.what(), HasSubstr("sip1.cube0.hbm_ctrl.pe0, in another SIP"));
    EXPECT_THAT(e.what(), HasSubstr("load it first"));
  }
}

}  // namespace
}  // namespace kernbench::device::ipcq_reference_test
