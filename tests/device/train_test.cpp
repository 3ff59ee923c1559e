// Packets that move as trains are, to the picosecond, where they would be on their own: random traffic on random
// machines, packet by packet and in trains, on one thread and on two.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <random>

#include "device/fabric_world.hpp"

namespace kernbench::device {
namespace {

using testing::World;
using topology::NodeId;
using topology::NodeKind;

/// A message that remembers when each of its packets came, however that was told.
class Tracked final : public Message {
 public:
  Tracked(Fabric& fabric, sim::Simulation& simulation)
      : fabric_(fabric), simulation_(simulation), start_(*this) {}

  void send_at(Time at) { simulation_.partition(route->partition).schedule_at(start_, at); }
  /// When it left, when it was delivered, when each packet's last byte was there.
  std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> all = {left_.ps(), delivered_.ps()};
    for (const auto& [packet, tail] : tails_) all.push_back(tail.ps());
    for (const Run& run : runs_)
      for (std::int64_t p = run.first; p < run.end; ++p) all.push_back(run_tail(run, p).ps());
    std::sort(all.begin() + 2, all.end());
    return all;
  }

 private:
  void start() { fabric_.send(*this); }
  void on_left() override { left_ = simulation_.partition(route->partition).now(); }
  void on_delivered() override { delivered_ = simulation_.partition(route->last_partition).now(); }
  void on_packet(std::int64_t packet, Time tail) override { tails_[packet] = tail; }
  void on_run(const Run& run) override { runs_.push_back(run); }
  void on_run_cut(std::int64_t from, std::int64_t end) override {
    for (Run& run : runs_)
      if (run.end == end) run.end = from;
  }

  Fabric& fabric_;
  sim::Simulation& simulation_;
  sim::MemberEvent<&Tracked::start> start_;
  Time left_ = Time::never();
  Time delivered_ = Time::never();
  std::map<std::int64_t, Time> tails_;
  std::vector<Run> runs_;
};

/// A fetch or a store of an engine: takes a TCM's port at some time.
class Use {
 public:
  Use(sim::Partition& partition, Route* read, Port* write, Time duration, int rank)
      : partition_(partition),
        read_(read),
        write_(write),
        duration_(duration),
        rank_(rank),
        start_(*this),
        done_(*this) {}
  void start_at(Time at) { partition_.schedule_at(start_, at); }
  Time ended = Time::never();

 private:
  void start() {
    if (write_)
      write_->occupy({duration_, &done_, rank_});
    else
      read_->source->take_turn({duration_, &done_, rank_});
  }
  void end() { ended = partition_.now(); }

  sim::Partition& partition_;
  Route* read_;
  Port* write_;
  Time duration_;
  int rank_;
  sim::MemberEvent<&Use::start> start_;
  sim::MemberEvent<&Use::end> done_;
};

/// Random machines and traffic, made from a seed.
class Traffic {
 public:
  /// Borders of a picosecond are a case of their own; with them, threads meet at every picosecond.
  Traffic(std::uint32_t seed, FabricOptions options, bool narrow_borders = false)
      : random_(seed), world_(machine(narrow_borders), options) {
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
    std::vector<std::int64_t> all;
    for (const Time until : {grid_ * (spread_ / 2), grid_ * spread_ + 100_ns, Time::never()}) {
      world_.simulation.run({.until = until, .threads = threads});
      for (std::uint32_t i = 0; i < world_.graph.link_count(); ++i) {
        const LinkUse use = world_.fabric.use({i});
        all.push_back(use.bytes.count());
        all.push_back(use.deepest_wait.ps());
      }
    }
    for (const auto& message : messages_) {
      const auto times = message->times();
      all.insert(all.end(), times.begin(), times.end());
    }
    for (const auto& use : uses_) all.push_back(use->ended.ps());
    all.push_back(static_cast<std::int64_t>(world_.fabric.counters().packet_hops));
    return all;
  }
  FabricCounters counters() const { return world_.fabric.counters(); }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  int pick(std::initializer_list<int> all) { return all.begin()[pick(0, static_cast<int>(all.size()) - 1)]; }

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
                                          write, Time::from_ps(pick(1, 20'000)), pick(0, 1)));
    uses_.back()->start_at(any_time());
  }

  std::mt19937 random_;
  World world_;
  Time grid_;
  int spread_ = 0;
  std::vector<std::unique_ptr<Tracked>> messages_;
  std::vector<std::unique_ptr<Use>> uses_;
};

TEST(Trains, ChangeNoTimeAndNoLinksUse) {
  FabricCounters sum;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    Traffic trains(seed, {.runs = true});
    Traffic packets(seed, {.runs = false});
    ASSERT_EQ(trains.observe(1), packets.observe(1)) << "seed " << seed;
    sum += trains.counters();
  }
  EXPECT_GT(sum.train_hops, sum.packet_hops / 6);       // the shortcut is really taken,
  EXPECT_LT(sum.train_hops, sum.packet_hops * 9 / 10);  // and really left
}

TEST(Trains, ChangeNothingOnBordersOfAPicosecond) {
  for (std::uint32_t seed = 2000; seed < 2020; ++seed) {
    Traffic trains(seed, {.runs = true}, true);
    Traffic packets(seed, {.runs = false}, true);
    ASSERT_EQ(trains.observe(1), packets.observe(1)) << "seed " << seed;
  }
}

TEST(Trains, AreTheSameOnTwoThreads) {
  for (std::uint32_t seed = 1000; seed < 1005; ++seed) {
    Traffic one(seed, {});
    Traffic two(seed, {});
    ASSERT_EQ(one.observe(1), two.observe(2)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kernbench::device
