// Benches that do the same again: with and without taking it over they say the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/run.hpp"
#include "bench/run_json.hpp"

namespace kernbench::bench::repeats_test {
namespace {

struct Run {
  std::string json;  // but for the wall
  Wall wall;
  bool ok;
};
Run run_with(bool skip, const std::string& name, const std::vector<std::string>& words,
             const std::vector<std::string>& machine, RunOptions how = {}) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at(name);
  how.skip = skip;
  const auto result = run(bench, bench.read_options(words),
                          topology::load_machine("small", machine, registry.components), how);
  auto json = to_json(result);
  json.erase("wall");
  return {json.dump(1), result.wall, result.ok()};
}

// 17 launches on each of 2 SIPs in a step: the first installs queues, the second is seen, the third is kept.
TEST(RepeatsOfBenches, StepsOfADecodeLoopAreTakenOver) {
  for (const auto log : {runtime::LogStorage::memory, runtime::LogStorage::none}) {
    const std::vector<std::string> words = {"model=custom", "context=64", "batch=2", "steps=8"};
    const std::vector<std::string> machine = {"system.sips.count=2"};
    const auto skipped = run_with(true, "llama", words, machine, {.log = log});
    const auto simulated = run_with(false, "llama", words, machine, {.log = log});
    EXPECT_EQ(skipped.json, simulated.json);
    EXPECT_GE(skipped.wall.taken_over, 4u * 2 * 10);
    EXPECT_EQ(simulated.wall.taken_over, 0u);
    EXPECT_LT(skipped.wall.events, simulated.wall.events);
  }
}

TEST(RepeatsOfBenches, NumbersOfStepsThatWereTakenOverAreRight) {
  const std::vector<std::string> words = {"model=custom", "context=16", "steps=6"};
  const auto skipped = run_with(true, "llama", words, {"system.sips.count=2"}, {.verify = true});
  const auto simulated = run_with(false, "llama", words, {"system.sips.count=2"}, {.verify = true});
  EXPECT_EQ(skipped.json, simulated.json);
  EXPECT_TRUE(skipped.ok);
  EXPECT_GE(skipped.wall.taken_over, 20u);
}

}  // namespace
}  // namespace kernbench::bench::repeats_test
