#include "kernbench/units.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernbench/error.hpp"

namespace kernbench::units_test {
namespace {

TEST(Time, PrintsExactlyWithoutTrailingZeros) {
  EXPECT_EQ(to_string(12'345_ps), "12.345 ns");
  EXPECT_EQ(to_string(5_ns), "5 ns");
  EXPECT_EQ(to_string(0_ns - 1_ps), "-0.001 ns");
}

TEST(Time, WiresRoundUpButNotForAnUlp) {
  EXPECT_EQ(Time::from_ns_rounded_up(14.0 / 6 * 0.01), 24_ps);  // 23.33 ps
  EXPECT_EQ(Time::from_ns_rounded_up(3 * 0.01), 30_ps);
  EXPECT_EQ(Time::from_ns_rounded_up(0.1 + 0.2), 300_ps);  // 0.30000000000000004 ns
  EXPECT_EQ(Time::from_ns_rounded_up(0.0301), 31_ps);
}

TEST(Time, MoreNanosecondsThanAClockCanHoldAreRefused) {
  EXPECT_EQ(Time::from_ns(9.2e15).ps(), 9'200'000'000'000'000'000);  // 2^63 ps are 9.223e15 ns
  for (const double ns : {1e18, -1e18, 9.3e15, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(Time::from_ns(ns), InputError) << ns;
    EXPECT_THROW(Time::from_ns_rounded_up(ns), InputError) << ns;
  }
}

TEST(Bandwidth, TakesTheExactTimeRoundedUp) {
  const auto bw = Bandwidth::from_gbs(512);  // 125 ps per 64 B
  EXPECT_EQ(bw.time_for(64_B), 125_ps);
  EXPECT_EQ(bw.time_for(1_B), 2_ps);  // 1.95
  EXPECT_EQ(bw.time_for(256_B), 500_ps);
  EXPECT_EQ(bw.time_for(0_B), 0_ps);
  EXPECT_EQ(Bandwidth::from_gbs(128).time_for(1_GiB), Time::from_ps(8'388'608'000));  // 2^30 B / 128 B/ns
}

TEST(Bandwidth, PacketsAddUpToTheMessage) {
  const auto bw = Bandwidth::from_gbs(33.3);
  Time sum;
  for (int i = 0; i < 1000; ++i) sum += bw.time_for(Bytes(i * 100), Bytes((i + 1) * 100));
  EXPECT_EQ(sum, bw.time_for(Bytes(100'000)));  // 100000 / 33.3 ns = 3003003.003 ps
  EXPECT_EQ(sum, 3'003'004_ps);
}

TEST(Bandwidth, ComparesByRate) {
  EXPECT_LT(Bandwidth::from_gbs(128), Bandwidth::from_gbs(512));
  EXPECT_EQ(Bandwidth::from_gbs(256).gbs(), 256);
  EXPECT_THROW(Bandwidth::from_gbs(0), InternalError);
}

TEST(Bytes, PrintInBinaryUnits) {
  EXPECT_EQ(to_string(48_GiB), "48 GiB");
  EXPECT_EQ(to_string(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(to_string(300_B), "300 B");
}

TEST(Error, ShowsPlaceSentenceAndHint) {
  const InputError e(
      {.id = "x", .where = "a.yaml:3:5", .what = "unknown key 'foo'", .hint = "did you mean 'fo'?"});
  EXPECT_STREQ(e.what(), "a.yaml:3:5: unknown key 'foo'\n  hint: did you mean 'fo'?");
}

}  // namespace
}  // namespace kernbench::units_test
