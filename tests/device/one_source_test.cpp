// Many messages of few routes at one source: what it plans in turns is what it would have done packet by packet.
#include <gtest/gtest.h>

#include "device/fabric_world.hpp"
#include "device/instant.hpp"
#include "device/traffic.hpp"

namespace kernbench::device::one_source_test {
namespace {

using testing::Random;
using testing::World;
using topology::NodeKind;

/// Some messages, most of full packets, to the next cube (a packet takes four times as long there as at the source), to a slice, and to a
/// router; now and then one more comes while they take turns.
std::vector<std::int64_t> deliveries(std::uint32_t seed, FabricOptions options) {
  World world({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "system.sips.count=1"}, options);
  Random random(seed);
  const topology::NodeId tcm = world.graph.pe({0, 0, 0}, NodeKind::pe_tcm);
  const std::vector<topology::NodeId> targets = {
      world.graph.hbm_ctrl({0, 1, 0}), world.graph.hbm_ctrl({0, 1, 4}), world.graph.hbm_ctrl({0, 0, 0}),
      world.graph.hbm_ctrl({0, 0, 3}), world.graph.find("sip0.cube0.r0c1")};
  const int count = random.pick(3, 12), routes = random.pick(1, 5), grid = random.pick(0, 4);
  for (int i = 0; i < count; ++i) {
    const Bytes bytes(256 * random.pick(1, 24) - (random.pick(0, 5) ? 0 : random.pick(1, 255)));
    world.send(tcm, targets[static_cast<std::size_t>(random.pick(0, routes - 1))], bytes,
               Time::from_ps(500) * random.pick(0, grid * grid),
               random.pick(0, 7) ? Channel::compute : Channel::queue);
  }
  world.simulation.run();
  std::vector<std::int64_t> times;
  for (const auto& p : world.probes) times.insert(times.end(), {p->left.ps(), p->delivered.ps()});
  return times;
}

TEST(OneSource, TakesTurnsInPlansAsPacketByPacket) {
  const auto [first, end] = testing::seeds(1, 120);
  for (std::uint32_t seed = first; seed < end; ++seed)
    ASSERT_EQ(deliveries(seed, {}), deliveries(seed, {.shortcuts = false})) << "seed " << seed;
}

// Two messages of one slow route, of which the first ends after some packets, and three of fast ones between them: when it has ended, the
// other one's turn comes before its route may carry a packet again. A plan that begins just then must wait for that.
TEST(OneSource, APlanWaitsForARouteThatJustCarriedAPacket) {
  const auto times = [](int before, int packets, FabricOptions options) {
    World world({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "system.sips.count=1"}, options);
    const std::string tcm = "sip0.cube0.pe0.pe_tcm", slow = "sip0.cube1.hbm_ctrl.pe0";
    for (int i = 0; i < before; ++i) world.send(tcm, "sip0.cube0.r0c1", 256_B);
    world.send(tcm, slow, Bytes(256 * packets));
    world.send(tcm, "sip0.cube0.r0c1", 32_KiB);
    world.send(tcm, slow, 32_KiB);
    world.send(tcm, "sip0.cube0.hbm_ctrl.pe0", 32_KiB);
    world.send(tcm, "sip0.cube0.pe1.pe_tcm", 32_KiB);
    world.simulation.run();
    std::vector<std::int64_t> all;
    for (const auto& p : world.probes) all.insert(all.end(), {p->left.ps(), p->delivered.ps()});
    return all;
  };
  for (int before = 0; before < 4; ++before)
    for (int packets = 1; packets <= 30; ++packets)
      ASSERT_EQ(times(before, packets, {}), times(before, packets, {.shortcuts = false}))
          << before << " " << packets;
}

/// Sends when everybody of an instant has chosen: in a later round of it.
struct LateSend : sim::Event {
  LateSend(Fabric& f, Message& m) : Event(&fire), fabric(f), message(m) {}
  static void fire(sim::Event& e) {
    static_cast<LateSend&>(e).fabric.send(static_cast<LateSend&>(e).message);
  }
  Fabric& fabric;
  Message& message;
};

// What a source has chosen stands, also where somebody comes at the same instant who would have gone first.
TEST(OneSource, AChoiceStandsForTheRestOfItsInstant) {
  const auto times = [](FabricOptions options) {
    World world({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "system.sips.count=1"}, options);
    testing::Probe first(world.simulation), second(world.simulation);
    first.route = second.route = &world.fabric.route(world.graph.find("sip0.cube0.pe0.pe_tcm"),
                                                     world.graph.find("sip0.cube0.hbm_ctrl.pe0"));
    first.bytes = second.bytes = 4_KiB;
    first.rank = 5, second.rank = 1;
    LateSend late(world.fabric, second);
    sim::Partition& here = world.simulation.partition(first.route->partition);
    world.fabric.send(first);
    here.choose(late, choice_rank(Chooser::link, 0));
    world.simulation.run();
    // Packets of 1 ns in turn, the first one's first: it ends before the last one of the other, 32 ns after the start.
    EXPECT_LT(first.delivered, second.delivered);
    return std::vector<Time>{first.left, first.delivered, second.left, second.delivered};
  };
  EXPECT_EQ(times({}), times({.shortcuts = false}));
}

}  // namespace
}  // namespace kernbench::device::one_source_test
