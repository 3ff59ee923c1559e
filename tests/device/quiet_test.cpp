// What nobody waits for makes no event: that a message has left, that bytes are in a memory. And nobody can tell.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "device/device_world.hpp"
#include "device/traffic.hpp"

namespace kernbench::device::quiet_test {
namespace {

using testing::Machine;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

/// A message of a lane. Only its end matters.
class Laned final : public Message {
 public:
  Laned(World& world, Lane& lane, NodeId from, NodeId to, Bytes size)
      : world_(world), lane_(lane), start_(*this) {
    route = &world.fabric.route(from, to);
    bytes = size;
    followed = false;
  }
  void send_at(Time at) { partition().schedule_at(start_, at); }
  Time delivered = Time::never();

 private:
  sim::Partition& partition() { return world_.simulation.partition(route->partition); }
  void start() { lane_.send(world_.fabric, *this); }
  void on_delivered() override { delivered = partition().now(); }
  World& world_;
  Lane& lane_;
  sim::MemberEvent<&Laned::start> start_;
};

/// When three messages are delivered: two of a lane from one PE's engine, the second one sent at `second`; and one of that engine
/// without a lane, sent at `other`, which takes turns with them. And how many events that took.
struct Three {
  Three(FabricOptions options, Bytes size, Time second, Time other) : world({}, options) {
    const auto node = [&](int pe, NodeKind kind) { return world.graph.pe({0, 0, pe}, kind); };
    const NodeId from = node(0, NodeKind::pe_dma);
    Laned a(world, lane, from, node(7, NodeKind::pe_tcm), size);
    Laned b(world, lane, from, node(6, NodeKind::pe_tcm), size);
    Laned c(world, own_lane, from, node(5, NodeKind::pe_tcm), 256_B);
    a.send_at(0_ps);
    if (second != Time::never()) b.send_at(second);
    if (other != Time::never()) c.send_at(other);
    world.simulation.run();
    delivered = {a.delivered, b.delivered, c.delivered};
    events = world.simulation.counters().events;
  }
  World world;
  Lane lane, own_lane;
  std::array<Time, 3> delivered;
  std::uint64_t events = 0;
};

// It is sent, and it is there. That it has left would be a third event.
TEST(Quiet, AMessageWithoutFollowersLeavesWithoutAnEvent) {
  const Three alone({}, 64_B, Time::never(), Time::never());
  EXPECT_EQ(alone.events, 2u);
  // Somebody follows it when it has left, and is alone as well.
  const Three one_by_one({}, 64_B, 100_ns, Time::never());
  EXPECT_EQ(one_by_one.events, 4u);
  EXPECT_EQ(Three({.shortcuts = false}, 64_B, 100_ns, Time::never()).delivered, one_by_one.delivered);
}

// The follower comes before, when, or after the first one has left, whose packets go one by one or as a train that is cut short by
// somebody else's.
TEST(Quiet, WhoFollowsInALaneWaitsUntilTheOneBeforeHasLeft) {
  for (const Bytes size : {64_B, 256_B, 5000_B})
    for (const Time other : {Time::never(), 0_ps, 700_ps, 3_ns})
      for (Time second; second < (size == 5000_B ? 24_ns : 1'500_ps);
           second += size == 5000_B ? 1_ns : 125_ps)
        for (const Time shift : {Time::from_ps(-1), 0_ps, 1_ps}) {
          const Time at = std::max(second + shift, Time());
          EXPECT_EQ(Three({}, size, at, other).delivered,
                    Three({.shortcuts = false}, size, at, other).delivered)
              << size.count() << " bytes, the second at " << at.ps() << ", another at " << other.ps();
        }
}

/// A write of a PE's engine into a slice of HBM: of which only the acknowledgement matters, or all.
class Write final : public Access {
 public:
  Write(Machine& machine, int pe, Bytes size, bool quiet)
      : machine_(machine),
        partition_(machine.device.simulation().partition(1)),
        dma_(machine.device.graph().pe({0, 0, pe}, NodeKind::pe_dma)),
        extent_{.row_bytes = size.count()},
        begin_(*this) {
    tell_when_left(!quiet);
    tell_when_committed(!quiet);
  }
  void begin_at(Time at) { partition_.schedule_at(begin_, at); }
  Time done;

 private:
  void begin() { start(machine_.device.hbm({0, 0, 0}), dma_, dma_, Direction::write, extent_); }
  void on_done() override { done = partition_.now(); }

  Machine& machine_;
  sim::Partition& partition_;
  const NodeId dma_;
  const Extent extent_;
  sim::MemberEvent<&Write::begin> begin_;
};

// It begins, its last byte is there, it is acknowledged. Where somebody wants to know, it has left and is in the
// memory, too. 256 B: 2 ps there, 1 ns at 256 GB/s, 8 ns for the burst, 2 ps back.
TEST(Quiet, AWriteOfWhichOnlyTheEndMattersIsThreeEvents) {
  for (const bool quiet : {true, false}) {
    Machine machine({"pe.pe_dma.bw_gbs=256"});
    Write write(machine, 0, 256_B, quiet);
    write.begin_at(0_ps);
    machine.run();
    EXPECT_EQ(write.done, 2_ps + 1_ns + 8_ns + 2_ps);
    EXPECT_EQ(machine.device.simulation().counters().events, quiet ? 3u : 5u);
  }
}

// Another PE's bytes come while those of the first wait for the memory: what was said of the first is taken back, and both go in turn.
TEST(Quiet, WhoComesBeforeBytesAreInTheMemoryChangesWhenTheyAre) {
  const auto times = [](bool quiet, bool runs, Bytes size, Time second) {
    Machine machine({"pe.pe_dma.bw_gbs=256"}, "default", {.shortcuts = runs});
    Write first(machine, 0, size, quiet), other(machine, 6, size, quiet);
    first.begin_at(0_ps);
    other.begin_at(second);
    machine.run();
    return std::array{first.done, other.done};
  };
  bool waited = false;
  for (const Bytes size : {256_B, 6144_B})
    for (Time second; second < 40_ns; second += 1'437_ps) {
      const auto expected = times(false, false, size, second);
      EXPECT_EQ(times(true, true, size, second), expected) << size.count() << " B, at " << second.ps();
      EXPECT_EQ(times(true, false, size, second), expected) << size.count() << " B, at " << second.ps();
      waited = waited || expected[0] != times(true, true, size, 200_ns)[0];
    }
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace kernbench::device::quiet_test
