// A collective on the machine model held against the functional runner.
#pragma once

#include <gmock/gmock.h>

#include "ccl/simulated_collective.hpp"

namespace kernbench::ccl {

inline const Registry& registry() {
  static const Registry registry = builtin_registry();
  return registry;
}

inline Settings settings_of(const std::string& name, std::vector<std::string> set) {
  return load_config("default", set, registry()).settings(name);
}

/// Elements of each PE of a collective for which `n` are asked: those with parts have `n` in each.
inline std::int64_t elements_of(Collective c, int ranks, std::int64_t n) {
  return c == Collective::reduce_scatter || c == Collective::all_to_all ? n * ranks : n;
}

/// Random tensors of each PE: the input, and the output if it is another one.
inline PeArrays random_tensors(const Plan& plan, std::int64_t n, DType dtype) {
  const auto c = plan.algorithm.collective;
  const auto ws = plan.members.world_size();
  const auto elements = elements_of(c, ws, n);
  PeArrays tensors;
  for (auto& input : RandomArrays(17).wild(static_cast<int>(plan.members.pes().size()), dtype, elements)) {
    tensors.push_back({std::move(input)});
    if (has_output(c))
      tensors.back().emplace_back(dtype, Shape{c == Collective::all_gather       ? elements * ws
                                               : c == Collective::reduce_scatter ? elements / ws
                                                                                 : elements});
  }
  return tensors;
}

/// All PEs of a lane have the same.
inline void expect_identical_bits(const Plan& plan, const PeArrays& results) {
  const auto pes = plan.members.pes();
  const auto result = [&](PeCoord pe) {
    return results[static_cast<std::size_t>(std::ranges::find(pes, pe) - pes.begin())].back();
  };
  for (const auto& lane : plan.members.lanes)
    for (const auto pe : lane) ASSERT_EQ(result(pe), result(lane.front())) << to_string(pe);
}

/// The same bits, as many messages as it and the formula say, no hazards.
inline void expect_like_functional(const Settings& settings, const topology::Machine& machine, Group group,
                                   std::int64_t n) {
  SimulatedCollective world(registry(), settings, machine, {.group = group});
  const auto& plan = world.plan();
  const auto& rules = settings.rules;
  const auto tensors = random_tensors(plan, n, DType::f16);
  const auto result = world.run(tensors);
  const auto functional =
      run_functional(registry(), plan.algorithm.name, plan.members, tensors, {.slots = rules.slots},
                     {.slot_size = rules.slot_size, .in_slot = rules.memory == address::MemorySpace::Tcm});
  EXPECT_EQ(result, functional.tensors);
  EXPECT_EQ(world.messages(), functional.messages);
  const auto elements = elements_of(plan.algorithm.collective, plan.members.world_size(), n);
  const Load work{plan.members, elements, rules.slot_size.count() / 2};
  EXPECT_EQ(world.messages(), plan.algorithm.messages.value(work));
  EXPECT_EQ(functional.rounds, plan.algorithm.rounds.value(work));
  EXPECT_THAT(world.hazards(), ::testing::IsEmpty());
  if (plan.algorithm.identical_bits.value_or(false)) expect_identical_bits(plan, result);
}

}  // namespace kernbench::ccl
