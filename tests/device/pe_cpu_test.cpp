// What holds a PE's CPU, and what lets it go: the same for one that runs ahead and one that goes step by step.
#include <gtest/gtest.h>

#include <tuple>

#include "device/queue_world.hpp"

namespace kernbench::device::pe_cpu_test {
namespace {

using namespace kernbench::dtypes;
using testing::kSlice;
using testing::pe_of;
using testing::QueueWorld;
using Spans = std::vector<QueueWorld::Span>;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kFar{0, 5, 0};

class Cpu : public ::testing::TestWithParam<bool> {
 protected:
  QueueWorld world(std::vector<std::string> overrides) const {
    return QueueWorld(std::move(overrides), {.shortcuts = GetParam()});
  }
};

INSTANTIATE_TEST_SUITE_P(Pe, Cpu, ::testing::Values(true, false),
                         [](const auto& of) { return std::string(of.param ? "Ahead" : "StepByStep"); });

/// Another program on the PE, behind those that were launched before: it names no directions.
std::unique_ptr<KernelLaunch> launch_alone(QueueWorld& w, void (*kernel)(tl::Context&)) {
  w.map(kPe0);
  tl::Context tl({.kernel = "alone", .pe = kPe0});
  run_kernel(kernel, tl);
  auto launch = std::make_unique<KernelLaunch>(w.processors, 7, 0,
                                               std::vector<std::shared_ptr<const isa::Program>>{
                                                   std::make_shared<const isa::Program>(tl.take_program())});
  w.device.control().submit(*launch);
  return launch;
}

// Messages are there at 5.036, 5.536 and 6.536 ns (see Ipcq.TheLastReaderReturnsTheCredit). The first receive is issued at 3 ns.
// The second one finds its queue full until the first has its message; the third is dispatched a cycle later.
TEST_P(Cpu, IsHeldByAReceiveFromAnyDirectionUntilThatHasItsMessage) {
  QueueWorld w = world({"pe.pe_cpu.queue_depth=1"});
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) {
      const auto x = tl.full({128}, 1.0, f16);
      for (int i = 0; i < 3; ++i) tl.send("E", x);
    } else {
      for (int i = 0; i < 2; ++i) tl.recv_any({128}, f16);
      tl.full({128}, 2.0, f16);
      tl.recv_any({128}, f16);
    }
  });
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv),
            (Spans{{5'036_ps, 5'036_ps}, {5'536_ps, 5'536_ps}, {7'036_ps, 7'036_ps}}));
  ASSERT_EQ(w.of(kPe1, OpKind::math).size(), 1u);
  const OpRecord behind = w.of(kPe1, OpKind::math)[0];
  EXPECT_EQ(behind.start - w.start_of(kPe1), 5'036_ps + 1_ns);
  EXPECT_EQ(behind.cause_instant - w.start_of(kPe1), 5'036_ps);
  EXPECT_EQ(behind.cause(), (OpRef{1, w.of(kPe0, OpKind::ipcq_send)[0].serial}));
}

// With two such receives in the queue, one more finds room when the first has its message, though the second has none.
TEST_P(Cpu, IsHeldWhileOneOfSeveralReceivesFromAnyDirectionHasItsMessage) {
  QueueWorld w = world({"pe.pe_cpu.queue_depth=2"});
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) {
      const auto x = tl.full({128}, 1.0, f16);
      for (int i = 0; i < 3; ++i) tl.send("E", x);
    } else {
      for (int i = 0; i < 3; ++i) tl.recv_any({128}, f16);
      tl.full({128}, 2.0, f16);
    }
  });
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv),
            (Spans{{5'036_ps, 5'036_ps}, {5'536_ps, 5'536_ps}, {6'536_ps, 6'536_ps}}));
  ASSERT_EQ(w.of(kPe1, OpKind::math).size(), 1u);
  EXPECT_EQ(w.spans(kPe1, OpKind::math)[0].start, 5'036_ps + 1_ns);
}

// Commands are dispatched at 52, 102, 152 ns … The load has its 64 KiB at 52 + 8.005 + 256 ns. Until then the first receive waits for
// its bytes, and with it the one from any direction, which gets the second message after 152 ns: it takes room in the queue of W when
// the CPU has come past it. With a third receive the queue is full at 202 ns; the last one holds the CPU until the load is over.
TEST_P(Cpu, SeesReceivesFromAnyDirectionTakeRoomInTheQueuesOfDirections) {
  QueueWorld w = world({"pe.pe_cpu.queue_depth=3", "pe.pe_cpu.dispatch_cycles=50"});
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) {
      const auto x = tl.full({128}, 1.0, f16);
      for (int i = 0; i < 4; ++i) tl.send("E", x);
    } else {
      tl.load(tl::Ptr(kSlice), {32, 1024}, f16);
      tl.recv("W", {128}, f16, {.dst_addr = tl::Ptr(kSlice)});
      tl.recv_any({128}, f16);
      tl.recv("W", {128}, f16);
      tl.recv("W", {128}, f16);
      tl.full({128}, 2.0, f16);
    }
  });
  EXPECT_EQ(w.spans(kPe1, OpKind::dma_read)[0].end, 316'005_ps);
  EXPECT_EQ(w.spans(kPe1, OpKind::math)[0].start, 316'005_ps + 50_ns);
}

// 2.5 KiB of scratch have room for two loads: the first one, which occupies the channel, and the second, all of whose lanes are off. The
// third waits for scratch. When the first one retires, the second starts and retires at once, and so does the third, the last command of its
// program. The program behind it has more queues.
TEST_P(Cpu, EndsAProgramWhenWhatLetItGoIsThrough) {
  QueueWorld w = world({"pe.pe_tcm.kernel_scratch_mb=0.00244140625", "pe.pe_dma.outstanding=1"});
  std::vector<PeCoord> around;
  for (int pe = 0; pe < 8; ++pe) around.push_back({0, 0, pe});
  w.ring(around);
  w.install();
  const auto first = launch_alone(w, [](tl::Context& tl) {
    const auto off = tl.arange(0, 1) < 0;
    tl.load(tl::Ptr(kSlice), {512}, f16);
    tl.load(tl::Ptr(kSlice + 0x1000), {512}, f16, {.mask = off});
    tl.load(tl::Ptr(kSlice + 0x2000), {512}, f16, {.mask = off});
  });
  w.launch({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) tl.send("E", tl.full({128}, 1.0, f16));
    if (pe_of(tl) == kPe1) tl.recv("W", {128}, f16);
  });
  w.simulate();
  const auto loads = w.of(kPe0, OpKind::dma_read);
  ASSERT_EQ(loads.size(), 3u);
  const Time over = loads[0].end;
  EXPECT_EQ(loads[1].end, over);
  EXPECT_EQ(loads[2].end, over);
  EXPECT_EQ(w.of(kPe0, OpKind::program)[1].end, over);
  EXPECT_EQ(w.of(kPe1, OpKind::ipcq_recv).size(), 1u);
}

// 2 KiB of scratch hold two tiles. The first is stored in another cube, the second at home: stores retire in order, both when the first
// one is done. That frees enough for the next load.
TEST_P(Cpu, IsLetGoByTheFirstOfSeveralThatRetireAtOneInstant) {
  QueueWorld w = world({"pe.pe_tcm.kernel_scratch_mb=0.001953125"});
  w.link(kPe0, "E", kPe1, "W");
  w.map(kPe0);
  constexpr std::uint64_t kThere = kSlice + 0x1000'0000;
  w.device.mmu(kPe0).insert(address::VirtAddr(kThere),
                            {address::pe_hbm_addr(kFar, w.device.machine().hbm_slice(), 0_B), 64_MiB},
                            "there");
  w.run({kPe0}, [](tl::Context& tl) {
    const auto x = tl.load(tl::Ptr(kSlice), {512}, f16), y = tl.load(tl::Ptr(kSlice + 0x1000), {512}, f16);
    tl.store(tl::Ptr(kThere), x);
    tl.store(tl::Ptr(kSlice + 0x8000), y);
    tl.load(tl::Ptr(kSlice + 0x2000), {512}, f16);
  });
  const auto stores = w.of(kPe0, OpKind::dma_write);
  ASSERT_EQ(stores[0].end, stores[1].end);
  const OpRecord last = w.of(kPe0, OpKind::dma_read)[2];
  EXPECT_EQ(last.start, stores[0].end);
  EXPECT_EQ(last.reason, Reason::scratch);
  EXPECT_EQ(last.cause(), (OpRef{1, stores[0].serial}));
}

// Loads that nobody reads free their own scratch. The second one is there first, but retires with the one before it.
TEST_P(Cpu, IsLetGoByTheFirstOfSeveralLoadsThatRetireAtOneInstant) {
  QueueWorld w = world({"pe.pe_tcm.kernel_scratch_mb=0.001953125"});
  w.link(kPe0, "E", kPe1, "W");
  w.map(kPe0);
  constexpr std::uint64_t kThere = kSlice + 0x1000'0000;
  w.device.mmu(kPe0).insert(address::VirtAddr(kThere),
                            {address::pe_hbm_addr(kFar, w.device.machine().hbm_slice(), 0_B), 64_MiB},
                            "there");
  w.run({kPe0}, [](tl::Context& tl) {
    tl.load(tl::Ptr(kThere), {512}, f16);
    for (std::uint64_t i = 0; i < 2; ++i) tl.load(tl::Ptr(kSlice + 0x1000 * i), {512}, f16);
  });
  const auto loads = w.of(kPe0, OpKind::dma_read);
  ASSERT_EQ(loads[0].end, loads[1].end);
  EXPECT_EQ(loads[2].start, loads[0].end);
  EXPECT_EQ(loads[2].reason, Reason::engine);
  EXPECT_EQ(loads[2].cause(), (OpRef{1, loads[0].serial}));
}

}  // namespace
}  // namespace kernbench::device::pe_cpu_test
