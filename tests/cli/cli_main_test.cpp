// The command line as a call: a user's own registry, errors that become exit codes.
#include "kernbench/cli.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernbench/error.hpp"

namespace kernbench {
namespace {

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
  EXPECT_THAT(call({"list", "benches"}, registry).out, HasSubstr("scale-it           multiplies a vector"));
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
}  // namespace kernbench
