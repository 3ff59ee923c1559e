#include "device/fabric.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "device/traffic.hpp"

namespace kernbench::device::fabric_test {
namespace {

using testing::Probe;
using testing::Tracked;
using testing::World;
using topology::NodeKind;

constexpr FabricOptions kPacketByPacket = {.shortcuts = false};

TEST(Fabric, OnePacketOverOneLinkTakesOccupancyAndWire) {
  World world;
  // 256 B at 512 GB/s = 500 ps, wire of a PE's port 1 ps
  const Probe& p = world.send("sip0.cube0.pe0.pe_dma", "sip0.cube0.r0c0", 256_B);
  world.simulation.run();
  EXPECT_EQ(p.left, 500_ps);
  EXPECT_EQ(p.delivered, 501_ps);
}

TEST(Fabric, APeToItsOwnSliceIsTwoHops) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    World world({}, options);
    // PE → r0c0 → HBM controller: wires 1 + 1 ps; 4096 B at the slowest link's 256 GB/s = 16 ns
    const Probe& p = world.send("sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", 4_KiB);
    world.simulation.run();
    EXPECT_EQ(p.delivered, 16'002_ps);
    // Packet 15 is offered at 15 ns and takes half a nanosecond of the 512 GB/s port.
    EXPECT_EQ(p.left, 15'500_ps);
  }
}

TEST(Fabric, AnotherSipIsReachedThroughTheSwitch) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    World world({}, options);
    const Probe& p = world.send("sip0.cube0.pe0", "sip1.cube0.hbm_ctrl.pe0", 256_B);
    world.simulation.run();
    // Northward by connection 1 at r0c2, southward by connection 0 at r0c1. Wires: port 1, r0c0–r0c2 60, conn 1, crossing 1, to the
    // NoC 1, to the endpoint 1, to the switch 1; back: endpoint 1, NoC 1, port 1, crossing 1, r0c1 1, r0c0 30, slice 1: 102 ps.
    // Overheads: UCIe 8 + 8, NoC 0, endpoint 5, switch 5, endpoint 5, NoC 0, UCIe 8 + 8: 47 ns.
    // 256 B at 128 GB/s: 2 ns.
    EXPECT_EQ(p.delivered, 49'102_ps);
  }
}

// What messages of no bytes need of a way is known without its links.
TEST(Fabric, ASignalTakesAsLongAsTheWayOfAMessage) {
  World world;
  const std::vector<std::string> nodes = {world.graph.path(world.graph.host()), "sip0.cube0.pe0.pe_dma",
                                          "sip0.cube0.hbm_ctrl.pe0", "sip1.cube1.pe0.pe_dma"};
  for (const std::string& a : nodes)
    for (const std::string& b : nodes) {
      if (a == b) continue;
      const topology::NodeId from = world.graph.find(a), to = world.graph.find(b);
      const SignalRoute& signal = world.fabric.signal_route(from, to);
      const Route& route = world.fabric.route(from, to);
      EXPECT_EQ(signal.latency, route.latency) << a << " to " << b;
      EXPECT_EQ(signal.partition, route.partition);
      EXPECT_EQ(signal.last_partition, route.last_partition);
      EXPECT_EQ(&signal, &world.fabric.signal_route(from, to));
    }
}

/// The formula of the unloaded fabric, straight from the graph.
Time unloaded(const topology::Graph& graph, topology::NodeId from, topology::NodeId to, Bytes bytes) {
  Time latency;
  double slowest_gbs = 1e9;
  for (const topology::LinkId id : graph.route(from, to)) {
    const topology::Link link = graph.link(id);
    const topology::Node next = graph.node(link.to);
    const bool serves =
        next.kind == NodeKind::io_cpu || next.kind == NodeKind::m_cpu;  // overhead is service there
    latency += link.wire + (serves ? 0_ps : next.overhead);
    slowest_gbs = std::min(slowest_gbs, link.bandwidth.gbs());
  }
  return latency + Bandwidth::from_gbs(slowest_gbs).time_for(bytes);
}

TEST(Fabric, TheUnloadedFormulaIsExactForRandomRoutesSizesAndBandwidths) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const auto gbs = [&] { return fmt::format("{}.{}", pick(1, 700), pick(0, 9)); };
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<std::string> overrides = {"cube.routers.bw_gbs=" + gbs(),
                                                "cube.ucie.bw_gbs=" + gbs(),
                                                "cube.hbm.hbm_to_router_bw_gbs=" + gbs(),
                                                "pe.pe_dma.bw_gbs=" + gbs(),
                                                "system.pcie.bw_gbs=" + gbs(),
                                                "sip.io.io_noc.bw_gbs=" + gbs(),
                                                fmt::format("fabric.packet_bytes={}", 16 * pick(1, 64)),
                                                "cube.routers.overhead_ns=0.3"};
    for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
      World world(overrides, options);
      std::uniform_int_distribution<std::uint32_t> any(0, world.graph.node_count() - 1);
      for (int i = 0; i < 50; ++i) {
        const topology::NodeId from{any(random)};
        const topology::NodeId to{any(random)};
        if (from == to) continue;
        const Bytes bytes(pick(1, 20'000));
        // One message at a time: each starts when the one before has long arrived.
        const Time at = 50_ms * (i + 1);
        const Probe& p = world.send(from, to, bytes, at);
        world.simulation.run();
        ASSERT_EQ(p.delivered, at + unloaded(world.graph, from, to, bytes))
            << world.graph.path(from) << " → " << world.graph.path(to) << " " << bytes.count() << " B";
      }
    }
  }
}

/// Random traffic with many collisions.
void send_at_random(World& world, std::uint32_t seed, int messages) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const int spread_ns = 1 << pick(4, 14);
  const int last = world.graph.cubes() - 1;
  for (int i = 0; i < messages; ++i) {
    const PeCoord a{pick(0, 1), pick(0, last), pick(0, 7)};
    const PeCoord b =
        pick(0, 2) == 0 ? PeCoord{pick(0, 1), pick(0, last), pick(0, 7)} : PeCoord{a.sip, a.cube, pick(0, 7)};
    const bool write = pick(0, 1) == 0;
    const topology::NodeId pe = world.graph.pe(a, NodeKind::pe_tcm);
    const topology::NodeId memory = world.graph.hbm_ctrl(b);
    // Times on a coarse grid, so that arrivals at one instant are common.
    world.send(write ? pe : memory, write ? memory : pe, Bytes(pick(1, 64) * 128),
               Time::from_ps(500) * pick(0, 2 * spread_ns), static_cast<Channel>(pick(0, 2)));
  }
}

/// When they arrive: the same with and without the shortcut, and on any number of threads.
std::vector<std::int64_t> deliveries(std::uint32_t seed, FabricOptions options, int threads,
                                     std::uint64_t* in_one_piece = nullptr) {
  World world({"sip.cube_mesh.w=2", "sip.cube_mesh.h=2"}, options);
  send_at_random(world, seed, 300);
  world.simulation.run({.threads = threads});
  if (in_one_piece) *in_one_piece = world.fabric.counters().in_one_piece;
  std::vector<std::int64_t> times;
  for (const auto& p : world.probes) times.push_back(p->left.ps()), times.push_back(p->delivered.ps());
  return times;
}

TEST(Fabric, MovingInOnePieceChangesNoTime) {
  std::uint64_t pieces_in_all = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::uint64_t pieces = 0;
    const auto with = deliveries(seed, {}, 1, &pieces);
    ASSERT_EQ(with, deliveries(seed, kPacketByPacket, 1)) << "seed " << seed;
    pieces_in_all += pieces;
  }
  EXPECT_GT(pieces_in_all, 5000u);  // of 60,000: the shortcut is really taken
}

TEST(Fabric, ThreadsChangeNoTime) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const auto one = deliveries(seed, {}, 1);
    EXPECT_EQ(one, deliveries(seed, {}, 2));
    EXPECT_EQ(one, deliveries(seed, {}, 3));
  }
}

TEST(Fabric, EveryMessageArrivesAndEveryByteIsCounted) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    World world({}, options);
    std::mt19937 random(3);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    std::int64_t sent = 0;
    for (int i = 0; i < 500; ++i) {
      const Bytes bytes(pick(1, 5000));
      sent += bytes.count();
      world.send(world.graph.pe({0, pick(0, 15), pick(0, 7)}, NodeKind::pe_tcm),
                 world.graph.hbm_ctrl({1, pick(0, 15), pick(0, 7)}), bytes,
                 Time::from_ps(1000) * pick(0, 3000));
    }
    world.simulation.run();
    std::int64_t out_of_tcm = 0;
    std::int64_t into_hbm = 0;
    for (std::uint32_t i = 0; i < world.graph.link_count(); ++i) {
      const topology::Link link = world.graph.link({i});
      const std::int64_t bytes = world.fabric.use({i}).bytes.count();
      if (world.graph.node(link.from).kind == NodeKind::pe_tcm) out_of_tcm += bytes;
      if (world.graph.node(link.to).kind == NodeKind::hbm_ctrl) into_hbm += bytes;
      // No link carries more than its bandwidth.
      EXPECT_LE(link.bandwidth.time_for(Bytes(bytes)), world.simulation.now()) << world.graph.path(link.from);
    }
    EXPECT_EQ(out_of_tcm, sent);
    EXPECT_EQ(into_hbm, sent);
    for (const auto& p : world.probes) EXPECT_NE(p->delivered, Time::never());
  }
}

/// Remembers how long each packet had each link.
class Bookings final : public FabricWatcher {
 public:
  void on_link(const Message& message, std::int64_t packet, const Hop& hop, Time start, Time end) override {
    const std::lock_guard lock(mutex_);
    last_[{hop.link.index, &message, packet}] = {start, end};
  }
  /// Pairs of packets that had a link at the same time.
  int overlaps() const {
    std::map<std::uint32_t, std::vector<std::pair<Time, Time>>> of_link;
    for (const auto& [what, interval] : last_) of_link[std::get<0>(what)].push_back(interval);
    int found = 0;
    for (auto& [link, intervals] : of_link) {
      std::sort(intervals.begin(), intervals.end());
      for (std::size_t i = 1; i < intervals.size(); ++i)
        found += intervals[i].first < intervals[i - 1].second ? 1 : 0;
    }
    return found;
  }
  std::size_t size() const { return last_.size(); }

 private:
  std::map<std::tuple<std::uint32_t, const Message*, std::int64_t>, std::pair<Time, Time>> last_;
  std::mutex mutex_;
};

TEST(Fabric, NoLinkHasTwoPacketsAtATime) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      World world({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"}, options);
      Bookings bookings;
      world.fabric.watch(&bookings);
      send_at_random(world, seed, 150);
      world.simulation.run({.threads = 2});
      EXPECT_EQ(bookings.overlaps(), 0) << "seed " << seed;
      EXPECT_GT(bookings.size(), options.shortcuts ? 0u : 10'000u);  // packets in one piece are not seen
    }
  }
}

// The endpoint's only link leads to another partition. Which of two messages that come at one instant is sent
// first does not depend on when the first of them was served: 256 B at 128 GB/s take 2 ns each.
TEST(Fabric, MessagesThatComeAtOneInstantTakeTurnsOnALinkToAnotherPartition) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    World world({}, options);
    const Probe& a = world.send("sip0.pcie_ep", "host", 256_B, 1_ns);
    const Probe& b = world.send("sip0.pcie_ep", "switch", 256_B, 1_ns);
    world.simulation.run();
    EXPECT_EQ(std::max(a.left, b.left), 5_ns);
    EXPECT_EQ(std::min(a.left, b.left), 3_ns);
    EXPECT_EQ(b.delivered - b.left, 5'001_ps);  // the wire and the switch
  }
}

/// Links of 1,000,000 GB/s carry 1000 B in a picosecond.
std::vector<std::string> very_fast() {
  std::vector<std::string> all;
  for (const char* key : {"cube.routers.bw_gbs", "cube.hbm.hbm_to_router_bw_gbs", "pe.pe_dma.bw_gbs",
                          "pe.pe_tcm.read_bw_gbs", "pe.pe_tcm.write_bw_gbs"})
    all.push_back(std::string(key) + "=1000000");
  return all;
}

// The packet of bytes a…b takes ⌈b/1000⌉ − ⌈a/1000⌉ ps: three of four take none, and several are at a link at once.
TEST(Fabric, PacketsThatTakeNoTimeKeepTheirOrder) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    World world(very_fast(), options);
    Tracked message(world.fabric, world.simulation);
    message.route = &world.fabric.route(world.graph.find("sip0.cube0.pe0.pe_tcm"),
                                        world.graph.find("sip0.cube0.hbm_ctrl.pe7"));
    message.bytes = 3900_B;
    message.send_at(1_ns);
    world.simulation.run();
    // TCM 1 ps, port 1, r0c0 → r5c5 270, controller 1. The last packet starts after ⌈3840/1000⌉ = 4 ps and takes none;
    // it has left when it cannot be taken back any more.
    std::vector<std::int64_t> expected = {1000 + 4 + 1, 1273 + 4};
    for (const int end :
         {256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3328, 3584, 3840, 3900})
      expected.push_back(1273 + (end + 999) / 1000);
    EXPECT_EQ(message.times(), expected);
  }
}

/// Happens late at its instant, after so many other events of it.
class Late final : public sim::Event {
 public:
  Late(sim::Partition& partition, Time at, int events, std::function<void()> what)
      : Event(&fire), partition_(partition), events_(events), what_(std::move(what)) {
    partition.schedule_at(*this, at);
  }

 private:
  static void fire(sim::Event& e) {
    auto& self = static_cast<Late&>(e);
    self.events_-- > 0 ? self.partition_.schedule(e, 0_ps) : self.what_();
  }
  sim::Partition& partition_;
  int events_;
  std::function<void()> what_;
};

// A source that was idle serves the classes compute, queue, credit in this order. A packet of 256 B has the port for 0.5
// ns. Whoever comes first at 1 ns, and even if it has been served: the order is the same.
TEST(Fabric, WhoComesFirstAtOneInstantDoesNotMatter) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    for (const auto& [credit_late, compute_late] : {std::pair{0, 0}, {0, 20}, {20, 0}}) {
      World world({}, options);
      Probe credit(world.simulation), compute(world.simulation);
      credit.channel = Channel::credit;
      for (Probe* message : {&credit, &compute}) {
        message->route = &world.fabric.route(world.graph.find("sip0.cube0.pe0.pe_tcm"),
                                             world.graph.find("sip0.cube0.pe1.pe_tcm"));
        message->bytes = 256_B;
      }
      sim::Partition& partition = world.simulation.partition(1);
      const Late first(partition, 1_ns, credit_late, [&] { world.fabric.send(credit); });
      const Late second(partition, 1_ns, compute_late, [&] { world.fabric.send(compute); });
      world.simulation.run();
      EXPECT_EQ(compute.left, 1'500_ps) << credit_late << " and " << compute_late << " events late";
      EXPECT_EQ(credit.left, 2_ns);
    }
  }
}

// From PE 0's slice the head of a packet is at the write port of its TCM after 2 ps (two wires). At that instant an
// engine stores for 10 ns: it goes first, whenever it comes. The packet follows at 512 GB/s, 0.5 ns, and a wire.
TEST(Fabric, AStoreGoesBeforeHeadsOfItsInstant) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    for (const int late : {0, 20}) {
      World world({}, options);
      const Probe& packet = world.send("sip0.cube0.hbm_ctrl.pe0", "sip0.cube0.pe0.pe_tcm", 256_B);
      sim::Partition& partition = world.simulation.partition(1);
      Port& port = world.fabric.port(world.graph.route(world.graph.find("sip0.cube0.pe0.pe_dma"),
                                                       world.graph.find("sip0.cube0.pe0.pe_tcm"))[0]);
      Time ended;
      Late done(partition, 1_us, 0, [&] { ended = partition.now(); });
      const Late store(partition, 2_ps, late, [&] {
        partition.cancel(done);
        port.occupy({10_ns, &done, 0});
      });
      world.simulation.run();
      EXPECT_EQ(ended, 10'002_ps) << late << " events late";
      EXPECT_EQ(packet.delivered, 10'503_ps);
    }
  }
}

TEST(Fabric, FlowsAtEqualRatesShareALink) {
  // PEs 0 and 1 both write to the slice of PE 2: they meet at r0c1 and share the rest of the way.
  World world;
  constexpr Bytes kLong = 1_MiB;
  const Probe& a = world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube0.hbm_ctrl.pe2", kLong);
  const Probe& b = world.send("sip0.cube0.pe1.pe_tcm", "sip0.cube0.hbm_ctrl.pe2", kLong);
  world.simulation.run();
  // Both flow into one slice of 256 GB/s: 2 MiB / 256 GB/s = 8192 ns for both, each half the rate all the
  // way.
  EXPECT_NEAR(a.delivered.ns(), 8192, 0.02 * 8192);
  EXPECT_NEAR(b.delivered.ns(), 8192, 0.02 * 8192);
}

// A packet each of PEs 0 and 1 to the slice of PE 2, behind r0c4, through TCM and port (1 ps each). PE 1's head
// is at r0c1 after 2 ps, PE 0's after 32. At 512 GB/s the first has r0c1 → r0c2 until 502 ps: the second waits
// 470. Behind that they follow each other without a wait, until the slice's link of 256 GB/s: the first has it
// for 1 ns from 92 ps on; the second comes at 592 and waits 500.
TEST(Fabric, TheLongestWaitOfALinkIsReported) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    World world({}, options);
    world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube0.hbm_ctrl.pe2", 256_B);
    world.send("sip0.cube0.pe1.pe_tcm", "sip0.cube0.hbm_ctrl.pe2", 256_B);
    world.simulation.run();
    const auto longest = [&](const char* from, const char* to) {
      const auto id = world.graph.route(world.graph.find(from), world.graph.find(to)).front();
      return world.fabric.use(id).deepest_wait;
    };
    EXPECT_EQ(longest("sip0.cube0.r0c0", "sip0.cube0.r0c1"), 0_ps);
    EXPECT_EQ(longest("sip0.cube0.r0c1", "sip0.cube0.r0c2"), 470_ps);
    EXPECT_EQ(longest("sip0.cube0.r0c2", "sip0.cube0.r0c3"), 0_ps);
    EXPECT_EQ(longest("sip0.cube0.r0c4", "sip0.cube0.hbm_ctrl.pe2"), 500_ps);
  }
}

// k endpoints send to the host, each at the 128 GB/s of its own wire; they meet at the switch's wire of 128
// GB/s. Each sends its share of 1 ms: with even shares all end at 1 ms, with others some end earlier.
TEST(Fabric, ManyFlowsThatMeetAtEqualRatesShareALinkEvenly) {
  for (const int flows : {3, 8}) {
    World world({fmt::format("system.sips.count={}", flows)});
    for (int sip = 0; sip < flows; ++sip)
      world.send(world.graph.io(sip, NodeKind::pcie_ep), world.graph.host(), Bytes(128'000'000 / flows));
    world.simulation.run();
    for (const auto& p : world.probes) EXPECT_NEAR(p->delivered.ns(), 1e6, 0.02 * 1e6) << flows << " flows";
  }
}

// k messages of one PE to k slices of its cube share its port of 512 GB/s for 1 ms.
TEST(Fabric, ManyFlowsOfOneSourceShareItsPortEvenly) {
  for (const int flows : {3, 4, 8}) {
    World world;
    for (int pe = 0; pe < flows; ++pe)
      world.send(world.graph.pe({0, 0, 0}, NodeKind::pe_tcm), world.graph.hbm_ctrl({0, 0, pe}), 256_MiB);
    world.simulation.run({.until = 1_ms});
    for (int pe = 0; pe < flows; ++pe) {
      const auto into_slice = world.graph.route(world.graph.host(), world.graph.hbm_ctrl({0, 0, pe})).back();
      const auto got = static_cast<double>(world.fabric.use(into_slice).bytes.count());
      EXPECT_NEAR(got, 512e9 * 1e-3 / flows, 0.02 * 512e9 * 1e-3 / flows) << flows << " flows, slice " << pe;
    }
  }
}

TEST(Fabric, ThreeFlowsThatMergeAlongARowGetAQuarterAQuarterAndAHalf) {
  // One connection of 128 GB/s per cube boundary: cubes 0, 1 and 2 all send to cube 3 over connection 0.
  World world;
  constexpr Bytes kMuch(64 << 20);
  const Probe& far = world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube3.hbm_ctrl.pe0", kMuch);
  const Probe& middle = world.send("sip0.cube1.pe0.pe_tcm", "sip0.cube3.hbm_ctrl.pe0", kMuch);
  const Probe& near = world.send("sip0.cube2.pe0.pe_tcm", "sip0.cube3.hbm_ctrl.pe0", kMuch);
  world.simulation.run({.until = 1_ms});
  EXPECT_EQ(near.delivered, Time::never());  // 64 MiB at 64 GB/s take 1.05 ms: all three are still at it
  const auto crossed = [&](const char* from, const char* to) {
    const auto id = world.graph.route(world.graph.find(from), world.graph.find(to)).front();
    return static_cast<double>(world.fabric.use(id).bytes.count());
  };
  const double last = crossed("sip0.cube2.ucie_E.conn0", "sip0.cube3.ucie_W.conn0");
  EXPECT_NEAR(last, 128e9 * 1e-3, 0.02 * 128e6);
  world.simulation.run();
  // When the near flow has ended (it had half), the others have had a quarter each.
  const double ns_of_flow = static_cast<double>(kMuch.count()) / 128;
  EXPECT_NEAR(near.delivered.ns(), 2 * ns_of_flow, 0.02 * 2 * ns_of_flow);  // at half the rate throughout
  EXPECT_NEAR(middle.delivered.ns(), 3 * ns_of_flow,
              0.02 * 3 * ns_of_flow);  // a quarter until then, then a half
  EXPECT_NEAR(far.delivered.ns(), 3 * ns_of_flow, 0.02 * 3 * ns_of_flow);
}

TEST(Fabric, ASmallMessageBesideALongOneWaitsAtMostOnePacketPerHop) {
  for (const auto* const small_from : {"sip0.cube0.pe0.pe_tcm", "sip0.cube0.pe1.pe_tcm"}) {
    World alone;
    const Probe& lone = alone.send(small_from, "sip0.cube5.hbm_ctrl.pe0", 64_B, 1_us);
    alone.simulation.run();
    World world;
    world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube5.hbm_ctrl.pe0", 1_MiB);
    const Probe& small = world.send(small_from, "sip0.cube5.hbm_ctrl.pe0", 64_B, 1_us);
    world.simulation.run();
    const auto hops = static_cast<std::int64_t>(lone.route->hops.size());
    EXPECT_GE(small.delivered, lone.delivered);
    EXPECT_LE(small.delivered - lone.delivered, Bandwidth::from_gbs(128).time_for(256_B) * hops);
  }
}

TEST(Fabric, ASignalPaysWiresAndOverheadsOnly) {
  World world;
  world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube1.hbm_ctrl.pe0", 1_MiB);  // does not hold it up
  struct Arrival : sim::Event {
    explicit Arrival(sim::Partition& p) : Event(&fire), partition(p) {}
    static void fire(sim::Event& e) {
      static_cast<Arrival&>(e).at = static_cast<Arrival&>(e).partition.now();
    }
    sim::Partition& partition;
    Time at;
  } arrival(world.simulation.partition(1));
  Route& route =
      world.fabric.route(world.graph.find("sip0.cube0.pe0"), world.graph.find("sip0.cube1.hbm_ctrl.pe0"));
  world.fabric.signal(route, arrival);
  world.simulation.run();
  // PE 1; r0c0 … E connection 0 is at r1c5: five steps east 150, one south 24; connection 1; crossing 1;
  // W connection 0 is at r1c0: 1; r1c0–r0c0 24; slice 1; two UCIe ports 16 ns.
  EXPECT_EQ(arrival.at, 16'203_ps);
}

}  // namespace
}  // namespace kernbench::device::fabric_test
