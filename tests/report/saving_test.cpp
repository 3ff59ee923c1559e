// Whatever happens while a run is saved, there is a whole file or none.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "forked.hpp"
#include "full_disk.hpp"
#include "kernbench/error.hpp"
#include "report/saved.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::saving_test {
namespace {

namespace fs = std::filesystem;

class Saving : public ::testing::Test, protected testing::TempFolder {
 protected:
  std::string db() const { return file("run.db"); }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(Saving, LeavesNothingBesideItself) {
  save_shipped("matmul-composite", {"M=64"}, db());
  EXPECT_EQ(files(), 1u);
}

TEST_F(Saving, AFullDiskIsAnErrorAndLeavesTheOldFile) {
  std::ofstream(db()) << "what was there";
  {
    const testing::FullDisk limit(65536);
    EXPECT_THROW(save_shipped("matmul-composite", {"M=256"}, db()), InputError);
  }
  EXPECT_EQ(read(db()), "what was there");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Saving, APlaceThatDoesNotExistOrIsADeviceIsAnError) {
  EXPECT_THROW(save_shipped("va-offset-verify", {"n_elem=17"}, file("none/run.db")), InputError);
  EXPECT_THROW(save_shipped("va-offset-verify", {"n_elem=17"}, "/dev/null"), InputError);
}

TEST_F(Saving, ARunWithoutRecordsIsRefused) {
  Torch torch(machine(), {.data = false, .log = runtime::LogStorage::none});
  torch.synchronize();
  EXPECT_THROW(save_run(torch, db()), InputError);
  EXPECT_EQ(files(), 0u);
}

TEST_F(Saving, AnInterruptLeavesNoFile) {
  const std::atomic<bool> interrupt = true;
  EXPECT_THROW(save_shipped("matmul-composite", {"M=256"}, db(), machine(), {.interrupt = &interrupt}),
               runtime::Interrupted);
  EXPECT_EQ(files(), 0u);
}

TEST_F(Saving, KeepsThePermissionsOfTheFileItReplaces) {
  std::ofstream(db()) << "old";
  fs::permissions(db(), fs::perms::owner_read | fs::perms::owner_write);
  save_shipped("va-offset-verify", {"n_elem=17"}, db());
  EXPECT_EQ(fs::status(db()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// The kernel kills the process when the file grows beyond its limit: at the first byte, in the middle, near the end.
TEST_F(Saving, AProcessKilledWhileItSavesLeavesNoFile) {
  save_shipped("matmul-composite", {"M=128"}, db());
  const auto whole = static_cast<rlim_t>(fs::file_size(db()));
  fs::remove(db());
  for (const rlim_t bytes : {rlim_t{0}, whole / 4, whole / 2, whole - 1}) {
    testing::Forked saver([&] {
      const rlimit limit{bytes, bytes}, no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      ::setrlimit(RLIMIT_FSIZE, &limit);
      save_shipped("matmul-composite", {"M=128"}, db());
    });
    const int status = saver.wait();
    ASSERT_TRUE(WIFSIGNALED(status)) << bytes << " bytes: it ended with " << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), SIGXFSZ);
    EXPECT_EQ(files(), 0u) << bytes << " bytes";
  }
}

}  // namespace
}  // namespace kernbench::report::saving_test
