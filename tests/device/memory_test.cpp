#include <gtest/gtest.h>

#include <random>

#include "device/device_world.hpp"
#include "device/dram_world.hpp"

namespace kernbench::device::memory_test {
namespace {

using testing::Machine;
using testing::Transfer;

constexpr std::int64_t kKiB = 1024;

// A PE's own slice: port wire 1 ps, controller wire 1 ps, each way. 32 KiB at 256 GB/s: 128 ns. One burst: 8
// ns.
TEST(Hbm, APeReadsItsOwnSlice) {
  Machine m;
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 32 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 2_ps + 8_ns + 128_ns + 2_ps);
}

TEST(Hbm, APeWritesItsOwnSlice) {
  Machine m;
  const Transfer& t = m.write({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 32 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 2_ps + 128_ns + 8_ns + 2_ps);
}

// Into the TCM there is one wire more, and its port, as fast as the PE's, adds nothing.
TEST(Hbm, ALoadEndsInTheTcm) {
  Machine m;
  const Transfer& t =
      m.issue({0, 0, 0}, Direction::read, m.device.hbm({0, 0, 0}), {.row_bytes = 32 * kKiB}, true);
  m.run();
  EXPECT_EQ(t.retired, 2_ps + 8_ns + 128_ns + 3_ps);
}

// PE 0 is at r0c0, PE 7 at r5c5: five steps of 30 ps east, five of 24 ps south, port and controller 1 ps
// each.
TEST(Hbm, APeReadsTheOppositeCorner) {
  Machine m;
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({0, 0, 7}), 0, 32 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 272_ps + 8_ns + 128_ns + 272_ps);
}

// One crossing: 16.203 ns there (see Fabric.ASignalPaysWiresAndOverheadsOnly). Back by connection 2, which is two rows farther in
// either cube: 4 · 24 ps more. 32 KiB at 128 GB/s: 256 ns.
TEST(Hbm, APeReadsTheNextCube) {
  Machine m;
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({0, 1, 0}), 0, 32 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 16'203_ps + 8_ns + 256_ns + 16'299_ps);
}

// Six crossings, cube 0 (0, 0) to cube 15 (3, 3), connection 0 throughout: E ports at row 1, S ports at column 1. In ps:
//   cube 0: port 1; r0c0 → r1c5 5·30 + 24 = 174; into the connection 1               176
//   3 crossings E, each a wire of 1 and two ports of 8 ns                              3 + 48 ns
//   cubes 1, 2: out of the connection 1, r1c0 → r1c5 150, in 1: 152 each             304
//   cube 3: out 1; r1c0 → r5c1 30 + 4·24 = 126; in 1                                 128
//   3 crossings S                                                                      3 + 48 ns
//   cubes 7, 11: out 1; r0c1 → r5c1 5·24 = 120; in 1: 122 each                       244
//   cube 15: out 1; r0c1 → r0c0 30; controller 1                                      32
// = 96.890 ns. Back: X first along row 3 of the mesh, by connection 2 at row 3, then north by connection 1 at column 2, around
// the HBM stack of each cube:
//   cube 15: 1; r0c0 → r3c0 3·24; 1 = 74 · 3 crossings W · cubes 14, 13: r3c5 → r3c0 5·30 + 2·24, and 2: 200 each
//   cube 12: r3c5 → r0c2 3·30 + 3·24, and 2 = 164 · 3 crossings N · cubes 8, 4: r5c2 → r0c2 5·24 + 2·30, and 2: 182 each
//   cube 0: r5c2 → r0c0 2·30 + 5·24, and 2 = 182
// 74 + 400 + 164 + 364 + 182 + 6 = 1,190 ps and 96 ns.
TEST(Hbm, APeReadsTheFarthestCube) {
  Machine m;
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({0, 15, 0}), 0, 32 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 96'890_ps + 8_ns + 256_ns + 97'190_ps);
}

// Another SIP: 47.102 ns each way without the data (see Fabric.AnotherSipIsReachedThroughTheSwitch).
TEST(Hbm, APeReadsAnotherSip) {
  Machine m;
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({1, 0, 0}), 0, 32 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 47'102_ps + 8_ns + 256_ns + 47'102_ps);
}

TEST(Hbm, UnalignedAccessesTouchOneBurstMore) {
  Machine m;
  // 256 B from offset 128 lie in two bursts, of two pseudo-channels: both through after 8 ns.
  const Transfer& two = m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 128, 256);
  m.run();
  EXPECT_EQ(two.retired, 4_ps + 8_ns + 1_ns);
  EXPECT_EQ(m.device.hbm({0, 0, 0}).bytes_served(), 512_B);
}

TEST(Hbm, APartialBurstCostsAWholeOne) {
  Machine m;
  // 1 B: its burst 8 ns; 1 B at 256 GB/s is 3.9 ps, rounded up.
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 1);
  m.run();
  EXPECT_EQ(t.retired, 4_ps + 8_ns + 4_ps);
}

/// Streams `count` transfers of `bytes` each and returns the rate in GB/s.
double stream_gbs(Machine& m, Direction direction, std::int64_t count, std::int64_t bytes,
                  std::int64_t stride, PeCoord pe = {0, 0, 0}, PeCoord slice = {0, 0, 0}) {
  for (std::int64_t i = 0; i < count; ++i)
    m.issue(pe, direction, m.device.hbm(slice), {.offset = i * stride, .row_bytes = bytes}, true);
  return static_cast<double>(count * bytes) / m.run().ns();
}

TEST(Hbm, ASequentialStreamReachesTheSlicesBandwidth) {
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const FabricOptions options : {FabricOptions{}, FabricOptions{.shortcuts = false}}) {
      Machine m({}, "default", options);
      const double gbs = stream_gbs(m, direction, 1000, 4 * kKiB, 4 * kKiB);
      EXPECT_GE(gbs, 0.98 * 256);
      EXPECT_LE(gbs, 256);
    }
  }
}

TEST(Hbm, AStreamThatHitsOnePseudoChannelGetsAnEighth) {
  Machine m;
  const double gbs = stream_gbs(m, Direction::read, 2000, 256, 8 * 256);
  EXPECT_NEAR(gbs, 32, 0.02 * 32);
  EXPECT_LE(gbs, 32);
}

TEST(Hbm, EightPesStreamingLocallyDoNotDisturbEachOther) {
  Machine m;
  for (int pe = 0; pe < 8; ++pe)
    for (std::int64_t i = 0; i < 500; ++i)
      m.issue({0, 0, pe}, Direction::read, m.device.hbm({0, 0, pe}),
              {.offset = i * 4 * kKiB, .row_bytes = 4 * kKiB}, true);
  const double gbs = 8 * 500.0 * 4 * kKiB / m.run().ns();
  EXPECT_GE(gbs, 0.98 * 8 * 256);
  EXPECT_LE(gbs, 8 * 256);
}

TEST(Hbm, AllPesReadingOneRemoteSliceGetItsBandwidthInTotal) {
  Machine m;
  const std::int64_t each = 40;
  for (int cube = 1; cube < 16; ++cube)
    for (int pe = 0; pe < 8; ++pe)
      for (std::int64_t i = 0; i < each; ++i)
        m.issue({0, cube, pe}, Direction::read, m.device.hbm({0, 0, 3}),
                {.offset = ((cube * 8 + pe) * each + i) * 4 * kKiB, .row_bytes = 4 * kKiB}, true);
  const double gbs = 15 * 8 * static_cast<double>(each) * 4 * kKiB / m.run().ns();
  EXPECT_GE(gbs, 0.95 * 256);
  EXPECT_LE(gbs, 256);
}

TEST(Hbm, ANeighbouringCubeIsWrittenOverAllConnections) {
  Machine m;
  for (int pe = 0; pe < 8; ++pe)
    for (std::int64_t i = 0; i < 250; ++i)
      m.issue({0, 0, pe}, Direction::write, m.device.hbm({0, 1, pe}),
              {.offset = i * 4 * kKiB, .row_bytes = 4 * kKiB}, true);
  const double gbs = 8 * 250.0 * 4 * kKiB / m.run().ns();
  EXPECT_GE(gbs, 0.9 * 512);
  EXPECT_LE(gbs, 512);
}

TEST(Hbm, GatherIsSlowerThanLinearByWhatItsAddressesImply) {
  // 64 rows of 64 B, 2 KiB apart: linear 4096 / 256 = 16 bursts over 8 channels; gather 64 bursts, all of
  // channel 0.
  const auto time = [](const char* strided) {
    Machine m({std::string("pe.pe_dma.strided=") + strided});
    const Transfer& t = m.issue({0, 0, 0}, Direction::read, m.device.hbm({0, 0, 0}),
                                {.offset = 0, .row_bytes = 64, .rows = 64, .stride = 2 * kKiB});
    m.run();
    return t.retired;
  };
  EXPECT_EQ(time("linear"), 4_ps + 8_ns + 16_ns);
  // The last of 64 bursts is through after 64 · 8 ns; with it the last packet's 1 ns.
  EXPECT_EQ(time("gather"), 4_ps + 512_ns + 1_ns);
  EXPECT_EQ(time("auto"), time("linear"));  // hbm.model is plain
}

TEST(Hbm, WithRowsEveryRowOfATransferIsChargedUnlessTold) {
  const auto served = [](std::vector<std::string> overrides) {
    Machine m(std::move(overrides), "realistic");
    m.issue({0, 0, 0}, Direction::read, m.device.hbm({0, 0, 0}),
            {.offset = 0, .row_bytes = 16, .rows = 4, .stride = 1024});
    m.run();
    return m.device.hbm({0, 0, 0}).bytes_served();
  };
  EXPECT_EQ(served({}), 256_B);                           // 4 rows, a burst of 64 B each
  EXPECT_EQ(served({"pe.pe_dma.strided=linear"}), 64_B);  // 64 B in all
  EXPECT_EQ(served({"pe.pe_dma.strided=gather"}), 256_B);
}

// Two rows of 128 B from offset 384 are one burst, number 1. Somebody's byte of burst 1 then waits for it; a byte of
// burst 0 does not. 256 B at 256 GB/s 1 ns, 1 B 4 ps; 2 ps each way.
TEST(Hbm, ALinearTransferBeginsWithTheBurstOfItsFirstByte) {
  const auto then = [](Direction direction, std::int64_t offset) {
    Machine m;
    HbmMemory& slice = m.device.hbm({0, 0, 0});
    m.issue({0, 0, 0}, direction, slice, {.offset = 384, .row_bytes = 128, .rows = 2, .stride = 4096});
    const Transfer& t = m.issue({0, 0, 0}, direction, slice, {.offset = offset, .row_bytes = 1});
    m.run();
    EXPECT_EQ(slice.bytes_served(), 512_B);
    return t.retired;
  };
  EXPECT_EQ(then(Direction::read, 256), 4_ps + 16_ns + 4_ps);
  EXPECT_EQ(then(Direction::read, 0), 4_ps + 8_ns + 1_ns + 4_ps);  // behind the first one's data
  EXPECT_EQ(then(Direction::write, 256), 4_ps + 1_ns + 16_ns);     // the first one is there after 1 ns
  EXPECT_EQ(then(Direction::write, 0), 4_ps + 1_ns + 4_ps + 8_ns);
}

TEST(Hbm, APacketLeavesWhenAllItsBurstsAreThrough) {
  Machine m({"fabric.packet_bytes=512"});
  m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 256);
  const Transfer& t = m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 512);
  m.run();
  // Burst 0 is the second of its channel, 16 ns; burst 1 is through after 8. 512 B at 256 GB/s: 2 ns.
  EXPECT_EQ(t.retired, 4_ps + 16_ns + 2_ns);
}

TEST(Hbm, AWriteIsInWhenItsLastBurstIs) {
  Machine m;
  for (int i = 0; i < 3; ++i) m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), i * 2048, 256);
  const Transfer& t = m.write({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 512);
  m.run();
  // Channel 0 has three reads from 2 ps on. Burst 0 arrives at 1.002, while the first is served; it waits for the second, which was
  // there before it, and is through at 24.002, before the third. Burst 1 is long before that. The acknowledgement takes 2 ps.
  EXPECT_EQ(t.retired, 24'004_ps);
  EXPECT_EQ(m.device.hbm({0, 0, 0}).bytes_served(), 256_B * 5);
}

// The next cube sends at 128 GB/s what its slice delivers at 256: both answers are open at once.
TEST(Hbm, AnswersToOneReaderLeaveInTheOrderOfItsRequests) {
  Machine m;
  const Transfer& first = m.read({0, 0, 0}, m.device.hbm({0, 1, 0}), 0, 4 * kKiB);
  const Transfer& second = m.read({0, 0, 0}, m.device.hbm({0, 1, 0}), 4 * kKiB, 4 * kKiB);
  m.run();
  EXPECT_EQ(first.retired, 16'203_ps + 8_ns + 32_ns + 16'299_ps);
  EXPECT_EQ(second.retired, first.retired + 32_ns);
}

// Rows mode: the read's request is there after 2 ps and opens the row; its data is on the bus 35.002 …
// 37.002. The write (64 B, there after 0.252 ns) could follow at once, but for the turn of 8 ns: through at
// 47.002.
TEST(Hbm, ReadsAndWritesTurnTheBusOfRows) {
  Machine m({"cube.hbm.model=rows", "cube.hbm.burst_bytes=64"});
  m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 64);
  const Transfer& write = m.write({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 64);
  m.run();
  EXPECT_EQ(write.retired, 47'004_ps);
}

// An access that is used again for another memory, issuer, end or direction takes the new way.
TEST(Hbm, AnAccessMayBeUsedAgainForAnythingElse) {
  struct Once final : Access {
    explicit Once(sim::Partition& p) : partition(p) {}
    void on_done() override { done = partition.now(); }
    sim::Partition& partition;
    Time done;
  };
  Machine m({"pe.pe_tcm.read_bw_gbs=128"});
  const topology::Graph& graph = m.device.graph();
  const auto dma = [&](int pe) { return graph.pe({0, 0, pe}, topology::NodeKind::pe_dma); };
  const topology::NodeId tcm = graph.pe({0, 0, 0}, topology::NodeKind::pe_tcm);
  Once access(m.device.simulation().partition(1));
  const auto time = [&](Memory& memory, topology::NodeId issuer, topology::NodeId end, Direction direction) {
    const Time start = m.device.simulation().now();
    access.start(memory, issuer, end, direction, {.row_bytes = 256});
    m.run();
    return access.done - start;
  };
  HbmMemory& own = m.device.hbm({0, 0, 0});
  // A burst 8 ns; 256 B at 256 GB/s 1 ns, out of the TCM at 128 GB/s 2 ns. PE 0 to its slice 2 ps, its TCM
  // 3 ps, PE 7 272 ps, and as much back.
  EXPECT_EQ(time(own, dma(0), dma(0), Direction::read), 2_ps + 9_ns + 2_ps);
  EXPECT_EQ(time(own, dma(0), tcm, Direction::read), 2_ps + 9_ns + 3_ps);
  EXPECT_EQ(time(own, dma(0), tcm, Direction::write), 3_ps + 10_ns + 2_ps);
  EXPECT_EQ(time(own, dma(7), tcm, Direction::write), 3_ps + 10_ns + 272_ps);
  EXPECT_EQ(time(own, dma(7), tcm, Direction::read), 272_ps + 9_ns + 3_ps);
  EXPECT_EQ(time(m.device.hbm({0, 0, 7}), dma(7), dma(7), Direction::read), 2_ps + 9_ns + 2_ps);
}

TEST(Hbm, ASeriesOfBurstsIsServedAsOneByOne) {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (const char* model : {"plain", "rows"}) {
    const auto machine = testing::load({std::string("cube.hbm.model=") + model, "cube.hbm.access_ns=3"});
    for (int trial = 0; trial < 200; ++trial) {
      const auto at_once = testing::make_dram(machine);
      const auto one_by_one = testing::make_dram(machine);
      Time now;
      for (int i = 0; i < 6; ++i) {  // each begins with what the others left
        const std::int64_t first = pick(0, 100);
        const std::int64_t count = pick(1, 60);
        const Time period = Time::from_ps(pick(1, 3000));
        Time through;
        for (std::int64_t b = 0; b < count; ++b)
          through = std::max(through, one_by_one->take(first + b, Direction::write, now + period * b));
        ASSERT_EQ(at_once->serve_series(first, count, Direction::write, now, period), through);
        now += Time::from_ps(pick(0, 200'000));
      }
    }
  }
}

TEST(Hbm, BurstsAskedForTogetherAreServedAsOneByOne) {
  for (const char* model : {"plain", "rows"}) {
    const auto machine = testing::load({std::string("cube.hbm.model=") + model, "cube.hbm.access_ns=3"});
    const auto together = testing::make_dram(machine);
    const auto one_by_one = testing::make_dram(machine);
    Time now;
    for (const std::int64_t first : {5, 0, 13, 700}) {  // each begins with what the others left
      std::vector<Time> all(21);
      together->serve_all(first, Direction::read, now, all);
      for (std::size_t b = 0; b < all.size(); ++b)
        ASSERT_EQ(all[b], one_by_one->take(first + static_cast<std::int64_t>(b), Direction::read, now));
      now += 9_ns;
    }
  }
}

// 16 KiB from byte 100 on are in ⌈(100 + 16384) / 256⌉ = 65 bursts. The last one is the ninth of channel 0, through after
// 72 ns; then the last packet crosses.
TEST(Hbm, AReadThatBeginsWithinABurstTakesOneMore) {
  Machine m;
  HbmMemory& slice = m.device.hbm({0, 0, 0});
  const Transfer& t = m.read({0, 0, 0}, slice, 100, 16 * kKiB);
  m.run();
  EXPECT_EQ(t.retired, 2_ps + 72_ns + 1_ns + 2_ps);
  EXPECT_EQ(slice.bytes_served(), Bytes(65 * 256));
}

TEST(Hbm, ReadsAndWritesShareTheChannels) {
  Machine m;
  m.write({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 64 * kKiB);
  m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 64 * kKiB, 64 * kKiB);
  // 128 KiB in all at 256 GB/s are 512 ns of channel time; the fabric alone would carry both at once in 256.
  EXPECT_GE(m.run(), 512_ns);
}

TEST(Hbm, RandomTrafficIsTheSameInPiecesPacketByPacketAndOnThreads) {
  const auto times = [](std::uint32_t seed, FabricOptions options, int threads = 1) {
    Machine m({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"}, "default", options);
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    for (int i = 0; i < 200; ++i) {
      const PeCoord pe{pick(0, 1), pick(0, 1), pick(0, 7)};
      const PeCoord slice = pick(0, 1) ? pe : PeCoord{pick(0, 1), pick(0, 1), pick(0, 7)};
      m.issue(pe, pick(0, 1) ? Direction::read : Direction::write, m.device.hbm(slice),
              {.offset = pick(0, 1000) * 64, .row_bytes = pick(1, 100) * 64}, true);
    }
    m.device.simulation().run({.threads = threads});
    std::vector<std::int64_t> out;
    for (const auto& t : m.transfers) out.push_back(t->retired.ps());
    return out;
  };
  for (std::uint32_t seed = 0; seed < 50; ++seed)
    ASSERT_EQ(times(seed, {}), times(seed, {.shortcuts = false})) << "seed " << seed;
  for (std::uint32_t seed = 0; seed < 5; ++seed)
    for (const int threads : {2, 3}) ASSERT_EQ(times(seed, {}), times(seed, {}, threads)) << "seed " << seed;
}

// Odd sizes, unaligned places, rows of bytes, every memory, machines whose packets and bursts do not fit.
TEST(Hbm, OddTrafficIsTheSameInPiecesAndPacketByPacket) {
  const std::vector<std::vector<std::string>> machines = {
      {},
      {"fabric.packet_bytes=100", "cube.hbm.hbm_to_router_bw_gbs=77.7", "cube.ucie.bw_gbs=33.3"},
      {"fabric.packet_bytes=4096", "cube.hbm.burst_bytes=64", "pe.pe_dma.strided=gather"},
      {"cube.hbm.model=rows", "cube.hbm.burst_bytes=64", "pe.pe_dma.overhead_ns=1.5"},
      {"fabric.header_bytes=16", "fabric.request_bytes=32", "fabric.ack_bytes=16"},
  };
  const auto times = [&](std::uint32_t seed, FabricOptions options) {
    std::vector<std::string> overrides = machines[seed % machines.size()];
    overrides.insert(overrides.end(), {"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"});
    Machine m(overrides, "default", options);
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    for (int i = 0; i < 120; ++i) {
      const PeCoord pe{pick(0, 1), pick(0, 1), pick(0, 7)};
      const PeCoord at = pick(0, 1) ? pe : PeCoord{pick(0, 1), pick(0, 1), pick(0, 7)};
      Memory& memory = pick(0, 3)               ? m.device.hbm(at)
                       : pick(0, 1) && at != pe ? m.device.tcm(at)
                                                : m.device.sram(at.in_cube());
      const int bytes = pick(0, 1)
                            ? pick(1, 3000)
                            : std::vector{1, 255, 256, 257, 4095, 4097}[static_cast<std::size_t>(pick(0, 5))];
      m.issue(
          pe, pick(0, 1) ? Direction::read : Direction::write, memory,
          {.offset = pick(0, 5000), .row_bytes = bytes, .rows = pick(0, 2) ? 1 : pick(2, 5), .stride = 5000},
          pick(0, 1) == 0);
    }
    m.run();
    std::vector<std::int64_t> out;
    for (const auto& t : m.transfers) out.push_back(t->retired.ps());
    return out;
  };
  for (std::uint32_t seed = 0; seed < 80; ++seed)
    ASSERT_EQ(times(seed, {}), times(seed, {.shortcuts = false})) << "seed " << seed;
}

TEST(Sram, ItsPortIsTheLastLink) {
  Machine m;
  // PE 4 is at r5c0, the SRAM behind r3c0: two steps of 24, its wire 9, the PE's port 1; overhead 2 ns on
  // arrival. 4 KiB at 128 GB/s: 32 ns.
  const Transfer& read = m.read({0, 0, 4}, m.device.sram({0, 0}), 0, 4 * kKiB);
  m.run();
  EXPECT_EQ(read.retired, (58_ps + 2_ns) + 32_ns + 58_ps);
}

TEST(Dma, KeepsEightTransfersInFlightAndRetiresInOrder) {
  Machine m;
  std::vector<Transfer*> all;
  all.push_back(&m.read({0, 0, 0}, m.device.hbm({0, 15, 0}), 0, 64));  // far away
  for (int i = 0; i < 8; ++i) all.push_back(&m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), i * 256, 64));
  m.run();
  // The far one comes last but retires first; the ninth can only start then.
  for (int i = 1; i < 8; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)]->retired, all[0]->retired);
  // 64 B of its own slice: request 2 ps, burst 8 ns, 0.25 ns, 2 ps
  EXPECT_EQ(all[8]->retired, all[0]->retired + 8'254_ps);
}

TEST(Dma, ATransferOfSeveralPiecesRetiresWithTheLast) {
  for (const Direction direction : {Direction::read, Direction::write}) {
    Machine m;
    Transfer& t = m.issue({0, 0, 0}, direction, m.device.hbm({0, 0, 0}), {.row_bytes = 256});
    Transfer& two = *m.transfers.emplace_back(std::make_unique<Transfer>(m.device.simulation().partition(1)));
    two.direction = direction;
    two.end = t.end;
    two.pieces = {{&m.device.hbm({0, 1, 0}), {.row_bytes = 4 * kKiB}},
                  {&m.device.hbm({0, 0, 0}), {.offset = 256, .row_bytes = 256}}};
    m.device.dma({0, 0, 0}).issue(two);
    m.run();
    EXPECT_EQ(t.retired, 9'004_ps);
    // The piece in the next cube decides, though it is the first: 16.203 ns there and 16.299 back, a burst 8, 4 KiB at 128
    // GB/s 32 ns. Written, it leaves behind the 256 B of `t`, which take 0.5 ns of the PE's 512 GB/s port.
    const Time behind = direction == Direction::read ? 0_ps : 500_ps;
    EXPECT_EQ(two.retired, 16'203_ps + 16'299_ps + 40_ns + behind);
  }
}

TEST(Dma, OverheadComesBeforeEachRequest) {
  Machine m({"pe.pe_dma.overhead_ns=3"});
  const Transfer& a = m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 0, 64);
  const Transfer& b = m.read({0, 0, 0}, m.device.hbm({0, 0, 0}), 256, 64);
  m.run();
  EXPECT_EQ(a.retired, 3_ns + 8'254_ps);
  EXPECT_EQ(b.retired, 6_ns + 8'254_ps);
}

TEST(Locate, FindsTheMemoryBehindAnAddress) {
  Machine m;
  const auto hbm = m.device.locate(address::pe_hbm_addr({1, 2, 3}, 6_GiB, 512_B), 64_B);
  EXPECT_EQ(hbm.memory, &m.device.hbm({1, 2, 3}));
  EXPECT_EQ(hbm.extent.offset, 512);
  EXPECT_EQ(m.device.locate(address::cube_sram_addr({0, 1}, 0_B), 64_B).memory, &m.device.sram({0, 1}));
  EXPECT_EQ(m.device.locate(address::pe_tcm_addr({0, 1, 2}, 0_B), 64_B).memory, &m.device.tcm({0, 1, 2}));
  EXPECT_THROW(m.device.locate(address::pe_hbm_addr({0, 16, 0}, 6_GiB, 0_B), 64_B), InputError);
  EXPECT_THROW(m.device.locate(address::cube_sram_addr({0, 1}, 32_MiB), 1_B), InputError);
  EXPECT_THROW(m.device.locate(address::pe_tcm_addr({0, 0, 8}, 0_B), 1_B), InputError);
  EXPECT_THROW(m.device.locate(address::hbm_addr({0, 0}, 48_GiB), 1_B), InputError);
  EXPECT_THROW(m.device.locate(address::pe_status_addr({0, 0, 0}, 0_B), 1_B), InputError);
}

}  // namespace
}  // namespace kernbench::device::memory_test
