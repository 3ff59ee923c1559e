// Those who come to a source at one instant: the order in which they leave does not depend on how the simulation came to
// that instant.
#include <gtest/gtest.h>

#include "device/device_world.hpp"
#include "device/fabric_world.hpp"

namespace kernbench::device::source_order_test {
namespace {

using testing::Machine;
using testing::Probe;
using testing::Transfer;
using testing::World;

const FabricOptions kBothWays[] = {{.shortcuts = true}, {.shortcuts = false}};
constexpr const char* kTcm = "sip0.cube0.pe0.pe_tcm";  // its read port: 256 B take 500 ps
constexpr std::int64_t kKiB = 1024;

// Four packets each, in turn: the one with the smaller rank has the even half nanoseconds.
TEST(MessagesOfOneInstant, GoByRank) {
  for (const FabricOptions options : kBothWays)
    for (const bool smaller_first : {true, false}) {
      World world({}, options);
      const auto send = [&](std::uint32_t rank) -> const Probe& {
        Probe& probe = world.send(kTcm, "sip0.cube0.r0c0", 1_KiB, 10_ns);
        probe.rank = rank;
        return probe;
      };
      const Probe& first = send(smaller_first ? 3 : 4);
      const Probe& second = send(smaller_first ? 4 : 3);
      world.simulation.run();
      EXPECT_EQ((smaller_first ? first : second).left, 10_ns + 3'500_ps);
      EXPECT_EQ((smaller_first ? second : first).left, 10_ns + 4_ns);
    }
}

// The message before them has its second and last packet from 500 ps to 1,000 ps. Who comes at 500 ps, before or after that
// packet has started, finds the source at work: after its class comes the turn of the next one.
TEST(MessagesOfOneInstant, FindTheSourceAtWorkWhenTheLastPacketStarts) {
  for (const FabricOptions options : kBothWays)
    for (const bool before : {true, false}) {
      World world({}, options);
      world.send(kTcm, "sip0.cube0.r0c0", 512_B);
      if (!before) world.simulation.run({.until = 400_ps});
      const Probe& compute = world.send(kTcm, "sip0.cube0.r0c0", 256_B, 500_ps, Channel::compute);
      const Probe& queue = world.send(kTcm, "sip0.cube0.r0c0", 256_B, 500_ps, Channel::queue);
      world.simulation.run();
      EXPECT_EQ(queue.left, 1'500_ps) << before;
      EXPECT_EQ(compute.left, 2_ns) << before;
    }
}

// A picosecond later it is idle, and begins with the first class.
TEST(MessagesOfOneInstant, FindTheSourceIdleAfterTheLastPacketHasStarted) {
  for (const FabricOptions options : kBothWays) {
    World world({}, options);
    world.send(kTcm, "sip0.cube0.r0c0", 512_B);
    const Probe& queue = world.send(kTcm, "sip0.cube0.r0c0", 256_B, 501_ps, Channel::queue);
    const Probe& compute = world.send(kTcm, "sip0.cube0.r0c0", 256_B, 501_ps, Channel::compute);
    world.simulation.run();
    EXPECT_EQ(compute.left, 1'500_ps);
    EXPECT_EQ(queue.left, 2_ns);
  }
}

// PE 0 writes 8 KiB of its TCM to its slice: a packet every nanosecond, of 500 ps at the port; the last one leaves at 31.5 ns,
// and 4 KiB for slice 2 follow. At that instant a request of the next cube reaches the TCM. That the first write has left
// then is known, as an event, since it began; packet by packet, since 31 ns; that the request comes, since it was
// sent. In both cases the PE's own data goes first: packets of the write at 31.5 ns, 32.5 ns …, of the answer, at the
// 128 GB/s of its way, at 32 ns, 34 ns … The last packet of the write takes 1 ns of the slice's 256 GB/s, and a burst 8 ns.
TEST(MessagesOfOneInstant, OfAPeGoBeforeWhatOthersReadOfItsTcm) {
  for (const FabricOptions options : kBothWays) {
    Machine m({}, "default", options);
    const PeCoord here{0, 0, 0}, there{0, 1, 0};
    m.issue(here, Direction::write, m.device.hbm(here), {.row_bytes = 8 * kKiB}, true);
    const Transfer& write =
        m.issue(here, Direction::write, m.device.hbm({0, 0, 2}), {.row_bytes = 4 * kKiB}, true);
    const auto tcm = m.device.graph().pe(here, topology::NodeKind::pe_tcm);
    const auto dma = m.device.graph().pe(there, topology::NodeKind::pe_dma);
    const auto slice = m.device.hbm({0, 0, 2}).node();
    const auto own_dma = m.device.graph().pe(here, topology::NodeKind::pe_dma);
    const auto way = [&](topology::NodeId from, topology::NodeId to) {
      return m.device.fabric().route(from, to).latency;
    };
    m.device.simulation().run({.until = 31'500_ps - way(dma, tcm)});
    const Transfer& read = m.read(there, m.device.tcm(here), 0, 4 * kKiB);
    m.run();
    EXPECT_EQ(write.retired, 31'500_ps + 15 * 1_ns + way(tcm, slice) + 1_ns + 8_ns + way(slice, own_dma))
        << options.shortcuts;
    EXPECT_EQ(read.retired, 32_ns + 16 * 2_ns + way(tcm, dma)) << options.shortcuts;
  }
}

}  // namespace
}  // namespace kernbench::device::source_order_test
