#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "trace/random_run.hpp"

namespace kernbench::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A folder of its own for each test, gone afterwards.
class LogFile : public ::testing::Test {
 protected:
  LogFile() { fs::create_directories(folder_); }
  ~LogFile() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "run.oplog") const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  /// The id of the InputError that opening such a file gives.
  std::string error_of(const std::string& content) const {
    fs::remove(path("bad"));
    write(path("bad"), content);
    try {
      RunLog::open(path("bad"));
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(path("bad")));
      return e.id();
    }
    return "";
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      (std::string("kernbench_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

/// While it lives no file may grow beyond a size: the nearest thing to a full disk that needs no rights.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_), std::signal(SIGXFSZ, handler_); }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(LogFile, AnEmptyRunMakesTheRoundTrip) {
  const auto run = RunMaker(3).finish();
  run.save(path());
  EXPECT_EQ(RunLog::open(path()).size(), 0u);
  EXPECT_EQ(RunLog::open(path()).hash(), run.hash());
}

TEST_F(LogFile, IsTheSameByteForByte) {
  RandomRun a({.seed = 5}), b({.seed = 5, .log = {.storage = Storage::disk, .folder = folder_.string()}});
  a.finish().save(path("a")), b.finish().save(path("b"));
  EXPECT_EQ(read(path("a")), read(path("b")));
}

TEST_F(LogFile, LeavesNothingBesideItself) {
  RandomRun({.seed = 1, .log = {.storage = Storage::disk, .folder = folder_.string()}}).finish().save(path());
  EXPECT_EQ(files(), 1u);
}

TEST_F(LogFile, SpillsLongRunsToDiskChunkByChunk) {
  OpLog log(2, {.storage = Storage::disk, .folder = folder_.string()});
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

TEST_F(LogFile, TheLogSoFarStaysAsItWasWhileMoreIsWritten) {
  for (const Storage storage : {Storage::memory, Storage::disk}) {
    OpLog log(2, {.storage = storage, .folder = folder_.string()});
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

TEST_F(LogFile, EveryTruncationIsRefused) {
  RandomRun({.seed = 2, .sips = 1, .launches = 1, .ops_per_program = 4}).finish().save(path());
  const auto whole = read(path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto id = error_of(whole.substr(0, size));
    ASSERT_EQ(id, size < 8 ? "op-log.foreign" : "op-log.truncated") << size;
  }
  EXPECT_EQ(error_of(whole + std::string(64, '\0')), "op-log.damaged");
}

TEST_F(LogFile, EveryDamagedByteIsRefused) {
  RandomRun({.seed = 2, .sips = 1, .launches = 1, .ops_per_program = 4}).finish().save(path());
  const auto whole = read(path());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    ASSERT_NE(error_of(damaged), "") << i;
  }
}

TEST_F(LogFile, ForeignFilesAndOtherVersionsAreNamed) {
  EXPECT_EQ(error_of("{\"kernbench\": 1, \"bench\": \"something else entirely, long enough\"}"),
            "op-log.foreign");
  RandomRun({.seed = 2}).finish().save(path());
  auto other = read(path());
  ++other[8];
  EXPECT_EQ(error_of(other), "op-log.version");
  EXPECT_THROW(RunLog::open(path("missing")), InputError);
  EXPECT_THROW(RunLog::open(folder_.string()), InputError);
}

TEST_F(LogFile, AFullDiskIsAnErrorAndLeavesTheOldFile) {
  write(path(), "what was there");
  const auto run = RandomRun({.seed = 3}).finish();
  {
    const FullDisk limit(4096);
    EXPECT_THROW(run.save(path()), InputError);
  }
  EXPECT_EQ(read(path()), "what was there");
  EXPECT_EQ(files(), 1u);
}

TEST_F(LogFile, AFullDiskWhileSimulatingIsAnError) {
  OpLog log(1, {.storage = Storage::disk, .folder = folder_.string()});
  const FullDisk limit(4096);
  EXPECT_THROW(for (std::uint32_t i = 0; i <= kChunkRecords; ++i)
                   log.append(0, RunMaker::record_of({.end = i}, i + 1)),
               InputError);
}

TEST_F(LogFile, AFolderThatDoesNotExistIsAnError) {
  const auto run = RunMaker().finish();
  EXPECT_THROW(run.save(path("none/run.oplog")), InputError);
  EXPECT_THROW(OpLog(2, {.storage = Storage::disk, .folder = path("none")}), InputError);
}

}  // namespace
}  // namespace kernbench::trace
