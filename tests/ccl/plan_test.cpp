#include "ccl/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ccl/collective_world.hpp"
#include "device/processors.hpp"
#include "kernbench/error.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::ccl::plan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Registry& registry() {
  static const Registry registry = builtin_registry();
  return registry;
}

struct Planned {
  topology::Machine machine;
  address::MemoryPools pools{runtime::memory_layout(machine)};

  explicit Planned(const MachineShape& shape) : machine(machine_of(shape)) {}
  explicit Planned(const char* name)
      : machine(topology::load_machine(name, {}, topology::builtin_registry())) {}

  Plan plan(const std::string& name, std::vector<std::string> set = {}, std::optional<Group> group = {}) {
    const auto settings = load_config("default", set, registry()).settings(name);
    return make_plan(registry(), settings, machine, pools,
                     {.group = group.value_or(usual_group(registry(), settings))});
  }
  Bytes free(address::MemorySpace space, PeCoord pe) { return pools.usage(space, pe).free; }
};

/// All that must hold of a wiring, checked without knowing how it was made.
void check_invariants(const Plan& plan) {
  const auto& rules = plan.wiring.rules;
  const std::int64_t size = rules.slots * rules.slot_size.count();
  std::map<std::uint64_t, std::string> rings;
  std::map<std::pair<PeCoord, std::uint64_t>, PeCoord> receives;  // (PE, ring) → who sends there
  std::set<PeCoord> pes;
  for (const auto& pe : plan.wiring.pes) {
    EXPECT_TRUE(pes.insert(pe.pe).second) << "wired twice: " << to_string(pe.pe);
    std::set<std::string> directions;
    for (const auto& end : pe.ends) {
      EXPECT_TRUE(directions.insert(end.direction).second);
      if (!end.receives) continue;
      EXPECT_TRUE(rings.emplace(end.receives_from.raw(), to_string(pe.pe) + end.direction).second);
      receives[{pe.pe, end.receives_from.raw()}] = end.peer;
      const auto place = address::decode(end.receives_from);
      EXPECT_EQ(place.in_cube(), pe.pe.in_cube());
      if (rules.memory == address::MemorySpace::Tcm) {
        EXPECT_EQ(place.resource, address::Resource::Tcm);
        EXPECT_EQ(place.pe, pe.pe.pe);
        EXPECT_GE(place.offset, 5_MiB);  // behind what scheduler and scratch have
      }
    }
  }
  std::uint64_t last = 0;
  for (const auto& [begin, who] : rings) {  // ascending
    EXPECT_GE(begin, last) << who;
    last = begin + static_cast<std::uint64_t>(size);
  }
  for (const auto& pe : plan.wiring.pes)
    for (const auto& end : pe.ends) {
      if (!end.sends) continue;
      const auto found = receives.find({end.peer, end.sends_to.raw()});
      ASSERT_NE(found, receives.end()) << to_string(pe.pe) << " " << end.direction;
      EXPECT_EQ(found->second, pe.pe);
    }
}

TEST(Plan, KeepsItsInvariantsForEveryAlgorithmAndMemory) {
  for (const auto& algorithm : registry().algorithms())
    for (const auto* kind : {"tcm", "hbm", "sram"}) {
      SCOPED_TRACE(algorithm.name + " " + kind);
      Planned world({.sips = 2, .cubes = {2, 2}});
      const auto plan = world.plan(algorithm.name, {fmt::format("ccl.defaults.buffer_kind={}", kind)});
      EXPECT_FALSE(plan.wiring.pes.empty());
      check_invariants(plan);
    }
}

TEST(Plan, IsAcceptedByTheDevice) {
  for (const auto& algorithm : registry().algorithms())
    for (const auto* kind : {"tcm", "hbm", "sram"}) {
      Planned world({.sips = 4, .sip_topology = "torus_2d", .cubes = {2, 1}});
      device::Device device(world.machine);
      device::QueueBook book(device);
      // Two wirings side by side share no byte.
      EXPECT_NO_THROW(
          book.add(world.plan(algorithm.name, {fmt::format("ccl.defaults.buffer_kind={}", kind)}).wiring));
      EXPECT_NO_THROW(book.add(world.plan("ring_allreduce", {}, Group::cube).wiring));
    }
}

TEST(Plan, CanBeAboutRanksThatArePes) {
  Planned world("default");
  const auto plan = world.plan("ring_allreduce", {"ccl.algorithms.ring_allreduce.world_size=256"});
  EXPECT_THAT(plan.wiring.pes, SizeIs(256));
  check_invariants(plan);
  const auto call = plan.call({1, 3, 5});
  EXPECT_EQ(call.rank, (1 * 16 + 3) * 8 + 5);
  EXPECT_EQ(call.world_size, 256);
  EXPECT_EQ(call.slots, 4);
}

TEST(Plan, OfOneRankHasNoQueues) {
  Planned world({.sips = 1, .cubes = {1, 1}});
  for (const auto* name : {"ring_allreduce", "intercube_allreduce", "intersip_allreduce", "all_to_all"}) {
    const auto plan = world.plan(name);
    EXPECT_THAT(plan.wiring.pes, IsEmpty());
    EXPECT_EQ(plan.members.world_size(), 1);
    EXPECT_FALSE(to_text(plan, {}).empty());
  }
}

TEST(Plan, GivesItsRingsBack) {
  Planned world({.sips = 2, .cubes = {2, 2}});
  const PeCoord pe{1, 2, 0};
  const auto before = world.free(address::MemorySpace::Tcm, pe);
  const auto plan = world.plan("intercube_allreduce");
  // cube 2 of a 2 × 2 mesh: E, N, global_E and global_W, 4 · 4096 bytes each
  EXPECT_EQ(before - world.free(address::MemorySpace::Tcm, pe), 64_KiB);
  release(plan, world.pools);
  EXPECT_EQ(world.free(address::MemorySpace::Tcm, pe), before);
}

/// Eight PEs of a cube in a ring whose messages go E.
Plan one_way_plan(Planned& world) {
  return world.plan("ring_allreduce", {"ccl.algorithms.ring_allreduce.topology=ring_1d_unidir",
                                       "ccl.algorithms.ring_allreduce.world_size=8"});
}

TEST(Plan, OfARingThatGoesOneWayHasNoRingsForTheOther) {
  Planned world({.sips = 2, .cubes = {2, 2}});
  const PeCoord pe{0, 0, 3};
  const auto before = world.free(address::MemorySpace::Tcm, pe);
  const auto plan = one_way_plan(world);
  check_invariants(plan);
  EXPECT_EQ(before - world.free(address::MemorySpace::Tcm, pe), 16_KiB);  // W alone: 4 · 4096 bytes
  device::Device device(world.machine);
  EXPECT_EQ(device::QueueBook(device).add(plan.wiring)->rings(), 8u);
  release(plan, world.pools);
  EXPECT_EQ(world.free(address::MemorySpace::Tcm, pe), before);
}

TEST(Plan, LeavesNothingBehindWhenThereIsNoRoom) {
  Planned world({.sips = 2, .cubes = {2, 2}});
  const PeCoord first{0, 0, 0};
  const auto before = world.free(address::MemorySpace::Tcm, first);
  try {
    world.plan("intercube_allreduce", {"ccl.defaults.n_slots=1000"});
    FAIL() << "4 rings of 4 MiB in 11 MiB";
  } catch (const address::AllocationError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("intercube_allreduce: the ring "),
                                HasSubstr("fewer or smaller queue slots")));
  }
  EXPECT_EQ(world.free(address::MemorySpace::Tcm, first), before);
}

TEST(Plan, RefusesMembersTheAlgorithmDoesNotServe) {
  Planned world("default");
  EXPECT_THROW(world.plan("intercube_allreduce", {}, Group::sip), InputError);
  EXPECT_THROW(world.plan("intersip_allreduce", {"ccl.algorithms.intersip_allreduce.world_size=4"}),
               InputError);
  EXPECT_THROW(world.plan("ring_allreduce", {"ccl.algorithms.ring_allreduce.world_size=257"}), InputError);
  EXPECT_THROW(world.plan("intercube_allreduce", {"ccl.algorithms.intercube_allreduce.root_cube=16"}),
               InputError);
}

// ── windows ──

LinkWindow window(const Plan& plan, const topology::Machine& machine, PeCoord from,
                  const std::string& direction) {
  for (const auto& w : link_windows(plan, machine, topology::Graph(machine)))
    if (w.from == from && w.direction == direction) return w;
  ADD_FAILURE() << "no such link";
  return {};
}

TEST(LinkWindows, AreSlotsAgainstARoundTrip) {
  Planned world("default");
  const auto plan = world.plan("ring_allreduce", {"ccl.algorithms.ring_allreduce.world_size=8"});
  // PE 0 → PE 1 of a cube: TCM, router r0c0, router r0c1, TCM.
  const auto w = window(plan, world.machine, {0, 0, 0}, "E");
  const topology::Graph graph(world.machine);
  const auto tcm = [&](int pe) { return graph.pe({0, 0, pe}, topology::NodeKind::pe_tcm); };
  const auto ipcq = [&](int pe) { return graph.pe({0, 0, pe}, topology::NodeKind::pe_ipcq); };
  const auto there = graph.latency(graph.route(tcm(0), tcm(1))) + 8_ns;  // 4096 B at 512 GB/s
  const auto announced = graph.latency(graph.route(tcm(1), ipcq(1)));
  const auto back =
      graph.latency(graph.route(ipcq(1), ipcq(0))) + Time::from_ps(32);  // 16 B at 512 GB/s, rounded up
  EXPECT_EQ(w.bandwidth, Bandwidth::from_gbs(512));
  EXPECT_EQ(w.round_trip, there + announced + back);
  EXPECT_EQ(w.window, 16_KiB);
  EXPECT_EQ(w.needed().count(), std::llround(0.512 * static_cast<double>((w.round_trip + w.held).ps())));
  EXPECT_EQ(w.held,
            16_ns + 16_ns + 8_ns);  // fetch 2 · 4096 B at 512 GB/s, 2048 elements by 128 a cycle, store
  // 16 KiB in that time
  EXPECT_NEAR(w.reachable_gbs(), 16384 / (w.round_trip + w.held).ns(), 1e-9);
  EXPECT_TRUE(w.limits());
}

TEST(LinkWindows, WarnWhereTheyLimit) {
  Planned world("default");
  const auto narrow = world.plan("intersip_allreduce", {"ccl.defaults.n_slots=1"});
  const topology::Graph graph(world.machine);
  const auto windows = link_windows(narrow, world.machine, graph);
  const auto w = window(narrow, world.machine, {0, 0, 0}, "global_E");
  EXPECT_TRUE(w.limits());
  EXPECT_NEAR(w.reachable_gbs(), 4096 / (w.round_trip + w.held).ns(), 1e-9);  // one slot at a time
  EXPECT_LT(w.reachable_gbs(), w.bandwidth.gbs());
  ASSERT_THAT(warnings(narrow, windows), SizeIs(1));  // global_E: nothing is sent to global_W
  EXPECT_THAT(warnings(narrow, windows)[0],
              AllOf(HasSubstr("limit global_E"), HasSubstr("of 128 GB/s"), HasSubstr("n_slots: ")));
  const auto wide = world.plan("intersip_allreduce", {"ccl.defaults.n_slots=64"});
  EXPECT_THAT(warnings(wide, link_windows(wide, world.machine, graph)), IsEmpty());
}

TEST(LinkWindows, SayHowManySlotsWouldDo) {
  Planned world("default");
  const auto warned = [&](int slots) {
    const auto plan = world.plan("ring_allreduce", {"ccl.algorithms.ring_allreduce.world_size=2",
                                                    fmt::format("ccl.defaults.n_slots={}", slots)});
    auto found = warnings(plan, link_windows(plan, world.machine, topology::Graph(world.machine)));
    release(plan, world.pools);
    return found;
  };
  const auto first = warned(1);
  ASSERT_FALSE(first.empty());
  const auto at = first[0].find("n_slots: ");
  ASSERT_NE(at, std::string::npos);
  const int enough = std::stoi(first[0].substr(at + 9));
  EXPECT_GT(enough, 2);
  EXPECT_THAT(warned(enough - 1), ::testing::Not(IsEmpty()));
  EXPECT_THAT(warned(enough), IsEmpty());
}

TEST(LinkWindows, AreLongerWhereSlotsAreFarther) {
  Planned world("default");
  const auto round_trip = [&](const char* kind) {
    const auto plan = world.plan("ring_allreduce", {"ccl.algorithms.ring_allreduce.world_size=8",
                                                    fmt::format("ccl.defaults.buffer_kind={}", kind)});
    return window(plan, world.machine, {0, 0, 0}, "E").round_trip;
  };
  EXPECT_LT(round_trip("tcm"), round_trip("hbm"));
  EXPECT_LT(round_trip("tcm"), round_trip("sram"));
}

TEST(PlanText, SaysWhoTalksToWhom) {
  Planned world({.sips = 2, .cubes = {2, 1}});
  const auto plan = world.plan("intercube_allreduce");
  const auto text = to_text(plan, link_windows(plan, world.machine, topology::Graph(world.machine)));
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("intercube_allreduce: PE 0 of every cube"), HasSubstr("4 ranks, each a cube"),
            HasSubstr("12 of 4 slots of 4 KiB in tcm"),
            HasSubstr("sip1.cube0.pe0  E sip1.cube1.pe0  global_E sip0.cube0.pe0  global_W sip0.cube0.pe0")));
  // 1024 elements of f16 are one tile of half a slot: 2 SIPs · 2 + exchange 2 messages; 2 · 1 + 2 rounds
  EXPECT_THAT(text, HasSubstr("1024 elements of f16 on each PE: 6 messages in 4 rounds"));
}

TEST(PlanText, SaysWhichWayDirectionsGo) {
  Planned world({.sips = 2, .cubes = {2, 1}});
  const auto plan = one_way_plan(world);
  const auto windows = link_windows(plan, world.machine, topology::Graph(world.machine));
  EXPECT_THAT(windows, SizeIs(8));
  EXPECT_THAT(to_text(plan, windows),
              AllOf(HasSubstr("8 of 4 slots of 4 KiB in tcm; 128 KiB in all, at most 16 KiB of a PE"),
                    HasSubstr("sip0.cube0.pe1  E (to) sip0.cube0.pe2  W (from) sip0.cube0.pe0\n")));
  const auto json = to_json(plan, windows);
  const auto& ends = json["pes"][1]["ends"];
  EXPECT_EQ(ends[0]["direction"], "E");
  EXPECT_FALSE(ends[0].contains("receives_from"));
  EXPECT_EQ(ends[0]["sends_to"], json["pes"][2]["ends"][1]["receives_from"]);
  EXPECT_TRUE(ends[0].contains("window"));
  EXPECT_FALSE(ends[1].contains("sends_to"));
  EXPECT_FALSE(ends[1].contains("window"));
}

TEST(PlanJson, HasEveryRing) {
  Planned world({.sips = 2, .cubes = {2, 1}});
  const auto plan = world.plan("intercube_allreduce");
  const auto json = to_json(plan, link_windows(plan, world.machine, topology::Graph(world.machine)));
  EXPECT_EQ(json["members"]["group"], "cube");
  EXPECT_EQ(json["rules"]["n_slots"], 4);
  ASSERT_THAT(json["pes"], SizeIs(4));
  const auto& pe = json["pes"][2];
  EXPECT_EQ(pe["pe"], "sip1.cube0.pe0");
  EXPECT_EQ(pe["rank"], 2);
  EXPECT_EQ(pe["ends"][0]["direction"], "E");
  EXPECT_EQ(pe["ends"][0]["receives_from"],
            fmt::format("{:#x}", plan.wiring.pes[2].ends[0].receives_from.raw()));
  EXPECT_GT(pe["ends"][0]["window"]["round_trip_ns"], 8);
}

}  // namespace
}  // namespace kernbench::ccl::plan_test
