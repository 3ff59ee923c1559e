// The suite every algorithm passes: right numbers, counts as its formulas say, identical bits where it claims them, no
// deadlock with few slots; for many world sizes and machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "ccl/collective_world.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl::algorithm_test {
namespace {

using enum DType;

const Registry& registry() {
  static const Registry registry = builtin_registry();
  return registry;
}

const topology::Machine& default_machine() {
  static const auto machine = topology::load_machine("default", {}, topology::builtin_registry());
  return machine;
}

constexpr Bytes kSlot = 64_B;  // 32 elements of f16

/// Elements of each PE, so that collectives over parts divide.
std::int64_t elements(const CollectiveTest& test, std::int64_t n) {
  const auto c = test.algorithm().collective;
  return c == Collective::reduce_scatter || c == Collective::all_to_all ? n * test.ranks() : n;
}

void check_numbers(const CollectiveTest& test, std::int64_t n, const FunctionalOptions& options,
                   const Call& call = {}) {
  const auto pes = static_cast<int>(test.members().pes().size());
  // Small enough that every partial sum is exact in f16: at most 2048.
  const int most = std::max(1, 2048 / std::max(1, test.ranks()) / 2);
  const auto inputs =
      RandomArrays(7).small(pes, f16, elements(test, n), -std::min(most, 3), std::min(most, 3));
  const auto result = test.run(inputs, call, options);
  const auto wanted = test.expected_by_pe(inputs, call);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(result.tensors[i].back(), wanted[i]) << "PE " << to_string(test.members().pes()[i]);
  EXPECT_TRUE(result.unread.empty());
  const Load work{test.members(), elements(test, n), kSlot.count() / 2};
  EXPECT_EQ(result.messages, test.algorithm().messages.value(work));
  EXPECT_EQ(result.rounds, test.algorithm().rounds.value(work));
}

void check_identical_bits(const CollectiveTest& test, DType dtype) {
  const auto pes = static_cast<int>(test.members().pes().size());
  const auto inputs = RandomArrays(11).wild(pes, dtype, 70);
  const auto result = test.run(inputs, {}, {.slot_size = kSlot, .slots = 4});
  for (const auto& lane : test.members().lanes) {
    const auto all = test.members().pes();
    const auto of = [&](PeCoord pe) {
      return result.tensors[static_cast<std::size_t>(std::ranges::find(all, pe) - all.begin())].back();
    };
    for (const auto pe : lane) ASSERT_EQ(of(pe), of(lane.front())) << to_string(pe);
  }
}

/// Forwarding from slot to slot takes two slots.
int fewest_slots(const Algorithm& algorithm) { return algorithm.name == "ring_allreduce" ? 2 : 1; }

void check_all(const CollectiveTest& test) {
  SCOPED_TRACE(fmt::format("{} with {} ranks", test.algorithm().name, test.ranks()));
  const auto pes = test.members().pes().size();
  check_numbers(test, 1, {.slot_size = kSlot}, {.slots = 4});
  check_numbers(test, 31, {.slot_size = kSlot}, {.slots = 4});
  if (pes > 128) return;
  const int fewest = fewest_slots(test.algorithm());
  check_numbers(test, 230, {.slot_size = kSlot, .slots = fewest});
  if (test.algorithm().identical_bits.value_or(false)) check_identical_bits(test, f16);
  if (pes > 16) return;
  for (const int slots : {fewest + 1, 3, 8}) check_numbers(test, 230, {.slot_size = kSlot, .slots = slots});
  check_numbers(test, 100, {.slot_size = kSlot, .slots = 2, .in_slot = false});
  if (test.algorithm().identical_bits.value_or(false)) check_identical_bits(test, f32);
}

using Names = std::vector<std::string>;

template <class Condition>
auto algorithms_where(Condition holds) {
  Names names;
  for (const auto& a : registry().algorithms())
    if (holds(a)) names.push_back(a.name);
  return ::testing::ValuesIn(names);
}

auto serving(Group group) {
  return algorithms_where(
      [group](const Algorithm& a) { return std::ranges::find(a.serves, group) != a.serves.end(); });
}

const auto kName = [](const auto& made) { return made.param; };

class BetweenPes : public ::testing::TestWithParam<std::string> {};
class BetweenSips : public ::testing::TestWithParam<std::string> {};
class BetweenCubes : public ::testing::TestWithParam<std::string> {};
class Combining : public ::testing::TestWithParam<std::string> {};
class EveryAlgorithm : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Of, BetweenPes, serving(Group::pe), kName);
INSTANTIATE_TEST_SUITE_P(Of, BetweenSips, serving(Group::sip), kName);
INSTANTIATE_TEST_SUITE_P(Of, BetweenCubes, serving(Group::cube), kName);
INSTANTIATE_TEST_SUITE_P(Of, EveryAlgorithm, algorithms_where([](const Algorithm&) { return true; }), kName);
INSTANTIATE_TEST_SUITE_P(Of, Combining, algorithms_where([](const Algorithm& a) {
                           return a.collective == Collective::all_reduce ||
                                  a.collective == Collective::reduce ||
                                  a.collective == Collective::reduce_scatter;
                         }),
                         kName);

/// A collective of two members is no concern of other world sizes.
bool defined(const std::string& name, int ranks) {
  return registry().algorithm(name).collective != Collective::send_recv || ranks == 2;
}

TEST_P(BetweenPes, IsRight) {
  for (const int n : {1, 2, 3, 4, 7, 8, 16, 64, 256})
    if (defined(GetParam(), n))
      check_all({registry(), GetParam(), default_machine(), {.group = Group::pe, .world_size = n}});
}

TEST_P(BetweenSips, IsRight) {
  for (const int n : {1, 2, 3, 4, 7, 8, 16, 64})
    if (defined(GetParam(), n))
      check_all({registry(),
                 GetParam(),
                 machine_of({.sips = n, .cubes = {n > 4 ? 1 : 2, 1}}),
                 {.group = Group::sip}});
}

TEST_P(BetweenCubes, IsRight) {
  for (const int n : {1, 2, 3, 4, 7, 8, 16, 64}) {
    const MeshCoord cubes = n > 4 ? MeshCoord{1, 1} : MeshCoord{2, 2};
    if (defined(GetParam(), n * cubes.x * cubes.y))
      check_all({registry(), GetParam(), machine_of({.sips = n, .cubes = cubes}), {.group = Group::cube}});
  }
}

TEST_P(Combining, DoesEveryOperation) {
  const auto& algorithm = registry().algorithm(GetParam());
  const auto machine = machine_of({.sips = 3, .cubes = {2, 1}});
  const CollectiveTest test(registry(), algorithm.name, machine,
                            {.group = algorithm.serves.front(), .world_size = 8});
  const auto pes = static_cast<int>(test.members().pes().size());
  for (const auto op : {ReduceOp::SUM, ReduceOp::MAX, ReduceOp::MIN, ReduceOp::PROD, ReduceOp::AVG}) {
    SCOPED_TRACE(to_string(op));
    // At most 8 numbers: products stay below 3⁸ = 6561, and f32 holds them and their sums exactly.
    const auto inputs = RandomArrays(5).small(pes, f32, elements(test, 45), -3, 3);
    const Call call{.op = op, .root = 1, .slots = 4};
    const auto result = test.run(inputs, call, {.slot_size = kSlot});
    const auto wanted = test.expected_by_pe(inputs, call);
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(result.tensors[i].back(), wanted[i]);
  }
}

TEST_P(EveryAlgorithm, SaysWhatItIs) {
  const auto& a = registry().algorithm(GetParam());
  EXPECT_THAT(a.description, ::testing::EndsWith("."));
  EXPECT_FALSE(a.messages.text.empty());
  EXPECT_FALSE(a.rounds.text.empty());
  EXPECT_EQ(a.identical_bits.has_value(),
            a.collective == Collective::all_reduce || a.collective == Collective::broadcast);
  EXPECT_NO_THROW(registry().topology(a.topology));
  EXPECT_NO_THROW(registry().mapper(a.mapper));
  EXPECT_NO_THROW(registry().validator(a.validator));
}

TEST(RingAllreduce, GivesEachRankOtherBits) {
  const CollectiveTest test(registry(), "ring_allreduce", default_machine(),
                            {.group = Group::pe, .world_size = 7});
  const auto result = test.run(RandomArrays(3).wild(7, f16, 64), {}, {});
  EXPECT_NE(result.tensors[0][0], result.tensors[1][0]);  // so that identical_bits is a claim that can fail
}

// ── machines of many shapes ──

const std::vector<MachineShape> kShapes = {
    {.sips = 2, .cubes = {4, 4}},
    {.sips = 4, .sip_topology = "torus_2d", .cubes = {4, 4}},
    {.sips = 4, .sip_topology = "mesh_2d_no_wrap", .cubes = {4, 4}},
    {.sips = 6, .sip_topology = "torus_2d", .sip_grid = {3, 2}, .cubes = {2, 2}},
    {.sips = 6, .sip_topology = "mesh_2d_no_wrap", .sip_grid = {3, 2}, .cubes = {2, 2}},
    {.sips = 6, .sip_topology = "mesh_2d_no_wrap", .sip_grid = {2, 3}, .cubes = {1, 1}},
    {.sips = 9, .sip_topology = "torus_2d", .cubes = {2, 1}},
    {.sips = 2, .cubes = {5, 3}},
    {.sips = 2, .cubes = {8, 4}},
};

TEST(IntersipAllreduce, FollowsTheSipsOfTheMachine) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(to_string(shape));
    auto small = shape;
    small.cubes = {2, 1};
    check_all({registry(), "intersip_allreduce", machine_of(small), {.group = Group::sip}});
  }
}

// 20 SIPs as 10 × 2, whose rows keep all their tiles for the columns. A tile is a sixteenth of the scratch, and those at
// once are an eighth of it: two. Two for each of a row of ten are more than it holds.
TEST(IntersipAllreduce, KeepsNoMoreTilesOfARowThanTheScratchHolds) {
  const CollectiveTest test(
      registry(), "intersip_allreduce",
      machine_of({.sips = 20, .sip_topology = "torus_2d", .sip_grid = {10, 2}, .cubes = {1, 1}}),
      {.group = Group::sip});
  const auto inputs = RandomArrays(4).small(static_cast<int>(test.members().pes().size()), f16, 32 * 256);
  const FunctionalOptions options{.slot_size = 4_KiB, .slots = 4, .scratch = 8_KiB};
  const auto result = test.run(inputs, {.slots = 4}, options);
  const auto wanted = test.expected_by_pe(inputs, {});
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(result.tensors[i][0], wanted[i]);
}

// The chain of a single tile begins behind its owner and ends before it, so two of four SIPs send twice and two once. Lanes
// have owners one after the other: over 8 lanes everybody sends 12 times.
TEST(IntersipAllreduce, OfOneTileLoadsAllSipsAlike) {
  const CollectiveTest test(registry(), "intersip_allreduce", machine_of({.sips = 4, .cubes = {2, 1}}),
                            {.group = Group::sip});
  const auto pes = test.members().pes();
  ASSERT_EQ(pes.size(), 4u * 8);
  const auto result = test.run(RandomArrays(1).small(32, f16, 8), {.slots = 4}, {.slot_size = kSlot});
  std::map<int, int> sends;
  for (const auto& program : result.programs)
    for (isa::CommandIndex i = 0; i < program.commands().size(); ++i)
      if (program.command(i).kind == isa::CommandKind::ipcq_send) ++sends[program.pe().sip];
  EXPECT_EQ(sends, (std::map<int, int>{{0, 12}, {1, 12}, {2, 12}, {3, 12}}));
}

// Each of t tiles crosses n − 1 links to be combined over n ranks and n − 1 as the result: 2 (n − 1) · t messages. 1,000
// elements are cut into 7 · 5 tiles: at most one cut for 128 elements, and 5 rounds of them to fit slots of 32.
TEST(MeshAllreduce, IsRightOnTorusesOfAllShapesAndSizes) {
  for (int w = 1; w <= 5; ++w)
    for (int h = 1; h <= 4; ++h) {
      const auto machine =
          machine_of({.sips = w * h, .sip_topology = "torus_2d", .sip_grid = {w, h}, .cubes = {1, 1}});
      for (const char* name : {"mesh_allreduce", "intersip_allreduce"}) {
        const CollectiveTest test(registry(), name, machine, {.group = Group::sip});
        for (const std::int64_t elements : {1, 127, 1000})
          for (const int slots : {1, 2, 4})
            check_numbers(test, elements, {.slot_size = kSlot, .slots = slots});
      }
    }
}

TEST(IntercubeAllreduce, WorksOnEveryMeshAndWithEveryRoot) {
  for (const auto& shape : kShapes) {
    const auto machine = machine_of(shape);
    const int cubes = machine.cubes();
    for (const int root : {0, 1, shape.cubes.x - 1, cubes / 2, cubes - 1}) {
      if (root < 0 || root >= cubes) continue;
      SCOPED_TRACE(fmt::format("{}, root {}", to_string(shape), root));
      const CollectiveTest test(registry(), "intercube_allreduce", machine,
                                {.group = Group::cube, .root_cube = root});
      EXPECT_EQ(test.members().machine.root_cube, root);
      check_numbers(test, 100, {.slot_size = kSlot, .slots = 2});
      check_identical_bits(test, f16);
    }
  }
}

TEST(IntercubeAllreduce, TakesTheMiddleCubeAsRootUnlessTold) {
  const auto root_of = [](MeshCoord mesh) {
    return members_of(machine_of({.cubes = mesh}), registry().mapper("pe0_per_cube"), {.group = Group::cube})
        .machine.root_cube;
  };
  EXPECT_EQ(root_of({4, 4}), 10);  // 2 · 4 + 2
  EXPECT_EQ(root_of({5, 3}), 7);   // 1 · 5 + 2
  EXPECT_EQ(root_of({1, 1}), 0);
}

TEST(IntercubeAllreduceAllpe, KeepsTheLanesOfACubeApart) {
  const CollectiveTest test(registry(), "intercube_allreduce_allpe", machine_of({.sips = 2, .cubes = {5, 3}}),
                            {.group = Group::cube});
  EXPECT_EQ(test.members().lanes.size(), 4u);  // PEs of a cube
  check_numbers(test, 100, {.slot_size = kSlot, .slots = 2});
}

TEST(HierarchicalAllreduce, WorksOnPartsOfTheMachine) {
  // 5 × 3 cubes of 4 PEs: parts of a cube, some cubes with a short last row, whole SIPs.
  const auto machine = machine_of({.sips = 3, .cubes = {5, 3}});
  for (const int n : {3, 4, 12, 28, 32, 60, 120, 180}) {
    SCOPED_TRACE(n);
    const CollectiveTest test(registry(), "hierarchical_allreduce", machine,
                              {.group = Group::pe, .world_size = n});
    check_numbers(test, 40, {.slot_size = kSlot, .slots = 1});
  }
  EXPECT_THROW(
      CollectiveTest(registry(), "hierarchical_allreduce", machine, {.group = Group::pe, .world_size = 6})
          .run(RandomArrays(1).small(6, f16, 4), {}, {}),
      InputError);
}

TEST(RingAllreduceRs, MovesTheLeastThatIsPossiblePerLink) {
  for (const int n : {2, 3, 8}) {
    const CollectiveTest test(registry(), "ring_allreduce_rs", default_machine(),
                              {.group = Group::pe, .world_size = n});
    const std::int64_t elements = n * 96;  // 3 tiles of each rank
    const auto result = test.run(RandomArrays(2).small(n, f16, elements), {.slots = 4}, {.slot_size = kSlot});
    EXPECT_EQ(result.busiest_link.count(), 2 * (n - 1) * elements * 2 / n);
  }
}

TEST(Broadcast, AndReduceTakeAnyRoot) {
  for (const auto* name : {"broadcast", "reduce"})
    for (const int n : {1, 2, 5, 8})
      for (int root = 0; root < n; ++root) {
        const CollectiveTest test(registry(), name, default_machine(), {.group = Group::pe, .world_size = n});
        check_numbers(test, 70, {.slot_size = kSlot, .slots = 2}, {.root = root});
      }
}

TEST(CollectivesOverParts, RefuseTensorsThatDoNotFit) {
  const auto run = [](const char* name, std::int64_t in, std::int64_t out) {
    const CollectiveTest test(registry(), name, default_machine(), {.group = Group::pe, .world_size = 3});
    run_functional(registry(), name, test.members(), PeArrays(3, {NdArray(f16, {in}), NdArray(f16, {out})}));
  };
  EXPECT_THROW(run("all_gather", 4, 11), tl::KernelError);
  EXPECT_THROW(run("reduce_scatter", 11, 4), tl::KernelError);
  EXPECT_THROW(run("all_to_all", 11, 11), tl::KernelError);
  EXPECT_THROW(run("all_to_all", 12, 9), tl::KernelError);
  EXPECT_NO_THROW(run("all_gather", 4, 12));
}

TEST(SipGroups, OfSomeSipsFormARing) {
  const auto machine =
      machine_of({.sips = 6, .sip_topology = "torus_2d", .sip_grid = {3, 2}, .cubes = {1, 1}});
  const CollectiveTest test(registry(), "intersip_allreduce", machine,
                            {.group = Group::sip, .sips = {4, 1, 5}});
  EXPECT_EQ(test.members().machine.sip_topology, topology::SipTopology::ring_1d);
  EXPECT_EQ(test.members().lanes[0], (std::vector<PeCoord>{{4, 0, 0}, {1, 0, 0}, {5, 0, 0}}));
  check_all(test);
}

}  // namespace
}  // namespace kernbench::ccl::algorithm_test
