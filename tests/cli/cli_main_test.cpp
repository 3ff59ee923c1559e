// The command line as a call: a user's own registry, errors that become exit codes.
#include "kernbench/cli.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "cli/python_bench.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli_main_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Called {
  int exit_code;
  std::string out, err;
};

template <class AnyRegistry>
Called call(std::vector<std::string> words, AnyRegistry& registry) {
  words.insert(words.begin(), "kernbench");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int exit_code = cli_main(static_cast<int>(argv.size()), argv.data(), registry);
  const std::string out = ::testing::internal::GetCapturedStdout();
  return {exit_code, out, ::testing::internal::GetCapturedStderr()};
}

/// What a build without Python says to these words; empty: it goes on.
std::string said_without_python(std::vector<std::string> words) {
  words.insert(words.begin(), "kernbench");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  try {
    cli::hand_over_to("", static_cast<int>(argv.size()), argv.data());
  } catch (const InputError& e) {
    EXPECT_EQ(e.id(), "cli.no-python");
    EXPECT_THAT(e.hint(), HasSubstr("make python"));
    return e.where() + ": " + e.message();
  }
  return "";
}

TEST(CliMain, BuiltWithoutPythonSaysWhatNeedsIt) {
  EXPECT_EQ(said_without_python({"run", "--bench", "f.py:name"}),
            "--bench f.py:name: this is a bench of a Python file, but KernBench was built without Python");
  EXPECT_THAT(said_without_python({"run", "--bench=f.py"}), HasSubstr("--bench=f.py: this is a bench"));
  EXPECT_THAT(said_without_python({"describe", "f.py:name"}),
              HasSubstr("describe f.py:name: this is a bench"));
  EXPECT_EQ(said_without_python({"plot", "swept"}),
            "plot: figures are drawn by Python, but KernBench was built without it");
  EXPECT_EQ(said_without_python({"run", "--bench", "matmul-composite"}), "");
}

TEST(CliMain, ServesAUsersOwnImpl) {
  Registry registry = builtin_registry();
  registry.components.add_impl("pe_gemm",
                               {"acme.systolic",
                                "a weight-stationary array",
                                {Param::integer("fill_cycles", 12, {0, 1000}, "cycles to fill the array")}});
  EXPECT_THAT(call({"list", "components"}, registry).out,
              HasSubstr("acme.systolic: a weight-stationary array"));
  EXPECT_THAT(call({"describe", "acme.systolic"}, registry).out, HasSubstr("fill_cycles"));
  const Called shown = call({"topology", "show", "--set", "pe.pe_gemm.impl=acme.systolic"}, registry);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("impl acme.systolic"));
  Registry builtin = builtin_registry();
  EXPECT_EQ(call({"topology", "show", "--set", "pe.pe_gemm.impl=acme.systolic"}, builtin).exit_code, 2);
}

TEST(CliMain, TakesARegistryOfComponentsAlone) {
  topology::Registry components = topology::builtin_registry();
  components.add_impl("pe_gemm", {"acme.systolic", "a weight-stationary array", {}});
  EXPECT_THAT(call({"list", "components"}, components).out, HasSubstr("acme.systolic"));
}

TEST(CliMain, ListsAndDescribesAUsersOwnBench) {
  Registry registry = builtin_registry();
  registry.benches.add({"scale-it",
                        "multiplies a vector",
                        {Param::integer("n", 1024, {1, 1e6}, "elements")},
                        [](Torch&, const Options&, BenchReport&) {}});
  EXPECT_THAT(call({"list", "benches"}, registry).out, ContainsRegex("scale-it +multiplies a vector"));
  EXPECT_EQ(call({"describe", "scale_it"}, registry).out,
            "scale-it: multiplies a vector\n"
            "kernbench run --bench scale-it [option=value …]\n"
            "\noptions\n"
            "  n: elements\n"
            "      a whole number from 1 to 1000000; default 1024\n");
}

TEST(CliMain, ServesAUsersOwnCollective) {
  Registry registry = builtin_registry();
  ccl::Algorithm mine = registry.collectives.algorithm("tree_allreduce");
  mine.name = "acme_allreduce";
  registry.collectives.add(mine);
  EXPECT_THAT(call({"list", "algorithms"}, registry).out, HasSubstr("acme_allreduce"));
  EXPECT_THAT(call({"describe", "acme_allreduce"}, registry).out, HasSubstr("neighbours       tree_binary"));
  EXPECT_THAT(call({"ccl", "plan", "--algorithm", "acme_allreduce"}, registry).out, HasSubstr("child_left"));
  const Called run = call({"run", "--bench", "ccl-allreduce", "algorithm=acme_allreduce", "world_size=4",
                           "n_elem=8", "--verify-data"},
                          registry);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("acme_allreduce (ws=4): 4 OK"));
}

/// A bench that makes a tensor, and then does as it is told.
Called run_bench_that(const std::function<void(Torch&, BenchReport&)>& does,
                      std::vector<std::string> words = {}) {
  Registry registry = builtin_registry();
  registry.benches.add(
      {"mine", "a bench of a test", {}, [&](Torch& torch, const Options&, BenchReport& report) {
         const Tensor x = torch.zeros({64}, DType::f16);
         torch.synchronize();
         does(torch, report);
       }});
  words.insert(words.begin(), {"run", "--quiet", "--topology", "small", "--bench", "mine"});
  return call(std::move(words), registry);
}

TEST(CliMain, AFailedCheckIsExitCodeOneAndSaysWhat) {
  const Called right = run_bench_that([](Torch&, BenchReport& report) { report.verified(true); });
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_EQ(right.out, "mine\n");
  const Called wrong =
      run_bench_that([](Torch&, BenchReport& report) { report.verified(false, "two is not three"); });
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.out, "mine\n[FAIL] two is not three\n");
  const Called silent = run_bench_that([](Torch&, BenchReport&) {}, {"--verify-data"});
  EXPECT_EQ(silent.exit_code, 1);
  EXPECT_THAT(silent.out, HasSubstr("compared nothing"));
}

// Input is 2, the simulated program is 1, whoever throws: the host function, or ranks, of which the gravest counts.
TEST(CliMain, WhatABenchThrowsDecidesTheExitCode) {
  const auto input = [] { throw InputError({"mine", "", "wrong input", ""}); };
  const auto program = [] { throw SimulationError({"mine", "", "wrong program", ""}); };
  const auto defect = [] { throw InternalError({"mine", "", "wrong simulator", ""}); };
  EXPECT_EQ(run_bench_that([&](Torch&, BenchReport&) { input(); }).exit_code, 2);
  EXPECT_EQ(run_bench_that([&](Torch&, BenchReport&) { program(); }).exit_code, 1);
  EXPECT_EQ(run_bench_that([&](Torch&, BenchReport&) { defect(); }).exit_code, 3);
  EXPECT_EQ(run_bench_that([&](Torch&, BenchReport&) { throw std::runtime_error("no more tea"); }).exit_code,
            1);
  const auto of_rank = [](const std::function<void()>& fails) {
    return run_bench_that([&](Torch& torch, BenchReport&) {
      dist::spawn(
          torch, [&](int) { fails(); }, 1);
    });
  };
  EXPECT_EQ(of_rank(input).exit_code, 2);
  EXPECT_EQ(of_rank(program).exit_code, 1);
  EXPECT_EQ(of_rank(defect).exit_code, 3);
  EXPECT_THAT(of_rank(program).err, HasSubstr("rank 0: wrong program"));
}

TEST(CliMain, ADefectOfOursIsExitCodeThree) {
  Registry empty;  // lacks the kinds the schema names
  const Called called = call({"topology", "show"}, empty);
  EXPECT_EQ(called.exit_code, 3);
  EXPECT_EQ(called.out, "");
  EXPECT_THAT(called.err, HasSubstr("defect of KernBench"));
}

TEST(CliMain, CanBeCalledAgain) {
  Registry registry = builtin_registry();
  EXPECT_EQ(call({"topology", "nonsense"}, registry).exit_code, 2);
  EXPECT_EQ(call({"version"}, registry).exit_code, 0);
}

}  // namespace
}  // namespace kernbench::cli_main_test
