// The row-buffer mode of HBM: 15 ns hit, 35 closed, 50 conflict; 64-byte bursts of 2 ns on 8 pseudo-channels
// of 16 banks; rows of 1024 B.
#include <gtest/gtest.h>

#include <random>

#include "device/device_world.hpp"
#include "device/dram_world.hpp"

namespace kernbench::device::rows_test {
namespace {

constexpr std::int64_t kRowStride =
    8 * 16 * 16;  // bursts from a row to the next of the same bank: 8 channels · 16 a row · 16 banks

/// With rows instead of its own memory.
std::vector<std::string> with_rows(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"cube.hbm.impl=builtin.hbm_rows", "cube.hbm.banks=16"});
  return overrides;
}

std::unique_ptr<testing::Dram> dram(std::vector<std::string> overrides = {}) {
  overrides.push_back("cube.hbm.refresh_ns=0");
  return testing::make_dram(testing::load(with_rows(overrides), "realistic"));
}

TEST(Rows, TheThreeLatencies) {
  auto d = dram();
  EXPECT_EQ(d->serve(0, Direction::read, 0_ns), 37_ns);                  // closed: 35 + 2 on the bus
  EXPECT_EQ(d->serve(8, Direction::read, 1_us), 1_us + 17_ns);           // hit: 15 + 2
  EXPECT_EQ(d->serve(kRowStride, Direction::read, 2_us), 2_us + 52_ns);  // conflict: 50 + 2
}

TEST(Rows, AccessLatencyComesOnTopAndOccupiesNobody) {
  auto d = dram({"cube.hbm.access_ns=7"});
  EXPECT_EQ(d->serve(0, Direction::read, 0_ns), 37_ns + 7_ns);
  EXPECT_EQ(d->serve(8, Direction::read, 0_ns), 39_ns + 7_ns);
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

TEST(Rows, ABankTakesACommandPerBurst) {
  auto d = dram();
  d->serve(0, Direction::read, 0_ns);
  EXPECT_EQ(d->serve(8, Direction::read, 1_us), 1017_ns);
  // The hit's command goes out at 1000 ns, so the row is closed from 1002 on: precharged by 1017, 20 to the
  // command, 15 to the data, 2 on the bus. The row cycle since 0 ns has long passed.
  EXPECT_EQ(d->serve(kRowStride, Direction::read, 1_us), 1054_ns);
}

TEST(Rows, TurningTheBusAroundCostsAPause) {
  auto d = dram();
  const Time read = d->serve(0, Direction::read, 0_ns);
  EXPECT_EQ(d->serve(8, Direction::write, 0_ns), read + 8_ns + 2_ns);
}

TEST(Rows, OnlyATurnOfTheBusCosts) {
  auto d = dram();
  EXPECT_EQ(d->serve(0, Direction::read, 0_ns), 37_ns);
  EXPECT_EQ(d->serve(8, Direction::write, 0_ns), 47_ns);   // 8 of turning, 2 on the bus
  EXPECT_EQ(d->serve(16, Direction::write, 0_ns), 49_ns);  // in the same direction: right behind it
  // Bank 1 is opened for a write in the meantime and could move its data from 35 ns on, but the bus has been
  // turned for what comes after it.
  EXPECT_EQ(d->serve(8 * 16, Direction::write, 0_ns), 51_ns);
  EXPECT_EQ(d->serve(24, Direction::read, 0_ns), 61_ns);  // back again
}

TEST(Rows, OtherChannelsAndBanksAreIndependent) {
  auto d = dram();
  EXPECT_EQ(d->serve(0, Direction::read, 0_ns), 37_ns);
  EXPECT_EQ(d->serve(1, Direction::read, 0_ns), 37_ns);       // another channel
  EXPECT_EQ(d->serve(8 * 16, Direction::read, 0_ns), 39_ns);  // another bank of the first: shares its bus
}

double sequential_gbs(std::vector<std::string> overrides) {
  testing::Machine m(with_rows(std::move(overrides)), "realistic");
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

// A refresh lasts from 3900 to 4250 ns, the next from 7800 to 8150. The machine starts refreshed.
class RefreshedRows : public ::testing::Test {
 protected:
  Time read(std::int64_t burst, Time arrival) { return dram_->serve(burst, Direction::read, arrival); }
  /// A burst of row 0 of a bank of channel 0.
  static std::int64_t bank(std::int64_t b) { return 8 * 16 * b; }

  std::unique_ptr<testing::Dram> dram_ = testing::make_dram(testing::load(with_rows({}), "realistic"));
};

TEST_F(RefreshedRows, ARefreshClosesAllRows) {
  EXPECT_EQ(read(0, 0_ns), 37_ns);
  EXPECT_EQ(read(8, 3_us), 3017_ns);   // still open
  EXPECT_EQ(read(16, 5_us), 5037_ns);  // closed by the refresh at 3.9 µs
  EXPECT_EQ(read(24, 6_us), 6017_ns);
}

TEST_F(RefreshedRows, WhatComesDuringARefreshWaitsForItsEnd) {
  read(0, 1_us);
  EXPECT_EQ(read(8, 4_us), 4250_ns + 37_ns);  // and finds its row closed
}

TEST_F(RefreshedRows, ARowThatWouldBeOpenedDuringARefreshIsOpenedAfterIt) {
  read(0, 1_us);
  // A conflict: precharged by 3910 ns, activated at 4250, 20 to the command, 15 to the data, 2 on the bus.
  EXPECT_EQ(read(kRowStride, 3895_ns), 4287_ns);
  EXPECT_EQ(read(kRowStride + 8, 4300_ns), 4317_ns);  // this refresh has not closed it
}

// All banks have their row open; each is asked for a hit at 3880, whose data would be on the bus from 3895
// on, 2 ns each: three begin before the refresh, the rest follow it.
TEST_F(RefreshedRows, NoDataMovesDuringARefresh) {
  for (int b = 0; b < 16; ++b) read(bank(b), 1_us);
  for (int b = 0; b < 3; ++b) EXPECT_EQ(read(bank(b), 3880_ns), 3897_ns + b * 2_ns);
  for (int b = 3; b < 16; ++b) EXPECT_EQ(read(bank(b), 3880_ns), 4252_ns + (b - 3) * 2_ns);
}

TEST_F(RefreshedRows, DataThatWouldMoveDuringARefreshMovesAfterIt) {
  read(0, 1_us);
  EXPECT_EQ(read(8, 3890_ns), 4252_ns);  // a hit: 3905 is within
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
}  // namespace kernbench::device::rows_test
