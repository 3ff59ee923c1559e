// The bench in which every PE sends to the next one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/run.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench::neighbour_test {
namespace {

// 64 PEs on 2 SIPs hand 1 KiB on three times: 192 messages, and every block three PEs further.
TEST(Neighbours, EveryBlockIsWhereItWasHandedOnTo) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl-neighbour");
  const auto machine = topology::load_machine("small", {"system.sips.count=2"}, registry.components);
  const std::vector<std::string> words = {"rounds=3"};
  const RunResult result = run(bench, bench.read_options(words), machine, {.verify = true});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.report.outcome(), true);
  EXPECT_EQ(result.summary.total.ipcq_send.count, 192u);
  EXPECT_EQ(result.summary.total.ipcq_send.amount, 192u * 1024);
}

TEST(Neighbours, ABlockThatFitsNoSlotIsRefusedBeforeItRuns) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl-neighbour");
  const auto machine = topology::load_machine("small", {}, registry.components);
  const std::vector<std::string> words = {"n_elem=4096"};
  const Options options = bench.read_options(words);
  try {
    run(bench, options, machine, {});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(),
                 "n_elem=4096: a block of 8 KiB does not fit a slot of 4 KiB\n"
                 "  hint: n_elem at most 2048, or --set ccl.defaults.slot_size=8192");
  }
  EXPECT_TRUE(run(bench, options, machine, {.ccl_overrides = {"ccl.defaults.slot_size=8192"}}).ok());
}

}  // namespace
}  // namespace kernbench::bench::neighbour_test
