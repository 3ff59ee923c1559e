// Where crowds form: many senders to one place, the smallest messages beside the largest, others that come at the very
// instants at which something happens. In trains and packet by packet, to the picosecond.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <mutex>
#include <tuple>

#include "device/traffic.hpp"

namespace kernbench::device::crowd_test {
namespace {

using testing::observed;
using testing::Random;
using testing::seeds;
using testing::Tracked;
using testing::Use;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

/// When packets had links: the instants at which it matters who comes.
class Instants final : public FabricWatcher {
 public:
  struct Booking {
    std::uint32_t link;
    Time start, end;
  };
  void on_link(const Message& message, std::int64_t packet, const Hop& hop, Time start, Time end) override {
    last_[{hop.link.index, message.route->from.index, message.route->to.index, packet}] = {start, end};
  }
  std::vector<Booking> all() const {
    std::vector<Booking> found;
    for (const auto& [what, times] : last_) found.push_back({std::get<0>(what), times.first, times.second});
    return found;
  }

 private:
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>, std::pair<Time, Time>>
      last_;
};

class Crowd : Random {
 public:
  Crowd(std::uint32_t seed, FabricOptions options) : Random(seed), world_(machine(), options) {
    grid_ = Time::from_ps(pick({1, 10, 125, 500, 1000, 4000}));
    spread_ = pick({0, 1, 7, 60, 1000});
    const int groups = pick(1, 3);
    for (int i = 0; i < groups; ++i) add_group();
    const int uses = pick(0, 1) * pick(0, 30);
    for (int i = 0; i < uses; ++i) add_use();
  }

  /// Others, whose heads reach links at the instants of these bookings, or a picosecond beside them.
  void disturb(const std::vector<Instants::Booking>& bookings) {
    if (bookings.empty()) return;
    std::map<std::uint32_t, std::vector<std::pair<Route*, Time>>>
        ways;  // over a link, and how long it takes to it
    for (int i = 0; i < 300; ++i) {
      const NodeId from = any_end();
      const NodeId to = any_end();
      if (from == to) continue;
      Route& route = world_.fabric.route(from, to);
      for (const Hop& hop : route.hops) ways[hop.link.index].push_back({&route, hop.before});
    }
    const int others = pick(1, 12);
    for (int i = 0; i < others; ++i) {
      const auto& booking =
          bookings[static_cast<std::size_t>(pick(0, static_cast<int>(bookings.size()) - 1))];
      const auto& over = ways[booking.link];
      if (over.empty()) continue;
      const auto& [route, before] =
          over[static_cast<std::size_t>(pick(0, static_cast<int>(over.size()) - 1))];
      const Time at =
          (pick(0, 1) ? booking.start : booking.end) + Time::from_ps(pick({0, 0, 0, 1, -1})) - before;
      if (at >= Time()) add(route->from, route->to, any_size(), at);
    }
  }

  std::vector<std::int64_t> observe(int threads) {
    return observed(world_, threads, {grid_ * (spread_ / 2) + 3_ns, grid_ * spread_ + 70_ns, Time::never()},
                    messages_, uses_);
  }
  std::vector<Instants::Booking> bookings() {
    Instants instants;
    world_.fabric.watch(&instants);
    world_.simulation.run();
    return instants.all();
  }
  FabricCounters counters() const { return world_.fabric.counters(); }

 private:
  /// Some have links so fast that a packet takes no time that could be counted; half of these have slow ones, too.
  std::vector<std::string> machine() {
    const bool odd = pick(0, 2) == 0;
    const int fast = pick(0, 7) ? 0 : pick({16'000, 20'001, 100'000, 1'000'000});
    const bool mixed = fast && pick(0, 1);
    const auto gbs = [&] {
      if (mixed && pick(0, 1)) return fmt::format("{}", pick({1, 64, 128, 256, 4000}));
      return fast  ? fmt::format("{}", fast)
             : odd ? fmt::format("{}.{}", pick({1, 20, 127, 400, 4000}), pick(0, 9))
                   : fmt::format("{}", pick({32, 64, 128, 256, 512, 1024}));
    };
    std::vector<std::string> all = {fmt::format("system.sips.count={}", pick(1, 4)),
                                    fmt::format("sip.cube_mesh.w={}", pick(1, 3)),
                                    fmt::format("sip.cube_mesh.h={}", pick(1, 3))};
    for (const char* key :
         {"cube.routers.bw_gbs", "cube.ucie.bw_gbs", "cube.hbm.hbm_to_router_bw_gbs", "pe.pe_dma.bw_gbs",
          "system.pcie.bw_gbs", "sip.io.io_noc.bw_gbs", "pe.pe_tcm.read_bw_gbs", "pe.pe_tcm.write_bw_gbs"})
      if (fast || pick(0, 2) == 0) all.push_back(fmt::format("{}={}", key, gbs()));
    if (pick(0, 2) == 0)
      all.push_back(fmt::format("fabric.packet_bytes={}",
                                odd ? pick({16, 48, 100, 257, 1000}) : pick({64, 1024, 4096})));
    if (pick(0, 3) == 0) all.push_back(fmt::format("cube.ucie.connections={}", pick({1, 2})));
    if (pick(0, 3) == 0)
      all.push_back(fmt::format("cube.routers.overhead_ns={}", pick(0, 1) ? "0.3" : "2.5"));
    if (pick(0, 3) == 0) all.push_back(fmt::format("system.ns_per_mm={}", pick(0, 1) ? "0.08" : "0.000001"));
    if (pick(0, 7) == 0) all.push_back("system.switch.overhead_ns=0.001");
    if (odd && pick(0, 1)) all.push_back(fmt::format("fabric.header_bytes={}", pick(1, 40)));
    if (pick(0, 1)) all.push_back(fmt::format("cube.routers.buffer_packets={}", pick(1, 8)));
    return all;
  }

  PeCoord any_pe() {
    return {pick(0, world_.graph.sips() - 1), pick(0, world_.graph.cubes() - 1), pick(0, 7)};
  }
  NodeId any_end() {
    if (pick(0, 11) == 0)
      return {static_cast<std::uint32_t>(pick(0, static_cast<int>(world_.graph.node_count()) - 1))};
    const PeCoord pe = any_pe();
    switch (pick(0, 8)) {
      case 0:
        return world_.graph.host();
      case 1:
        return world_.graph.sram({pe.sip, pe.cube});
      case 2:
        return world_.graph.pe(pe, NodeKind::pe_dma);
      case 3:
      case 4:
      case 5:
        return world_.graph.pe(pe, NodeKind::pe_tcm);
      default:
        return world_.graph.hbm_ctrl(pe);
    }
  }
  /// From a byte to a thousand packets, and what lies beside whole packets.
  Bytes any_size() {
    const int packet = static_cast<int>(world_.fabric.packet_bytes().count());
    switch (pick(0, 5)) {
      case 0:
        return Bytes(pick({1, 2, 63, 64, 65}));
      case 1:
        return Bytes(std::max(1, packet * pick(1, 5) + pick(-1, 1)));
      case 2:
        return Bytes(packet * pick(100, 1000));
      default:
        return Bytes(packet * pick(1, 40) + pick(0, 1) * pick(0, packet));
    }
  }

  void add(NodeId from, NodeId to, Bytes bytes, Time at) {
    if (from == to) return;
    Tracked& message = *messages_.emplace_back(std::make_unique<Tracked>(world_.fabric, world_.simulation));
    message.route = &world_.fabric.route(from, to);
    message.bytes = bytes;
    message.channel = static_cast<Channel>(pick({0, 0, 0, 0, 1, 2}));
    message.send_at(at);
    if (pick(0, 5)) return;
    const std::int64_t packet = world_.fabric.packet_bytes().count();
    const Time step = Time::from_ps(pick({1, 500, 1000, 2000, 8000}));
    Time ready = at;
    for (std::int64_t p = 0; p * packet < bytes.count(); ++p)
      message.ready.push_back(ready += step * pick(0, 1));
  }

  /// Many to one, one to many, or one to one, at one instant or at several.
  void add_group() {
    const int kind = pick(0, 3);
    const NodeId hub = kind == 1 && pick(0, 1) ? world_.graph.host() : any_end();
    const NodeId rim = any_end();
    const bool alike = pick(0, 1) == 0;
    const Bytes size = any_size();
    const int count = pick(2, 30);
    for (int i = 0; i < count; ++i) {
      const Time at = grid_ * pick(0, spread_);
      const Bytes bytes = alike ? size : any_size();
      if (kind == 0)
        add(any_end(), hub, bytes, at);
      else if (kind == 1)
        add(hub, any_end(), bytes, at);
      else if (kind == 2)
        add(hub, rim, bytes, at);
      else
        add(any_end(), any_end(), bytes, at);
    }
  }

  void add_use() {
    const PeCoord pe = any_pe();
    const NodeId tcm = world_.graph.pe(pe, NodeKind::pe_tcm);
    const NodeId dma = world_.graph.pe(pe, NodeKind::pe_dma);
    Port* write = pick(0, 1) ? &world_.fabric.port(world_.graph.route(dma, tcm)[0]) : nullptr;
    uses_.push_back(std::make_unique<Use>(world_.fabric.partition_of(tcm), &world_.fabric.route(tcm, dma),
                                          write, Time::from_ps(pick(1, 20'000)), pick(0, 1),
                                          Time::from_ps(pick({1, 250, 500, 777, 30'000}))));
    uses_.back()->start_at(grid_ * pick(0, spread_));
  }

  World world_;
  Time grid_;
  int spread_ = 0;
  std::vector<std::unique_ptr<Tracked>> messages_;
  std::vector<std::unique_ptr<Use>> uses_;
};

TEST(Crowds, AreTheSameInTrains) {
  FabricCounters sum;
  const auto [first, end] = seeds(0, 60);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    Crowd trains(seed, {.shortcuts = true});
    Crowd packets(seed, {.shortcuts = false});
    ASSERT_EQ(trains.observe(1), packets.observe(1)) << "seed " << seed;
    sum += trains.counters();
  }
  EXPECT_GT(sum.train_hops, sum.packet_hops / 6);
  EXPECT_LT(sum.train_hops, sum.packet_hops * 9 / 10);
}

TEST(Crowds, AreTheSameInTrainsWhenOthersComeAtTheVeryInstants) {
  const auto [first, end] = seeds(10'000, 60);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const auto bookings = Crowd(seed, {.shortcuts = false}).bookings();
    Crowd trains(seed, {.shortcuts = true});
    Crowd packets(seed, {.shortcuts = false});
    trains.disturb(bookings);
    packets.disturb(bookings);
    ASSERT_EQ(trains.observe(1), packets.observe(1)) << "seed " << seed;
  }
}

TEST(Crowds, AreTheSameOnAnyNumberOfThreads) {
  const auto [first, end] = seeds(20'000, 4);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const auto one = Crowd(seed, {}).observe(1);
    for (const int threads : {2, 4})
      ASSERT_EQ(Crowd(seed, {}).observe(threads), one) << "seed " << seed << ", " << threads << " threads";
  }
}

}  // namespace
}  // namespace kernbench::device::crowd_test
