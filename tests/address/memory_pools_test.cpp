#include "address/memory_pools.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <set>
#include <vector>

namespace kernbench::address::memory_pools_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kTcm = MemorySpace::Tcm;
constexpr auto kSram = MemorySpace::Sram;
constexpr auto kHbm = MemorySpace::Hbm;

TEST(MemoryPools, HandsOutAddressesOfTheMemoryAskedFor) {
  MemoryPools pools(MemoryLayout{});
  EXPECT_EQ(pools.allocate(kHbm, {1, 2, 3}, {4_KiB, "x"}), pe_hbm_addr({1, 2, 3}, 6_GiB, 0_B));
  EXPECT_EQ(pools.allocate(kHbm, {1, 2, 3}, {4_KiB, "y"}), pe_hbm_addr({1, 2, 3}, 6_GiB, 4_KiB));
  EXPECT_EQ(pools.allocate(kHbm, {1, 2, 4}, {4_KiB, "x"}), pe_hbm_addr({1, 2, 4}, 6_GiB, 0_B));
  EXPECT_EQ(pools.allocate(kTcm, {1, 2, 3}, {4_KiB, "x"}),
            pe_tcm_addr({1, 2, 3}, 5_MiB));  // 4 + 1 MiB reserved
  EXPECT_EQ(pools.allocate(kSram, {1, 2, 3}, {4_KiB, "x"}), cube_sram_addr({1, 2}, 0_B));
}

TEST(MemoryPools, ThePesOfACubeShareItsSramAndNothingElse) {
  MemoryPools pools(MemoryLayout{});
  const PhysAddr first = pools.allocate(kSram, {0, 0, 0}, {1_MiB, "ring"});
  EXPECT_EQ(pools.allocate(kSram, {0, 0, 7}, {1_MiB, "ring"}), first + 1_MiB);
  EXPECT_EQ(pools.usage(kSram, {0, 0, 3}).free, 30_MiB);
  EXPECT_EQ(pools.usage(kSram, {0, 1, 0}).free, 32_MiB);
  pools.allocate(kTcm, {0, 0, 0}, {1_MiB, "ring"});
  EXPECT_EQ(pools.usage(kTcm, {0, 0, 0}).free, 10_MiB);
  EXPECT_EQ(pools.usage(kTcm, {0, 0, 1}).free, 11_MiB);
}

TEST(MemoryPools, TheTcmAreasOfSchedulerAndScratchAreNeverHandedOut) {
  MemoryPools pools(MemoryLayout{});
  const PeCoord pe{0, 0, 0};
  const PhysAddr reserved_end = pools.scratch_base(pe) + 1_MiB;
  EXPECT_EQ(pools.scheduler_base(pe), pe_tcm_addr(pe, 0_B));
  std::set<PhysAddr> got;
  try {
    for (;;) got.insert(pools.allocate(kTcm, pe, {64_KiB, "x"}));
  } catch (const AllocationError&) {
  }
  EXPECT_EQ(got.size(), 11u * 16);  // 11 MiB in pieces of 64 KiB
  EXPECT_EQ(*got.begin(), reserved_end);
  EXPECT_EQ(*got.rbegin(), pe_tcm_addr(pe, 16_MiB - 64_KiB));
}

TEST(MemoryPools, FreedSpaceIsOneBlockAgain) {
  MemoryPools pools(MemoryLayout{});
  const PeCoord pe{1, 15, 7};
  std::vector<PhysAddr> live;
  for (const MemorySpace space : {kHbm, kTcm, kSram}) {
    for (int i = 0; i < 5; ++i) live.push_back(pools.allocate(space, pe, {Bytes(1000 + i), "x"}));
  }
  for (const std::size_t step : {1u, 3u, 2u, 0u, 4u}) {
    for (std::size_t memory = 0; memory < 3; ++memory) pools.free(live[memory * 5 + step]);
  }
  EXPECT_EQ(pools.usage(kHbm, pe).largest_free_block, 6_GiB);
  EXPECT_EQ(pools.usage(kTcm, pe).largest_free_block, 11_MiB);
  EXPECT_EQ(pools.usage(kSram, pe).largest_free_block, 32_MiB);
}

TEST(MemoryPools, FreeingWhatWasNotAllocatedIsOurOwnFault) {
  MemoryPools pools(MemoryLayout{});
  const PhysAddr a = pools.allocate(kHbm, {0, 0, 1}, {4_KiB, "x"});
  EXPECT_THROW(pools.free(hbm_addr({0, 0}, 0_B)), InternalError);         // the neighbour's slice
  EXPECT_THROW(pools.free(a + 256_B), InternalError);                     // inside
  EXPECT_THROW(pools.free(pe_ipcq_addr({0, 0, 1}, 0_B)), InternalError);  // no memory at all
  pools.free(a);
  EXPECT_THROW(pools.free(a), InternalError);
}

TEST(MemoryPools, IdlePartsOfTheLargestMachineCostNothing) {
  MemoryPools pools({.sips = 256, .cubes = 32, .pes = 16});
  EXPECT_EQ(pools.pool_count(), 0u);
  EXPECT_EQ(pools.usage(kTcm, {255, 31, 15}).free, 11_MiB);
  EXPECT_EQ(pools.pool_count(), 0u);  // asking builds nothing
  pools.allocate(kTcm, {255, 31, 15}, {1_B, "x"});
  pools.allocate(kHbm, {255, 31, 15}, {1_B, "x"});
  EXPECT_EQ(pools.pool_count(), 2u);
}

TEST(MemoryPools, ExhaustionNamesTheMemoryTheOwnerAndTheHolders) {
  MemoryPools pools(MemoryLayout{});
  pools.allocate(kTcm, {0, 5, 3}, {8_MiB, "ring E"});
  try {
    pools.allocate(kTcm, {0, 5, 3}, {4_MiB, "ring W"});
    FAIL();
  } catch (const SimulationError& e) {
    EXPECT_THAT(
        e.what(),
        AllOf(HasSubstr("sip0.cube5.pe3 TCM: ring W asks for 4 MiB, but of 16 MiB only 3 MiB is free, "
                        "the largest free block is 3 MiB; most is held by ring E (8 MiB), "
                        "scheduler (4 MiB), kernel scratch (1 MiB)"),
              HasSubstr("hint: use fewer or smaller queue slots")));
  }
  EXPECT_NO_THROW(pools.allocate(kTcm, {0, 5, 3}, {3_MiB, "ring W"}));  // nothing half-done was left behind
}

TEST(MemoryPools, ACubesSramIsNamedByItsCube) {
  MemoryPools pools(MemoryLayout{});
  try {
    pools.allocate(kSram, {0, 5, 3}, {33_MiB, "ring"});
    FAIL();
  } catch (const AllocationError& e) {
    EXPECT_EQ(e.where(), "sip0.cube5 SRAM");
    EXPECT_EQ(e.figures().requested, 33_MiB);
  }
}

TEST(MemoryPools, APeThatDoesNotExistIsAnInputError) {
  MemoryPools pools(MemoryLayout{});
  for (const PeCoord pe : {PeCoord{2, 0, 0}, {0, 16, 0}, {0, 0, 8}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}) {
    EXPECT_THROW(pools.allocate(kHbm, pe, {1_B, "x"}), InputError) << to_string(pe);
    EXPECT_THROW(pools.usage(kSram, pe), InputError) << to_string(pe);
  }
  try {
    pools.allocate(kHbm, {0, 0, 8}, {1_B, "x"});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(
        e.what(),
        HasSubstr("sip0.cube0.pe8: there is no such PE: the machine has 2 SIPs of 16 cubes of 8 PEs"));
  }
}

TEST(MemoryPools, RaggedSizesAreTakenInWholeGranules) {
  MemoryPools pools({.tcm = 2000_B, .tcm_scheduler = 300_B, .tcm_scratch = 1_B, .sram = 511_B});
  const PeCoord pe{0, 0, 0};
  EXPECT_EQ(pools.scratch_base(pe), pe_tcm_addr(pe, 512_B));
  EXPECT_EQ(pools.usage(kTcm, pe).free, Bytes(1792 - 512 - 256));  // 2000 = 7 · 256 + 208
  EXPECT_EQ(pools.usage(kSram, pe).free, 256_B);
  // 600 B hold 300 and 300, but in granules 512 do not hold 512 and 512.
  EXPECT_THROW(MemoryPools({.tcm = 600_B, .tcm_scheduler = 300_B, .tcm_scratch = 300_B}), InputError);
}

TEST(MemoryPools, ALayoutTheAddressesCannotHoldIsRefused) {
  const auto refused = [](const std::function<void(MemoryLayout&)>& change) {
    MemoryLayout layout;
    change(layout);
    try {
      MemoryPools pools(layout);
    } catch (const InputError& e) {
      return e.id() == "address.layout" && !e.hint().empty();
    }
    return false;
  };
  EXPECT_FALSE(refused([](MemoryLayout&) {}));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.sips = 257; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.sips = 0; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.cubes = 33; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.pes = 17; }));
  EXPECT_FALSE(refused([](MemoryLayout& l) { l.hbm_slice = 16_GiB; }));  // 8 of them are 128 GiB
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.hbm_slice = 16_GiB + 256_B; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.hbm_slice = 0_B; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.hbm_slice = 100_B; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.tcm = 256_MiB + 256_B; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.sram = 512_MiB + 256_B; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.tcm_scheduler = 17_MiB; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.tcm_scratch = 13_MiB; }));  // 16 − 4 are left
  EXPECT_FALSE(refused([](MemoryLayout& l) { l.tcm_scratch = 12_MiB; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.tcm_scratch = Bytes(INT64_MAX); }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.tcm_scheduler = Bytes(-1); }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.granule = 0_B; }));
  EXPECT_TRUE(refused([](MemoryLayout& l) { l.granule = 24_B; }));
}

}  // namespace
}  // namespace kernbench::address::memory_pools_test
