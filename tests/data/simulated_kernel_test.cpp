// Record, simulate, replay: kernels on the real machine model, their numbers from its records.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/hazards.hpp"
#include "data/random_kernel.hpp"
#include "data/simulated_world.hpp"
#include "seeds.hpp"

namespace kernbench::data::simulated_kernel_test {
namespace {

using namespace kernbench::dtypes;
using device::OpRecord;
using device::testing::kBase;

using World = SimulatedWorld;

NdArray random_f16(std::uint32_t seed, const Shape& shape) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  NdArray array(f16, shape);
  for (F16& x : array.view<F16>()) x = F16(number(random));
  return array;
}

/// A[M, K] · B[K, N] as the contract says: each element over k ascending with fmaf, rounded once.
NdArray product(const NdArray& a, const NdArray& b, std::int64_t m, std::int64_t k, std::int64_t n) {
  NdArray c(f16, {m, n});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum = std::fmaf(static_cast<float>(a.view<F16>()[static_cast<std::size_t>(i * k + l)]),
                        static_cast<float>(b.view<F16>()[static_cast<std::size_t>(l * n + j)]), sum);
      c.view<F16>()[static_cast<std::size_t>(i * n + j)] = F16(sum);
    }
  }
  return c;
}

bool same_bits(const NdArray& a, const NdArray& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

constexpr std::uint64_t kA = 0, kB = 1 << 20, kC = 2 << 20;
constexpr std::int64_t kM = 70, kK = 150, kN = 50;  // no multiples of a tile

void dot(tl::Context& tl) {
  auto a = tl.load(tl::Ptr(kBase + kA), {kM, kK}, f16);
  auto b = tl.load(tl::Ptr(kBase + kB), {kK, kN}, f16);
  tl.store(tl::Ptr(kBase + kC), tl.dot(a, b, {.out_dtype = f16}));
}
void composite(tl::Context& tl) {
  tl.composite("gemm", tl.ref(tl::Ptr(kBase + kA), {kM, kK}, f16), tl.ref(tl::Ptr(kBase + kB), {kK, kN}, f16),
               tl.ref(tl::Ptr(kBase + kC), {kM, kN}, f16));
}

TEST(SimulatedKernel, AProductIsRightToTheBitHoweverItIsMade) {
  const NdArray a = random_f16(1, {kM, kK});
  const NdArray b = random_f16(2, {kK, kN});
  for (auto* kernel : {&dot, &composite}) {
    for (const int threads : {1, 2}) {
      World world;
      world.put({0, 0, 0}, kA, a);
      world.put({0, 0, 0}, kB, b);
      world.kernels.run({0, 0, 0}, *kernel);
      world.replay(threads);
      EXPECT_TRUE(same_bits(world.get({0, 0, 0}, kC, f16, {kM, kN}), product(a, b, kM, kK, kN)));
    }
  }
}

TEST(SimulatedKernel, AStoreThenALoadReadsWhatWasStored) {
  World world;
  world.kernels.run({0, 0, 0}, [](tl::Context& tl) {
    tl.store(tl::Ptr(kBase), tl.full({64}, 3.0, f16));
    auto x = tl.load(tl::Ptr(kBase), {64}, f16);
    tl.store(tl::Ptr(kBase + 0x1000), x + x);
  });
  world.replay();
  const NdArray result = world.get({0, 0, 0}, 0x1000, f16, {64});
  for (const F16 x : result.view<F16>()) EXPECT_EQ(static_cast<float>(x), 6.0f);
}

// 16 KiB of scratch hold the tile that is kept (2 KiB), a sum, a tile of ones and their sum (4 KiB each). 2000 rounds of
// 8 KiB use all of it a thousand times. The same kernel twice.
TEST(SimulatedKernel, ScratchReusedAThousandTimesKeepsValues) {
  World world({"pe.pe_tcm.kernel_scratch_mb=0.015625"});
  world.put({0, 0, 0}, 0, random_f16(3, {1024}));
  const auto kernel = [](tl::Context& tl) {
    auto kept = tl.load(tl::Ptr(kBase), {1024}, f16);
    auto sum = tl.zeros({1024}, f32);
    for (int i = 0; i < 2000; ++i) sum = sum + tl.full({1024}, 1.0, f32);
    tl.store(tl::Ptr(kBase + 0x10000), sum);
    tl.store(tl::Ptr(kBase + 0x20000), kept);
  };
  world.kernels.run({0, 0, 0}, kernel);
  world.kernels.run({0, 0, 0}, kernel);
  world.replay(2);
  const NdArray sums = world.get({0, 0, 0}, 0x10000, f32, {1024});
  for (const float x : sums.view<float>()) ASSERT_EQ(x, 2000.0f);
  EXPECT_TRUE(same_bits(world.get({0, 0, 0}, 0x20000, f16, {1024}), random_f16(3, {1024})));
}

// A PE whose engines run ahead does what its program says in program order: loads and stores of random kernels overlap in
// 16 KiB.
TEST(SimulatedKernel, RunningAheadGivesTheBitsOfProgramOrder) {
  const std::vector<std::vector<std::string>> machines = {
      {},
      {"pe.pe_cpu.issue=in_order"},
      {"pe.pe_cpu.queue_depth=2", "pe.pe_dma.outstanding=3"},
      {"cube.hbm.model=rows"},
      {"cube.routers.impl=acme.late_fee", "cube.hbm.impl=acme.first_ready", "pe.pe_gemm.impl=acme.systolic",
       "pe.pe_dma.impl=acme.windowed_dma"}};
  const auto [first, end] = testing::seeds(0, 60);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    World world(machines[seed % machines.size()]);
    const NdArray before = random_memory();
    world.put({0, 0, 0}, 0, before);
    world.kernels.run({0, 0, 0}, RandomKernel(kBase, seed, 40));
    world.replay(1 + static_cast<int>(seed % 2));
    std::map<std::uint64_t, double> memory;
    for (std::int64_t i = 0; i < kElements; ++i)
      memory[kBase + 4 * static_cast<std::uint64_t>(i)] = before.at<float>({i});
    const device::Origins& origins = world.kernels.processors.origins();
    for (std::size_t i = 0; i < origins.size(); ++i)
      if (origins[i].program != nullptr) Interpreter(*origins[i].program, memory).run();
    const NdArray after = world.get({0, 0, 0}, 0, f32, {kElements});
    for (std::int64_t i = 0; i < kElements; ++i)
      ASSERT_TRUE(reference::same(after.at<float>({i}), memory.at(kBase + 4 * static_cast<std::uint64_t>(i))))
          << "seed " << seed << ", element " << i;
  }
}

/// Each PE writes 256 B of PE 0's slice, `apart` bytes from the one before.
std::vector<Hazard> hazards_of_neighbours(std::int64_t apart) {
  World world;
  const std::vector<PeCoord> pes = {{0, 0, 0}, {0, 0, 1}};
  for (const PeCoord& pe : pes)
    world.kernels.device.mmu(pe).insert(address::VirtAddr(kBase), {world.place({0, 0, 0}, 0), 1_MiB},
                                        "shared");
  world.kernels.run(pes, [apart](tl::Context& tl) {
    const auto at = static_cast<std::uint64_t>(tl.program_id(0) * apart);
    tl.store(tl::Ptr(kBase + at), tl.full({128}, 1.0, f16));
  });
  HazardDetector detector(world.facts);
  for (const OpRecord& r : world.ordered()) detector.append(r);
  return detector.finish();
}

TEST(SimulatedKernel, UnorderedWritesToTheSameBytesAreReportedAndOthersAreNot) {
  EXPECT_TRUE(hazards_of_neighbours(256).empty());
  const std::vector<Hazard> hazards = hazards_of_neighbours(128);
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::write_write);
  EXPECT_EQ(hazards[0].size, 128_B);
  EXPECT_NE(to_string(hazards[0]).find("simulated_kernel_test.cpp"), std::string::npos);
}

TEST(SimulatedKernel, AHundredThousandShortLoadsFitInScratch) {
  World world;
  world.put({0, 0, 0}, 0, random_f16(4, {256}));
  world.kernels.run({0, 0, 0}, [](tl::Context& tl) {
    for (int i = 0; i < 100'000; ++i) tl.load(tl::Ptr(kBase), {256}, f16);
  });
  EXPECT_EQ(world.kernels.of(device::OpKind::dma_read).size(), 100'000u);
}

}  // namespace
}  // namespace kernbench::data::simulated_kernel_test
