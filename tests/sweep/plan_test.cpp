#include "sweep/plan.hpp"

#include <gmock/gmock.h>

#include "kernbench/error.hpp"

namespace kernbench::sweep::plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const Registry& registry() {
  static const Registry made = builtin_registry();
  return made;
}

Plan plan(const std::string& text) { return read_plan(text, "s.yaml", registry()); }

TEST(SweepPlan, IsTheProductInTheOrderOfTheFile) {
  const Plan made = plan(
      "bench: matmul-composite\n"
      "set: {dtype: f16}\n"
      "vary:\n"
      "  variant: [ref_ref, load_ref]\n"
      "  M: {from: 32, to: 128, times: 2}\n"
      "zip: {K: [64, 128], N: [32, 64]}\n"
      "where: \"M * N <= 4096\"\n"
      "verify: true\n");
  EXPECT_THAT(made.names, ElementsAre("variant", "M", "K", "N"));
  // 2 variants × (M 32, 64 with N 32, 64; M 128 with N 32 alone) = 2 × 5.
  ASSERT_EQ(made.points.size(), 10u);
  EXPECT_THAT(made.points[0].values,
              ElementsAre(Pair("variant", "ref_ref"), Pair("M", "32"), Pair("K", "64"), Pair("N", "32")));
  EXPECT_THAT(made.points[1].values,
              ElementsAre(Pair("variant", "ref_ref"), Pair("M", "32"), Pair("K", "128"), Pair("N", "64")));
  EXPECT_THAT(made.points[4].values,
              ElementsAre(Pair("variant", "ref_ref"), Pair("M", "128"), Pair("K", "64"), Pair("N", "32")));
  EXPECT_TRUE(made.verify);
  EXPECT_THAT(words_of(made, made.points[0], Reach::option),
              ElementsAre("dtype=f16", "variant=ref_ref", "M=32", "K=64", "N=32"));
}

TEST(SweepPlan, NamesReachTheBenchTheMachineAndTheCollectives) {
  const Plan made = plan(
      "bench: ccl-allreduce\nvary: {n_elem: 64, cube.hbm.access_ns: [0, 30], ccl.defaults.n_slots: {from: 4, "
      "to: 8, plus: 4}}\n");
  ASSERT_EQ(made.points.size(), 4u);
  EXPECT_THAT(words_of(made, made.points[3], Reach::option), ElementsAre("n_elem=64"));
  EXPECT_THAT(words_of(made, made.points[3], Reach::machine), ElementsAre("cube.hbm.access_ns=30"));
  EXPECT_THAT(words_of(made, made.points[3], Reach::ccl), ElementsAre("ccl.defaults.n_slots=8"));
}

TEST(SweepPlan, MistakesAreRefusedWithTheirPlaceAndAHint) {
  struct Bad {
    std::string text, where, says;
  };
  const std::string bench = "bench: matmul-composite\n";
  for (const Bad& bad : std::vector<Bad>{
           {"vary: {M: [1]}\n", "s.yaml:1:1", "'bench' is missing"},
           {"- a\n", "s.yaml:1:1", "a sweep is a map"},
           {"bench: matmul\n", "s.yaml:1:8", "matmul-composite"},
           {bench + "varies: {M: [1]}\n", "s.yaml:2:1", "vary, zip"},
           {bench + "vary: [M]\n", "s.yaml:2:7", "'vary' is a map"},
           {bench + "vary: {Q: [1]}\n", "s.yaml:2:8", "has no option 'Q'"},
           {bench + "vary: {M: []}\n", "s.yaml:2:11", "has no values"},
           {bench + "vary: {M: [1, [2]]}\n", "s.yaml:2:15", "expected one value"},
           {bench + "vary: {M: [32, x]}\n", "s.yaml:2:16", "whole number"},
           {bench + "vary: {M: {from: 1, to: 8}}\n", "s.yaml:2:11", "one of times and plus"},
           {bench + "vary: {M: {from: 1, to: 8, times: 1}}\n", "s.yaml:2:35", "never end"},
           {bench + "vary: {M: {from: 0, to: 8, times: 2}}\n", "s.yaml:2:35", "never end"},
           {bench + "vary: {M: {from: 1, to: 8, by: 2}}\n", "s.yaml:2:28", "unknown key 'by'"},
           {bench + "vary: {M: {from: 8, to: 1, plus: 1}}\n", "s.yaml:2:11", "has no values"},
           {bench + "vary: {M: [32]}\nset: {M: 64}\n", "s.yaml:2:8", "given twice"},
           {bench + "zip: {M: [32, 64], K: [32]}\n", "s.yaml:2:20", "'K' has 1 values, 'M' has 2"},
           {bench + "vary: {cube.hbm.acces_ns: [1]}\n", "s.yaml:2:28", "access_ns"},
           {bench + "vary: {M: [32]}\nwhere: M > N\n", "s.yaml:3:8", "names 'N'"},
           {bench + "vary: {variant: [ref_ref]}\nwhere: variant > 3\n", "s.yaml:3:8", "no whole number"},
           {bench + "vary: {M: [32]}\nwhere: M > 64\n", "s.yaml:1:1", "no point is left"},
           {bench + "vary: {M: [32]}\nverify: maybe\n", "s.yaml:3:9", "true or false"},
           {bench + "vary: {M: [32]}\ncolumns: a\n", "s.yaml:3:10", "list of paths"},
           {bench + "vary: {M: [32]}\ncolumns: [pe_exec_ns, tflops]\n", "s.yaml:3:23", "results.tflops"},
           {bench + "vary: {M: [32]}\ncolumns: [results.tflop]\n", "s.yaml:3:11",
            "no run of matmul-composite has a value 'results.tflop'"},
           {bench + "vary: {M: [32]}\ncolumns: [utilization.gem]\n", "s.yaml:3:11", "utilization.gemm"},
           {bench + "vary: {M: [32]}\ncolumns: [launches.total_ns]\n", "s.yaml:3:11", "total_ns"},
           {bench + "vary: {M: [32]}\ncolumns: [machine.sip]\n", "s.yaml:3:11", "no run of"},
           {"bench: llama\nvary: {hidden: [1024]}\n", "s.yaml:1:1",
            "'hidden' has no effect with model=llama3-8b"},
           {"bench: memory\nset: {stride_bytes: 64}\nvary: {pattern: [stride, random]}\n", "s.yaml:1:1",
            "'stride_bytes' has no effect with pattern=random"},
           {bench + "vary: {M: [32]}\nplot: {x: M, y: K}\n", "s.yaml:3:17", "neither varies nor is a column"},
           {bench + "vary: {M: [32]}\nplot: {x: M}\n", "s.yaml:3:7", "needs 'y'"},
           {bench + "vary: {M: [32]}\nplot: [{x: M, y: M}, {x: M, y: M, name: plot-1}]\n", "s.yaml:3:41",
            "two plots have the name"},
           {bench + "vary: {M: [32]}\nplot: {x: M, y: M, name: a/b}\n", "s.yaml:3:26", "name of a file"},
           {bench + "vary: {M: [32]}\nplot: {x: M, y: M, only: {K: 3}}\n", "s.yaml:3:27",
            "'K' does not vary"},
           {bench + "vary: {M: [32]}\nplot: {x: M, y: M, only: {M: 3}}\n", "s.yaml:3:30",
            "no point has M = '3'"},
           {bench + "vary: {M: [32]}\nplot: {x: M, y: M, log: z}\n", "s.yaml:3:25", "log: x, y or xy"},
           {bench + "vary: {M: [32]}\nplot: {x: M, y: M, lines: [M, Q]}\n", "s.yaml:3:31", "neither varies"},
           {bench + "harness: gem\n", "s.yaml:2:10", "gemm"},
           {bench + "harness: allreduce\n", "s.yaml:2:10", "is about bench ccl-allreduce"},
           {bench + "set: {cube.hbm.access_ns: x}\nvary: {M: [32]}\n", "s.yaml:2:27", "number"},
           {bench + "zip: {system.sips.count: [2, 6], system.sips.topology: [ring_1d, torus_2d]}\n",
            "s.yaml:2:66", "no square grid"},
           {"bench: ccl-allreduce\nvary: {ccl.defaults.n_slotz: [4]}\n", "s.yaml:2:31", "n_slots"},
           {"bench: ccl-allreduce\nvary: {ccl.defaults.buffer_kind: [tcm, disk]}\n", "s.yaml:2:40", "tcm"},
           {bench + "machine: nowhere\nvary: {M: [1]}\n", "s.yaml:2:10", "no such file"},
           {bench + "set: [M]\n", "s.yaml:2:6", "'set' is a map"},
           {bench + "zip: {}\n", "s.yaml:2:6", "'zip' is a map"},
           {bench + "plot: x\n", "s.yaml:2:7", "a plot is a map"},
           {bench + "vary: {M: [32]}\nwhere: \"M >\"\n", "s.yaml:3:8", ""},
           {bench + "vary: {M: {from: 1, to: 1000000, plus: 1}, K: [1, 2]}\n", "s.yaml:2:44",
            "more than 1000000 points"}})
    try {
      plan(bad.text);
      ADD_FAILURE() << bad.text;
    } catch (const InputError& e) {
      EXPECT_EQ(e.where(), bad.where) << bad.text;
      EXPECT_THAT(e.what(), HasSubstr(bad.says)) << bad.text;
    }
}

TEST(SweepPlan, ValuesThatGoTogetherAreCheckedTogether) {
  const Plan made = plan(
      "bench: ccl-allreduce\nset: {n_elem: 8}\n"
      "zip: {system.sips.count: [2, 6], system.sips.topology: [ring_1d, torus_2d], system.sips.w: [2, 3], "
      "system.sips.h: [1, 2]}\n");
  EXPECT_EQ(made.points.size(), 2u) << "6 SIPs make no square grid, but 3 × 2 do";
}

TEST(SweepPlan, ColumnsOfAnyPartOfARunAreAccepted) {
  const Plan made = plan(
      "bench: matmul-composite\nvary: {M: [32]}\ncolumns: [total_ns, pe_exec_ns, ok, launches, "
      "sim.op_log_hash, options.M, "
      "results.share_of_peak, utilization.hbm, op_log_summary.gemm_count, energy.total_pj, "
      "dram.all.reads]\n");
  EXPECT_EQ(made.columns.size(), 11u);
  EXPECT_EQ(
      plan("bench: llama\nset: {model: custom}\nvary: {hidden: [256, 512]}\ncolumns: [results.04_rope_ns]\n")
          .points.size(),
      2u);
}

TEST(SweepPlan, MayDrawSeveralFigures) {
  const Plan made = plan(
      "bench: matmul-composite\nvary: {M: [32, 64], variant: [ref_ref, load_ref]}\ncolumns: [pe_exec_ns]\n"
      "plot:\n  - {x: M, y: pe_exec_ns, lines: [variant, M], log: xy}\n"
      "  - {name: loaded, title: Loaded, x: M, y: pe_exec_ns, only: {variant: load_ref}}\n");
  ASSERT_EQ(made.plots.size(), 2u);
  EXPECT_EQ(made.plots[0].name, "plot-1");
  EXPECT_THAT(made.plots[0].lines, ElementsAre("variant", "M"));
  EXPECT_TRUE(made.plots[0].log_x && made.plots[0].log_y);
  EXPECT_EQ(made.plots[1].name, "loaded");
  EXPECT_THAT(made.plots[1].only, ElementsAre(Pair("variant", "load_ref")));
}

}  // namespace
}  // namespace kernbench::sweep::plan_test
