// Ejection ports: messages for a router leave the network there over one port (`cube.routers.eject`).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "device/traffic.hpp"
#include "topology/ejection.hpp"

namespace kernbench::device::eject_test {
namespace {

using testing::Probe;
using testing::Random;
using testing::seeds;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

constexpr FabricOptions kPacketByPacket{.shortcuts = false};

const std::vector<std::string> kFlows = {"cube.routers.flow=unbounded", "cube.routers.flow=credits"};

std::vector<std::string> machine(const std::string& flow, const std::string& eject) {
  return {flow, "cube.routers.buffer_packets=4", "cube.routers.eject=" + eject};
}

// Four neighbours of r1c1 send 64 packets each. A packet takes 500 ps of a link at 512 GB/s, and of the port; the wire takes 30 ps from
// west and east (3 mm) and less from north and south (14 / 6 mm: 24 ps), so that the first byte is there at 24 ps.
TEST(EjectionPort, TakesOnePacketAtATimeFromAllInputs) {
  for (const std::string& flow : kFlows)
    for (const char* eject : {"port", "unbounded"}) {
      World world(machine(flow, eject));
      for (const char* from : {"r0c1", "r2c1", "r1c0", "r1c2"})
        world.send(fmt::format("sip0.cube0.{}", from), "sip0.cube0.r1c1", 256_B * 64);
      world.simulation.run();
      const bool one_port = std::string(eject) == "port";
      Time last;
      for (const auto& probe : world.probes) last = std::max(last, probe->delivered);
      EXPECT_EQ(last, one_port ? 24_ps + 500_ps * (4 * 64) : 30_ps + 500_ps * 64) << flow << ", " << eject;
    }
}

TEST(EjectionPort, OfAutoIsThereWithCreditsOnly) {
  const auto links = [](const std::string& flow, const char* eject) {
    return World(machine(flow, eject)).graph.link_count();
  };
  EXPECT_EQ(links(kFlows[0], "auto"), links(kFlows[0], "unbounded"));
  EXPECT_EQ(links(kFlows[1], "auto"), links(kFlows[1], "port"));
  EXPECT_EQ(links(kFlows[1], "port"), links(kFlows[1], "unbounded") + 2 * 16 * 32);  // SIPs, cubes, routers
}

TEST(EjectionPort, IsTheLastLinkOfRoutesToARouterAndOfNoOther) {
  const World world(machine(kFlows[0], "port"));
  const topology::Graph& graph = world.graph;
  const auto ports = [&](const char* from, const char* to) {
    const auto route = graph.route(graph.find(from), graph.find(to));
    const auto ejects = [&](topology::LinkId id) { return is_ejection_port(graph.link(id)); };
    EXPECT_TRUE(std::ranges::none_of(route.begin(), route.end() - 1, ejects));
    return ejects(route.back());
  };
  EXPECT_TRUE(ports("sip0.cube0.r0c0", "sip0.cube0.r0c3"));
  EXPECT_TRUE(ports("host", "sip1.cube5.r5c5"));
  EXPECT_FALSE(ports("sip0.cube0.r0c0", "sip0.cube3.hbm_ctrl.pe2"));
  EXPECT_FALSE(ports("sip0.cube0.r0c0", "sip0.cube0.ucie_N.conn0"));
}

TEST(EjectionPort, AddsNothingToALoneMessage) {
  for (const std::string& flow : kFlows)
    for (const Bytes bytes : {1_B, 256_B, 300_B, 1000_B})
      for (const char* from : {"sip0.cube0.r0c0", "sip0.cube5.pe3.pe_tcm", "host"}) {
        World with(machine(flow, "port")), without(machine(flow, "unbounded"));
        const Probe& a = with.send(from, "sip0.cube0.r5c4", bytes);
        const Probe& b = without.send(from, "sip0.cube0.r5c4", bytes);
        with.simulation.run(), without.simulation.run();
        EXPECT_EQ(a.delivered, b.delivered) << flow << " " << from << " " << bytes.count();
      }
}

/// Messages among routers and other nodes, many of them for one router, on a coarse grid of times.
std::vector<std::int64_t> deliveries(std::uint32_t seed, FabricOptions options, int threads = 1) {
  Random random(seed);
  const auto pick = [&](int low, int high) { return random.pick(low, high); };
  std::vector<std::string> overrides = machine(kFlows[static_cast<std::size_t>(pick(0, 1))], "port");
  overrides.insert(overrides.end(), {"sip.cube_mesh.w=2", "sip.cube_mesh.h=1",
                                     fmt::format("cube.routers.channels={}", pick(1, 3)),
                                     fmt::format("fabric.packet_bytes={}", 64 << pick(0, 3)),
                                     fmt::format("fabric.header_bytes={}", 16 * pick(0, 1)),
                                     fmt::format("cube.routers.overhead_ns={}", pick(0, 1))});
  World world(overrides, options);
  const topology::Graph& graph = world.graph;
  const auto any = [&]() -> NodeId {
    const PeCoord pe{pick(0, 1), pick(0, 1), pick(0, 7)};
    if (pick(0, 2) == 0) return graph.pe(pe, NodeKind::pe_tcm);
    if (pick(0, 3) == 0) return graph.hbm_ctrl(pe);
    return graph.router(pe.in_cube(), pick(0, 1), pick(0, 5));
  };
  const NodeId spot = graph.router({0, 0}, 1, 1);
  const int spread = 1 << pick(4, 10);
  for (int i = 0; i < 120; ++i) {
    const NodeId from = any(), to = pick(0, 2) == 0 ? spot : any();
    if (from == to) continue;
    world.send(from, to, Bytes(pick(1, 40) * 64), 500_ps * pick(0, spread), static_cast<Channel>(pick(0, 2)));
  }
  world.simulation.run({.threads = threads});
  std::vector<std::int64_t> times;
  for (const auto& p : world.probes) times.push_back(p->left.ps()), times.push_back(p->delivered.ps());
  return times;
}

TEST(EjectionPort, GivesTheSameTimesWithAndWithoutTheFastPath) {
  const auto [first, end] = seeds(0, 60);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const auto times = deliveries(seed, {});
    ASSERT_EQ(times, deliveries(seed, kPacketByPacket)) << "seed " << seed;
    if (seed % 10 == 0) {
      ASSERT_EQ(times, deliveries(seed, {}, 2)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kernbench::device::eject_test
