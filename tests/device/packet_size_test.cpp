// What packets take beside the bytes they carry: headers, requests and acknowledgements with a size; and queues that are deeper
// than a router's buffers.
#include <gtest/gtest.h>

#include "device/fabric_world.hpp"
#include "device/probe.hpp"

namespace kernbench::device::packet_size_test {
namespace {

using testing::Probe;
using testing::World;

const FabricOptions kBothWays[] = {{.shortcuts = true}, {.shortcuts = false}};

topology::LinkId link_between(const World& world, const char* from, const char* to) {
  return world.graph.route(world.graph.find(from), world.graph.find(to)).front();
}

// 600 B are packets of 256, 256 and 88 B, each with 16 B more: 648 B, which the slice's link of 256 GB/s carries in 2531.25 ps.
// Three wires of 1 ps lead there.
TEST(Headers, EveryPacketHasOne) {
  for (const FabricOptions options : kBothWays) {
    World world({"fabric.header_bytes=16"}, options);
    const Probe& probe = world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube0.hbm_ctrl.pe0", 600_B);
    world.simulation.run();
    EXPECT_EQ(probe.delivered, 2532_ps + 3_ps);
    const LinkUse use = world.fabric.use(link_between(world, "sip0.cube0.r0c0", "sip0.cube0.hbm_ctrl.pe0"));
    EXPECT_EQ(use.bytes, 648_B);
    EXPECT_EQ(use.note.overhead, 48_B);
  }
}

class Arrival : public sim::Event {
 public:
  explicit Arrival(World& world) : Event(&fire), world_(world) {}
  Time at = Time::never();

 private:
  static void fire(sim::Event& e) {
    auto& arrival = static_cast<Arrival&>(e);
    arrival.at = arrival.world_.simulation.partition(1).now();
  }
  World& world_;
};

/// Asks for something when its time comes.
class Asking : public sim::Event {
 public:
  Asking(World& world, Route& route, sim::Event& arrival)
      : Event(&fire), world_(world), route_(route), arrival_(arrival) {}

 private:
  static void fire(sim::Event& e) {
    auto& asking = static_cast<Asking&>(e);
    asking.world_.fabric.request(asking.route_, asking.arrival_, Channel::compute, 0);
  }
  World& world_;
  Route& route_;
  sim::Event& arrival_;
};

// Two packets of PE 0 go to its slice: over the port of 512 GB/s from 1 ps to 501 and from 1001 to 1501, over the slice's link of 256
// GB/s from 2 to 1002. A request of 32 B that is sent at 100 ps waits for the port until 501, is at the router at 502, waits there
// until 1002 and takes 125 ps: it is there at 1127 + 1. The second packet came to the router at 1002, behind it, and has the link
// from 1127 to 2127.
TEST(Requests, QueueLikeAllOthersIfTheyHaveASize) {
  for (const FabricOptions options : kBothWays) {
    World world({"fabric.request_bytes=32"}, options);
    const Probe& data = world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube0.hbm_ctrl.pe0", 512_B);
    Arrival arrival(world);
    Route& route = world.fabric.route(world.graph.find("sip0.cube0.pe0.pe_dma"),
                                      world.graph.find("sip0.cube0.hbm_ctrl.pe0"));
    Asking asking(world, route, arrival);
    world.simulation.partition(1).schedule_at(asking, 100_ps);
    world.simulation.run();
    EXPECT_EQ(arrival.at, 1128_ps);
    EXPECT_EQ(data.delivered, 2128_ps);
    EXPECT_EQ(world.fabric.use(route.hops.back().link).note.overhead, 32_B);
  }
}

Time time_of(Direction op, std::vector<std::string> overrides) {
  Prober prober(testing::machine(std::move(overrides)));
  const auto what = prober.make_case(prober.graph().find("sip0.cube0.pe0"),
                                     prober.graph().find("sip0.cube0.hbm_ctrl.pe0"), op, 64_B, 0);
  const ProbeResult result = prober.measure(what);
  EXPECT_TRUE(result.agrees()) << result.total.ps() << " ps, not " << result.formula.parts.total().ps();
  EXPECT_EQ(result.hops, result.formula.hops);
  return result.total;
}

// 64 B at 256 GB/s take 250 ps, with a header of 16 B 312.5; a request of 32 B with its header 187.5, an acknowledgement of 16 B with
// its header 125.
TEST(Sizes, AddTheirTimeToALoneReadOrWrite) {
  const std::vector<std::string> sizes = {"fabric.header_bytes=16", "fabric.request_bytes=32",
                                          "fabric.ack_bytes=16"};
  EXPECT_EQ(time_of(Direction::read, sizes) - time_of(Direction::read, {}), 313_ps - 250_ps + 188_ps);
  EXPECT_EQ(time_of(Direction::write, sizes) - time_of(Direction::write, {}), 313_ps - 250_ps + 125_ps);
}

// PEs 0 and 1 send two packets each to the slice of PE 2. They come to the slice's link of 256 GB/s, a packet in 1000 ps, at 92, 592,
// 1092 and 1592 ps, and wait 0, 500, 1000 and 1500: only the last one found more than one packet before it. Elsewhere they wait 470
// ps at most, where a packet takes 500.
TEST(Buffers, PacketsThatFindMoreBeforeThemThanARouterHoldsAreCounted) {
  const auto crowded = [](int buffer, FabricOptions options) {
    World world({"cube.routers.buffer_packets=" + std::to_string(buffer)}, options);
    world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube0.hbm_ctrl.pe2", 512_B);
    world.send("sip0.cube0.pe1.pe_tcm", "sip0.cube0.hbm_ctrl.pe2", 512_B);
    world.simulation.run();
    std::uint64_t elsewhere = 0;
    const auto slice = link_between(world, "sip0.cube0.r0c4", "sip0.cube0.hbm_ctrl.pe2");
    for (std::uint32_t i = 0; i < world.graph.link_count(); ++i)
      if (i != slice.index) elsewhere += world.fabric.use({i}).note.crowded;
    EXPECT_EQ(elsewhere, 0u);
    EXPECT_EQ(world.fabric.use(slice).deepest_wait, 1500_ps);
    return world.fabric.use(slice).note.crowded;
  };
  for (const FabricOptions options : kBothWays) {
    EXPECT_EQ(crowded(1, options), 1u);
    EXPECT_EQ(crowded(2, options), 0u);
    EXPECT_EQ(crowded(0, options), 0u);
  }
}

}  // namespace
}  // namespace kernbench::device::packet_size_test
