// Links so fast that some packets take no countable time: at 1,000,000 GB/s packets of 256 bytes end at 0.256, 0.512, 0.768, 1.024 ps …,
// so the first of a message takes 1 ps, the next two take none, the fourth takes 1 ps. What comes at one instant keeps its order, in
// trains and packet by packet.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "device/traffic.hpp"

namespace kernbench::device::no_time_test {
namespace {

using testing::Probe;
using testing::Tracked;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

constexpr FabricOptions kBoth[] = {{.shortcuts = true}, {.shortcuts = false}};

/// One cube. All links are that fast, but for what is said otherwise.
std::vector<std::string> fast(std::vector<std::string> but) {
  std::vector<std::string> all = {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1"};
  for (const char* key :
       {"cube.routers.bw_gbs", "cube.ucie.bw_gbs", "cube.hbm.hbm_to_router_bw_gbs", "pe.pe_dma.bw_gbs",
        "system.pcie.bw_gbs", "sip.io.io_noc.bw_gbs", "pe.pe_tcm.read_bw_gbs", "pe.pe_tcm.write_bw_gbs"})
    all.push_back(fmt::format("{}=1000000", key));
  all.insert(all.end(), but.begin(), but.end());
  return all;
}

struct Cube : World {
  using World::World;
  NodeId dma(int pe) { return graph.pe({0, 0, pe}, NodeKind::pe_dma); }
  NodeId tcm(int pe) { return graph.pe({0, 0, pe}, NodeKind::pe_tcm); }
  NodeId slice(int pe) { return graph.hbm_ctrl({0, 0, pe}); }
};

/// The first link of a way that another one has, too; null if there is none.
const Hop* first_shared(const Route& way, const Route& other) {
  for (const Hop& hop : way.hops)
    for (const Hop& o : other.hops)
      if (o.link == hop.link) return &hop;
  return nullptr;
}

Time before(const Route& way, topology::LinkId link) {
  for (const Hop& hop : way.hops)
    if (hop.link == link) return hop.before;
  return Time::never();
}

/// A PE whose way to the host shares with this one what is from that link on, and nothing before it.
int who_comes_by(Cube& cube, const Route& way, const Hop& link) {
  for (int pe = 1; pe < 8; ++pe)
    if (first_shared(way, cube.fabric.route(cube.tcm(pe), way.to)) == &link) return pe;
  ADD_FAILURE() << "all share more than that";
  return 1;
}

/// The last link before the one to another partition, at which nobody goes on without a stop.
const Hop& before_border(const Route& way) {
  std::size_t border = 0;
  while (!way.hops[border].crosses) ++border;
  return way.hops[border - 1];
}

// A packet from a slow port has the link before the border until T. Packets 0 to 2 of another message wait for that: packet 0 has the
// link until T + 1, the next two at that instant. Then packet 3 comes, which was not ready before, and finds the link free: it starts at
// T + 1, too, and stays behind them. R later, packets 0 to 2 are there at T + 1, packet 3 at T + 2.
TEST(NoTime, APacketThatCrossesALinkWithoutAStopStaysBehindThoseOfItsMessage) {
  for (const FabricOptions options : kBoth) {
    Cube cube(fast({"pe.pe_tcm.read_bw_gbs=1"}), options);
    Tracked message(cube.fabric, cube.simulation);
    message.route = &cube.fabric.route(cube.dma(0), cube.graph.host());
    message.bytes = 1024_B;
    const Route& way = *message.route;
    const Hop& link = before_border(way);
    const Probe& slow = cube.send(cube.tcm(who_comes_by(cube, way, link)), cube.graph.host(), 256_B);
    const Time comes = before(*slow.route, link.link), free = comes + 256_ns;
    for (int p = 0; p < 3; ++p) message.ready.push_back(comes);
    message.ready.push_back(free + 1_ps - link.before);
    message.send_at(comes);
    cube.simulation.run();
    const Time rest = way.latency - link.before;
    const Time early = free + 1_ps + rest, late = free + 2_ps + rest;
    const auto times = message.times();
    EXPECT_EQ(std::vector(times.begin() + 2, times.end()),
              (std::vector{early.ps(), early.ps(), early.ps(), late.ps()}))
        << options.shortcuts;
  }
}

// Slices take a packet in 1 ns. Packet 1 of A, its last one, takes no time on links before that. Packet 0 of B comes to one of them at
// the same instant and goes first, for B's sender does: A's waits for 1 ps.
TEST(NoTime, ATrainComesBeforeTheLastPacketOfAnotherOneOfTheSameInstant) {
  int met = 0;
  for (const FabricOptions options : kBoth)
    for (int number = 0; number < 8 * 8 * 8 * 8; ++number) {
      const int a_pe = number % 8, b_pe = number / 8 % 8, a_end = number / 64 % 8, b_end = number / 512;
      if (a_pe == b_pe || a_end == b_end || number % 5) continue;
      Cube cube(fast({"cube.hbm.hbm_to_router_bw_gbs=256"}), options);
      const Route& a_way = cube.fabric.route(cube.dma(a_pe), cube.slice(a_end));
      const Route& b_way = cube.fabric.route(cube.dma(b_pe), cube.slice(b_end));
      const Hop* link = first_shared(a_way, b_way);
      if (!link || a_way.first().link.index < b_way.first().link.index) continue;
      const Time b_sent = 1_ns + link->before - before(b_way, link->link);
      const Probe& a = cube.send(cube.dma(a_pe), cube.slice(a_end), 512_B);
      const Probe& b = cube.send(cube.dma(b_pe), cube.slice(b_end), 512_B, b_sent);
      cube.simulation.run();
      EXPECT_EQ(b.delivered, b_sent + b_way.latency + 2_ns) << number << ' ' << options.shortcuts;
      EXPECT_EQ(a.delivered, a_way.latency + 2_ns + 1_ps) << number << ' ' << options.shortcuts;
      ++met;
    }
  EXPECT_GT(met, 20);
}

// Packet 1 of a message from the TCM takes no time on the link by which messages of the DMA engine start. One starts at the instant at
// which it comes: behind it.
TEST(NoTime, WhoStartsGoesBehindAPacketOfATrainThatComesAtTheSameInstant) {
  for (const FabricOptions options : kBoth) {
    Cube cube(fast({"cube.hbm.hbm_to_router_bw_gbs=256"}), options);
    const Probe& comes = cube.send(cube.tcm(0), cube.slice(7), 512_B);
    const Hop& link = comes.route->hops[1];
    const Time start = 1_ns + link.before;
    const Probe& starts = cube.send(cube.dma(0), cube.slice(0), 256_B, start);
    ASSERT_EQ(starts.route->first().link, link.link);
    ASSERT_LT(starts.route->first().link.index, comes.route->first().link.index) << "its sender goes first";
    cube.simulation.run();
    EXPECT_EQ(comes.delivered, comes.route->latency + 2_ns) << options.shortcuts;
    EXPECT_EQ(starts.delivered, start + starts.route->latency + 1_ns) << options.shortcuts;
    EXPECT_EQ(cube.fabric.use(link.link).deepest_wait, 0_ps) << options.shortcuts;
  }
}

/// Slices take a packet in P. A message of 12 packets has its first 7 packets go alone, for another one is sent with it; the rest is a
/// train. A packet that is 1.5 · P long has one of its links until packet 7 comes there. Packet 6 waits for that, takes the link at that
/// instant for no time, and has the next one before packet 7: nobody waits there. All that is behind packet 6 comes P later.
void hold_up_before_a_train(int slice_gbs, int slow_gbs, Time pace, FabricOptions options, int& met) {
  for (int number = 0; number < 8 * 8 * 8; ++number) {
    const int end = number % 8, pe = number / 8 % 8, slow_end = number / 64;
    if (pe == 0 || end == 0 || end == slow_end) continue;
    Cube cube(fast({fmt::format("cube.hbm.hbm_to_router_bw_gbs={}", slice_gbs),
                    fmt::format("pe.pe_tcm.read_bw_gbs={}", slow_gbs)}),
              options);
    const Probe& message = cube.send(cube.dma(0), cube.slice(end), 256_B * 12);
    const Route& way = *message.route;
    const Route& slow_way = cube.fabric.route(cube.tcm(pe), cube.slice(slow_end));
    const Hop* link = first_shared(way, slow_way);
    if (!link || link->last || link[1].last) continue;
    cube.send(cube.dma(0), cube.slice(0), 256_B, {}, Channel::queue);
    const Time until = pace * 7 + link->before;
    const Time sent = until - Time::from_ps(pace.ps() * 3 / 2) - before(slow_way, link->link);
    if (sent < 0_ps) continue;
    cube.send(cube.tcm(pe), cube.slice(slow_end), 3_B, sent);
    cube.simulation.run();
    EXPECT_EQ(cube.fabric.use(link->link).deepest_wait, pace) << number << ' ' << options.shortcuts;
    EXPECT_EQ(cube.fabric.use(link[1].link).deepest_wait, 0_ps) << number << ' ' << options.shortcuts;
    EXPECT_EQ(message.delivered, way.latency + pace * 13) << number << ' ' << options.shortcuts;
    ++met;
  }
}

// It comes to the link when that is taken until then.
TEST(NoTime, ATrainIsNotPlannedBesideAPacketOfItsMessage) {
  int met = 0;
  for (const FabricOptions options : kBoth) hold_up_before_a_train(256, 2, 1_ns, options, met);
  EXPECT_GT(met, 4);
}

// It is planned before the packet that it waits behind has come to the link.
TEST(NoTime, ATrainGivesWayToAPacketOfItsMessage) {
  int met = 0;
  for (const FabricOptions options : kBoth) hold_up_before_a_train(2560, 20, 100_ps, options, met);
  EXPECT_GT(met, 4);
}

}  // namespace
}  // namespace kernbench::device::no_time_test
