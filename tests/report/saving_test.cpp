// Whatever happens while a run is saved, there is a whole file or none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

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

/// Whether a process has a file of this folder open.
bool has_open(pid_t pid, const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error))
    if (fs::read_symlink(entry, error).string().starts_with(folder)) return true;
  return false;
}

TEST_F(Saving, KilledInTheMiddleLeavesNoFile) {
  fs::create_directory(file("sub"));
  const std::string folder = file("sub");
  const pid_t saver = ::fork();
  if (saver == 0) {
    save_shipped("matmul-composite", {"M=512", "N=512"}, folder + "/run.db");
    ::_exit(0);
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!has_open(saver, folder) && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  ::kill(saver, SIGKILL);
  int status = 0;
  ::waitpid(saver, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before it could be killed";
  EXPECT_TRUE(fs::is_empty(folder));
}

}  // namespace
}  // namespace kernbench::report::saving_test
