// The bench of a Llama layer: its numbers, its sums, what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "bench/baseline.hpp"
#include "bench/benches/llama_model.hpp"
#include "bench/run.hpp"

namespace kernbench::bench::llama_test {
namespace {

using ::testing::HasSubstr;

RunResult run_llama(const std::vector<std::string>& words, const std::vector<std::string>& machine,
                    bool verify = false) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("llama");
  return run(bench, bench.read_options(words), topology::load_machine("small", machine, registry.components),
             {.verify = verify});
}

double figure(const RunResult& result, std::string_view name) {
  for (const auto& [key, value] : result.report.results())
    if (key == name)
      return std::holds_alternative<double>(value) ? std::get<double>(value)
                                                   : static_cast<double>(std::get<std::int64_t>(value));
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

// The file has 5.312 us for a product of 32 × 32 × 32, and 4.48 us for an empty launch.
TEST(Baseline, WorkIsTheMeasuredTimeLessAnEmptyLaunch) {
  const Baseline h200 = Baseline::load("h200");
  EXPECT_EQ(h200.launch_us(), 4.48);
  EXPECT_EQ(h200.median_us("gemm", "32x32x32"), 5.312);
  EXPECT_DOUBLE_EQ(h200.work_us("gemm", "32x32x32").value(), 5.312 - 4.48);
  EXPECT_EQ(h200.work_us("gemm", "3x3x3"), std::nullopt);
  EXPECT_THAT(h200.legend(), ::testing::HasSubstr("less the 4.480 us of an empty launch"));
}

TEST(Llama, RowsAddUpAndNumbersAreRight) {
  const auto result = run_llama({"model=custom", "batch=3", "context=45", "layers=5"}, {}, true);
  EXPECT_EQ(result.report.outcome(), true);
  double sum = 0;
  for (const auto& [key, value] : result.report.results())
    if (std::isdigit(key.front())) sum += std::get<double>(value);
  EXPECT_NEAR(sum, figure(result, "layer_ns"), 1e-6);
  EXPECT_NEAR(figure(result, "model_ns"), 5 * figure(result, "layer_ns") + figure(result, "head_ns"), 1e-3);
  EXPECT_NEAR(figure(result, "tokens_per_s"), 3 / (figure(result, "model_ns") * 1e-9), 1e-3);
  EXPECT_THAT(result.report.text(), HasSubstr("the rows add up to the layer's time"));
}

/// The words of the first row that begins so.
std::vector<std::string> row_of(const RunResult& result, const std::string& name) {
  std::istringstream lines(result.report.text());
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) {
      std::istringstream in(line);
      return {std::istream_iterator<std::string>(in), {}};
    }
  ADD_FAILURE() << "no row " << name;
  return {};
}

// Two SIPs, one token: 256 elements over all PEs are 16 bytes each, so what counts is the way from the other SIP: two PCIe
// endpoints and the switch, 5 ns each, and the routers of both. Prefill of 512 tokens: every SIP must get 512 · 256 · 2 B =
// 256 KiB at the 128 GB/s of its link, 2.048 us.
TEST(Llama, AllReducesAreComparedWithWhatMustCross) {
  const std::vector<std::string> sips = {"system.sips.count=2"};
  const auto few = row_of(run_llama({"model=custom", "context=64"}, sips), "intersip_allreduce");
  ASSERT_EQ(few.size(), 6u);  // name, us, share, %, bound, limit
  EXPECT_EQ(few[5], "latency");
  EXPECT_GT(std::stod(few[4]), 0.015);
  EXPECT_LT(std::stod(few[4]), std::stod(few[1]));
  const auto many =
      row_of(run_llama({"model=custom", "phase=prefill", "context=512"}, sips), "intersip_allreduce");
  EXPECT_EQ(many[5], "link");
  EXPECT_GE(std::stod(many[4]), 2.048);
  EXPECT_LT(std::stod(many[4]), std::stod(many[1]));
}

TEST(Llama, PrefillIsRightAndStepsAreAveraged) {
  EXPECT_EQ(
      run_llama({"model=custom", "phase=prefill", "context=19", "dtype=f16"}, {}, true).report.outcome(),
      true);
  const auto one = run_llama({"model=custom", "context=64"}, {}),
             two = run_llama({"model=custom", "context=64", "steps=2"}, {});
  EXPECT_NEAR(figure(two, "layer_ns"), figure(one, "layer_ns"), 0.1 * figure(one, "layer_ns"));
}

// 126 layers of 3.19 · 10⁹ weights and two tables of 128,256 rows are 756 GiB in bf16; K and V of 64 · 8192 tokens 252 GiB.
TEST(Llama, WhatDoesNotFitIsRefusedWithWhatWould) {
  const auto model = llama_model("llama3-405b");
  const nn::DecoderRun run{.batch = 64, .context = 8192};
  EXPECT_EQ(model.weight_bytes(run) >> 30, 755);  // 755.9
  EXPECT_EQ(model.cache_bytes(run), std::int64_t{252} << 30);
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("llama");
  const auto machine = topology::load_machine("default", {"system.sips.count=1"}, registry.components);
  try {
    const std::vector<std::string> words = {"model=llama3-405b", "batch=64", "context=8192"};
    bench::run(bench, bench.read_options(words), machine);
    FAIL() << "it must not fit";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr("each has 768 GiB, and would hold 756 GiB of weights and 252 GiB of cache"));
    EXPECT_THAT(text, HasSubstr("batch 3 at this context"));
    EXPECT_THAT(text, HasSubstr("2 SIPs"));
  }
}

TEST(Llama, RanksDivideHeadsAndNumbersAreForCustomModels) {
  try {
    run_llama({"model=custom"}, {"system.sips.count=3"});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.hint(), ::testing::HasSubstr("--set system.sips.count=N with N one of 1, 2"));
  }
  EXPECT_THROW(run_llama({"model=llama3-8b"}, {}, true), InputError);
  EXPECT_THROW(run_llama({"model=custom", "heads=6", "kv_heads=4"}, {}), InputError);
}

TEST(Llama, ModelsHaveTheirPublishedSizes) {
  EXPECT_NEAR(static_cast<double>(llama_model("llama3-8b").weights()), 8.03e9, 1e7);
  EXPECT_NEAR(static_cast<double>(llama_model("llama3-70b").weights()), 70.55e9, 1e7);
  EXPECT_NEAR(static_cast<double>(llama_model("llama3-405b").weights()), 405.85e9, 1e7);
}

}  // namespace
}  // namespace kernbench::bench::llama_test
