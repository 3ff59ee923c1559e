#include "counting_new.hpp"
#include "trace/run_maker.hpp"

namespace kernbench::trace {
namespace {

TEST(OpLogAllocation, AppendingAllocatesOncePerChunkAndNeverCopies) {
  constexpr std::uint32_t kChunks = 12;
  OpLog log(1);
  const auto before = kernbench::testing::allocations();
  for (std::uint32_t i = 0; i < kChunks * kChunkRecords; ++i)
    log.append(0, RunMaker::record_of({.end = i}, i + 1));
  // One for each chunk, and the list of chunks doubles: 1, 2, 4, 8, 16.
  EXPECT_EQ(kernbench::testing::allocations() - before, kChunks + 5);
}

TEST(OpLogAllocation, ALogThatOnlyCountsAllocatesNothing) {
  OpLog log(1, {.storage = Storage::none});
  const auto before = kernbench::testing::allocations();
  for (std::uint32_t i = 0; i < 100'000; ++i) log.append(0, RunMaker::record_of({.end = i}, i + 1));
  EXPECT_EQ(kernbench::testing::allocations() - before, 0);
  EXPECT_EQ(log.size(), 100'000u);
}

}  // namespace
}  // namespace kernbench::trace
