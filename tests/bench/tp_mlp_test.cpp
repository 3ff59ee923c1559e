// The bench of a tensor-parallel MLP: its numbers on every kind of world, its figures, what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/run.hpp"

namespace kernbench::bench::tp_mlp_test {
namespace {

using ::testing::HasSubstr;

RunResult run_mlp(const std::vector<std::string>& words, const std::vector<std::string>& machine,
                  bool verify = true) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("tp-mlp");
  return run(bench, bench.read_options(words), topology::load_machine("small", machine, registry.components),
             {.verify = verify});
}

double figure(const RunResult& result, std::string_view name) {
  for (const auto& [key, value] : result.report.results())
    if (key == name) return std::get<double>(value);
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

std::vector<std::string> world(int sips, const std::string& topology) {
  std::vector<std::string> words = {fmt::format("system.sips.count={}", sips),
                                    "system.sips.topology=" + topology};
  if (sips == 6) words.insert(words.end(), {"system.sips.w=3", "system.sips.h=2"});
  return words;
}

// Every rank must end with the same bits, near the plain product: the bench compares both.
TEST(TpMlp, NumbersAreRightOnEveryWorld) {
  for (const auto& [sips, topology] :
       {std::pair(1, "ring_1d"), {2, "ring_1d"}, {4, "ring_1d"}, {4, "torus_2d"}, {6, "torus_2d"}})
    for (const std::string gate : {"gate=plain", "gate=swiglu"})
      for (const std::string tokens : {"tokens=1", "tokens=16", "tokens=33"}) {
        SCOPED_TRACE(fmt::format("{} SIPs {} {} {}", sips, topology, gate, tokens));
        const auto result = run_mlp({"hidden=96", "ffn=192", gate, tokens}, world(sips, topology));
        EXPECT_EQ(result.report.outcome(), true);
      }
}

TEST(TpMlp, ComputesInEveryDtype) {
  for (const std::string dtype : {"dtype=f16", "dtype=bf16", "dtype=f32"})
    EXPECT_EQ(run_mlp({"hidden=64", "ffn=128", "tokens=5", dtype}, world(2, "ring_1d")).report.outcome(),
              true)
        << dtype;
}

// The layer's time is the sum of its rows, and the collective's share is its row's.
TEST(TpMlp, RowsAddUpToTheLayer) {
  const auto result = run_mlp({"hidden=96", "ffn=192", "tokens=16"}, world(4, "ring_1d"), false);
  double sum = 0;
  for (const auto& [key, value] : result.report.results())
    if (key.ends_with("_ns") && key != "layer_ns") sum += std::get<double>(value);
  EXPECT_NEAR(sum, figure(result, "layer_ns"), 1e-6);
  EXPECT_NEAR(figure(result, "collective_share"), figure(result, "intersip_allreduce_ns") / sum, 1e-9);
  EXPECT_THAT(result.report.text(), HasSubstr("% in collectives, MFU"));
}

// On one SIP nothing goes between SIPs.
TEST(TpMlp, OneRankHasNoCollective) {
  EXPECT_EQ(figure(run_mlp({"hidden=96", "ffn=192"}, world(1, "ring_1d"), false), "collective_share"), 0);
}

TEST(TpMlp, RanksDivideTheHiddenLayer) {
  try {
    run_mlp({"hidden=96", "ffn=190"}, world(4, "ring_1d"));
    FAIL() << "190 columns over 4 ranks";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("out_features (190) must be divisible by TP world size (4)"));
  }
}

}  // namespace
}  // namespace kernbench::bench::tp_mlp_test
