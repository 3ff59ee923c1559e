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

Called call(std::vector<std::string> words, topology::Registry& registry) {
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
  topology::Registry registry = topology::builtin_registry();
  registry.add_impl("pe_gemm", {"acme.systolic",
                                "a weight-stationary array",
                                {Param::integer("fill_cycles", 12, {0, 1000}, "cycles to fill the array")}});
  EXPECT_THAT(call({"list", "components"}, registry).out,
              HasSubstr("acme.systolic: a weight-stationary array"));
  EXPECT_THAT(call({"describe", "acme.systolic"}, registry).out, HasSubstr("fill_cycles"));
  const Called shown = call({"topology", "show", "--set", "pe.pe_gemm.impl=acme.systolic"}, registry);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("impl acme.systolic"));
  topology::Registry builtin = topology::builtin_registry();
  EXPECT_EQ(call({"topology", "show", "--set", "pe.pe_gemm.impl=acme.systolic"}, builtin).exit_code, 2);
}

TEST(CliMain, ADefectOfOursIsExitCodeThree) {
  topology::Registry empty;  // lacks the kinds the schema names
  const Called called = call({"topology", "show"}, empty);
  EXPECT_EQ(called.exit_code, 3);
  EXPECT_EQ(called.out, "");
  EXPECT_THAT(called.err, HasSubstr("defect of KernBench"));
}

TEST(CliMain, CanBeCalledAgain) {
  topology::Registry registry = topology::builtin_registry();
  EXPECT_EQ(call({"topology", "nonsense"}, registry).exit_code, 2);
  EXPECT_EQ(call({"version"}, registry).exit_code, 0);
}

}  // namespace
}  // namespace kernbench
