// The bound by hand, and against the models: no simulated launch may be faster.
#include "bench/lower_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "device/pe_world.hpp"

namespace kernbench::bench::lower_bound_test {
namespace {

using namespace kernbench::dtypes;
using device::testing::kBase;
using device::testing::Kernels;

/// A machine, kernels on it, and what each of them asks for.
class Bound {
 public:
  explicit Bound(std::vector<std::string> overrides = {}, const std::string& machine = "default")
      : kernels(std::move(overrides), {}, machine) {}

  template <class Kernel>
  Workload count(const std::vector<PeCoord>& pes, Kernel&& kernel, bool share = false) {
    Workload work(kernels.device.machine(), kernels.device.graph());
    isa::Program last;
    for (const PeCoord pe : pes) {
      kernels.map(pe);
      tl::Context tl({.kernel = "kernel", .pe = pe, .like = share ? &last : nullptr});
      kernel(tl);
      const isa::Program program = tl.take_program();
      EXPECT_EQ(program.shares_with(last), share && pe != pes.front());
      last = program;
      work.add(program, [&](PeCoord at, auto begin, Bytes size, auto& out) {
        try {
          kernels.device.mmu(at).translate(begin, size, out);
        } catch (const address::MmuFault&) {
          return false;
        }
        return true;
      });
    }
    return work;
  }
  template <class Kernel>
  LowerBound of(Kernel&& kernel) {
    return lower_bound(count({{0, 0, 0}}, kernel));
  }

  Kernels kernels;
};

constexpr std::uint64_t kA = kBase, kB = kBase + (8 << 20), kC = kBase + (16 << 20);

void product_of_references(tl::Context& tl) {
  tl.composite("gemm", tl.ref(tl::Ptr(kA), {512, 512}, f16), tl.ref(tl::Ptr(kB), {512, 512}, f16),
               tl.ref(tl::Ptr(kC), {512, 512}, f16));
}

// 16 · 16 · 8 = 2048 tile steps of 2 · 4096 B, and 512 KiB out: 17,301,504 B at 256 GB/s.
TEST(ByteTotals, AgreeWithAMap) {
  std::mt19937 random(7);
  ByteTotals<topology::LinkId> totals;
  std::map<std::uint32_t, std::int64_t> expected;
  EXPECT_EQ(totals.size(), 0u);
  for (int i = 0; i < 5000; ++i) {
    const auto link = static_cast<std::uint32_t>(random() % 300);
    const auto bytes = static_cast<std::int64_t>(random() % 1000);
    totals.add(topology::LinkId{link}, Bytes(bytes));
    expected[link] += bytes;
    EXPECT_TRUE(i % 97 != 0 || totals.at(topology::LinkId{link}) == Bytes(expected[link]));
  }
  std::map<std::uint32_t, std::int64_t> seen;
  for (const auto& [link, bytes] : totals) seen[link.index] = bytes.count();
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(totals.size(), expected.size());
  EXPECT_FALSE(totals.contains(topology::LinkId{300}));
}

TEST(LowerBound, AProductOfReferencesIsBoundByItsSlice) {
  Bound bound;
  const LowerBound b = bound.of(product_of_references);
  EXPECT_EQ(b.time, 67'584_ns);
  EXPECT_EQ(b.resource, "sip0.cube0.hbm_ctrl.pe0");
  const Time simulated = bound.kernels.run({0, 0, 0}, product_of_references).pe_exec();
  EXPECT_GE(simulated, b.time);
  EXPECT_LE(simulated, Time::from_ns(67'584 * 1.01));  // the model comes within 1 % of it
}

// Two operands of 256 · 256 in the TCM, 8 · 8 · 4 = 256 tile times of 16 ns; the TCM's read port gives 256 · 8192 B to the
// matrix unit and 128 KiB to the DMA-out: 2,228,224 B at 512 GB/s = 4352 ns.
TEST(LowerBound, AProductOfLoadedTilesIsBoundByTheReadPortOfItsTcm) {
  Bound bound;
  const LowerBound b = bound.of([](tl::Context& tl) {
    auto a = tl.load(tl::Ptr(kA), {256, 256}, f16);
    auto c = tl.load(tl::Ptr(kB), {256, 256}, f16);
    tl.composite("gemm", a, c, tl.ref(tl::Ptr(kC), {256, 256}, f16));
  });
  EXPECT_EQ(b.time, 4352_ns);
  EXPECT_EQ(b.resource, "sip0.cube0.pe0.pe_tcm → sip0.cube0.pe0.pe_dma");
}

// 1 tile of 33 × 65 × 33 is 2 · 2 · 2 tile times; ten of them 1280 ns. Operands: (33 · 65 + 65 · 33) · 2 B fetched at 512 GB/s.
TEST(LowerBound, EdgeTilesCostFullOnes) {
  Bound bound({"pe.pe_gemm.tile_cycles=16"});
  const LowerBound b = bound.of([](tl::Context& tl) {
    auto x = tl.zeros({33, 65}, f16);
    auto y = tl.zeros({65, 33}, f16);
    for (int i = 0; i < 10; ++i) tl.dot(x, y);
  });
  EXPECT_EQ(b.time, 1280_ns);
  EXPECT_EQ(b.resource, "sip0.cube0.pe0.pe_gemm");
}

// exp of 1000 f16 elements: 8 vectors of 128 lanes · 8 cycles; sum over 256 f32 in 64 lanes: 4 + log2(64) cycles.
// 20 · 64 + 10 = 1290 ns.
TEST(LowerBound, MathIsCountedByClassAndReductionsAddTheirTree) {
  Bound bound;
  const LowerBound b = bound.of([](tl::Context& tl) {
    auto x = tl.zeros({1000}, f16);
    for (int i = 0; i < 20; ++i) tl.exp(x);
    tl.sum(tl.zeros({256}, f32));
  });
  // Fills: 8 and 4 cycles more.
  EXPECT_EQ(b.time, 1302_ns);
  EXPECT_EQ(b.resource, "sip0.cube0.pe0.pe_math");
}

// One load of 64 B from its own slice: two wires there, three back (1 ps each), a burst of 8 ns, 64 B at 256 GB/s.
TEST(LowerBound, ALoneSmallLoadIsBoundByItsLatency) {
  Bound bound;
  const auto load = [](tl::Context& tl) { tl.load(tl::Ptr(kA), {32}, f16); };
  EXPECT_EQ(bound.of(load).time, Time::from_ps(8000 + 250 + 5));
  EXPECT_EQ(bound.of(load).resource,
            "one message of 64 B between sip0.cube0.pe0.pe_dma and sip0.cube0.hbm_ctrl.pe0");
}

// 2 ns of launch and 1000 · 1 ns of dispatch.
TEST(LowerBound, CommandsMustBeIssued) {
  Bound bound;
  const auto fences = [](tl::Context& tl) {
    for (int i = 0; i < 1000; ++i) tl.fence();
  };
  EXPECT_EQ(bound.of(fences).time, 1002_ns);
  EXPECT_EQ(bound.of(fences).resource, "sip0.cube0.pe0.pe_cpu");
}

// Eight PEs read 1 MiB each from the slice of PE 0: 8 MiB at 256 GB/s, whatever the links do.
TEST(LowerBound, ASharedSliceIsTheSumOfItsReaders) {
  Bound bound;
  std::vector<PeCoord> pes;
  for (int pe = 0; pe < 8; ++pe) {
    pes.push_back({0, 0, pe});
    bound.kernels.device.mmu(pes.back())
        .insert(address::VirtAddr(kBase), {address::pe_hbm_addr({0, 0, 0}, 6_GiB, 0_B), 64_MiB}, "shared");
  }
  const LowerBound b = lower_bound(bound.count(pes, [](tl::Context& tl) {
    tl.load(tl::Ptr(kBase), {512, 1024}, f16);
  }));
  EXPECT_EQ(b.time, Time::from_ns(8 * 1048576 / 256.0));
  EXPECT_EQ(b.resource, "sip0.cube0.hbm_ctrl.pe0");
}

// Rows of 64 B, 1 KiB apart, from a transposed view: every byte once for each of the 2 rows of tiles.
TEST(LowerBound, StridedAndTransposedOperandsCountWhatTheyMove) {
  Bound bound;
  const Workload work = bound.count({{0, 0, 0}}, [](tl::Context& tl) {
    auto b = tl.trans(tl.ref(tl::Ptr(kB), {32, 64}, f16, {512, 1}));
    tl.composite("gemm", tl.ref(tl::Ptr(kA), {64, 64}, f16), b, tl.ref(tl::Ptr(kC), {64, 32}, f16));
  });
  ASSERT_EQ(work.slices().size(), 1u);
  EXPECT_EQ(work.slices().begin()->second, Bytes(2 * (64 * 64 + 2 * 64 * 32 + 64 * 32)));
}

TEST(LowerBound, BytesThatAreNotMappedAreLeftOut) {
  Bound bound;
  const LowerBound b = bound.of([](tl::Context& tl) { tl.load(tl::Ptr(0x10), {32}, f16); });
  EXPECT_EQ(b.time, 3_ns);  // its issue
}

// The second PE's program differs from the first one's in addresses alone. One pass goes down over 4 KiB of memory, then comes what
// is not mapped, lanes that lie apart, a composite, an atomic, and a load that reaches over the end of what is mapped.
TEST(LowerBound, ProgramsThatShareAllButAddressesAskForTheSameAsAlone) {
  Bound bound;
  const auto kernel = [](tl::Context& tl) {
    const tl::Ptr at = tl::Ptr(kA) + 0x10000 * tl.program_id(0);
    auto sum = tl.load(at + 64 * 64, {32}, f16);
    for (int i = 63; i >= 0; --i) sum = sum + tl.load(at + 64 * i, {32}, f16);
    tl.store(at + 64, sum);
    tl.load(tl::Ptr(0x10), {32}, f16);
    tl.load(at, {4, 8}, f16, {.strides = {512, 1}});
    tl.composite("gemm", tl.ref(at, {64, 64}, f16), tl.ref(at + 8192, {64, 64}, f16),
                 tl.ref(at + 65536, {64, 64}, f16));
    tl.atomic_add(at, tl.load(at, {32}, i32));
  };
  const std::vector<PeCoord> pes = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}};
  const Workload alone = bound.count(pes, kernel), shared = bound.count(pes, kernel, true);
  EXPECT_TRUE(std::ranges::equal(alone.links(), shared.links()));
  EXPECT_TRUE(std::ranges::equal(alone.needed(), shared.needed()));
  EXPECT_EQ(alone.slices(), shared.slices());
  EXPECT_EQ(alone.vector_by(), shared.vector_by());
  EXPECT_EQ(lower_bound(alone).time, lower_bound(shared).time);
  EXPECT_EQ(alone.longest_message().bytes, shared.longest_message().bytes);
  for (std::size_t i = 0; i < pes.size(); ++i) {
    EXPECT_EQ(shared.pes()[i].pe, pes[i]);
    EXPECT_EQ(shared.pes()[i].issue, alone.pes()[i].issue);
  }
}

// 64 references of 4 KiB, sent to the neighbour through a window of 16 KiB: 256 KiB at the slice's 256 GB/s = 1024 ns. They pass
// the engine and never the TCM; all but a window must have arrived at the end.
TEST(LowerBound, ReferencesThatAreSentAreReadFromTheirSliceAndPassTheTcm) {
  Bound bound;
  const PeCoord from{0, 0, 0}, to{0, 0, 1};
  const topology::Graph& graph = bound.kernels.device.graph();
  const auto node = [&](PeCoord pe, topology::NodeKind kind) { return graph.pe(pe, kind); };
  using enum topology::NodeKind;
  tl::Context tl({.kernel = "kernel", .pe = from});
  bound.kernels.map(from);
  Workload work(bound.kernels.device.machine(), graph);
  work.add(
      run_kernel(
          [](tl::Context& c) {
            for (int i = 0; i < 64; ++i) c.send("E", c.ref(tl::Ptr(kA) + 4096 * i, {2048}, f16));
          },
          tl),
      [&](PeCoord at, auto begin, Bytes size, auto& out) {
        bound.kernels.device.mmu(at).translate(begin, size, out);
        return true;
      },
      [&](std::string_view) {
        return QueueSlots{to, node(to, pe_tcm), node(from, pe_tcm), 16_KiB};
      });
  EXPECT_EQ(lower_bound(work).time, 1024_ns);
  EXPECT_EQ(work.slices().at(graph.hbm_ctrl(from)), 256_KiB);
  EXPECT_EQ(work.links().at(graph.route(node(from, pe_dma), node(to, pe_tcm)).front()), 256_KiB);
  EXPECT_EQ(work.needed().at(graph.route(node(from, pe_dma), node(to, pe_tcm)).front()), 240_KiB);
  EXPECT_FALSE(work.links().contains(graph.route(node(from, pe_tcm), node(from, pe_dma)).front()));
  EXPECT_EQ(work.crowded().size(), 1u);
}

// 1 MiB from the next cube, 4 KiB at a time: 502 ps of wires, 32 ns of UCIe ports and 8 ns of a burst for every byte, a window of
// 4 KiB of them at once.
TEST(LowerBound, AWindowHoldsEveryByteForARoundTrip) {
  Bound bound({"pe.pe_dma.window_bytes=4096"});
  bound.kernels.device.mmu({0, 0, 0}).insert(address::VirtAddr(kBase),
                                             {address::pe_hbm_addr({0, 1, 0}, 6_GiB, 0_B), 64_MiB}, "far");
  const auto kernel = [](tl::Context& tl) {
    for (int i = 0; i < 256; ++i) tl.load(tl::Ptr(kBase) + 4096 * i, {2048}, f16);
  };
  const LowerBound b = bound.of(kernel);
  EXPECT_EQ(b.time, 256 * 40'503_ps);  // 1 ps between engine and TCM is part of it
  EXPECT_EQ(b.resource, "sip0.cube0.pe0.pe_dma (window)");
  const Time simulated = bound.kernels.run({0, 0, 0}, kernel).pe_exec();
  EXPECT_GE(simulated, b.time);
  EXPECT_LT(simulated.ns(), 1.1 * b.time.ns());
}

// In f32 a tile takes eight times as long, and the unit is filled once.
TEST(LowerBound, AProductIsBoundByTheUnitsRateForItsDtype) {
  Bound bound({"pe.pe_gemm.rates={f32: 0.125}", "pe.pe_gemm.fill_cycles=32"});
  const LowerBound b = bound.of([](tl::Context& tl) {
    tl.composite("gemm", tl.ref(tl::Ptr(kA), {512, 512}, f32), tl.ref(tl::Ptr(kB), {512, 512}, f32),
                 tl.ref(tl::Ptr(kC), {512, 512}, f32));
  });
  EXPECT_EQ(b.time, Time::from_ns(16 * 16 * 8 * 128 + 32));
  EXPECT_EQ(b.resource, "sip0.cube0.pe0.pe_gemm");
}

// ── against the models ──

/// A kernel of random commands: loads and stores here and at a neighbour, products, math, composites.
void random_kernel(tl::Context& tl, unsigned seed) {
  std::mt19937 random(seed + 1000u * static_cast<unsigned>(tl.program_id(0)));
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto place = [&] { return tl::Ptr(kBase + static_cast<std::uint64_t>(pick(1 << 14)) * 64); };
  const DType dtype = pick(2) == 0 ? f16 : f32;
  const int commands = 1 + pick(20);
  for (int i = 0; i < commands; ++i) {
    const int m = 1 + pick(70), k = 1 + pick(140), n = 1 + pick(70);
    const int kind = pick(7);
    if (kind == 0) tl.load(place(), {m, k}, dtype);
    if (kind == 1) tl.store(place(), tl.full({m, k}, 1, dtype));
    if (kind == 2)
      tl.store(place(), tl.dot(tl.load(place(), {m, k}, dtype), tl.load(place(), {k, n}, dtype)));
    if (kind == 3) tl.sum(tl.exp(tl.load(place(), {m, n}, dtype)), pick(2));
    if (kind == 4) tl.load(place(), {m, n}, dtype, {.strides = {2 * n + pick(8), 1}});
    if (kind == 5)
      tl.composite("gemm", tl.ref(place(), {m, k}, dtype), tl.ref(place(), {k, n}, dtype),
                   tl.ref(place(), {m, n}, f16));
    if (kind == 6)
      tl.composite("gemm", tl.load(place(), {m, k}, dtype), tl.trans(tl.ref(place(), {n, k}, dtype)),
                   tl.ref(place(), {m, n}, f32),
                   {.epilogue = {{"exp", {}, isa::EpiloguePoint::per_k_step}, {"mul", 2.0}}});
  }
}

/// Some machine with any of the memories, windows, headers and buffers that ship.
std::vector<std::string> random_machine(unsigned seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](const char* key, std::vector<const char*> values) {
    return std::string(key) + "=" + values[random() % values.size()];
  };
  std::vector<std::string> all = {
      one_of("pe.clock_ghz", {"1", "1.3", "0.7"}),
      one_of("cube.hbm.hbm_to_router_bw_gbs", {"256", "64", "1000"}),
      one_of("cube.hbm.access_ns", {"0", "30"}),
      one_of("cube.hbm.impl", {"builtin.hbm", "builtin.hbm_rows", "builtin.hbm_scheduled"}),
      one_of("fabric.header_bytes", {"0", "16"}),
      one_of("fabric.request_bytes", {"0", "32"}),
      one_of("fabric.ack_bytes", {"0", "16"}),
      one_of("cube.routers.flow", {"unbounded", "credits"}),
      one_of("cube.routers.buffer_packets", {"2", "16"}),
      one_of("cube.routers.channels", {"1", "2"}),
      one_of("cube.routers.bw_gbs", {"512", "100"}),
      one_of("cube.routers.overhead_ns", {"0", "1.5"}),
      one_of("fabric.packet_bytes", {"256", "64", "1024"}),
      one_of("pe.pe_cpu.issue", {"run_ahead", "in_order"}),
      one_of("pe.pe_gemm.tile_cycles", {"16", "3"}),
      one_of("pe.pe_gemm.rates", {"{}", "{f32: 0.3, f16: 2}"}),
      one_of("pe.pe_gemm.fill_cycles", {"0", "21"}),
      one_of("pe.pe_dma.window_bytes", {"0", "1000", "16384"}),
      one_of("pe.pe_mmu.overhead_ns", {"0", "3"}),
      one_of("pe.pe_math.transcendental_cycles", {"8", "2.5"}),
      one_of("pe.pe_tcm.read_bw_gbs", {"512", "90"}),
      one_of("pe.pe_scheduler.pipeline_depth", {"3", "1"}),
      one_of("pe.pe_dma.strided", {"linear", "gather"})};
  if (std::ranges::find(all, "cube.hbm.impl=builtin.hbm_scheduled") == all.end()) return all;
  all.push_back(one_of("cube.hbm.hash", {"none", "xor"}));
  all.push_back(one_of("cube.hbm.refresh", {"none", "all_bank", "per_bank"}));
  all.push_back(one_of("cube.hbm.queue_bursts", {"13", "64"}));
  all.push_back(one_of("cube.hbm.trcd_read_ns", {"0", "20"}));
  return all;
}

/// How near a launch came to its bound, over so many random programs on random variants of the machine.
double closest_to_its_bound(const std::string& machine, unsigned seeds) {
  double closest = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Bound bound(random_machine(seed), machine);
    std::vector<PeCoord> pes;
    for (int pe = 0; pe < 1 + static_cast<int>(seed % 3); ++pe) pes.push_back({0, 0, pe});
    // In every second world all PEs see the slice of a PE of the next cube.
    if (seed % 2 == 0)
      for (const PeCoord pe : pes)
        bound.kernels.device.mmu(pe).insert(address::VirtAddr(kBase),
                                            {address::pe_hbm_addr({0, 1, 2}, 6_GiB, 0_B), 64_MiB}, "shared");
    const auto kernel = [seed](tl::Context& tl) { random_kernel(tl, seed); };
    const LowerBound b = lower_bound(bound.count(pes, kernel));
    const Time simulated = bound.kernels.run(pes, kernel).pe_exec();
    EXPECT_LE(b.time, simulated) << machine << ", seed " << seed << ": " << b.resource;
    closest = std::max(closest, b.time.ns() / simulated.ns());
  }
  return closest;
}

// A bound that says little would hold, too.
TEST(LowerBound, NoSimulatedLaunchIsFaster) { EXPECT_GT(closest_to_its_bound("default", 300), 0.8); }

TEST(LowerBound, NoSimulatedLaunchIsFasterOnARealisticMachine) {
  EXPECT_GT(closest_to_its_bound("realistic", 100), 0.6);
}

}  // namespace
}  // namespace kernbench::bench::lower_bound_test
