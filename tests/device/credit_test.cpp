// Finite buffers: packets start when the next router has room, and never wait for each other in a circle (ADR 41).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "device/traffic.hpp"

namespace kernbench::device::credit_test {
namespace {

using testing::Probe;
using testing::Random;
using testing::seeds;
using testing::Tracked;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

std::vector<std::string> credits(int buffer, int channels = 1) {
  return {"cube.routers.flow=credits", fmt::format("cube.routers.buffer_packets={}", buffer),
          fmt::format("cube.routers.channels={}", channels)};
}

topology::LinkId link_between(const World& world, const char* from, const char* to) {
  return world.graph.route(world.graph.find(from), world.graph.find(to)).front();
}

// Routers take no time, wires of 3 mm 30 ps, a packet of 256 B at 512 GB/s 500 ps. With one place, the next packet may start when the one
// before has left the next router and the credit is back: after 30 + 500 + 30 ps. Three packets over three links take 2 · 560 + 3 · 30 +
// 500 ps; with two places they follow each other at 500 ps. The last link ends where they go to, and needs no room.
TEST(Credits, ALoneFlowGetsItsPlacesInTheTimeThatACreditTakes) {
  const auto time = [](int buffer) {
    World world(credits(buffer));
    const Probe& probe = world.send("sip0.cube0.r0c0", "sip0.cube0.r0c3", 768_B);
    world.simulation.run();
    return probe.delivered;
  };
  EXPECT_EQ(time(1), 2 * 560_ps + 3 * 30_ps + 500_ps);
  EXPECT_EQ(time(2), 2 * 500_ps + 3 * 30_ps + 500_ps);
}

// From r0c0 one packet goes down to the slice of PE 1 (at r0c1, 256 GB/s: 1000 ps a packet), where one of PE 1's own is a picosecond before
// it. The packet behind it, for r0c2, waits in the same buffer until it has begun to leave; on a channel of its own it does not.
TEST(Credits, OnlyTheFirstPacketOfABufferGoesOn) {
  const auto time = [](int channels) {
    World world(credits(4, channels));
    world.send("sip0.cube0.r0c1", "sip0.cube0.hbm_ctrl.pe1", 256_B, 29_ps);
    world.send("sip0.cube0.r0c0", "sip0.cube0.hbm_ctrl.pe1", 256_B);
    const Probe& behind = world.send("sip0.cube0.r0c0", "sip0.cube0.r0c2", 256_B, 1_ps);
    world.simulation.run();
    return behind.delivered;
  };
  // It starts on r0c0 → r0c1 at 500 and is there at 530; the one before it can go on to the slice at 1029.
  EXPECT_EQ(time(1), 1029_ps + 30_ps + 500_ps);
  EXPECT_EQ(time(2), 530_ps + 30_ps + 500_ps);
}

TEST(Credits, LonePacketsTakeTheTimeOfUnboundedBuffers) {
  World finite(credits(1)), unbounded;
  std::vector<const Probe*> ours, theirs;
  const auto ends = {"sip0.cube0.pe0.pe_tcm", "sip0.cube15.hbm_ctrl.pe7", "sip1.cube3.sram",
                     "sip0.cube5.r0c0",       "sip0.cube5.r5c5",          "host"};
  Time at;
  for (const char* from : ends)
    for (const char* to : ends) {
      if (from == to) continue;
      at += 100_us;
      ours.push_back(&finite.send(from, to, 256_B, at));
      theirs.push_back(&unbounded.send(from, to, 256_B, at));
    }
  finite.simulation.run();
  unbounded.simulation.run();
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i]->delivered, theirs[i]->delivered);
}

// All PEs of the cube write to one slice. Its router's inputs fill up, then those before them, and at last the senders wait at their own
// ports: links near the hot spot and the port of the farthest PE both stood idle for want of room.
TEST(Credits, AHotSpotBacksUpToTheSenders) {
  World world(credits(2));
  for (int pe = 1; pe < 8; ++pe)
    world.send(fmt::format("sip0.cube0.pe{}.pe_tcm", pe), "sip0.cube0.hbm_ctrl.pe0", 64_KiB);
  world.simulation.run();
  for (const auto& probe : world.probes) EXPECT_NE(probe->delivered, Time::never());
  const auto stalled = [&](const char* from, const char* to) {
    return world.fabric.use(link_between(world, from, to)).note.stalled;
  };
  EXPECT_GT(stalled("sip0.cube0.r0c1", "sip0.cube0.r0c0"), 0_ps);
  EXPECT_GT(stalled("sip0.cube0.pe7.pe_dma", "sip0.cube0.r5c5"), 1_us);
  EXPECT_EQ(stalled("sip0.cube0.r0c0", "sip0.cube0.hbm_ctrl.pe0"), 0_ps);
}

// Requests and acknowledgements have channels of their own: a request passes data that has no room.
TEST(Credits, RequestsPassDataThatIsHeldUp) {
  std::vector<std::string> overrides = credits(1);
  overrides.push_back("fabric.request_bytes=32");
  World world(overrides);
  // Data for the slice of PE 0 stands in r0c1 and at PE 1's port; PE 1 asks PE 2's slice.
  for (const char* from : {"sip0.cube0.pe0.pe_tcm", "sip0.cube0.pe1.pe_tcm", "sip0.cube0.r0c2"})
    world.send(from, "sip0.cube0.hbm_ctrl.pe0", 16_KiB);
  struct Asked : sim::Event {
    explicit Asked(World& w) : Event(&fire), world(w) {}
    static void fire(sim::Event& e) {
      static_cast<Asked&>(e).at = static_cast<Asked&>(e).world.simulation.partition(1).now();
    }
    World& world;
    Time at = Time::never();
  } asked(world);
  struct Ask : sim::Event {
    Ask(World& w, Asked& a) : Event(&fire), world(w), asked(a) {}
    static void fire(sim::Event& e) {
      auto& ask = static_cast<Ask&>(e);
      ask.world.fabric.request(ask.world.fabric.route(ask.world.graph.find("sip0.cube0.pe1.pe_dma"),
                                                      ask.world.graph.find("sip0.cube0.hbm_ctrl.pe2")),
                               ask.asked, Channel::compute, 0);
    }
    World& world;
    Asked& asked;
  } ask(world, asked);
  world.simulation.partition(1).schedule_at(ask, 20_ns);
  world.simulation.run();
  EXPECT_LT(asked.at, 22_ns);
  EXPECT_GT(world.probes[1]->delivered, 100_ns);
}

/// Odd machines, odd traffic: grids of any shape, with holes and without, one place or several, all at once or spread out.
class OddTraffic : Random {
 public:
  explicit OddTraffic(std::uint32_t seed, FabricOptions options = {})
      : Random(seed), world_(machine(), options) {
    const int messages = pick(10, 80);
    const int spread = pick({0, 1, 100, 5000});
    const bool hot = pick(0, 2) == 0;
    const NodeId spot = any_end();
    for (int i = 0; i < messages; ++i) {
      const NodeId from = any_end(), to = hot && pick(0, 2) ? spot : any_end();
      if (from == to) continue;
      Tracked& message = *messages_.emplace_back(std::make_unique<Tracked>(world_.fabric, world_.simulation));
      message.route = &world_.fabric.route(from, to);
      message.bytes = Bytes(pick(0, 3) ? pick(1, 1000) : pick(1, 20'000));
      message.channel = pick(0, 7) ? Channel::compute : Channel::credit;
      message.send_at(Time::from_ps(pick(0, spread)));
    }
  }
  std::vector<std::int64_t> observe(int threads = 1) {
    return testing::observed(world_, threads, {Time::never()}, messages_, {});
  }
  bool all_arrived() const {
    return std::ranges::all_of(messages_, [](const auto& m) { return m->times()[1] != Time::never().ps(); });
  }

 private:
  std::vector<std::string> machine() {
    const int rows = pick(4, 8), cols = pick(4, 8);
    rows_ = rows, cols_ = cols;
    std::vector<std::string> all = credits(pick({1, 1, 2, 3, 8}), pick(1, 3));
    all.insert(all.end(),
               {fmt::format("cube.routers.rows={}", rows), fmt::format("cube.routers.cols={}", cols),
                fmt::format("sip.cube_mesh.w={}", pick(1, 2)), fmt::format("sip.cube_mesh.h={}", pick(1, 2)),
                fmt::format("system.sips.count={}", pick(1, 2)), "cube.ucie.connections=2"});
    if (pick(0, 2) == 0) all.push_back("cube.routers.eject=unbounded");  // else a port
    const bool hole = pick(0, 3) > 0;
    const auto centred = [&](int side) { return side - 2 * pick(1, (side - 1) / 2); };
    all.push_back(hole ? fmt::format("cube.routers.hole=[{}, {}]", centred(rows), centred(cols))
                       : "cube.routers.hole=[0, 0]");
    all.push_back(fmt::format("cube.routers.overhead_ns={}", pick(0, 1) ? "0" : "1.3"));
    if (pick(0, 1)) all.push_back(fmt::format("cube.routers.bw_gbs={}", pick({32, 77, 512})));
    if (pick(0, 1)) all.push_back(fmt::format("cube.ucie.bw_gbs={}", pick({20, 128, 512})));
    if (pick(0, 1)) all.push_back(fmt::format("fabric.packet_bytes={}", pick({16, 100, 512})));
    if (pick(0, 2) == 0) all.push_back("fabric.header_bytes=16");
    return all;
  }
  NodeId any_end() {
    const topology::Graph& graph = world_.graph;
    const PeCoord pe{pick(0, graph.sips() - 1), pick(0, graph.cubes() - 1), pick(0, graph.pes() - 1)};
    switch (pick(0, 5)) {
      case 0:
        return graph.host();
      case 1:
        return graph.sram(pe.in_cube());
      case 2:
        return graph.hbm_ctrl(pe);
      case 3:
        return graph.pe(pe, NodeKind::pe_tcm);
      default:
        for (;;)
          if (const int row = pick(0, rows_ - 1), col = pick(0, cols_ - 1); graph.has_router(row, col))
            return graph.router(pe.in_cube(), row, col);
    }
  }

  int rows_ = 0, cols_ = 0;
  World world_;
  std::vector<std::unique_ptr<Tracked>> messages_;
};

TEST(Credits, RandomTrafficOnOddMachinesEnds) {
  const auto [first, end] = seeds(0, 300);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    OddTraffic traffic(seed);
    traffic.observe();
    ASSERT_TRUE(traffic.all_arrived()) << "seed " << seed;
  }
}

TEST(Credits, AreTheSameInTrainsPacketByPacketAndOnThreads) {
  const auto [first, end] = seeds(0, 40);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const auto times = OddTraffic(seed).observe();
    ASSERT_EQ(times, OddTraffic(seed, {.shortcuts = false}).observe()) << "seed " << seed;
    if (seed % 10 == 0) {
      ASSERT_EQ(times, OddTraffic(seed).observe(2)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kernbench::device::credit_test
