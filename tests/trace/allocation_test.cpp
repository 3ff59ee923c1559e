#include "counting_new.hpp"
#include "trace/run_maker.hpp"

namespace kernbench::trace::allocation_test {
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

// 100,000 operations that touch each other are one stretch of busy time.
TEST(OpLogAllocation, ALogThatKeepsNothingAllocatesNothingPerRecord) {
  const device::Origins origins = {{nullptr, {0, 0, 0}, 0}};
  OpLog log(1, {.storage = Storage::none, .origins = &origins});
  const auto append = [&](std::uint32_t i) {
    log.append(0, RunMaker::record_of({.kind = device::OpKind::dma_read, .start = i, .end = i + 1}, i + 1));
  };
  append(0);
  const auto before = kernbench::testing::allocations();
  for (std::uint32_t i = 1; i < 100'000; ++i) append(i);
  EXPECT_EQ(kernbench::testing::allocations() - before, 0);
  EXPECT_EQ(log.size(), 100'000u);
}

}  // namespace
}  // namespace kernbench::trace::allocation_test
