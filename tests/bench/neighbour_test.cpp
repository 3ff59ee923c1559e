// The bench in which every PE sends to the next one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/run.hpp"

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

}  // namespace
}  // namespace kernbench::bench::neighbour_test
