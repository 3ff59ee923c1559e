// Sweeps that are killed: their folder is free at once, and whoever resumes them ends with the same table.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "forked.hpp"
#include "sweep/odd_bench.hpp"
#include "temp_folder.hpp"

namespace kernbench::sweep::killed_sweep_test {
namespace {

using testing::Forked;
using testing::TempFolder;
using Clock = std::chrono::steady_clock;

/// Whether a sweep of another process is kept out of the folder.
bool is_locked_for_others(const std::string& folder) {
  constexpr int kRefused = 17;
  Forked other([&] {
    try {
      const Folder taken(folder);
    } catch (const InputError&) {
      ::_exit(kRefused);
    }
  });
  const int status = other.wait();
  return WIFEXITED(status) && WEXITSTATUS(status) == kRefused;
}

/// A process that waits until it is killed.
[[noreturn]] void wait_to_be_killed() {
  while (true) ::pause();
}

/// A pipe on which forked processes report: one byte says that they have come so far.
class Reports {
 public:
  Reports() {
    if (::pipe(ends_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  }
  ~Reports() { ::close(ends_[0]), ::close(ends_[1]); }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  void send() const { ASSERT_EQ(::write(ends_[1], "x", 1), 1); }
  /// Fails when all who could have sent are gone. Whoever waits does not send.
  void wait() {
    ::close(std::exchange(ends_[1], -1));
    char byte = 0;
    ASSERT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

// The worst case of a kill: the worker has just been forked, still has every descriptor of its parent, and lives on.
TEST(SweepFolder, IsFreeWhenItsHolderIsDeadAlthoughAForkedProcessOfItLives) {
  const TempFolder temp;
  Reports holder_is_ready, orphan_may_end;
  Forked holder([&] {
    const Folder held(temp.file("a"));
    if (::fork() == 0) {
      orphan_may_end.wait();
      ::_exit(0);
    }
    holder_is_ready.send();
    wait_to_be_killed();
  });
  holder_is_ready.wait();
  EXPECT_THROW(Folder(temp.file("a")), InputError);
  holder.kill(SIGKILL);
  holder.wait();
  EXPECT_NO_THROW(Folder(temp.file("a")));
  orphan_may_end.send();
}

TEST(SweepFolder, StaysLockedWhenAForkedProcessOfItsHolderEnds) {
  const TempFolder temp;
  const Folder held(temp.file("a"));
  Forked([] {}).wait();
  EXPECT_TRUE(is_locked_for_others(temp.file("a")));
}

TEST(SweepFolder, StaysLockedWhenItsOwnProcessIsRefused) {
  const TempFolder temp;
  const Folder held(temp.file("a"));
  EXPECT_THROW(Folder(temp.file("a")), InputError);
  EXPECT_TRUE(is_locked_for_others(temp.file("a")));
}

std::string values_up_to(int last) {
  std::string values;
  for (int n = 1; n <= last; ++n)
    values += (n > 1 ? "," : "") + std::to_string(n == 13 || n == 17 ? 900 + n : n);
  return values;
}

/// Each key of the points of a folder must be there once.
void expect_every_point_once(const std::string& folder, std::size_t points) {
  std::istringstream lines(read_text_file(folder + "/points.jsonl"));
  std::set<std::string> keys;
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    keys.insert(nlohmann::json::parse(line)["key"].get<std::string>());
  EXPECT_EQ(count, points);
  EXPECT_EQ(keys.size(), points);
}

// Each process resumes what the one before it left at the instant at which that one is dead. One that may not, or that finds the
// folder damaged, ends with exit code 1. Where in a sweep the kills fall depends on the machine, the result does not: the instants
// are spread evenly over the time that a whole sweep takes here.
TEST(KilledSweep, ResumesAtOnceToTheSameTable) {
  constexpr int kPoints = 20;
  const Plan plan = read_plan(
      "bench: odd\nvary: {n: [" + values_up_to(kPoints) + "]}\ncolumns: [results.twice, total_ns]\n",
      "s.yaml", registry_with_odd_bench());
  const TempFolder temp;
  const auto sweep_in = [&](const std::string& name) {
    run_sweep(plan, temp.file(name), registry_with_odd_bench(), {.jobs = 2});
  };
  sweep_in("first");
  const auto begin = Clock::now();
  ASSERT_EQ(Forked([&] { sweep_in("whole"); }).wait(), 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
  const std::string table = read_text_file(temp.file("whole/results.csv"));
  std::mt19937_64 random(7);
  int sweeps = 1;
  for (int kills = 0; kills < KERNBENCH_KILLS;) {
    const std::string name = "killed" + std::to_string(sweeps);
    Forked sweep([&] { sweep_in(name); });
    ::usleep(static_cast<useconds_t>(random() % static_cast<std::uint64_t>(whole)));
    sweep.kill(SIGKILL);
    const int status = sweep.wait();
    if (WIFSIGNALED(status)) {
      ++kills;
      continue;
    }
    ASSERT_EQ(WEXITSTATUS(status), 0) << "after " << kills << " kills, in sweep " << sweeps;
    ASSERT_EQ(read_text_file(temp.file(name + "/results.csv")), table) << "sweep " << sweeps;
    std::filesystem::remove_all(temp.file(name));
    ++sweeps;
  }
  sweep_in("killed" + std::to_string(sweeps));
  EXPECT_EQ(read_text_file(temp.file("killed" + std::to_string(sweeps) + "/results.csv")), table);
  expect_every_point_once(temp.file("killed" + std::to_string(sweeps)), kPoints);
}

}  // namespace
}  // namespace kernbench::sweep::killed_sweep_test
