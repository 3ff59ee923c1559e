// Logs of real simulations: what the machine's models write keeps the promises this layer relies on.
#include <random>

#include "device/pe_world.hpp"
#include "seeds.hpp"
#include "trace/run_maker.hpp"

namespace kernbench::trace::simulated_run_test {
namespace {

using device::testing::kBase;
using device::testing::Kernels;
using tl::Context;
using tl::Ptr;
using enum DType;

struct World : Kernels {
  explicit World(std::vector<std::string> overrides = {}) : Kernels(std::move(overrides)) {
    processors.writer().set_sink(&op_log);
  }
  RunLog finish() {
    const std::vector<std::string> requests(launches.size(), "launch");
    return op_log.finish(describe_run("machine", processors.origins(), requests));
  }
  OpLog op_log{device.simulation().partitions()};
};

void composite(Context& tl, std::int64_t m, std::int64_t k, std::int64_t n, bool resident) {
  const auto a = Ptr{kBase}, b = Ptr{kBase + (8 << 20)}, out = Ptr{kBase + (16 << 20)};
  if (resident)
    tl.composite("gemm", tl.load(a, {m, k}, f16), tl.load(b, {k, n}, f16), tl.ref(out, {m, n}, f16));
  else
    tl.composite("gemm", tl.ref(a, {m, k}, f16), tl.ref(b, {k, n}, f16), tl.ref(out, {m, n}, f16));
}

std::string largest(const CriticalPath& path) { return path.by_resource.at(0).name; }

Time share_of(const CriticalPath& path, std::string_view name) {
  for (const auto& share : path.by_resource)
    if (share.name == name) return share.time;
  return Time();
}

// 8 · 8 · 8 steps. With three buffers the DMA-in of a step starts when the step three before it has been fetched, and that
// fetch began when its own DMA-in had ended. So the path leads through every third step, 511, 508 … 1, and 171 fetches of
// 16 ns are on it; the GEMM unit is on it with the last step alone. A step takes 32 ns of HBM, and an output tile's DMA-out starts
// 16 + 16 + 4 ns after its last fetch began: in the fetch of the next step, 8 i, where its 2 KiB take turns of 4 ns in all. Of
// these 63 steps those with 8 i ≡ 1 (mod 3) are on the path: i = 2, 5 … 62, which is 21.
TEST(SimulatedRun, AMemoryBoundGemmBlamesMemory) {
  World world;
  world.run({0, 0, 0}, composite, 256, 512, 256, false);
  const auto path = world.finish().critical_path();
  EXPECT_EQ(largest(path), "memory") << to_text(path);
  EXPECT_EQ(share_of(path, "tcm_read"), 171 * 16_ns + 21 * 4_ns);
  EXPECT_EQ(share_of(path, "gemm"), 16_ns);
}

// 4 · 4 output tiles of 16 steps of 16 ns are 4096 ns of the GEMM unit, against 2 · 1024 ns of HBM before. By default a step's operands
// take as long to fetch (8192 B at 512 GB/s) as to multiply: the unit, which is never idle, is to blame.
TEST(SimulatedRun, AComputeBoundGemmBlamesTheGemmUnit) {
  for (const char* port : {"512", "600", "2048"}) {
    World world({std::string("pe.pe_tcm.read_bw_gbs=") + port});
    world.run({0, 0, 0}, composite, 128, 1024, 128, true);
    const auto path = world.finish().critical_path();
    EXPECT_EQ(largest(path), "gemm") << port << "\n" << to_text(path);
    EXPECT_GE(path.by_resource[0].time, 4096_ns - 100_ns) << port;
    EXPECT_LE(path.by_resource[0].time, 4096_ns) << port;
  }
}

// At half the bandwidth a step's operands take 32 ns: the unit waits for them half of the time.
TEST(SimulatedRun, AGemmBoundByItsFetchesBlamesTheReadPort) {
  for (const char* port : {"256", "480"}) {
    World world({std::string("pe.pe_tcm.read_bw_gbs=") + port});
    world.run({0, 0, 0}, composite, 128, 1024, 128, true);
    const auto path = world.finish().critical_path();
    EXPECT_EQ(largest(path), "tcm_read") << port << "\n" << to_text(path);
  }
}

// 4 · 4 · 16 tiles of 16 ns are 4096 ns; 512 KiB of operands take 2048 ns from HBM and 1024 ns from TCM.
TEST(SimulatedRun, ALargeDotBlamesTheGemmUnit) {
  World world;
  world.run({0, 0, 0}, [](Context& tl) {
    const auto a = tl.load(Ptr{kBase}, {128, 1024}, f16),
               b = tl.load(Ptr{kBase + (8 << 20)}, {1024, 128}, f16);
    tl.store(Ptr{kBase + (16 << 20)}, tl.dot(a, b));
  });
  const auto path = world.finish().critical_path();
  EXPECT_EQ(largest(path), "gemm") << to_text(path);
  EXPECT_EQ(path.by_resource[0].time, 4096_ns);
}

/// Loads, arithmetic and stores, chosen at random, on tiles still alive.
void random_kernel(Context& tl, unsigned seed, int length) {
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<tl::Tile> tiles = {tl.load(Ptr{kBase}, {32, 32}, f16)};
  const auto any = [&] { return tiles[static_cast<std::size_t>(draw(static_cast<int>(tiles.size())))]; };
  for (int i = 0; i < length; ++i) {
    const auto at = Ptr{kBase + 4096 * static_cast<std::uint64_t>(draw(64))};
    const auto first = any(), second = any();
    switch (draw(6)) {
      case 0:
        tiles.push_back(tl.load(at, {32, 32}, f16));
        break;
      case 1:
        tl.store(at, first);
        break;
      case 2:
        tiles.push_back(tl.dot(first, second, {.out_dtype = f16}));
        break;
      case 3:
        tiles.push_back(first + second);
        break;
      case 4:
        tiles.push_back(tl.exp(first));
        break;
      case 5:
        if (draw(3) == 0) tl.fence();
        break;
    }
    if (tiles.size() > 8) tiles.erase(tiles.begin());
  }
}

TEST(SimulatedRun, ThePathOfRandomProgramsAddsUpToTheRunTime) {
  const auto [first, end] = testing::seeds(1, 20);
  for (unsigned seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world({seed % 2 == 0 ? "pe.pe_cpu.issue=in_order" : "pe.pe_cpu.issue=run_ahead"});
    Time total;
    for (unsigned launch = 0; launch <= seed % 3; ++launch)
      total += world
                   .run({{0, 0, 0}, {0, 1, 3}, {0, 5, 7}}, random_kernel, seed + launch,
                        30 + static_cast<int>(seed))
                   .total();
    const auto run = world.finish();
    const auto path = run.critical_path();
    EXPECT_EQ(path.length(), total);  // the launches follow each other at once
    Time now = path.begin;
    for (const auto& piece : path.pieces) {
      ASSERT_EQ(piece.begin, now);
      now = piece.end;
    }
    ASSERT_EQ(now, path.end);
    for (const auto* shares : {&path.by_resource, &path.by_reason, &path.by_line})
      EXPECT_EQ(sum(*shares), path.length());
    for (const auto& share : path.by_resource) EXPECT_NE(share.name, "unfinished");
  }
}

// K = 512. Both operands in HBM: 8 steps of 8192 B and 2048 B of output at 256 GB/s are 264 ns for 128 ns of GEMM (page 20
// of the design); within 2 % for many tiles, and never above.
TEST(SimulatedRun, UtilisationOfALongGemmIsTheAnalyticOne) {
  World world;
  world.run({0, 0, 0}, composite, 1024, 512, 1024, false);
  const auto use = utilization(world.finish().summary());
  EXPECT_LE(use.gemm, 128.0 / 264);
  EXPECT_GE(use.gemm, 128.0 / 264 * 0.98);
}

// A stays in the TCM (512 KiB, 2048 ns to load before): 8 steps of 4096 B and the output are 136 ns.
TEST(SimulatedRun, UtilisationWithOneOperandResidentIsTheAnalyticOne) {
  World world;
  world.run({0, 0, 0}, [](Context& tl) {
    const auto a = tl.load(Ptr{kBase}, {512, 512}, f16);
    for (int i = 0; i < 4; ++i)
      tl.composite("gemm", a, tl.ref(Ptr{kBase + (8 << 20)}, {512, 2048}, f16),
                   tl.ref(Ptr{kBase + ((16u + 4 * static_cast<unsigned>(i)) << 20)}, {512, 2048}, f16));
  });
  const auto use = utilization(world.finish().summary());
  EXPECT_LE(use.gemm, 128.0 / 136);
  EXPECT_GE(use.gemm, 128.0 / 136 * 0.98);
}

TEST(SimulatedRun, GivesTheSameHashTwice) {
  const auto hash = [](unsigned seed) {
    World world;
    world.run({{0, 0, 0}, {0, 1, 3}}, random_kernel, seed, 40);
    return world.finish().hash();
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

}  // namespace
}  // namespace kernbench::trace::simulated_run_test
