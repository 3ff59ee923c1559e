// What KERNBENCH_CCL_TRACE and KERNBENCH_DEBUG print.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "dist/dist_world.hpp"

namespace kernbench::dist::switches_test {
namespace {

/// What the call writes to standard error while the variable is set.
std::string printed(const char* variable, const char* value, const std::function<void()>& call) {
  ::setenv(variable, value, 1);
  ::testing::internal::CaptureStderr();
  call();
  ::unsetenv(variable);
  return ::testing::internal::GetCapturedStderr();
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

void reduce_on_three_pes() {
  Torch torch(machine(1));
  use_pes(torch, 3);
  on_all_ranks(torch, [&](int) { all_reduce(torch.zeros({8}, f16)); });
}

// A ring of 3: everybody's tile goes to the two others.
TEST(Switches, TheTraceHasALineForEverySendAndReceive) {
  const auto text = printed("KERNBENCH_CCL_TRACE", "1", reduce_on_three_pes);
  EXPECT_EQ(count(text, " send E "), 6u);
  EXPECT_EQ(count(text, " recv W "), 6u);
  EXPECT_THAT(text, HasSubstr("sip0.cube0.pe2       send E          → sip0.cube0.pe0             16 B"));
  EXPECT_EQ(printed("KERNBENCH_CCL_TRACE", "0", reduce_on_three_pes), "");
}

/// The times of its lines.
std::vector<double> times_of(const std::string& trace) {
  std::vector<double> times;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);)
    times.push_back(std::stod(line.substr(line.find(']') + 1)));
  return times;
}

// Two SIPs of 32 PEs are two partitions, whose windows take turns or run at once. In the ring of all PEs everybody's tile
// goes to the 63 others: 64 · 63 sends, as many receives.
TEST(Switches, TheTraceIsByTimeAndTheSameOnAnyNumberOfThreads) {
  const auto traced = [](int threads) {
    return printed("KERNBENCH_CCL_TRACE", "1", [&] {
      Torch torch(machine(2), {.threads = threads});
      use_pes(torch, 64);
      on_all_ranks(torch, [&](int) { all_reduce(torch.zeros({8}, f16)); });
    });
  };
  const std::string alone = traced(1);
  const std::vector<double> times = times_of(alone);
  EXPECT_EQ(times.size(), 2u * 64 * 63);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_EQ(traced(2), alone);
  EXPECT_EQ(traced(0), alone);
}

TEST(Switches, DebugWarnsOfRanksWithoutADeviceAndOfRanksOutside) {
  const auto suspicious = [] {
    Torch torch(machine(2));
    torch.ahbm.set_device(0);  // which is the host program's and no rank's
    spawn(
        torch, [&](int) { torch.zeros({8}, f16); }, 2);
    get_rank(torch);
  };
  const auto text = printed("KERNBENCH_DEBUG", "1", suspicious);
  EXPECT_THAT(text, HasSubstr("rank 1 never set a device: all it did was on device 0"));
  EXPECT_THAT(text, HasSubstr("get_rank() outside of spawn is 0"));
  EXPECT_EQ(printed("KERNBENCH_DEBUG", "", suspicious), "");
}

TEST(Switches, DebugIsSilentAboutWhatIsInOrder) {
  EXPECT_EQ(printed("KERNBENCH_DEBUG", "1", reduce_on_three_pes), "");
}

}  // namespace
}  // namespace kernbench::dist::switches_test
