// Packets that wait for the write port of a TCM, which the units of its PE use too: as a train, and packet by packet.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "device/traffic.hpp"

namespace kernbench::device::queueing_test {
namespace {

using testing::observed;
using testing::Random;
using testing::seeds;
using testing::Tracked;
using testing::Use;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

/// Loads to one TCM and stores over its write port.
class Loads {
 public:
  explicit Loads(FabricOptions options) : world_({}, options) {}

  Tracked& load(Bytes bytes, Time at) {
    Tracked& message = *messages_.emplace_back(std::make_unique<Tracked>(world_.fabric, world_.simulation));
    message.route = &world_.fabric.route(world_.graph.find("sip0.cube0.hbm_ctrl.pe0"), tcm_);
    message.bytes = bytes;
    message.followed = false;
    message.send_at(at);
    return message;
  }
  void store(Time duration, Time at) {
    const NodeId dma = world_.graph.find("sip0.cube0.pe0");
    Port& port = world_.fabric.port(world_.graph.route(dma, tcm_)[0]);
    uses_.push_back(std::make_unique<Use>(world_.fabric.partition_of(tcm_), nullptr, &port, duration, 0));
    uses_.back()->start_at(at);
  }
  Time delivered(const Tracked& message) {
    world_.simulation.run();
    return Time::from_ps(message.times()[1]);
  }
  Time store_end(std::size_t i) const { return uses_[i]->ended; }
  Time deepest_wait() const {
    return world_.fabric.use(messages_.front()->route->hops.back().link).deepest_wait;
  }
  std::uint64_t events() const { return world_.simulation.counters().events; }

 private:
  World world_;
  NodeId tcm_ = world_.graph.find("sip0.cube0.pe0.pe_tcm");
  std::vector<std::unique_ptr<Tracked>> messages_;
  std::vector<std::unique_ptr<Use>> uses_;
};

constexpr FabricOptions kInTrains{}, kByPackets{.shortcuts = false};

// 1,024 packets leave the slice every ns and reach the port 2 ps later; over it, it is 1 ps more. A store of 100 ns that comes
// with packet 200 goes first: the packets behind it wait 100 ns and less, because the port takes two of them in a ns. Packet
// 400 waits for nobody any more, and the end is as if there had been no store.
TEST(Queueing, PacketsThatWaitForAStoreCatchUp) {
  for (const FabricOptions options : {kInTrains, kByPackets}) {
    Loads loads(options);
    const Tracked& load = loads.load(256_KiB, 0_ns);
    loads.store(100_ns, 200_ns + 2_ps);
    EXPECT_EQ(loads.delivered(load), 1024_ns + 3_ps);
    EXPECT_EQ(loads.store_end(0), 300_ns + 2_ps);
    EXPECT_EQ(loads.deepest_wait(), 100_ns);
    EXPECT_EQ(loads.events() < 20, options.shortcuts);
  }
}

// The store comes with packet 984: 40 packets are behind it, at 500 ps each. The last one comes at 1023 ns, long before.
// A second store, half a ns later, waits for the first, and the packets but for the one that has come wait for both.
TEST(Queueing, ALoadEndsLaterForAStoreAtItsEnd) {
  for (const FabricOptions options : {kInTrains, kByPackets}) {
    Loads loads(options);
    const Tracked& load = loads.load(256_KiB, 0_ns);
    loads.store(100_ns, 984_ns + 2_ps);
    EXPECT_EQ(loads.delivered(load), 984_ns + 2_ps + 100_ns + 20_ns + 1_ps);

    Loads twice(options);
    const Tracked& late = twice.load(256_KiB, 0_ns);
    twice.store(100_ns, 984_ns + 2_ps);
    twice.store(100_ns, 984_ns + 502_ps);
    EXPECT_EQ(twice.delivered(late), 984_ns + 2_ps + 200_ns + 20_ns + 1_ps);
    EXPECT_EQ(twice.store_end(1), 984_ns + 2_ps + 100_ns + 500_ps + 100_ns);  // packet 984 is before it
    EXPECT_EQ(twice.deepest_wait(), 199_ns + 500_ps);                         // that of packet 985
  }
}

// Two loads, one behind the other, and the port is taken while both are on their way: the second waits behind the first.
TEST(Queueing, LoadsThatWaitStayInOrder) {
  for (const FabricOptions options : {kInTrains, kByPackets}) {
    Loads loads(options);
    const Tracked& first = loads.load(8_KiB, 0_ns);  // 32 packets, 0 … 31 ns
    const Tracked& second = loads.load(8_KiB, 32_ns);
    loads.store(1000_ns, 0_ns);
    EXPECT_EQ(loads.delivered(first), 1000_ns + 16_ns + 1_ps);
    EXPECT_EQ(loads.delivered(second), 1000_ns + 32_ns + 1_ps);
    EXPECT_EQ(loads.deepest_wait(), 1000_ns - 2_ps);
    EXPECT_EQ(loads.events() < 20, options.shortcuts);
  }
}

/// Random loads and stores of a few PEs, from near and from far, made from a seed.
class PortTraffic : Random {
 public:
  PortTraffic(std::uint32_t seed, FabricOptions options) : Random(seed), world_(machine(), options) {
    grid_ = Time::from_ps(pick({1, 250, 500, 1000}));
    spread_ = 1 << pick(5, 11);
    pes_ = pick(1, 3);
    const int loads = pick(1, 30), stores = pick(0, 60);
    for (int i = 0; i < loads; ++i) add_load();
    for (int i = 0; i < stores; ++i) add_store();
  }

  std::vector<std::int64_t> observe() {
    auto all = observed(world_, 1, {grid_ * (spread_ / 3), grid_ * spread_ + 100_ns, Time::never()},
                        messages_, uses_);
    all.push_back(static_cast<std::int64_t>(world_.fabric.counters().packet_hops));
    return all;
  }
  FabricCounters counters() const { return world_.fabric.counters(); }

 private:
  std::vector<std::string> machine() {
    std::vector<std::string> all = {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1"};
    for (const char* key : {"cube.hbm.hbm_to_router_bw_gbs", "pe.pe_dma.bw_gbs", "cube.routers.bw_gbs"})
      if (pick(0, 2) == 0) all.push_back(fmt::format("{}={}", key, pick({64, 100, 128, 256, 300, 512})));
    if (pick(0, 3) == 0) all.push_back(fmt::format("fabric.packet_bytes={}", pick({128, 200, 512})));
    if (pick(0, 3) == 0) all.push_back(fmt::format("fabric.header_bytes={}", pick({3, 16})));
    if (pick(0, 3) == 0) all.push_back("cube.routers.buffer_packets=2");
    return all;
  }

  PeCoord any_pe() { return {0, 0, pick(0, pes_ - 1)}; }
  Time any_time() { return grid_ * pick(0, spread_); }
  NodeId tcm(const PeCoord& pe) { return world_.graph.pe(pe, NodeKind::pe_tcm); }

  NodeId sender(const PeCoord& to) {
    switch (pick(0, 9)) {
      case 0:
        return world_.graph.pe(to, NodeKind::pe_dma);
      case 1:
        return world_.graph.host();
      case 2:
        return world_.graph.sram({0, 0});
      case 3:
        return tcm({0, 0, (to.pe + 1) % 8});
      case 4:
      case 5:
        return world_.graph.hbm_ctrl(any_pe());
      default:
        return world_.graph.hbm_ctrl(to);
    }
  }

  void add_load() {
    const PeCoord to = any_pe();
    Tracked& message = *messages_.emplace_back(std::make_unique<Tracked>(world_.fabric, world_.simulation));
    message.route = &world_.fabric.route(sender(to), tcm(to));
    message.bytes = Bytes(pick(0, 1) ? pick(1, 200) * 256 : pick(1, 60'000));
    message.channel = static_cast<Channel>(pick(0, 5) ? 0 : pick(0, 2));
    message.followed = pick(0, 5) == 0;
    const Time at = any_time();
    message.send_at(at);
    if (pick(0, 5)) return;
    const std::int64_t packet = world_.fabric.packet_bytes().count();
    Time ready = at;  // as a memory would: packets become ready one by one
    for (std::int64_t p = 0; p * packet < message.bytes.count(); ++p)
      message.ready.push_back(ready += grid_ * pick(0, 2));
  }

  void add_store() {
    const PeCoord pe = any_pe();
    const NodeId dma = world_.graph.pe(pe, NodeKind::pe_dma);
    Port& port = world_.fabric.port(world_.graph.route(dma, tcm(pe))[0]);
    const Time duration = pick(0, 1) ? grid_ * pick(1, 64) : Time::from_ps(pick(1, 60'000));
    uses_.push_back(
        std::make_unique<Use>(world_.fabric.partition_of(dma), nullptr, &port, duration, pick(0, 1)));
    uses_.back()->start_at(any_time());
  }

  World world_;
  Time grid_;
  int spread_ = 0, pes_ = 1;
  std::vector<std::unique_ptr<Tracked>> messages_;
  std::vector<std::unique_ptr<Use>> uses_;
};

TEST(Queueing, TakesNoOtherTimesThanPacketsAlone) {
  std::uint64_t hops = 0, in_trains = 0;
  for (auto [seed, end] = seeds(1, 400); seed < end; ++seed) {
    PortTraffic trains(seed, kInTrains), packets(seed, kByPackets);
    ASSERT_EQ(trains.observe(), packets.observe()) << "seed " << seed;
    hops += trains.counters().packet_hops;
    in_trains += trains.counters().train_hops;
  }
  EXPECT_GT(in_trains, hops / 3);
}

}  // namespace
}  // namespace kernbench::device::queueing_test
