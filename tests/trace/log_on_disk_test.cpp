#include "full_disk.hpp"
#include "temp_folder.hpp"
#include "trace/random_run.hpp"

namespace kernbench::trace::log_on_disk_test {
namespace {

class LogOnDisk : public ::testing::Test, protected testing::TempFolder {};

TEST_F(LogOnDisk, SpillsLongRunsToDiskChunkByChunk) {
  OpLog log(2, {.storage = Storage::disk, .folder = path().string()});
  RunMaker names;
  names.program({0, 0, 0});
  constexpr std::uint32_t kCount = 3 * kChunkRecords + 5;
  for (std::uint32_t i = 0; i < kCount; ++i)
    log.append(1, RunMaker::record_of({.end = i, .amount = 3 * i}, i + 1));
  const auto run = log.finish(names.info);
  ASSERT_EQ(run.size(), kCount);
  for (const auto i : {0u, kChunkRecords, 3 * kChunkRecords - 1, kCount - 1})
    EXPECT_EQ(run.op({1, i}).amount, 3 * i);
}

TEST_F(LogOnDisk, TheLogSoFarStaysAsItWasWhileMoreIsWritten) {
  for (const Storage storage : {Storage::memory, Storage::disk}) {
    OpLog log(2, {.storage = storage, .folder = path().string()});
    RunMaker names;
    names.program({0, 0, 0});
    std::uint32_t written = 0;
    const auto write_up_to = [&](std::uint32_t count) {
      for (; written < count; ++written)
        log.append(1, RunMaker::record_of({.end = written, .amount = 3 * written}, written + 1));
    };
    std::vector<RunLog> logs;
    const std::vector<std::uint32_t> sizes = {5, kChunkRecords, kChunkRecords + 7, 2 * kChunkRecords};
    for (const auto size : sizes) write_up_to(size), logs.push_back(log.so_far(names.info));
    write_up_to(3 * kChunkRecords);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(logs[i].size(), sizes[i]);
      EXPECT_EQ(logs[i].op({1, sizes[i] - 1}).amount, 3 * (sizes[i] - 1));
      EXPECT_EQ(logs[i].op({1, 4}).amount, 12u);
    }
  }
}

TEST_F(LogOnDisk, AFullDiskWhileSimulatingIsAnError) {
  OpLog log(1, {.storage = Storage::disk, .folder = path().string()});
  const testing::FullDisk limit(4096);
  EXPECT_THROW(for (std::uint32_t i = 0; i <= kChunkRecords; ++i)
                   log.append(0, RunMaker::record_of({.end = i}, i + 1)),
               InputError);
}

TEST_F(LogOnDisk, AFolderThatDoesNotExistIsAnError) {
  EXPECT_THROW(OpLog(2, {.storage = Storage::disk, .folder = file("none")}), InputError);
}

}  // namespace
}  // namespace kernbench::trace::log_on_disk_test
