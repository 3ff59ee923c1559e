// Every all-reduce, from a host program through the machine: the same bits as the functional runner gives.
#include "ccl/arrays.hpp"
#include "dist/dist_world.hpp"
#include "kernbench/functional.hpp"

namespace kernbench::dist::algorithm_test {
namespace {

using ccl::Group;

const ccl::Registry& registry() {
  static const ccl::Registry registry = ccl::builtin_registry();
  return registry;
}

/// The all-reduces that serve single PEs.
std::vector<std::string> of_pes() {
  std::vector<std::string> names;
  for (const auto& a : registry().algorithms())
    if (a.collective == ccl::Collective::all_reduce &&
        std::ranges::find(a.serves, Group::pe) != a.serves.end())
      names.push_back(a.name);
  return names;
}

void expect_functional(const std::string& name, int ranks, const char* buffer_kind) {
  SCOPED_TRACE(fmt::format("{} {} {}", name, ranks, buffer_kind));
  Torch torch(load());
  use_pes(torch, ranks, name);
  configure_further(torch, {std::string("defaults.buffer_kind=") + buffer_kind, "defaults.slot_size=64"});
  const auto inputs = ccl::RandomArrays(7).wild(ranks, f16, 50);  // two tiles of at most 32
  std::vector<NdArray> results(static_cast<std::size_t>(ranks));
  on_all_ranks(torch, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    Tensor x = torch.from_numpy(inputs[r], {}, "x");
    EXPECT_EQ(all_reduce(x).algorithm(), name);
    results[r] = x.numpy();
  });
  EXPECT_TRUE(torch.hazards().empty());
  const auto& algorithm = registry().algorithm(name);
  const auto members = ccl::members_of(torch.machine(), registry().mapper(algorithm.mapper),
                                       {.group = Group::pe, .world_size = ranks});
  std::vector<std::vector<NdArray>> tensors;
  for (const auto& input : inputs) tensors.push_back({input});
  const auto functional =
      ccl::run_functional(registry(), name, members, tensors, {.slots = 4},
                          {.slot_size = 64_B, .in_slot = std::string(buffer_kind) == "tcm"});
  for (std::size_t r = 0; r < results.size(); ++r) ASSERT_EQ(results[r], functional.tensors[r].front()) << r;
}

class Algorithms : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Of, Algorithms, ::testing::ValuesIn(of_pes()),
                         [](const auto& made) { return made.param; });

TEST_P(Algorithms, GiveTheBitsOfTheFunctionalRunner) {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 16})
    for (const char* kind : {"tcm", "hbm", "sram"}) expect_functional(GetParam(), ranks, kind);
  expect_functional(GetParam(), 64, "tcm");
}

TEST(Algorithms256, TheFlatRingOverTheWholeMachineGivesTheBitsOfTheFunctionalRunner) {
  expect_functional("ring_allreduce", 256, "tcm");
}

}  // namespace
}  // namespace kernbench::dist::algorithm_test
