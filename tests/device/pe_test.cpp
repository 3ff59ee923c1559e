#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/pe_world.hpp"

namespace kernbench::device::pe_test {
namespace {

using namespace kernbench::dtypes;
using testing::kBase;
using testing::Kernels;
using Spans = std::vector<Kernels::Span>;

constexpr const char* kInOrder = "pe.pe_cpu.issue=in_order";

// Times count from the start of the program. The CPU takes 2 ns to start and 1 ns to dispatch each command.
// A load of n bytes from the PE's own slice: request 2 ps (port, controller), a burst of 8 ns, n / 256 GB/s,
// and 3 ps back into the TCM (controller, port, TCM). A store: 3 ps, n / 256 GB/s, a burst of 8 ns,
// acknowledgement 2 ps. Both 8.005 ns + n / 256 GB/s; of a 32 × 64 tile of f16 (4096 B): 24.005 ns.
constexpr Time kMove = 24'005_ps;

void copy(tl::Context& tl) {
  auto x = tl.load(tl::Ptr(kBase), {32, 64}, f16);
  tl.store(tl::Ptr(kBase + 0x10000), x);
}

TEST(Pe, LoadThenStore) {
  Kernels k;
  const KernelLaunch& launch = k.run({0, 0, 0}, copy);
  EXPECT_EQ(k.spans(OpKind::dma_read), (Spans{{3_ns, 3_ns + kMove}}));
  // Dispatched at 4 ns, but its tile is there at 27.005 ns.
  EXPECT_EQ(k.spans(OpKind::dma_write), (Spans{{3_ns + kMove, 3_ns + 2 * kMove}}));
  EXPECT_EQ(launch.pe_exec(), 3_ns + 2 * kMove);
  // From the host and back: 41.117 ns each way (see ControlPath.OnePe).
  EXPECT_EQ(launch.total(), launch.pe_exec() + 2 * 41'117_ps);
  EXPECT_EQ(launch.network(), 2 * 41'117_ps);
}

TEST(Pe, TheStoreIsCausedByItsOperand) {
  Kernels k;
  k.run({0, 0, 0}, copy);
  const OpRecord load = k.of(OpKind::dma_read)[0];
  const OpRecord store = k.of(OpKind::dma_write)[0];
  EXPECT_EQ(store.reason, Reason::operand);
  EXPECT_EQ(store.cause_serial, load.serial);
  EXPECT_EQ(store.cause_instant, load.end);
  EXPECT_EQ(load.reason, Reason::issue);
  EXPECT_EQ(load.cause_serial, k.of(OpKind::program)[0].serial);
  EXPECT_EQ(load.cause_instant, k.program_start());
  // request 2 ps, burst 8 ns; the rest is the data's way
  EXPECT_EQ(load.phase[0], 2u);
  EXPECT_EQ(load.phase[1], 8000u);
  EXPECT_EQ(load.amount, 4096u);
}

// Rows are charged as consecutive bursts whatever their stride (pe_dma.strided: linear): 32 times the same 128 B are 4096 B.
TEST(Pe, ALoadThatRepeatsARowIsChargedByItsBytes) {
  Kernels k;
  k.run({0, 0, 0}, [](tl::Context& tl) { tl.load(tl::Ptr(kBase), {32, 64}, f16, {.strides = {0, 1}}); });
  EXPECT_EQ(k.spans(OpKind::dma_read), (Spans{{3_ns, 3_ns + kMove}}));
  EXPECT_EQ(k.of(OpKind::dma_read)[0].amount, 4096u);
}

void matmul(tl::Context& tl) {
  auto a = tl.load(tl::Ptr(kBase), {32, 64}, f16);
  auto b = tl.load(tl::Ptr(kBase + 0x1000), {64, 32}, f16);
  auto c = tl.dot(a, b, {.out_dtype = f16});
  tl.store(tl::Ptr(kBase + 0x2000), c);
}

// dot: fetch 8192 B at 512 GB/s 16 ns, one tile 16 ns, store 2048 B at 512 GB/s 4 ns: 36 ns.
// store: 8.005 + 2048 / 256 = 16.005 ns.
TEST(Pe, LoadLoadDotStoreInOrder) {
  Kernels k({kInOrder});
  k.run({0, 0, 0}, matmul);
  const Time a = 3_ns + kMove;      // 27.005
  const Time b = a + 1_ns + kMove;  // dispatched after a: 52.010
  const Time c = b + 1_ns + 36_ns;  // 89.010
  const Time d = c + 1_ns + 16'005_ps;
  EXPECT_EQ(k.spans(OpKind::dma_read), (Spans{{3_ns, a}, {a + 1_ns, b}}));
  EXPECT_EQ(k.spans(OpKind::gemm), (Spans{{b + 1_ns, c}}));
  EXPECT_EQ(k.spans(OpKind::dma_write), (Spans{{c + 1_ns, d}}));
}

// Running ahead, the second load is dispatched at 4 ns. Its bursts wait for the first one's: 16 bursts of 8
// ns over 8 channels are through at 3.002 + 16 = 19.002 ns, so its own are from 27.002 on; its data follows
// the first one's on the wire without a gap: the first leaves at 11.002 … 27.002, the second 27.002 … 43.002,
// in the TCM 3 ps later.
TEST(Pe, LoadLoadDotStoreRunningAhead) {
  Kernels k;
  k.run({0, 0, 0}, matmul);
  const Time b = 43'005_ps;
  EXPECT_EQ(k.spans(OpKind::dma_read), (Spans{{3_ns, 3_ns + kMove}, {4_ns, b}}));
  EXPECT_EQ(k.spans(OpKind::gemm), (Spans{{b, b + 36_ns}}));
  EXPECT_EQ(k.spans(OpKind::dma_write), (Spans{{b + 36_ns, b + 36_ns + 16'005_ps}}));
}

void add_chain(tl::Context& tl) {
  auto x = tl.load(tl::Ptr(kBase), {128}, f16);
  auto y = x + x;
  auto z = tl.exp(y);
  tl.store(tl::Ptr(kBase + 0x1000), tl.sum(z));
}

// 128 f16 = 256 B = one vector. load 8.005 + 1 = 9.005 ns. add: fetch 512 B 1 ns (x twice), 1 cycle, store
// 256 B 0.5 ns. exp: fetch 0.5, 8 cycles, store 0.5. sum: fetch 0.5, 1 + log2(128) = 8 cycles, store 2 B: 3.9
// → 4 ps.
TEST(Pe, MathTakesItsClassOfCycles) {
  Kernels k({kInOrder});
  k.run({0, 0, 0}, add_chain);
  const Time x = 3_ns + 9'005_ps;
  const Time y = x + 1_ns + 2'500_ps;
  const Time z = y + 1_ns + 9_ns;
  const Time s = z + 1_ns + 8'504_ps;
  EXPECT_EQ(k.spans(OpKind::math), (Spans{{x + 1_ns, y}, {y + 1_ns, z}, {z + 1_ns, s}}));
}

/// Fetch and compute of the only math command, in ps.
template <class Kernel>
std::pair<std::uint32_t, std::uint32_t> fetch_and_compute(Kernel kernel) {
  Kernels k;
  k.run({0, 0, 0}, kernel);
  const OpRecord math = k.of(OpKind::math).at(0);
  return {math.phase[1], math.phase[2]};
}

// Vectors of 256 B; lanes are as wide as the widest operand or result; fetches at 512 GB/s.
TEST(Pe, MathTakesWholeVectorsOfItsWidestElements) {
  const tl::Ptr at(kBase);
  using Times = std::pair<std::uint32_t, std::uint32_t>;
  // 129 f16 are two vectors; 258 B take 503.9 ps.
  EXPECT_EQ(fetch_and_compute([=](tl::Context& tl) { tl.abs(tl.load(at, {129}, f16)); }), (Times{504, 2000}));
  // 128 f32 compared are two vectors, whatever the truth values take; 512 B are 1 ns.
  EXPECT_EQ(fetch_and_compute([=](tl::Context& tl) { (void)(tl.load(at, {128}, f32) < 1.0); }),
            (Times{1000, 2000}));
  EXPECT_EQ(fetch_and_compute([=](tl::Context& tl) { tl.cast(tl.load(at, {128}, f16), f32); }),
            (Times{500, 2000}));
  // 256 i8 are one vector of class 4.
  EXPECT_EQ(fetch_and_compute([=](tl::Context& tl) { tl.floordiv(tl.load(at, {256}, i8), 3); }),
            (Times{500, 4000}));
  // What a view repeats is fetched once: 256 B; 512 f16 are four vectors.
  EXPECT_EQ(fetch_and_compute([=](tl::Context& tl) {
              tl.abs(tl.broadcast_to(tl.load(at, {128}, f16), {4, 128}));
            }),
            (Times{500, 4000}));
  // A sum of 128 f32: two vectors and log2(64) cycles.
  EXPECT_EQ(fetch_and_compute([=](tl::Context& tl) { tl.sum(tl.load(at, {128}, f32)); }),
            (Times{1000, 8000}));
}

void overlap(tl::Context& tl) {
  for (int i = 0; i < 4; ++i) {
    auto x = tl.load(tl::Ptr(kBase + static_cast<std::uint64_t>(i) * 0x1000), {32, 64}, f16);
    auto y = tl.exp(x);
    tl.store(tl::Ptr(kBase + 0x100000 + static_cast<std::uint64_t>(i) * 0x1000), y);
  }
}

// 2048 f16 are 16 vectors: exp takes fetch 8 ns, 128 cycles, store 8 ns. Loads run ahead: they are issued at
// 3, 6, 9 and 12 ns and stream back to back at 16 ns each: in the TCM at 27.005, 43.005, 59.005, 75.005. The
// exps are bound by the vector unit: the first fetches 27.005 … 35.005 and computes to 163.005; the second
// has fetched by 51.005 and waits.
TEST(Pe, LoadsOverlapCompute) {
  Kernels k;
  k.run({0, 0, 0}, overlap);
  EXPECT_EQ(k.spans(OpKind::dma_read),
            (Spans{{3_ns, 27'005_ps}, {6_ns, 43'005_ps}, {9_ns, 59'005_ps}, {12_ns, 75'005_ps}}));
  const Time first = 163'005_ps;
  EXPECT_EQ(k.spans(OpKind::math),
            (Spans{{27'005_ps, first + 8_ns},
                   {43'005_ps, first + 128_ns + 8_ns},  // computes 163.005 … 291.005
                   {first, first + 256_ns + 8_ns},      // fetched when the second began to compute
                   {first + 128_ns, first + 384_ns + 8_ns}}));
  // A store of 4096 B starts when its tile is there: the TCM's read port, which has fetched the next exp meanwhile, and
  // the slice are free.
  Spans stores;
  for (const Time end : {first, first + 128_ns, first + 256_ns, first + 384_ns})
    stores.push_back({end + 8_ns, end + 8_ns + kMove});
  EXPECT_EQ(k.spans(OpKind::dma_write), stores);
  const auto math = k.of(OpKind::math);
  EXPECT_EQ(math[0].reason, Reason::operand);
  EXPECT_EQ(math[2].reason, Reason::engine);
  EXPECT_EQ(math[2].cause_serial, math[1].serial);
}

TEST(Pe, OverlappingBytesKeepProgramOrder) {
  Kernels k;
  k.run({0, 0, 0}, [](tl::Context& tl) {
    auto x = tl.full({128}, 1.0, f16);
    tl.store(tl::Ptr(kBase), x);
    auto y = tl.load(tl::Ptr(kBase), {128}, f16);        // waits for the store
    auto z = tl.load(tl::Ptr(kBase + 256), {128}, f16);  // does not overlap, but is behind y in its queue
    tl.store(tl::Ptr(kBase + 0x1000), y + z);
  });
  const auto stores = k.spans(OpKind::dma_write);
  const auto loads = k.spans(OpKind::dma_read);
  EXPECT_EQ(loads[0].start, stores[0].end);
  EXPECT_EQ(k.of(OpKind::dma_read)[0].reason, Reason::operand);
}

TEST(Pe, FenceHoldsIssueUntilAllHasRetired) {
  Kernels k;
  k.run({0, 0, 0}, [](tl::Context& tl) {
    auto x = tl.load(tl::Ptr(kBase), {32, 64}, f16);
    tl.fence();
    auto y = tl.load(tl::Ptr(kBase + 0x1000), {32, 64}, f16);
    tl.store(tl::Ptr(kBase + 0x2000), x + y);
  });
  // The fence is dispatched at 4 ns and holds until 27.005; the next command takes its cycle after that.
  EXPECT_EQ(k.spans(OpKind::dma_read)[1].start, 3_ns + kMove + 1_ns);
}

TEST(Pe, AFullQueueStallsIssue) {
  Kernels k({"pe.pe_cpu.queue_depth=1", "pe.pe_dma.outstanding=1"});
  k.run({0, 0, 0}, [](tl::Context& tl) {
    for (int i = 0; i < 3; ++i)
      tl.load(tl::Ptr(kBase + static_cast<std::uint64_t>(i) * 0x1000), {32, 64}, f16);
    auto x = tl.full({128}, 0.0, f16);  // held up behind the third load
    tl.store(tl::Ptr(kBase + 0x10000), x);
  });
  // The first load runs, the second waits in the queue, the third waits to be issued until the first has
  // retired; the command behind it is issued a cycle later.
  const OpRecord held_up = k.of(OpKind::math)[0];
  EXPECT_EQ(held_up.start - k.program_start(), 3_ns + kMove + 1_ns);
  EXPECT_EQ(held_up.reason, Reason::issue);
  EXPECT_EQ(held_up.cause_serial, k.of(OpKind::dma_read)[0].serial);
  EXPECT_EQ(held_up.cause_instant, k.of(OpKind::dma_read)[0].end);
}

/// Runs a kernel that was recorded in an environment of its own.
void run_in(Kernels& k, const tl::Environment& environment, void (*kernel)(tl::Context&)) {
  k.map({0, 0, 0});
  tl::Context tl(environment);
  run_kernel(kernel, tl);
  KernelLaunch launch(k.processors, 0, 0, {std::make_shared<const isa::Program>(tl.take_program())});
  k.device.control().submit(launch);
  k.device.simulation().run();
}

// 4 B take 15.625 ps at 256 GB/s, 16 in whole ps: a read of 8.021 ns from 3 ns on. What follows is dispatched after it.
TEST(Pe, AScalarHoldsIssueUntilItIsThere) {
  Kernels k;
  run_in(k, {.scalars = [](std::uint64_t, DType) { return 1.0; }}, [](tl::Context& t) {
    t.load_scalar(tl::Ptr(kBase), i32);
    t.zeros({128}, f16);
  });
  EXPECT_EQ(k.spans(OpKind::load_scalar), (Spans{{3_ns, 11'021_ps}}));
  EXPECT_EQ(k.spans(OpKind::math)[0].start, 11'021_ps + 1_ns);
}

TEST(Pe, ScratchHoldsIssueUntilATileIsFreed) {
  // 1 KiB of scratch holds one tile of 1 KiB; each is read by one store.
  Kernels k({"pe.pe_tcm.kernel_scratch_mb=0.0009765625"});
  run_in(k, {.scratch = 1_KiB}, [](tl::Context& t) {
    for (int i = 0; i < 2; ++i) {
      auto x = t.load(tl::Ptr(kBase + static_cast<std::uint64_t>(i) * 0x1000), {512}, f16);
      t.store(tl::Ptr(kBase + 0x10000 + static_cast<std::uint64_t>(i) * 0x1000), x);
    }
  });
  const auto loads = k.of(OpKind::dma_read);
  const auto stores = k.of(OpKind::dma_write);
  EXPECT_EQ(loads[1].reason, Reason::scratch);
  EXPECT_EQ(loads[1].start, stores[0].end);
  EXPECT_EQ(loads[1].cause_serial, stores[0].serial);
}

// A CPU that runs ahead must give the same results as one that goes step by step. Each test runs both ways.
class SlowCpu : public ::testing::TestWithParam<bool> {
 protected:
  // 2 ns to start, and 50 to dispatch a command: these are there at 52, 102, 152 ns …
  Kernels slow(std::vector<std::string> more = {}) const {
    more.emplace_back("pe.pe_cpu.dispatch_cycles=50");
    return Kernels(std::move(more), {.shortcuts = GetParam()});
  }
};

INSTANTIATE_TEST_SUITE_P(Pe, SlowCpu, ::testing::Values(true, false),
                         [](const auto& of) { return std::string(of.param ? "Ahead" : "StepByStep"); });

TEST_P(SlowCpu, StartsNothingBeforeItIsDispatched) {
  Kernels k = slow();
  k.run({0, 0, 0}, [](tl::Context& tl) {
    for (std::uint64_t i = 0; i < 3; ++i) tl.load(tl::Ptr(kBase + i * 0x1000), {32, 64}, f16);
  });
  // The channel is free and nothing is missing, from 2 ns on.
  EXPECT_EQ(k.spans(OpKind::dma_read),
            (Spans{{52_ns, 52_ns + kMove}, {102_ns, 102_ns + kMove}, {152_ns, 152_ns + kMove}}));
  for (const OpRecord& load : k.of(OpKind::dma_read)) EXPECT_EQ(load.reason, Reason::issue);
}

TEST_P(SlowCpu, StartsWhatBecomesReadyLaterWhenItIs) {
  Kernels k = slow();
  k.run({0, 0, 0}, matmul);
  // The second load ends at 102 + 24.005, the product is dispatched at 152, after that; it takes 36 ns. The store is
  // dispatched at 202, after that, too.
  EXPECT_EQ(k.spans(OpKind::gemm), (Spans{{152_ns, 188_ns}}));
  EXPECT_EQ(k.of(OpKind::gemm)[0].reason, Reason::issue);
  EXPECT_EQ(k.spans(OpKind::dma_write), (Spans{{202_ns, 218'005_ps}}));
}

// 1 KiB takes 8.005 + 4 ns: the first tile is loaded from 52 to 64.005 and stored from 102 to 114.005 ns. There is no room for the second
// one when its dispatch begins, at 102 ns, but there is when it ends, at 152 ns: nobody waited for it.
TEST_P(SlowCpu, IsNotHeldByWhatIsOverBeforeADispatchEnds) {
  Kernels k = slow({"pe.pe_tcm.kernel_scratch_mb=0.0009765625"});
  run_in(k, {.scratch = 1_KiB}, [](tl::Context& t) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      auto x = t.load(tl::Ptr(kBase + i * 0x1000), {512}, f16);
      t.store(tl::Ptr(kBase + 0x10000 + i * 0x1000), x);
    }
  });
  EXPECT_EQ(k.spans(OpKind::dma_write)[0].end, 114'005_ps);
  EXPECT_EQ(k.spans(OpKind::dma_read)[1].start, 152_ns);
  EXPECT_EQ(k.of(OpKind::dma_read)[1].reason, Reason::issue);
}

// The load is over at 76.005 ns, the two fences have been dispatched at 152 ns.
TEST_P(SlowCpu, EndsItsProgramWhenItIsThrough) {
  Kernels k = slow();
  const KernelLaunch& launch = k.run({0, 0, 0}, [](tl::Context& tl) {
    tl.load(tl::Ptr(kBase), {32, 64}, f16);
    tl.fence();
    tl.fence();
  });
  EXPECT_EQ(launch.pe_exec(), 152_ns);
}

TEST(Pe, WhatIsKnownAheadMakesNoEvents) {
  // All commands of a chain are dispatched while the load is under way: their dispatches make no events.
  const auto events = [](bool runs, int products) {
    Kernels k({}, {.shortcuts = runs});
    k.run({0, 0, 0}, [=](tl::Context& tl) {
      auto x = tl.load(tl::Ptr(kBase), {32, 32}, f16);
      for (int i = 0; i < products; ++i) x = tl.exp(x);
      tl.store(tl::Ptr(kBase + 0x2000), x);
    });
    return k.device.simulation().counters().events;
  };
  // A command of the vector unit: fetch, compute, store and the choices of two ports; and the end of its dispatch.
  EXPECT_EQ(events(false, 5) - events(false, 1), 4u * 6);
  EXPECT_EQ(events(true, 5) - events(true, 1), 4u * 5);
}

TEST(Pe, ACommandThatReadsATileTwiceIsOneOfItsReaders) {
  // 4 KiB of scratch: x, x · xᵀ and another tile fill it. x is read again at the end, so one more tile finds no room when
  // the product has retired, only when the product is stored.
  Kernels k({"pe.pe_tcm.kernel_scratch_mb=0.00390625"});
  run_in(k, {.scratch = 4_KiB}, [](tl::Context& t) {
    const auto x = t.load(tl::Ptr(kBase), {16, 32}, f16);
    const auto square = t.dot(x, t.trans(x.slice({tl::all, {0, 32}})));  // 16 × 16 f32: 1 KiB
    const auto more = t.load(tl::Ptr(kBase + 0x1000), {1024}, f16);      // 2 KiB: all four are taken
    t.store(tl::Ptr(kBase + 0x10000), square);
    const auto held_up = t.load(tl::Ptr(kBase + 0x2000), {512}, f16);  // 1 KiB, when the square is free
    t.store(tl::Ptr(kBase + 0x11000), x);
    t.store(tl::Ptr(kBase + 0x12000), more);
    t.store(tl::Ptr(kBase + 0x13000), held_up);
  });
  const auto loads = k.of(OpKind::dma_read);
  EXPECT_EQ(loads[2].reason, Reason::scratch);
  EXPECT_EQ(loads[2].start, k.of(OpKind::dma_write)[0].end);
}

TEST(Pe, ProgramsFollowEachOther) {
  Kernels k;
  k.run({0, 0, 0}, copy);
  k.run({0, 0, 0}, copy);
  EXPECT_EQ(k.launches[0]->pe_exec(), k.launches[1]->pe_exec());
  EXPECT_EQ(k.of(OpKind::dma_read).size(), 2u);
  // The record of a program begins when the host sent it.
  EXPECT_EQ(k.of(OpKind::program)[0].start, 0_ps);
  EXPECT_EQ(k.of(OpKind::program)[1].start, k.launches[0]->completed());
}

// Two launches leave the host together. The second is at the PE 10 ns after the first (the IO CPU's service), at
// 51.117 ns, but its program starts when the first one ends, at 41.117 + 51.010 ns; from there back to the host
// 41.117.
TEST(Pe, AProgramStartsWhenThePreviousOneEnds) {
  Kernels k;
  const KernelLaunch& first = k.submit({{0, 0, 0}}, copy);
  const KernelLaunch& second = k.submit({{0, 0, 0}}, copy);
  k.device.simulation().run();
  const Time exec = 3_ns + 2 * kMove;
  EXPECT_EQ(first.total(), 41'117_ps + exec + 41'117_ps);
  EXPECT_EQ(second.total(), 41'117_ps + 2 * exec + 41'117_ps);
  EXPECT_EQ(second.pe_exec(), exec);
}

// Without a barrier PE 1 at r0c1 starts at 41.087 ns (see ControlPath.WithFreeStartThereIsNoStamp) and PE 7 at
// r5c5 180 ps later: r0c2 → r0c1 is 30 ps, → r5c5 210. A launch's time on the PEs is from the first start to
// the last end.
TEST(Pe, WithFreeStartEachPeStartsOnArrival) {
  Kernels k({"launch.start=free"});
  const KernelLaunch& launch = k.run({{0, 0, 1}, {0, 0, 7}}, copy);
  const auto programs = k.of(OpKind::program);
  EXPECT_EQ(programs[0].end, 41'087_ps);
  EXPECT_EQ(programs[1].end, 41'267_ps);
  EXPECT_EQ(launch.pe_exec(), 180_ps + 3_ns + 2 * kMove);
  EXPECT_EQ(launch.network(), launch.total() - launch.pe_exec());
  // The way back is caused by the last command of the PE that ended last, PE 7's store.
  const auto stores = k.of(OpKind::dma_write);
  EXPECT_EQ(k.of(OpKind::host_launch)[0].cause_serial, std::max(stores[0].serial, stores[1].serial));
}

TEST(Pe, AllPesOfALaunchStartTogether) {
  Kernels k;
  std::vector<PeCoord> pes;
  for (int cube = 0; cube < 16; ++cube)
    for (int pe = 0; pe < 8; ++pe) pes.push_back({0, cube, pe});
  const KernelLaunch& launch = k.run(pes, copy);
  for (const OpRecord& r : k.of(OpKind::program)) EXPECT_EQ(r.end, k.program_start());
  EXPECT_EQ(launch.pe_exec(), 3_ns + 2 * kMove);
  EXPECT_EQ(launch.late_starts(), 0);
}

/// Where and what of the fault that ends the run, one below the other.
template <class Kernel>
std::string fault_of(Kernel kernel) {
  Kernels k;
  try {
    k.run({0, 0, 3}, kernel);
  } catch (const address::MmuFault& e) {
    return e.where() + "\n" + e.message();
  }
  return "no fault";
}

// The PE's slice is mapped at [0x100000000, 0x104000000).
TEST(Pe, AnUnmappedPointerNamesKernelPeLineAndOperands) {
  int line = 0;
  const std::string load = fault_of([&](tl::Context& tl) {
    line = __LINE__ + 1;
    tl.load(tl::Ptr(0x42), {4}, f16);
  });
  EXPECT_EQ(
      load,
      fmt::format("kernel 'kernel' on sip0.cube0.pe3, pe_test.cpp:{}\n"
                  "%0:f16[4] = dma_read 0x42: 0x42 is not mapped (access to 8 B at 0x42); nearest mapping: "
                  "slice at [0x100000000, 0x104000000) 4294967230 B above",  // 2³² − 0x42
                  line));
  using ::testing::HasSubstr;
  // Two of the four elements are behind the end.
  EXPECT_THAT(
      fault_of([](tl::Context& tl) { tl.store(tl::Ptr(kBase + (64 << 20) - 4), tl.zeros({4}, f16)); }),
      HasSubstr("dma_write 0x103fffffc %1:f16[4]: 0x104000000 is not mapped (access to 8 B at 0x103fffffc)"));
  EXPECT_THAT(fault_of([](tl::Context& tl) {
                const auto a = tl.ref(tl::Ptr(kBase), {64, 64}, f16);
                tl.composite("gemm", a, tl.ref(tl::Ptr(0x1000), {64, 64}, f16), a);
              }),
              HasSubstr("@0x1000:f16[64, 64]"));
  EXPECT_THAT(fault_of([](tl::Context& tl) {
                const auto a = tl.ref(tl::Ptr(kBase), {64, 64}, f16);
                tl.composite("gemm", a, a, tl.ref(tl::Ptr(0x2000), {64, 64}, f16));
              }),
              HasSubstr("0x2000 is not mapped"));
}

TEST(Pe, AQueueWithoutWiringIsRefused) {
  Kernels k;
  EXPECT_THROW(k.run({0, 0, 0}, [](tl::Context& tl) { tl.send("E", tl.full({4}, 0.0, f16)); }),
               SimulationError);
}

}  // namespace
}  // namespace kernbench::device::pe_test
