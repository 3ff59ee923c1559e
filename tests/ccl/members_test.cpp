// Who takes part and who is whose neighbour; what the registry knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ccl/collective_world.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl::members_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const Registry& registry() {
  static const Registry registry = builtin_registry();
  return registry;
}

Members members(const MachineShape& shape, const char* mapper, const MemberRequest& request) {
  return members_of(machine_of(shape), registry().mapper(mapper), request);
}

template <class F>
InputError refusal(F call) {
  try {
    call();
  } catch (const InputError& e) {
    return e;
  }
  ADD_FAILURE() << "this should have been refused";
  return InputError({.id = "none", .where = "", .what = "", .hint = ""});
}

std::vector<std::string> texts(const Links& links) {
  std::vector<std::string> out;
  for (const auto& l : links)
    out.push_back(fmt::format("{}.{}.{} {} {}.{}.{}", l.pe.sip, l.pe.cube, l.pe.pe, l.direction, l.peer.sip,
                              l.peer.cube, l.peer.pe));
  return out;
}

TEST(Members, OfSipsHaveALaneForEachPickedPe) {
  const auto leaders = members({.sips = 3}, "leader_only", {});
  EXPECT_THAT(leaders.lanes, ElementsAre(ElementsAre(PeCoord{0, 0, 0}, PeCoord{1, 0, 0}, PeCoord{2, 0, 0})));
  const auto all = members({.sips = 2}, "all_pes", {});
  EXPECT_EQ(all.lanes.size(), 16u);  // 4 cubes of 4 PEs
  EXPECT_THAT(all.lanes[5], ElementsAre(PeCoord{0, 1, 1}, PeCoord{1, 1, 1}));
  EXPECT_EQ(all.pes().size(), 32u);
  EXPECT_EQ(members({.sips = 2}, "pe0_per_cube", {}).lanes.size(), 4u);
}

TEST(Members, OfCubesAreAllCubesOfAllSips) {
  const auto cubes = members({.sips = 2, .cubes = {2, 1}}, "leader_only", {.group = Group::cube});
  EXPECT_THAT(cubes.lanes, ElementsAre(ElementsAre(PeCoord{0, 0, 0}, PeCoord{0, 1, 0}, PeCoord{1, 0, 0},
                                                   PeCoord{1, 1, 0})));
  EXPECT_EQ(members({.sips = 2}, "all_pes", {.group = Group::cube}).lanes.size(), 4u);
}

TEST(Members, OfPesAreTheFirstOnes) {
  const MachineShape shape{.sips = 2, .cubes = {3, 1}};  // 4 PEs in a cube, 12 in a SIP
  const auto of = [&](int n) { return members(shape, "leader_only", {.group = Group::pe, .world_size = n}); };
  EXPECT_EQ(of(7).lanes[0][6], (PeCoord{0, 1, 2}));
  EXPECT_EQ(of(13).lanes[0][12], (PeCoord{1, 0, 0}));
  EXPECT_TRUE(of(3).regular);
  EXPECT_EQ(of(3).machine.pes, 3);
  EXPECT_TRUE(of(8).regular);
  EXPECT_EQ(of(8).machine.cubes, 2);
  EXPECT_FALSE(of(7).regular);
  EXPECT_FALSE(of(16).regular);  // a whole SIP and one cube
  EXPECT_TRUE(of(24).regular);
  EXPECT_EQ(of(24).machine.sips(), 2);
  EXPECT_EQ(refusal([&] { of(25); }).id(), "ccl.world-size");
  EXPECT_EQ(refusal([&] { of(25); }).hint(), "at most 24, or a larger machine: --set system.sips.count=3");
  EXPECT_EQ(refusal([&] { of(0); }).id(), "ccl.world-size");
}

TEST(Members, TellEachKernelItsPlace) {
  const auto cubes =
      members({.sips = 2, .cubes = {2, 2}}, "pe0_per_cube", {.group = Group::cube, .root_cube = 3});
  const auto call = cubes.call({1, 2, 0});
  EXPECT_EQ(call.rank, 6);
  EXPECT_EQ(call.world_size, 8);
  EXPECT_EQ(call.sip, 1);
  EXPECT_EQ(call.machine.root_cube, 3);
  EXPECT_EQ(call.grid, (MeshCoord{4, 2}));
  EXPECT_EQ(refusal([&] { cubes.call({1, 2, 1}); }).id(), "ccl.members");
  const auto some = members({.sips = 4}, "leader_only", {.sips = {3, 1}});
  EXPECT_EQ(some.call({1, 0, 0}).sip, 1);
  EXPECT_EQ(some.call({3, 0, 0}).rank, 0);
}

TEST(Members, TakeTheGridOfTheSips) {
  const MachineShape torus{.sips = 6, .sip_topology = "torus_2d", .sip_grid = {2, 3}};
  EXPECT_EQ(members(torus, "leader_only", {}).grid, (MeshCoord{2, 3}));
  EXPECT_EQ(members({.sips = 6}, "leader_only", {}).grid, (MeshCoord{3, 2}));
}

TEST(Members, RefuseWhatIsNotThere) {
  EXPECT_EQ(refusal([] { members({.sips = 2}, "leader_only", {.sips = {0, 2}}); }).id(), "ccl.members");
  EXPECT_EQ(refusal([] { members({.sips = 2}, "leader_only", {.sips = {1, 1}}); }).id(), "ccl.members");
  EXPECT_EQ(refusal([] { members({}, "leader_only", {.root_cube = 4}); }).id(), "ccl.root-cube");
  const Mapper nobody{"nobody", "", [](Group, const Arrangement&) { return std::vector<Mapper::Pick>(); }};
  EXPECT_EQ(refusal([&] { members_of(machine_of({}), nobody); }).id(), "ccl.mapper");
}

TEST(Topologies, JoinCubesAndSips) {
  const auto m = members({.sips = 3, .cubes = {2, 2}}, "pe0_per_cube", {.group = Group::cube});
  const auto links = registry().topology("intercube_intersip").links(m);
  EXPECT_EQ(links.size(), 3u * 8 + 4u * 6);  // in each SIP 4 neighbours twice; each cube a ring of 3
  EXPECT_THAT(texts(links), IsSupersetOf({"0.0.0 E 0.1.0", "0.0.0 S 0.2.0", "2.3.0 N 2.1.0",
                                          "0.3.0 global_E 1.3.0", "0.3.0 global_W 2.3.0"}));
  EXPECT_EQ(paired(links).size(), links.size());
}

// A mesh 3 wide: the line is cubes 0 1 2 5 4 3, then those of the next SIP.
TEST(Topologies, LinesGoBackInEveryOtherRow) {
  const auto m = members({.sips = 2, .cubes = {3, 2}}, "pe0_per_cube", {.group = Group::cube});
  const auto each = registry().topology("cube_line").links(m);
  EXPECT_EQ(each.size(), 2u * 2 * 5);  // five steps each way in each SIP
  EXPECT_THAT(texts(each), IsSupersetOf({"0.1.0 E 0.2.0", "0.2.0 E 0.5.0", "0.5.0 E 0.4.0", "0.3.0 W 0.4.0",
                                         "1.0.0 E 1.1.0"}));
  const auto one = registry().topology("cube_line_intersip").links(m);
  EXPECT_EQ(one.size(), 2u * 11);
  EXPECT_THAT(texts(one), IsSupersetOf({"0.3.0 E 1.0.0", "1.0.0 W 0.3.0"}));
}

TEST(Topologies, JoinSipsAsTheMachineDoes) {
  const auto count = [](const MachineShape& shape) {
    const auto links = registry().topology("intersip").links(members(shape, "leader_only", {}));
    return paired(links).size();
  };
  EXPECT_EQ(count({.sips = 1}), 0u);
  EXPECT_EQ(count({.sips = 6}), 12u);
  EXPECT_EQ(count({.sips = 6, .sip_topology = "torus_2d", .sip_grid = {3, 2}}), 24u);
  EXPECT_EQ(count({.sips = 6, .sip_topology = "mesh_2d_no_wrap", .sip_grid = {3, 2}}), 14u);
}

TEST(Topologies, JoinThreeLevels) {
  const MachineShape shape{.sips = 2, .cubes = {2, 2}};
  const auto m = members(shape, "leader_only", {.group = Group::pe, .world_size = 32});
  const auto links = registry().topology("hierarchical_3level").links(m);
  EXPECT_EQ(links.size(),
            8u * 8 + 2u * 8 + 4u);  // PE rings of 8 cubes, meshes of 2 SIPs, 2 leaders both ways
  EXPECT_THAT(texts(links), IsSupersetOf({"0.1.3 E 0.1.0", "1.0.0 cube_S 1.2.0", "0.0.0 global_E 1.0.0",
                                          "0.0.0 global_W 1.0.0"}));
  EXPECT_EQ(paired(links).size(), links.size());
  const auto three_cubes = members(shape, "leader_only", {.group = Group::pe, .world_size = 12});
  EXPECT_THAT(texts(registry().topology("hierarchical_3level").links(three_cubes)),
              ::testing::Not(::testing::Contains(HasSubstr("0.3."))));
  EXPECT_EQ(registry().topology("intracube_ring").links(three_cubes).size(), 24u);
}

TEST(Topologies, OfEveryMachineCanBePaired) {
  for (const auto& topology : registry().topologies())
    for (const auto group : {Group::sip, Group::cube, Group::pe}) {
      for (const int sips : {1, 2, 4}) {
        const auto m = members({.sips = sips, .sip_topology = sips == 4 ? "torus_2d" : "ring_1d"},
                               "leader_only", {.group = group, .world_size = sips * 16});
        EXPECT_NO_THROW(paired(topology.links(m))) << topology.name << " " << to_string(group) << " " << sips;
      }
    }
}

TEST(Validators, SayWhatIsWrong) {
  const auto m = members({.sips = 2, .cubes = {2, 1}}, "pe0_per_cube", {.group = Group::cube});
  const auto problem = [&](const char* name, std::vector<HeldShard> shards) {
    return registry().validator(name).problem(shards, m);
  };
  const HeldShard a{{0, 0, 0}, 8}, b{{0, 1, 0}, 8}, c{{1, 0, 0}, 8}, d{{1, 1, 0}, 8};
  EXPECT_EQ(problem("one_shard_per_cube", {a, b, c, d}), "");
  EXPECT_THAT(problem("one_shard_per_cube", {a, b, c}), HasSubstr("sip1.cube1.pe0 holds no shard"));
  EXPECT_THAT(problem("one_shard_per_cube", {a, b, c, d, {{1, 1, 3}, 8}}),
              HasSubstr("sip1.cube1.pe3 holds a shard but"));
  EXPECT_THAT(problem("one_shard_per_cube", {a, b, c, d, d}), HasSubstr("several shards"));
  EXPECT_THAT(problem("one_shard_per_cube", {a, b, c, {{1, 1, 0}, 9}}), HasSubstr("holds 8 elements and"));
  EXPECT_EQ(problem("any", {}), "");

  const auto lanes = members({.sips = 2, .cubes = {2, 1}}, "all_pes", {});
  const auto alike = [&](std::vector<HeldShard> shards) {
    return registry().validator("multi_pe_sip_local").problem(shards, lanes);
  };
  EXPECT_EQ(alike({{{0, 1, 2}, 4}, {{1, 1, 2}, 4}}), "");
  EXPECT_EQ(alike({{{0, 1, 2}, 4}, {{0, 1, 2}, 4}, {{1, 1, 2}, 8}}), "");  // two tiles make a shard
  EXPECT_THAT(alike({{{0, 1, 2}, 4}}), HasSubstr("sip0.cube1.pe2 holds 4 elements and sip1.cube1.pe2 0"));
  EXPECT_THAT(alike({{{1, 1, 2}, 4}}), HasSubstr("sip0.cube1.pe2 holds 0 elements and sip1.cube1.pe2 4"));
}

TEST(Registry, RefusesTheSameNameTwiceAndListsWhatItKnows) {
  Registry mine = builtin_registry();
  mine.add(Algorithm{.name = "acme",
                     .description = "Does nothing.",
                     .topology = "ring_1d",
                     .kernel = [](tl::Context&, const Call&) {}});
  EXPECT_EQ(mine.algorithm("acme").mapper, "leader_only");
  EXPECT_EQ(refusal([&] { mine.add(mine.algorithm("acme")); }).id(), "registry.duplicate");
  EXPECT_EQ(refusal([&] { mine.add(mine.mapper("all_pes")); }).id(), "registry.duplicate");
  EXPECT_EQ(refusal([&] { mine.add(Algorithm{.name = "empty"}); }).id(), "registry.incomplete");
  EXPECT_EQ(refusal([&] { mine.add(Topology{}); }).id(), "registry.incomplete");
  const auto unknown = refusal([&] { mine.algorithm("ring_all_reduce"); });
  EXPECT_EQ(unknown.id(), "ccl.unknown-algorithm");
  EXPECT_THAT(unknown.hint(), HasSubstr("ring_allreduce"));
  EXPECT_EQ(refusal([&] { mine.topology("x"); }).id(), "ccl.unknown-topology");
  EXPECT_EQ(refusal([&] { mine.mapper("x"); }).id(), "ccl.unknown-mapper");
  EXPECT_EQ(refusal([&] { mine.validator("x"); }).id(), "ccl.unknown-validator");
}

TEST(Registry, RefusesGroupsAnAlgorithmDoesNotServe) {
  const auto m = members({.sips = 2}, "leader_only", {});
  const auto& algorithm = registry().algorithm("intercube_allreduce");
  const auto e = refusal([&] { links_of(registry(), algorithm, algorithm.topology, m); });
  EXPECT_EQ(e.id(), "ccl.group");
  EXPECT_THAT(e.hint(), HasSubstr("cube"));
}

}  // namespace
}  // namespace kernbench::ccl::members_test
