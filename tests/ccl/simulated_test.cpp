// The same collectives on the machine model: the same bits as in the functional runner, as many messages, no hazards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ccl/like_functional.hpp"

namespace kernbench::ccl::simulated_test {
namespace {

using enum DType;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class Simulated : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Of, Simulated, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& a : registry().algorithms()) names.push_back(a.name);
                           return names;
                         }()),
                         [](const auto& made) { return made.param; });

TEST_P(Simulated, IsTheSameAsFunctional) {
  const auto machine = machine_of({.sips = 2, .cubes = {2, 2}});
  const auto& algorithm = registry().algorithm(GetParam());
  for (const auto* kind : {"tcm", "hbm", "sram"})
    for (const auto group : algorithm.serves) {
      if (algorithm.collective == Collective::send_recv && group != Group::sip) continue;
      SCOPED_TRACE(fmt::format("{} {}", kind, to_string(group)));
      std::vector<std::string> set = {fmt::format("ccl.defaults.buffer_kind={}", kind),
                                      "ccl.defaults.slot_size=256"};
      if (group == Group::pe) set.push_back(fmt::format("ccl.algorithms.{}.world_size=8", algorithm.name));
      expect_like_functional(settings_of(algorithm.name, set), machine, group,
                             700);  // 6 tiles of at most 128 elements
    }
}

TEST_P(Simulated, IsTheSameWhereWhoWaitedPaysAFee) {
  const auto machine = machine_of({.sips = 2, .cubes = {2, 1}, .set = {"cube.routers.impl=acme.late_fee"}});
  const auto& algorithm = registry().algorithm(GetParam());
  const Group group = algorithm.serves.front();
  std::vector<std::string> set = {"ccl.defaults.slot_size=256"};
  if (group == Group::pe) set.push_back(fmt::format("ccl.algorithms.{}.world_size=8", algorithm.name));
  expect_like_functional(settings_of(algorithm.name, set), machine, group, 700);
}

TEST(SimulatedRing, OfTheWholeMachineIsTheSameAsFunctional) {
  const auto machine = topology::load_machine("default", {}, topology::builtin_registry());
  const auto settings =
      settings_of("ring_allreduce_tcm", {"ccl.algorithms.ring_allreduce_tcm.world_size=256"});
  SimulatedCollective world(registry(), settings, machine);
  PeArrays tensors;
  for (const auto& input : RandomArrays(3).wild(256, f16, 8)) tensors.push_back({input});
  const auto functional =
      run_functional(registry(), "ring_allreduce", world.plan().members, tensors, {.slots = 4});
  EXPECT_EQ(world.run(tensors), functional.tensors);
  EXPECT_EQ(world.messages(), 256 * 255);
}

TEST(SimulatedRing, WrapsAroundItsSlotsManyTimes) {
  const auto machine = machine_of({.sips = 2, .cubes = {2, 1}});
  for (const int slots : {2, 4, 8}) {
    SCOPED_TRACE(slots);
    // 500 elements in slots of 4: 125 tiles, each passed on 7 times.
    expect_like_functional(settings_of("ring_allreduce", {fmt::format("ccl.defaults.n_slots={}", slots),
                                                          "ccl.defaults.slot_size=8",
                                                          "ccl.algorithms.ring_allreduce.world_size=8"}),
                           machine, Group::pe, 500);
  }
}

// Nothing went the other way before: the same numbers and messages at the same time.
TEST(SimulatedRing, ThatGoesOneWayIsAsFastAsOneThatGoesBoth) {
  const auto machine = machine_of({.sips = 2, .cubes = {2, 1}});
  PeArrays tensors;
  for (const auto& input : RandomArrays(7).wild(8, f16, 6000)) tensors.push_back({input});
  const auto run = [&](const std::string& topology) {
    SimulatedCollective world(
        registry(),
        settings_of("ring_allreduce", {"ccl.algorithms.ring_allreduce.topology=" + topology,
                                       "ccl.algorithms.ring_allreduce.world_size=8"}),
        machine);
    auto results = world.run(tensors);
    EXPECT_THAT(world.hazards(), ::testing::IsEmpty());
    return std::tuple(std::move(results), world.messages(), world.time());
  };
  EXPECT_EQ(run("ring_1d_unidir"), run("ring_1d"));
  for (const auto* kind : {"tcm", "hbm", "sram"})
    expect_like_functional(
        settings_of("ring_allreduce", {"ccl.algorithms.ring_allreduce.topology=ring_1d_unidir",
                                       fmt::format("ccl.defaults.buffer_kind={}", kind),
                                       "ccl.algorithms.ring_allreduce.world_size=8"}),
        machine, Group::pe, 6000);
}

TEST(SimulatedRing, WithCreditsOnReceiptIsRightButOverwritesLiveTiles) {
  const auto machine = machine_of({.sips = 2, .cubes = {2, 1}});
  const auto settings =
      settings_of("ring_allreduce", {"ccl.defaults.n_slots=1", "ccl.defaults.credit_policy=on_recv",
                                     "ccl.algorithms.ring_allreduce.world_size=8"});
  SimulatedCollective world(registry(), settings, machine);
  PeArrays tensors;
  for (const auto& input : RandomArrays(5).wild(8, f16, 2000)) tensors.push_back({input});
  const auto functional = run_functional(registry(), "ring_allreduce", world.plan().members, tensors);
  EXPECT_EQ(world.run(tensors), functional.tensors);
  EXPECT_THAT(world.hazards(),
              Contains(AllOf(HasSubstr("slot overwritten"), HasSubstr("ring_allreduce.cpp:"))));
}

/// GB/s that leave a SIP while every tensor goes to all others.
double gathered_gbs(int sips, int slots) {
  const auto machine = topology::load_machine(
      "default", std::vector{fmt::format("system.sips.count={}", sips)}, topology::builtin_registry());
  const auto settings = settings_of("all_gather", {fmt::format("ccl.defaults.n_slots={}", slots),
                                                   "ccl.algorithms.all_gather.mapper=leader_only"});
  SimulatedCollective world(registry(), settings, machine);
  const std::int64_t n = 1 << 17;  // 64 slots
  world.run(PeArrays(static_cast<std::size_t>(sips), {NdArray(f16, {n}), NdArray(f16, {n * sips})}));
  return 2.0 * n * (sips - 1) / world.time().ns();
}

TEST(SimulatedWindows, ReachWhatThePlanSays) {
  const auto machine = topology::load_machine("default", {}, topology::builtin_registry());
  for (const int slots : {2, 4}) {
    address::MemoryPools pools(runtime::memory_layout(machine));
    const auto plan =
        make_plan(registry(), settings_of("all_gather", {fmt::format("ccl.defaults.n_slots={}", slots)}),
                  machine, pools);
    const auto w = link_windows(plan, machine, topology::Graph(machine)).front();  // of sip0.cube0.pe0
    EXPECT_TRUE(w.limits());
    EXPECT_NEAR(gathered_gbs(8, slots), w.reachable_gbs(), 0.1 * w.reachable_gbs()) << slots;
  }
  // Twice bandwidth × round trip is 32,326 bytes: 8 slots fill the link of 128 GB/s.
  EXPECT_GT(gathered_gbs(8, 8), 0.9 * 128);
  EXPECT_LE(gathered_gbs(8, 8), 128);
}

}  // namespace
}  // namespace kernbench::ccl::simulated_test
