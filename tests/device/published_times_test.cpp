// The times that the earlier prototype published for the default machine. The shipped file must give them within 2 %.
#include <gtest/gtest.h>

#include "device/device_world.hpp"

namespace kernbench::device::published_times_test {
namespace {

using testing::Transfer;

/// The default machine as it ships, its routers included.
struct Shipped : testing::Machine {
  Shipped() : Machine({"cube.routers.overhead_ns=2.5"}) {}

  Transfer& read(PeCoord pe, PeCoord slice) {
    // Every reader has bytes of its own, so that crowds meet in the channels and not in the order of accesses.
    const std::int64_t offset = (pe.cube * 8 + pe.pe) * 16'384;
    return Machine::read(pe, device.hbm(slice), offset, 16'384);
  }
};

constexpr double kWithin = 0.02;

TEST(PublishedTimes, TheShippedFileIsTheMachineOfTheseTests) {
  const auto shipped = topology::load_machine("default", {}, topology::builtin_registry());
  EXPECT_EQ(shipped.at("cube.routers").number("overhead_ns"), 2.5);
  EXPECT_EQ(shipped, testing::load({"cube.routers.overhead_ns=2.5"}));
}

// One router of 2.5 ns there and one back, a burst of 8 ns, 16 KiB at 256 GB/s: 64 ns; four wires of 1 ps.
TEST(PublishedTimes, SixteenKiBFromTheOwnSliceTake77Ns) {
  Shipped m;
  const Transfer& read = m.read({0, 0, 0}, {0, 0, 0});
  m.run();
  EXPECT_EQ(read.retired, 77'004_ps);
  EXPECT_NEAR(read.retired.ns(), 77, kWithin * 77);
}

// PE 0's request passes one router; after the first burst of 8 ns, 8 × 16 KiB at the slice's 256 GB/s take 512 ns; the last
// of them go to PE 7 in the opposite corner, over eleven routers and 0.272 ns of wires.
TEST(PublishedTimes, EightPesOnOneSliceTake550To558Ns) {
  Shipped m;
  for (int pe = 0; pe < 8; ++pe) m.read({0, 0, pe}, {0, 0, 0});
  const Time end = m.run();
  EXPECT_EQ(end, 2'502_ps + 8_ns + 512_ns + 27'772_ps);
  const double ns = end.ns();
  EXPECT_GE(ns, 550 * (1 - kWithin));
  EXPECT_LE(ns, 558 * (1 + kWithin));
}

// Nobody shares anything: 128 × 16 KiB in the 77 ns of one.
TEST(PublishedTimes, A128PesReadTheirOwnSlicesAt27TBPerSecond) {
  Shipped m;
  for (int cube = 0; cube < 16; ++cube)
    for (int pe = 0; pe < 8; ++pe) m.read({0, cube, pe}, {0, cube, pe});
  const double tbs = 128 * 16'384 / m.run().ns() / 1000;
  EXPECT_NEAR(tbs, 27.2, kWithin * 27.2);
}

// 16 KiB at the 128 GB/s of a UCIe connection: 128 ns; a burst of 8; six crossings of 16 ns each way; the rest is routers,
// whose number depends on the connection that the two PEs use.
TEST(PublishedTimes, TheFarthestCubeTakes565To573Ns) {
  Shipped m;
  const Transfer& read = m.read({0, 0, 0}, {0, 15, 7});
  m.run();
  EXPECT_GE(read.retired.ns(), 565 * (1 - kWithin));
  EXPECT_LE(read.retired.ns(), 573 * (1 + kWithin));
}

}  // namespace
}  // namespace kernbench::device::published_times_test
