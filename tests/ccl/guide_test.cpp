// The examples of docs/collectives.md, compiled and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "ccl/arrays.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/cli.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/functional.hpp"

namespace kernbench::guide::guide_test {
namespace {

using namespace dtypes;
using ::testing::HasSubstr;

NdArray all(double value, std::int64_t n) {
  return ccl::array_of(f16, {n}, std::vector<double>(static_cast<std::size_t>(n), value));
}
NdArray ones(std::int64_t n) { return all(1, n); }
NdArray twos(std::int64_t n) { return all(2, n); }
NdArray threes(std::int64_t n) { return all(3, n); }

/// The SimulationError of something that must have one, with source lines left out.
template <class F>
std::string failure_of(F run) {
  try {
    run();
  } catch (const SimulationError& e) {
    return std::regex_replace(std::string(e.what()), std::regex("\\.inc:[0-9]+"), ".inc:LINE");
  }
  return "no failure";
}

/// A kernel between ranks on the first PEs, rank r with r + 1 everywhere.
ccl::FunctionalResult run_between(int ranks, std::string_view topology, const ccl::Kernel& kernel,
                                  const ccl::FunctionalOptions& options) {
  const auto pes = ccl::first_pes(ranks);
  ccl::FunctionalWorld world{.ranks = pes, .links = ccl::neighbours(topology, pes), .tensors = {}};
  for (int r = 0; r < ranks; ++r) world.tensors.push_back({all(r + 1, 100)});
  const auto call = [&](tl::Context& tl, const ccl::FunctionalRank& me) {
    kernel(tl, {.input = me.tensors[0], .rank = me.rank, .world_size = me.world_size});
  };
  return run_functional(ccl::FunctionalKernel(call), world, options);
}
NdArray sum_of_all(int ranks) {
  const int sum = ranks * (ranks + 1) / 2;
  return all(sum, 100);
}

std::vector<std::vector<NdArray>> random_tensors(int ranks, std::int64_t n) {
  std::vector<std::vector<NdArray>> out;
  for (auto& tensor : ccl::RandomArrays(1).wild(ranks, f16, n)) out.push_back({std::move(tensor)});
  return out;
}

#include "collectives_guide.inc"

TEST(Guide, HelloOfAnySizeReachesTheNextRank) {
  const auto result = run_between(3, "ring_1d", hello_any_size, {.slot_size = 64_B, .slots = 1});
  EXPECT_EQ(result.tensors[1][0], all(1, 100));
  EXPECT_EQ(result.messages, 3 * 4);  // 100 elements, 32 in a slot
}

TEST(Guide, TheAlgorithmIsOneLikeThoseThatShip) {
  std::vector<std::string> words = {
      "mine",         "run",       "--bench",      "ccl-allreduce", "algorithm=line_allreduce",
      "world_size=4", "n_elem=64", "--verify-data"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_kernbench(static_cast<int>(argv.size()), argv.data()), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("line_allreduce (ws=4): 4 OK"));
}

}  // namespace
}  // namespace kernbench::guide::guide_test
