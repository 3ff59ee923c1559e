#include "address/virtual_allocator.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

namespace kernbench::address::virtual_allocator_test {
namespace {

using ::testing::HasSubstr;

TEST(VirtualAllocator, StartsAtFourGibOnPagesWithAGuardPageBetween) {
  VirtualAllocator space;
  EXPECT_EQ(space.allocate(1_B, "x").raw(), 0x1'0000'0000u);
  EXPECT_EQ(space.allocate(4096_B, "y").raw(), 0x1'0000'2000u);  // 1 B takes a page, and the guard one more
  EXPECT_EQ(space.allocate(4097_B, "z").raw(), 0x1'0000'4000u);
  EXPECT_EQ(space.allocate(1_B, "w").raw(), 0x1'0000'7000u);
}

TEST(VirtualAllocator, ReusesWhatIsGivenBack) {
  VirtualAllocator space;
  const Bytes all = space.free_bytes();
  const VirtAddr x = space.allocate(1_MiB, "x");
  const VirtAddr y = space.allocate(1_MiB, "y");
  space.free(x);
  EXPECT_EQ(space.allocate(1_MiB, "z"), x);
  space.free(x);
  space.free(y);
  EXPECT_EQ(space.free_bytes(), all);
  EXPECT_THROW(space.free(y), InternalError);
  EXPECT_THROW(space.free(VirtAddr(0)), InternalError);
}

TEST(VirtualAllocator, LiveRangesNeverMeet) {
  VirtualAllocator space;
  std::mt19937_64 random(7);
  std::map<VirtAddr, Bytes> live;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 2 == 0 && !live.empty()) {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      space.free(victim->first);
      live.erase(victim);
      continue;
    }
    const Bytes size(1 + static_cast<std::int64_t>(random() % 50'000));
    const auto [it, fresh] = live.emplace(space.allocate(size, "x"), size);
    ASSERT_TRUE(fresh);
    ASSERT_EQ(it->first.raw() % 4096, 0u);
    if (std::next(it) != live.end()) {
      ASSERT_GE(std::next(it)->first - (it->first + size), 4096_B);
    }
    if (it != live.begin()) {
      ASSERT_GE(it->first - (std::prev(it)->first + std::prev(it)->second), 4096_B);
    }
  }
}

TEST(VirtualAllocator, ExhaustionSaysWhoAndHowMuch) {
  VirtualAllocator space;
  try {
    space.allocate(Bytes(INT64_MAX), "tensor 'huge'");
    FAIL();
  } catch (const AllocationError& e) {
    EXPECT_THAT(e.what(), HasSubstr("virtual address space: tensor 'huge' asks for"));
    EXPECT_EQ(e.figures().requested, Bytes(INT64_MAX));
    EXPECT_EQ(e.figures().free, space.free_bytes());
  }
}

}  // namespace
}  // namespace kernbench::address::virtual_allocator_test
