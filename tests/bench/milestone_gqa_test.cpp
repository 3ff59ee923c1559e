// The attention bench: its file, its counts, its numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/run_json.hpp"
#include "temp_folder.hpp"

namespace kernbench::bench::milestone_gqa_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct GqaRun {
  RunResult result;
  Json sweep;
};

GqaRun run_gqa(std::vector<std::string> words, const std::string& machine = "default", bool verify = true) {
  const kernbench::testing::TempFolder folder;
  const auto path = folder.path() / "deep" / "sweep.json";
  words.push_back("output=" + path.string());
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("milestone_gqa_llama70b");
  GqaRun run{bench::run(bench, bench.read_options(words),
                        topology::load_machine(machine, {}, registry.components), {.verify = verify}),
             {}};
  run.sweep = Json::parse(std::ifstream(path));
  return run;
}

// 2 · h_kv · n² products of prefill over n ranks, 2 · h_kv · n of decode; h_kv is 1, n is 8 PEs or 4 cubes.
TEST(MilestoneGqa, ValidationWritesFourRowsWithExactCounts) {
  ::setenv("GQA_VALIDATION", "1", 1);
  const auto [result, sweep] = run_gqa({});
  ::unsetenv("GQA_VALIDATION");
  EXPECT_EQ(result.report.outcome(), true);
  EXPECT_TRUE(result.hazards.value_or(std::vector<runtime::HazardReport>()).empty());
  EXPECT_EQ(sweep["version"], 1);
  EXPECT_EQ(sweep["validation_scale"], true);
  EXPECT_EQ(sweep["panels"],
            (Json{"single_user_prefill", "single_user_decode", "multi_user_prefill", "multi_user_decode"}));
  EXPECT_EQ(sweep["config"], (Json{{"S_q_prefill", 16},
                                   {"S_kv_per_rank", 16},
                                   {"h_q", 1},
                                   {"h_kv", 1},
                                   {"d_head", 64},
                                   {"n_ranks_single_user", 8},
                                   {"n_ranks_multi_user", 4}}));
  std::vector<int> products, ranks;
  for (const auto& row : sweep["rows"]) {
    products.push_back(row["op_log_summary"]["gemm_count"]);
    ranks.push_back(row["n_ranks"]);
    EXPECT_EQ(row["verified"], true);
    EXPECT_LT(row["max_error"], 1e-3);
    EXPECT_GT(row["lower_bound_ns"], 0);
    EXPECT_GE(row["pe_exec_ns"], row["lower_bound_ns"]);
    EXPECT_GE(row["total_ns"], row["pe_exec_ns"]);
    EXPECT_GT(row["utilization"]["gemm"], 0);
  }
  EXPECT_THAT(products, ElementsAre(128, 16, 32, 8));
  EXPECT_THAT(ranks, ElementsAre(8, 8, 4, 4));
}

TEST(MilestoneGqa, HeadlineIsTheAttentionOfAWholeSip) {
  const auto [result, sweep] = run_gqa({"scale=headline", "contexts=80", "batches=1,3"}, "small");
  EXPECT_EQ(result.report.outcome(), true);
  EXPECT_EQ(sweep["validation_scale"], false);
  EXPECT_EQ(sweep["config"]["h_q"], 64);
  std::vector<std::string> rows;
  for (const auto& row : sweep["rows"])
    rows.push_back(fmt::format("{} {} {}", row["panel"].get<std::string>(), row["context"].get<int>(),
                               row["batch"].get<int>()));
  EXPECT_THAT(rows,
              ElementsAre("single_user_prefill 80 1", "single_user_decode 80 1", "multi_user_decode 80 3"));
  EXPECT_THAT(result.report.text(), HasSubstr("of bound"));
}

// 64 heads · 300 queries · 131,072 keys are 153,600 blocks of 128 × 128, 4,800 on each of 32 PEs. A launch has at most 4,096 of a PE, so
// there would be two; but launches begin at multiples of 256 queries, and the first would have none.
TEST(MilestoneGqa, FewQueriesOfALongContextAreOneLaunch) {
  const auto [result, sweep] =
      run_gqa({"scale=headline", "contexts=131072", "batches=1", "queries=300", "panels=single_user_prefill"},
              "small", false);
  EXPECT_EQ(sweep["rows"][0]["queries"], 300);
  EXPECT_EQ(to_json(result)["launches"].size(), 1u);
}

// Sweeps draw over the number of queries, so 0 must stand at the number it means: all 80 in prefill.
TEST(MilestoneGqa, RunOfOnePanelReportsTheNumberOfQueriesThatZeroStandsFor) {
  for (const std::string words : {"queries=0", "queries=80"}) {
    const auto [result, sweep] = run_gqa(
        {"scale=headline", "contexts=80", "batches=1", "panels=single_user_prefill", words}, "small", false);
    EXPECT_EQ(to_json(result)["results"]["queries"], 80) << words;
  }
}

// 8 query heads and one K/V head a PE and pair; what takes longest is exp2, 8 cycles for each vector of scores.
TEST(MilestoneGqa, SaysWhatTheVectorUnitIsBusyWith) {
  const auto [result, sweep] =
      run_gqa({"scale=headline", "contexts=512", "batches=1", "panels=single_user_prefill"}, "small", false);
  ASSERT_EQ(sweep["rows"].size(), 1u);
  const Json& row = sweep["rows"][0];
  double sum = 0;
  for (const auto& [operation, ns] : row["vector_work_ns"].items()) sum += ns.get<double>();
  EXPECT_NEAR(sum, row["work_ns"]["vector"], 1e-6);
  EXPECT_GT(row["vector_work_ns"]["exp2"], 0.5 * sum);
  EXPECT_THAT(result.report.text(), HasSubstr("vector work of single_user_prefill 512: exp2 "));
}

}  // namespace
}  // namespace kernbench::bench::milestone_gqa_test
