// Packets that start by themselves, for nobody else is at their source: what that spares, and that nobody can tell who comes before they
// have, when they do, or right after.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/instant.hpp"
#include "device/traffic.hpp"

namespace kernbench::device::start_test {
namespace {

using testing::Use;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

constexpr FabricOptions kPacketByPacket = {.shortcuts = false};

/// A message that is sent when its event fires; or in the second phase of that instant, as a choice of some rank.
class Sent final : public Message {
 public:
  Sent(World& world, NodeId from, NodeId to, Bytes size) : world_(world), asks_(*this), start_(*this) {
    route = &world.fabric.route(from, to);
    bytes = size;
    followed = false;
  }
  void send_at(Time at) { partition().schedule_at(start_, at); }
  void choose_at(Time at, std::uint64_t as) {
    rank_of_choice_ = as;
    partition().schedule_at(asks_, at);
  }
  /// From the choice's event on, with no delay.
  void and_then(Sent& other) { next_ = &other; }
  Time delivered = Time::never();

 private:
  sim::Partition& partition() { return world_.simulation.partition(route->partition); }
  void ask() { partition().choose(start_, rank_of_choice_); }
  void start() {
    world_.fabric.send(*this);
    if (next_) next_->send_at(partition().now());
  }
  void on_delivered() override { delivered = world_.simulation.partition(route->last_partition).now(); }
  World& world_;
  std::uint64_t rank_of_choice_ = 0;
  Sent* next_ = nullptr;
  sim::MemberEvent<&Sent::ask> asks_;
  sim::MemberEvent<&Sent::start> start_;
};

struct Cube : World {
  using World::World;
  NodeId dma(int pe) { return graph.pe({0, 0, pe}, NodeKind::pe_dma); }
  NodeId tcm(int pe) { return graph.pe({0, 0, pe}, NodeKind::pe_tcm); }
  NodeId slice(int pe) { return graph.hbm_ctrl({0, 0, pe}); }
  Time run(Sent& message) {
    simulation.run();
    return message.delivered;
  }
};

using Times = std::vector<Time>;

/// What happens to A, whose packet may leave at 10 ns though it is sent at 0, and to B of the same source, sent at `second`.
Times early_and(Time second, Channel channel, std::uint32_t rank, FabricOptions options) {
  Cube cube({}, options);
  Sent a(cube, cube.tcm(0), cube.tcm(7), 256_B), b(cube, cube.tcm(0), cube.tcm(6), 256_B);
  a.channel = Channel::queue;
  a.rank = 5;
  a.ready.push_back(10_ns);
  b.channel = channel;
  b.rank = rank;
  a.send_at(0_ps);
  b.send_at(second);
  cube.simulation.run();
  return {a.delivered, b.delivered};
}

// A is sent and is there, whenever its packet may leave: two events.
TEST(Start, APacketThatMayLeaveLaterStartsByItself) {
  Cube cube;
  Sent a(cube, cube.tcm(0), cube.tcm(7), 256_B);
  a.ready.push_back(10_ns);
  a.send_at(0_ps);
  EXPECT_EQ(cube.run(a), 10_ns + a.route->latency + a.route->pace.full());
  EXPECT_EQ(cube.simulation.counters().events, 2u);
}

// B takes the link before A may leave, and A waits for it; or behind A. At 10 ns A is there before B.
TEST(Start, WhoComesBeforeAPacketMayLeaveIsChosenAmong) {
  for (const Channel channel : {Channel::compute, Channel::queue, Channel::credit})
    for (const std::uint32_t rank : {1u, 9u})
      for (const Time second :
           {0_ps, 1_ps, 5_ns, 9_ns, 9'600_ps, 9'999_ps, 10_ns, 10'001_ps, 10'400_ps, 11_ns})
        EXPECT_EQ(early_and(second, channel, rank, {}), early_and(second, channel, rank, kPacketByPacket))
            << second.ps() << " ps, class " << static_cast<int>(channel) << ", rank " << rank;
  const Times before = early_and(9'999_ps, Channel::compute, 1, {});
  const Times after = early_and(10_ns, Channel::compute, 1, {});
  EXPECT_GT(before[0], after[0]) << "A waits for B, which came before it might leave";
  EXPECT_LT(before[1], after[1]) << "B waits for A, which was there before";
}

/// Two messages of one source at one instant, the one of smaller rank sent first or last.
Times at_one_instant(bool smaller_first, FabricOptions options) {
  Cube cube({}, options);
  Sent small(cube, cube.tcm(0), cube.tcm(7), 256_B), large(cube, cube.tcm(0), cube.tcm(6), 256_B);
  small.rank = 1;
  large.rank = 2;
  (smaller_first ? small : large).send_at(3_ns);
  (smaller_first ? large : small).send_at(3_ns);
  cube.simulation.run();
  return {small.delivered, large.delivered};
}

// The first one has started by itself when the second one comes; the smaller rank goes first all the same.
TEST(Start, OfOneInstantTheSmallerRankIsTheFirst) {
  const Times expected = at_one_instant(true, kPacketByPacket);
  for (const bool smaller_first : {true, false})
    for (const FabricOptions options : {FabricOptions{}, kPacketByPacket})
      EXPECT_EQ(at_one_instant(smaller_first, options), expected);
}

/// A of rank 9 is sent at 3 ns. B of rank 1 is sent by somebody who chooses at that instant, before or behind the source; and C, of rank
/// 0, by an event of no delay from there: in the next round.
Times in_rounds(bool b_before, bool with_c, FabricOptions options) {
  Cube cube({}, options);
  Sent a(cube, cube.tcm(0), cube.tcm(7), 256_B), b(cube, cube.tcm(0), cube.tcm(6), 256_B);
  Sent c(cube, cube.tcm(0), cube.tcm(5), 256_B);
  a.rank = 9;
  b.rank = 1;
  a.send_at(3_ns);
  b.choose_at(3_ns, choice_rank(b_before ? Chooser::memory : Chooser::link, 0));
  if (with_c) b.and_then(c);
  cube.simulation.run();
  return {a.delivered, b.delivered, c.delivered};
}

// B comes before the source would choose: both are chosen among. B comes later: A has started, though nobody
// chose it.
TEST(Start, AChoiceThatWasNotAskedForStandsFromItsTurnOn) {
  for (const bool b_before : {true, false})
    for (const bool with_c : {true, false})
      EXPECT_EQ(in_rounds(b_before, with_c, {}), in_rounds(b_before, with_c, kPacketByPacket))
          << b_before << ' ' << with_c;
  EXPECT_LT(in_rounds(true, false, {})[1], in_rounds(true, false, {})[0]) << "B of rank 1 goes first";
  EXPECT_LT(in_rounds(false, false, {})[0], in_rounds(false, false, {})[1]) << "A has started";
}

/// An engine's message that starts at 10 ns, and one out of the PE's slice that passes the engine, whose head is at the engine's
/// link `shift` from then.
Times past_the_engine(int shift, FabricOptions options) {
  Cube cube({}, options);
  Sent own(cube, cube.dma(0), cube.tcm(7), 256_B), passing(cube, cube.dma(0), cube.tcm(7), 256_B);
  passing.route = &cube.fabric.route(cube.slice(0), cube.dma(0), cube.tcm(7));
  const Hop* meeting = nullptr;
  for (const Hop& hop : passing.route->hops)
    if (hop.link == own.route->first().link) meeting = &hop;
  if (!meeting) return {};
  own.ready.push_back(100_ns);
  own.send_at(0_ps);
  passing.send_at(Time::from_ps(100'000 + shift) - meeting->before);
  cube.simulation.run();
  return {own.delivered, passing.delivered};
}

TEST(Start, WhoPassesTheLinkIsMetAsEver) {
  ASSERT_EQ(past_the_engine(0, {}).size(), 2u) << "the way past an engine takes its link";
  for (const int shift : {-3000, -1001, -1000, -999, -500, -1, 0, 1, 400, 1000, 3000})
    EXPECT_EQ(past_the_engine(shift, {}), past_the_engine(shift, kPacketByPacket)) << shift;
}

/// A message of a TCM and a fetch of an engine, which comes `shift` from when the message starts.
Times beside_a_use(int shift, bool early, FabricOptions options) {
  Cube cube({}, options);
  Sent a(cube, cube.tcm(0), cube.tcm(7), 256_B);
  Use use(cube.simulation.partition(1), a.route, nullptr, 7_ns, 0, 2_ns);
  if (early) a.ready.push_back(10_ns);
  a.send_at(early ? 0_ps : 10_ns);
  use.start_at(Time::from_ps(10'000 + shift));
  cube.simulation.run();
  return {a.delivered, use.ended};
}

TEST(Start, AUseOfTheLinkIsMetAsEver) {
  for (const bool early : {true, false})
    for (const int shift : {-9000, -2000, -1999, -1, 0, 1, 300, 500, 2000})
      EXPECT_EQ(beside_a_use(shift, early, {}), beside_a_use(shift, early, kPacketByPacket))
          << shift << ", early " << early;
}

// The memory says that the packet will leave later than it had said, before it has left or when it would.
TEST(Start, APacketThatMayLeaveLaterThanWasSaidWaits) {
  struct Doubt : sim::Event {
    Doubt(World& w, Sent& m) : Event(&fire), world(w), message(m), again(*this) {}
    static void fire(sim::Event& e) {
      auto& doubt = static_cast<Doubt&>(e);
      doubt.world.fabric.less_is_ready(doubt.message, 0);
      doubt.world.simulation.partition(1).schedule(doubt.again, 4_ns);
    }
    void say() {
      message.ready.push_back(world.simulation.partition(1).now() + 1_ns);
      world.fabric.more_is_ready(message);
    }
    World& world;
    Sent& message;
    sim::MemberEvent<&Doubt::say> again;
  };
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket})
    for (const Time at : {2_ns, 9'999_ps}) {
      Cube cube({}, options);
      Sent a(cube, cube.tcm(0), cube.tcm(7), 256_B);
      a.ready.push_back(10_ns);
      a.send_at(0_ps);
      Doubt doubt(cube, a);
      cube.simulation.partition(1).schedule_at(doubt, at);
      EXPECT_EQ(cube.run(a), at + 5_ns + a.route->latency + a.route->pace.full()) << options.shortcuts;
    }
}

}  // namespace
}  // namespace kernbench::device::start_test
