// Random kernels, replayed and interpreted.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "data/random_kernel.hpp"
#include "data/replay_world.hpp"
#include "seeds.hpp"

namespace kernbench::data::replay_random_test {
namespace {

using namespace kernbench::dtypes;

constexpr std::uint64_t kMemory = 0x10000;

TEST(ReplayOfRandomKernels, EqualsAnInterpreter) {
  const auto before = random_memory();
  const auto [first, end] = testing::seeds(0, 150);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    World world;
    world.scattered = seed % 3 == 0;
    world.host_write(kMemory, before);
    const auto origin = world.run({0, 0, 0}, RandomKernel(kMemory, seed, 25));
    world.replay(1 + static_cast<int>(seed % 2));
    std::map<std::uint64_t, double> memory;
    for (std::int64_t i = 0; i < kElements; ++i)
      memory[kMemory + 4 * static_cast<std::uint64_t>(i)] = before.at<float>({i});
    Interpreter(world.program(origin), memory).run();
    const auto after = world.memory(kMemory, f32, {kElements});
    for (std::int64_t i = 0; i < kElements; ++i)
      ASSERT_TRUE(
          reference::same(after.at<float>({i}), memory.at(kMemory + 4 * static_cast<std::uint64_t>(i))))
          << "seed " << seed << ", element " << i << ": " << after.at<float>({i});
  }
}

// Four PEs work on the same memory without any order but that of their records.
TEST(ReplayOfRandomKernels, GivesTheSameBitsWithAnyNumberOfThreads) {
  const auto [first, end] = testing::seeds(1000, 10);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    World world;
    world.host_write(kMemory, random_memory());
    std::vector<std::uint32_t> origins;
    const auto request = world.new_request();
    for (int pe = 0; pe < 4; ++pe)
      origins.push_back(world.launch_on(
          {0, 0, pe}, RandomKernel(kMemory, seed * 4 + static_cast<std::uint32_t>(pe), 120), request));
    world.play_together(origins);
    world.replay(1);
    const auto alone = world.memory(kMemory, f32, {kElements});
    for (const int threads : {2, 3}) {
      world.replay(threads, seed % 2 == 0 ? 4096 : 50);
      ASSERT_EQ(world.memory(kMemory, f32, {kElements}), alone)
          << "seed " << seed << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace kernbench::data::replay_random_test
