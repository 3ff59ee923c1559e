// Packets that move as trains are, to the picosecond, where they would be on their own: random traffic on random
// machines, packet by packet and in trains, on one thread and on two.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "device/traffic.hpp"

namespace kernbench::device::train_test {
namespace {

using testing::observed;
using testing::Probe;
using testing::Random;
using testing::seeds;
using testing::Tracked;
using testing::Use;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

/// Random machines and traffic, made from a seed.
class Traffic : Random {
 public:
  /// Borders of a picosecond are a case of their own; with them, threads meet at every picosecond.
  Traffic(std::uint32_t seed, FabricOptions options, bool narrow_borders = false)
      : Random(seed), world_(machine(narrow_borders), options) {
    grid_ = Time::from_ps(pick({1, 250, 500, 1000}));
    spread_ = 1 << pick(3, 12);
    const int bundles = pick(0, 4);
    for (int i = 0; i < bundles; ++i) add_bundle();
    const int single = pick(0, 60);
    for (int i = 0; i < single; ++i) add_single();
    const int uses = pick(0, 1) * pick(0, 60);
    for (int i = 0; i < uses; ++i) add_use();
  }

  /// Everything that can be observed, with a look at the links in between.
  std::vector<std::int64_t> observe(int threads) {
    auto all = observed(world_, threads, {grid_ * (spread_ / 2), grid_ * spread_ + 100_ns, Time::never()},
                        messages_, uses_);
    all.push_back(static_cast<std::int64_t>(world_.fabric.counters().packet_hops));
    return all;
  }
  FabricCounters counters() const { return world_.fabric.counters(); }

 private:
  /// Half of the machines have links on which packets take whole picoseconds.
  std::vector<std::string> machine(bool narrow_borders) {
    const bool odd = pick(0, 1) == 0;
    const auto gbs = [&] {
      return odd ? fmt::format("{}.{}", pick(20, 700), pick(0, 9))
                 : fmt::format("{}", pick({32, 64, 128, 256, 512}));
    };
    std::vector<std::string> all = {fmt::format("sip.cube_mesh.w={}", pick(1, 2)),
                                    fmt::format("sip.cube_mesh.h={}", pick(1, 2))};
    if (narrow_borders)
      all.insert(all.end(), {"system.switch.overhead_ns=0", "sip.io.pcie_ep.overhead_ns=0"});
    if (pick(0, 2) == 0) return all;  // otherwise the default machine
    for (const char* key : {"cube.routers.bw_gbs", "cube.ucie.bw_gbs", "cube.hbm.hbm_to_router_bw_gbs",
                            "pe.pe_dma.bw_gbs", "system.pcie.bw_gbs", "sip.io.io_noc.bw_gbs"})
      if (pick(0, 1)) all.push_back(fmt::format("{}={}", key, gbs()));
    if (pick(0, 1))
      all.push_back(fmt::format("fabric.packet_bytes={}", odd ? 16 * pick(4, 40) : pick({128, 512})));
    if (pick(0, 2) == 0) all.push_back(fmt::format("fabric.header_bytes={}", odd ? pick(1, 40) : 16));
    if (pick(0, 1)) all.push_back(fmt::format("cube.routers.buffer_packets={}", pick(1, 8)));
    return all;
  }

  PeCoord any_pe() { return {pick(0, 1), pick(0, world_.graph.cubes() - 1), pick(0, 7)}; }
  Time any_time() { return grid_ * pick(0, spread_); }
  NodeId any_end() {
    const PeCoord pe = any_pe();
    switch (pick(0, 9)) {
      case 0:
        return world_.graph.host();
      case 1:
        return world_.graph.sram({pe.sip, pe.cube});
      case 2:
        return world_.graph.pe(pe, NodeKind::pe_dma);
      case 3:
        return world_.graph.io(pe.sip, NodeKind::pcie_ep);
      case 4:
      case 5:
      case 6:
        return world_.graph.pe(pe, NodeKind::pe_tcm);
      default:
        return world_.graph.hbm_ctrl(pe);
    }
  }

  Tracked& add(NodeId from, NodeId to, Bytes bytes, Time at) {
    Tracked& message = *messages_.emplace_back(std::make_unique<Tracked>(world_.fabric, world_.simulation));
    message.route = &world_.fabric.route(from, to);
    message.bytes = bytes;
    message.send_at(at);
    return message;
  }

  /// Messages of one sender, mostly the host, that open at one instant: of one size, or nearly, or of any.
  void add_bundle() {
    const NodeId from = pick(0, 3) ? world_.graph.host() : any_end();
    const Time at = any_time();
    const int packet = static_cast<int>(world_.fabric.packet_bytes().count());
    const int bytes = pick(0, 1) ? packet * pick(1, 200) : pick(1, 200 * packet);
    const int like = pick(0, 2);
    const auto channel = static_cast<Channel>(pick(0, 2));
    const int count = pick(2, 40);
    for (int i = 0; i < count; ++i) {
      const NodeId to = pick(0, 5) ? world_.graph.hbm_ctrl(any_pe()) : any_end();
      if (to == from) continue;
      const int size = like == 0   ? bytes
                       : like == 1 ? bytes + pick(0, 1) * packet * pick(0, 9)
                                   : pick(1, 2 * bytes);
      add(from, to, Bytes(size), at).channel = pick(0, 9) ? channel : static_cast<Channel>(pick(0, 2));
    }
  }

  void add_single() {
    const NodeId from = any_end();
    const NodeId to = any_end();
    if (from == to) return;
    const Time at = any_time();
    Tracked& message = add(from, to, Bytes(pick(0, 1) ? pick(1, 64) * 128 : pick(1, 60'000)), at);
    message.channel = static_cast<Channel>(pick(0, 2));
    if (pick(0, 3)) return;
    // As a memory would: packets become ready one by one.
    const std::int64_t packet = world_.fabric.packet_bytes().count();
    Time ready = at;
    for (std::int64_t p = 0; p * packet < message.bytes.count(); ++p)
      message.ready.push_back(ready += grid_ * pick(0, 2));
  }

  void add_use() {
    const PeCoord pe = any_pe();
    const NodeId tcm = world_.graph.pe(pe, NodeKind::pe_tcm);
    const NodeId dma = world_.graph.pe(pe, NodeKind::pe_dma);
    Port* write = pick(0, 1) ? &world_.fabric.port(world_.graph.route(dma, tcm)[0]) : nullptr;
    uses_.push_back(std::make_unique<Use>(world_.fabric.partition_of(tcm), &world_.fabric.route(tcm, dma),
                                          write, Time::from_ps(pick(1, 20'000)), pick(0, 1),
                                          Time::from_ps(pick({1, 250, 500, 777, 30'000}))));
    uses_.back()->start_at(any_time());
  }

  World world_;
  Time grid_;
  int spread_ = 0;
  std::vector<std::unique_ptr<Tracked>> messages_;
  std::vector<std::unique_ptr<Use>> uses_;
};

// The host sends a packet of 2 ns (256 B at 128 GB/s) for each of 16 messages in turn: packet p of message i leaves at
// p · 32 ns + i · 2 ns, and no two of them meet on the way.
TEST(Trains, EqualMessagesThatLeaveTogetherCostAHandfulOfEventsEach) {
  World world;
  std::vector<Probe*> all;
  for (int i = 0; i < 16; ++i)
    all.push_back(&world.send(world.graph.host(), world.graph.hbm_ctrl({0, i / 8, i % 8}), 1_MiB));
  world.simulation.run();
  for (int i = 0; i < 16; ++i) {
    const Time last_packet = 32_ns * 4095 + 2_ns * i;
    EXPECT_EQ(all[static_cast<std::size_t>(i)]->delivered,
              last_packet + all[static_cast<std::size_t>(i)]->route->latency + 2_ns);
  }
  EXPECT_EQ(world.fabric.counters().in_one_piece, 16u);
  EXPECT_LT(world.simulation.counters().events, 16u * 10);  // not 16 · 4096 · 20
}

// Both go down column 4 of cube 0's routers, PE 5's packets from connection 2, one step of 30 ps further than those of
// PE 6 from connection 3, which are 2 ns behind them: PE 6's wait 30 ps there, every one.
TEST(Trains, PacketsThatAlwaysWaitForTheSameOnesStillMoveInOnePiece) {
  for (const FabricOptions options : {FabricOptions{}, FabricOptions{.shortcuts = false}}) {
    World world({}, options);
    const Probe& first = world.send("host", "sip0.cube4.hbm_ctrl.pe5", 1_MiB);
    const Probe& second = world.send("host", "sip0.cube4.hbm_ctrl.pe6", 1_MiB);
    world.simulation.run();
    const Time last_packet = 4_ns * 4095;
    EXPECT_EQ(first.delivered, last_packet + first.route->latency + 2_ns);
    EXPECT_EQ(second.delivered, last_packet + 2_ns + 30_ps + second.route->latency + 2_ns);
    const auto column =
        world.graph.route(world.graph.find("sip0.cube0.r0c4"), world.graph.find("sip0.cube0.r1c4"))[0];
    EXPECT_EQ(world.fabric.use(column).deepest_wait, 30_ps);
    EXPECT_EQ(world.fabric.counters().in_one_piece, options.shortcuts ? 2u : 0u);
  }
}

/// Eight messages of the host in turn: each slice's link is busy for 2 of 16 ns. PE 0's packets reach their slice's link
/// at p · 16 ns + the way there without the link's own wire of 1 ps.
struct HostWritesToACube {
  explicit HostWritesToACube(FabricOptions options) : world({}, options) {
    for (int pe = 0; pe < 8; ++pe) world.send(world.graph.host(), world.graph.hbm_ctrl({0, 0, pe}), 1_MiB);
  }
  /// What PE 0 sends is at the router at once, if it comes from the TCM or the DMA; the slice's link begins there.
  const Probe& run_with(const char* from, Bytes bytes, Time at) {
    const Probe& probe = world.send(from, "sip0.cube0.hbm_ctrl.pe0", bytes, at);
    world.simulation.run();
    EXPECT_EQ(world.probes[0]->delivered, 16_ns * 4095 + way.latency + 2_ns);  // nobody is late at the end
    return probe;
  }
  Time deepest_wait() const { return world.fabric.use(way.hops.back().link).deepest_wait; }
  std::uint64_t in_one_piece() const { return world.fabric.counters().in_one_piece; }

  World world;
  const Route& way = world.fabric.route(world.graph.host(), world.graph.hbm_ctrl({0, 0, 0}));
  const Time packet = 16_ns * 100 + way.hops.back().before;
};

// The packet from the PE takes the shared link alone, for it has no period in common with the train there.
TEST(Trains, WhoFindsAGapDisturbsNobody) {
  for (const bool runs : {true, false}) {
    HostWritesToACube host({.shortcuts = runs});
    const Probe& in_a_gap = host.run_with("sip0.cube0.pe0.pe_tcm", 256_B, host.packet + 5_ns);
    EXPECT_EQ(in_a_gap.delivered, host.packet + 5_ns + in_a_gap.route->latency + 1_ns);
    EXPECT_EQ(host.deepest_wait(), 0_ns);
    EXPECT_EQ(host.in_one_piece(), runs ? 8u : 0u);
  }
}

// From the PE's DMA it is 1 ps to the router, so that its packet (256 B at 256 GB/s) has the slice's link from 400 ps before
// the host's packet comes until 600 ps after. That waits, but is through in time: 600 ps + 1 ns < 2 ns, when its tail
// comes. Seven trains never were in anybody's way; a few packets of the eighth come alone.
TEST(Trains, WhoFindsNoGapHoldsUpOneTrainForAWhile) {
  for (const bool runs : {true, false}) {
    HostWritesToACube host({.shortcuts = runs});
    const Probe& between = host.run_with("sip0.cube0.pe0.pe_dma", 256_B, host.packet - 400_ps - 1_ps);
    EXPECT_EQ(between.delivered, host.packet - 400_ps + 1_ps + 1_ns);
    EXPECT_EQ(host.deepest_wait(), 600_ps);
    EXPECT_EQ(host.in_one_piece(), runs ? 7u : 0u);
    EXPECT_EQ(host.world.simulation.counters().events < 300, runs);
  }
}

// Two packets of the PE: the second reaches the slice's link together with the host's packet, whose sender comes first,
// and waits the 2 ns that it takes.
TEST(Trains, HeadsOfOneInstantGoBySenderWhetherInATrainOrNot) {
  for (const bool runs : {true, false}) {
    HostWritesToACube host({.shortcuts = runs});
    const Probe& late = host.run_with("sip0.cube0.pe0.pe_dma", 512_B, host.packet - 1_ns - 1_ps);
    EXPECT_EQ(late.delivered, host.packet + 2_ns + 1_ns + 1_ps);
    EXPECT_EQ(host.deepest_wait(), 2_ns);
  }
}

TEST(Trains, AMessageToAnotherSipCostsAFewEventsALeg) {
  World world;
  const Probe& message = world.send("sip0.cube0.pe0.pe_tcm", "sip1.cube3.hbm_ctrl.pe5", 1_MiB);
  world.simulation.run();
  EXPECT_EQ(message.delivered, message.route->latency + 8192_ns);  // 1 MiB at 128 GB/s
  EXPECT_EQ(world.fabric.counters().in_one_piece, 1u);
  EXPECT_LT(world.simulation.counters().events, 15u);
}

// 256 B from the slice are 1 ns long at the TCM's write port, 3 ps after they left, and need half of it there. A store of
// 2 ns that comes at the same instant goes first, whoever came first as an event; by then the packet's tail is there.
TEST(Ports, StoresGoBeforeHeadsOfTheSameInstant) {
  for (const FabricOptions options : {FabricOptions{}, FabricOptions{.shortcuts = false}}) {
    for (const bool store_first : {true, false}) {
      World world({}, options);
      const NodeId tcm = world.graph.find("sip0.cube0.pe0.pe_tcm");
      Port& port = world.fabric.port(world.graph.route(world.graph.find("sip0.cube0.pe0"), tcm)[0]);
      Use store(world.fabric.partition_of(tcm), nullptr, &port, 2_ns, 0);
      if (store_first) store.start_at(100_ns + 2_ps);
      const Probe& load = world.send("sip0.cube0.hbm_ctrl.pe0", "sip0.cube0.pe0.pe_tcm", 256_B, 100_ns);
      if (!store_first) world.simulation.run({.until = 100_ns}), store.start_at(100_ns + 2_ps);
      world.simulation.run();
      EXPECT_EQ(store.ended, 100_ns + 2_ps + 2_ns);
      EXPECT_EQ(load.delivered, store.ended + 500_ps + 1_ps);
    }
  }
}

TEST(Ports, UsesOfOneInstantGoByRank) {
  for (const bool smaller_first : {true, false}) {
    World world;
    const NodeId tcm = world.graph.find("sip0.cube0.pe0.pe_tcm");
    const NodeId dma = world.graph.find("sip0.cube0.pe0");
    Port& port = world.fabric.port(world.graph.route(dma, tcm)[0]);
    for (Port* write : {&port, static_cast<Port*>(nullptr)}) {
      const Time at = world.simulation.now() + 10_ns;
      Use a(world.fabric.partition_of(tcm), &world.fabric.route(tcm, dma), write, 2_ns, 0);
      Use b(world.fabric.partition_of(tcm), &world.fabric.route(tcm, dma), write, 3_ns, 1);
      (smaller_first ? a : b).start_at(at);
      (smaller_first ? b : a).start_at(at);
      world.simulation.run();
      EXPECT_EQ(a.ended, at + 2_ns);
      EXPECT_EQ(b.ended, at + 5_ns);
    }
  }
}

// A message's first packet (256 B at 512 GB/s) goes before a fetch that asks at the same instant; then they take turns.
TEST(Ports, AMessageGoesBeforeAFetchOfTheSameInstant) {
  for (const FabricOptions options : {FabricOptions{}, FabricOptions{.shortcuts = false}}) {
    for (const bool fetch_first : {true, false}) {
      World world({}, options);
      const NodeId tcm = world.graph.find("sip0.cube0.pe0.pe_tcm");
      Use fetch(world.fabric.partition_of(tcm), &world.fabric.route(tcm, world.graph.find("sip0.cube0.pe0")),
                nullptr, 3_ns, 0);
      if (fetch_first) fetch.start_at(10_ns);
      const Probe& store = world.send("sip0.cube0.pe0.pe_tcm", "sip0.cube0.r0c0", 512_B, 10_ns);
      if (!fetch_first) fetch.start_at(10_ns);
      world.simulation.run();
      EXPECT_EQ(fetch.ended, 10_ns + 500_ps + 3_ns);
      EXPECT_EQ(store.left, 10_ns + 500_ps + 3_ns + 500_ps);
    }
  }
}

/// A fetch in turns of 500 ps beside messages from the same TCM, whose read port has 512 GB/s: 500 ps a packet.
class Fetch {
 public:
  Fetch(FabricOptions options, Time duration, Time at) : world_({}, options), use_(make(duration, 0)) {
    use_->start_at(at);
  }
  /// As fast as the port.
  const Probe& beside(Bytes bytes, Time at) { return send("sip0.cube0.r0c0", bytes, at); }
  /// A packet every 2 ns: 128 GB/s.
  const Probe& beside_slowly(Bytes bytes, Time at) { return send("sip1.cube0.hbm_ctrl.pe0", bytes, at); }
  std::unique_ptr<Use> make(Time duration, int rank) {
    const NodeId tcm = world_.graph.find(kTcm);
    return std::make_unique<Use>(world_.fabric.partition_of(tcm),
                                 &world_.fabric.route(tcm, world_.graph.find("sip0.cube0.pe0")), nullptr,
                                 duration, rank, 500_ps);
  }
  Time end() {
    world_.simulation.run();
    return use_->ended;
  }

 private:
  static constexpr const char* kTcm = "sip0.cube0.pe0.pe_tcm";
  const Probe& send(const char* to, Bytes bytes, Time at) { return world_.send(kTcm, to, bytes, at); }
  World world_;
  std::unique_ptr<Use> use_;
};

const FabricOptions kBothWays[] = {{.shortcuts = true}, {.shortcuts = false}};

// The fetch has the port from 10 ns on, in turns of half a nanosecond. A message of two packets waits for the turn that
// is under way, or begins as it comes; then they alternate, until one of them is through.
TEST(Ports, AFetchLeavesThePortAtTheEndOfATurn) {
  struct Case {
    Time comes, left, fetched;
  };
  for (const FabricOptions options : kBothWays)
    for (const Case& c : {Case{11'200_ps, 13_ns, 15_ns},      // 11.5 … 12, fetch, 12.5 … 13
                          Case{11'499_ps, 13_ns, 15_ns},      //
                          Case{11'500_ps, 13'500_ps, 15_ns},  // 12 … 12.5, fetch, 13 … 13.5
                          Case{13'200_ps, 15_ns, 14'500_ps},  // 13.5 … 14, the rest of the fetch, 14.5 … 15
                          Case{13'600_ps, 15_ns, 14_ns}}) {  // behind the last turn
      Fetch fetch(options, 4_ns, 10_ns);
      const Probe& message = fetch.beside(512_B, c.comes);
      EXPECT_EQ(fetch.end(), c.fetched) << c.comes.ps();
      EXPECT_EQ(message.left, c.left) << c.comes.ps();
    }
}

// Packets leave at 10, 12 … 40 ns, as if there were no fetch, which asks at 10.3 and gets 1.5 ns of every 2 from 10.5 on:
// 15 of its 16 ns by 30, the last one from 30.5 to 31.5.
TEST(Ports, AFetchTakesWhatASlowMessageLeaves) {
  for (const FabricOptions options : kBothWays) {
    Fetch fetch(options, 16_ns, 10'300_ps);
    const Probe& message = fetch.beside_slowly(4_KiB, 10_ns);
    EXPECT_EQ(fetch.end(), 31'500_ps);
    EXPECT_EQ(message.left, 40'500_ps);
    EXPECT_EQ(message.delivered, 10_ns + message.route->latency + 32_ns);
  }
}

// The slow message wants the port at 10 and 12 ns; the fetch, from 10.5 on, has it till then, but a packet comes at 11.1
// and goes at 11.5. Then it is the fetch's turn: the slow message goes at 12.5, and the other 2.5 ns of the fetch at 13.
TEST(Ports, AFetchThatHasThePortUntilItIsWantedLeavesItToWhoComesEarlier) {
  for (const FabricOptions options : kBothWays) {
    Fetch fetch(options, 4_ns, 10'300_ps);
    const Probe& slow = fetch.beside_slowly(512_B, 10_ns);
    const Probe& packet = fetch.beside(256_B, 11'100_ps);
    EXPECT_EQ(fetch.end(), 15'500_ps);
    EXPECT_EQ(packet.left, 12_ns);
    EXPECT_EQ(slow.left, 13_ns);
  }
}

// Two engines: 2 ns each, and a packet of 500 ps at 10.5.
TEST(Ports, AFetchThatWasCutGoesOnBeforeTheNextOne) {
  for (const FabricOptions options : kBothWays)
    for (const Time second : {10_ns, 10'700_ps, 11'700_ps}) {
      Fetch fetch(options, 2_ns, 10_ns);
      const auto next = fetch.make(2_ns, 1);
      next->start_at(second);
      const Probe& packet = fetch.beside(256_B, 10'200_ps);
      EXPECT_EQ(fetch.end(), 12'500_ps) << second.ps();
      EXPECT_EQ(next->ended, 14'500_ps) << second.ps();
      EXPECT_EQ(packet.left, 11_ns) << second.ps();
    }
}

TEST(Trains, ChangeNoTimeAndNoLinksUse) {
  FabricCounters sum;
  const auto [first, end] = seeds(0, 300);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    Traffic trains(seed, {.shortcuts = true});
    Traffic packets(seed, {.shortcuts = false});
    ASSERT_EQ(trains.observe(1), packets.observe(1)) << "seed " << seed;
    sum += trains.counters();
  }
  EXPECT_GT(sum.train_hops, sum.packet_hops / 6);       // the shortcut is really taken,
  EXPECT_LT(sum.train_hops, sum.packet_hops * 9 / 10);  // and really left
}

TEST(Trains, ChangeNothingOnBordersOfAPicosecond) {
  const auto [first, end] = seeds(2000, 20);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    Traffic trains(seed, {.shortcuts = true}, true);
    Traffic packets(seed, {.shortcuts = false}, true);
    ASSERT_EQ(trains.observe(1), packets.observe(1)) << "seed " << seed;
  }
}

TEST(Trains, AreTheSameOnTwoThreads) {
  const auto [first, end] = seeds(1000, 5);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    Traffic one(seed, {});
    Traffic two(seed, {});
    ASSERT_EQ(one.observe(1), two.observe(2)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kernbench::device::train_test
