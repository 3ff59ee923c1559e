// The row-buffer mode of HBM: 15 ns hit, 35 closed, 50 conflict; 64-byte bursts of 2 ns on 8 pseudo-channels
// of 16 banks; rows of 1024 B.
#include <gtest/gtest.h>

#include <random>

#include "device/device_world.hpp"
#include "device/dram.hpp"

namespace kernbench::device {
namespace {

constexpr std::int64_t kRowStride =
    8 * 16 * 16;  // bursts from a row to the next of the same bank: 8 channels · 16 a row · 16 banks

std::unique_ptr<Dram> dram(std::vector<std::string> overrides = {}) {
  overrides.push_back("cube.hbm.refresh_ns=0");
  return make_dram(testing::load(overrides, "realistic"));
}

TEST(Rows, TheThreeLatencies) {
  auto d = dram();
  EXPECT_EQ(d->serve(0, Direction::read, 0_ns), 37_ns);                  // closed: 35 + 2 on the bus
  EXPECT_EQ(d->serve(8, Direction::read, 1_us), 1_us + 17_ns);           // hit: 15 + 2
  EXPECT_EQ(d->serve(kRowStride, Direction::read, 2_us), 2_us + 52_ns);  // conflict: 50 + 2
}

TEST(Rows, HitsFollowEachOtherOnTheBus) {
  auto d = dram();
  Time last;
  for (int i = 0; i < 16; ++i) last = d->serve(8 * i, Direction::read, 0_ns);
  EXPECT_EQ(last, 35_ns + 16 * 2_ns);
}

TEST(Rows, ConflictsInOneBankTakeARowCycleEach) {
  auto d = dram();
  Time last;
  for (int i = 0; i < 100; ++i) last = d->serve(kRowStride * i, Direction::read, 0_ns);
  EXPECT_NEAR(last.ns(), 100 * 50, 0.05 * 100 * 50);
}

TEST(Rows, TurningTheBusAroundCostsAPause) {
  auto d = dram();
  const Time read = d->serve(0, Direction::read, 0_ns);
  EXPECT_EQ(d->serve(8, Direction::write, 0_ns), read + 8_ns + 2_ns);
}

TEST(Rows, OtherChannelsAndBanksAreIndependent) {
  auto d = dram();
  EXPECT_EQ(d->serve(0, Direction::read, 0_ns), 37_ns);
  EXPECT_EQ(d->serve(1, Direction::read, 0_ns), 37_ns);       // another channel
  EXPECT_EQ(d->serve(8 * 16, Direction::read, 0_ns), 39_ns);  // another bank of the first: shares its bus
}

double sequential_gbs(std::vector<std::string> overrides) {
  testing::Machine m(std::move(overrides), "realistic");
  constexpr std::int64_t kBytes = 16 << 10;
  for (std::int64_t i = 0; i < 1000; ++i)
    m.issue({0, 0, 0}, Direction::read, m.device.hbm({0, 0, 0}), {.offset = i * kBytes, .row_bytes = kBytes},
            true);
  return 1000.0 * kBytes / m.run().ns();
}

TEST(Rows, ASequentialStreamReachesThePeak) {
  const double gbs = sequential_gbs({"cube.hbm.refresh_ns=0"});
  EXPECT_GE(gbs, 0.98 * 256);
  EXPECT_LE(gbs, 256);
}

TEST(Rows, RefreshCostsItsShare) {
  const double expected = 256 * (1 - 350.0 / 3900);
  const double gbs = sequential_gbs({});
  EXPECT_NEAR(gbs, expected, 0.02 * expected);
}

// A refresh lasts from 3900 to 4250 ns. All banks have their row open; each is asked for a hit at 3880, whose
// data would be on the bus from 3895 on, 2 ns each: three begin before the refresh, the rest follow it.
TEST(Rows, NoDataMovesDuringARefresh) {
  auto d = make_dram(testing::load({}, "realistic"));
  const auto bank = [](std::int64_t b) { return 8 * 16 * b; };  // a burst of row 0 of bank b, channel 0
  for (int b = 0; b < 16; ++b) d->serve(bank(b), Direction::read, 1_us);
  for (int b = 0; b < 3; ++b) EXPECT_EQ(d->serve(bank(b), Direction::read, 3880_ns), 3897_ns + b * 2_ns);
  for (int b = 3; b < 16; ++b)
    EXPECT_EQ(d->serve(bank(b), Direction::read, 3880_ns), 4252_ns + (b - 3) * 2_ns);
}

TEST(Rows, RandomReadsReachAboutHalf) {
  // 32 reads of 64 B in flight on one pseudo-channel of 32 GB/s, the next sent when the oldest is through.
  auto d = dram();
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int64_t> any(0, 1 << 20);
  std::vector<Time> in_flight(32);
  Time last;
  constexpr int kReads = 20'000;
  for (int i = 0; i < kReads; ++i) {
    const auto oldest = std::min_element(in_flight.begin(), in_flight.end());
    *oldest = d->serve(any(random) * 8, Direction::read, *oldest);
    last = std::max(last, *oldest);
  }
  const double share = kReads * 64.0 / last.ns() / 32;
  EXPECT_GE(share, 0.40);
  EXPECT_LE(share, 0.70);
}

}  // namespace
}  // namespace kernbench::device
