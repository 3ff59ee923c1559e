#include "kernbench/units.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

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

TEST(Bandwidth, MoreThanACounterCanHoldIsRefused) {
  EXPECT_EQ(Bandwidth::from_gbs(9.2e9).gbs(), 9.2e9);  // 2^63 bytes per second are 9.223e9 GB/s
  for (const double gbs : {9.3e9, 1e300, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(Bandwidth::from_gbs(gbs), InputError) << gbs;
}

TEST(Bandwidth, MessageThatOutlastsTheClockTakesForEver) {
  const auto slowest =
      Bandwidth::from_gbs(1e-9);  // 1 byte per second: 10^12 ps a byte, 2^63 ps are 9.2e6 of them
  EXPECT_EQ(slowest.time_for(Bytes(9'000'000)), Time::from_ps(9'000'000'000'000'000'000));
  EXPECT_EQ(slowest.time_for(Bytes(10'000'000)), Time::never());
  EXPECT_EQ(slowest.time_for(Bytes(INT64_MAX)), Time::never());
}

TEST(Time, NeverAbsorbsWhatIsAddedToIt) {
  EXPECT_EQ(5_ns + Time::never(), Time::never());
  EXPECT_EQ(Time::never() + Time::never(), Time::never());
  EXPECT_EQ(Time::never() * 3, Time::never());
  EXPECT_EQ(Time::never() * -3, Time::from_ps(INT64_MIN));
  EXPECT_EQ(18'446'744'073'709'551'615_ps, Time::never());
  EXPECT_EQ(18'446'744'073'709'552_ms, Time::never());  // 2^64 ns are 1.8e13 ms
  EXPECT_EQ(9'007'199'254'740'992_GiB, Bytes(INT64_MAX));
}

TEST(Time, ExtremesPrint) {
  EXPECT_EQ(to_string(Time::never()), "9223372036854775.807 ns");
  EXPECT_EQ(to_string(Time::from_ps(INT64_MIN)), "-9223372036854775.808 ns");
}

__extension__ using Wide = __int128;

std::int64_t nearest(Wide exact) {
  return static_cast<std::int64_t>(std::clamp<Wide>(exact, INT64_MIN, INT64_MAX));
}

/// Numbers of every size and both signs, and those at the ends of the range.
std::vector<std::int64_t> many_counts() {
  std::vector<std::int64_t> counts = {0, INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1};
  std::mt19937_64 random(31);
  for (int bits = 1; bits < 64; ++bits)
    for (int i = 0; i < 2; ++i) {
      const auto count = static_cast<std::int64_t>(random() >> (64 - bits));
      counts.push_back(count), counts.push_back(-count);
    }
  return counts;
}

// Every result is that of 128-bit arithmetic, brought to the nearest end of the range where it is beyond. Under UBSan this
// also shows that nothing overflows.
TEST(Units, ArithmeticIsExactOrSaturates) {
  for (const auto a : many_counts())
    for (const auto b : many_counts()) {
      const Wide sum = Wide{a} + b, difference = Wide{a} - b, product = Wide{a} * b;
      ASSERT_EQ((Time::from_ps(a) + Time::from_ps(b)).ps(), nearest(sum)) << a << " + " << b;
      ASSERT_EQ((Time::from_ps(a) - Time::from_ps(b)).ps(), nearest(difference)) << a << " - " << b;
      ASSERT_EQ((Time::from_ps(a) * b).ps(), nearest(product)) << a << " * " << b;
      ASSERT_EQ((Bytes(a) + Bytes(b)).count(), nearest(sum)) << a << " + " << b;
      ASSERT_EQ((Bytes(a) - Bytes(b)).count(), nearest(difference)) << a << " - " << b;
      ASSERT_EQ((Bytes(a) * b).count(), nearest(product)) << a << " * " << b;
      Time time = Time::from_ps(a);
      ASSERT_EQ((time += Time::from_ps(b)).ps(), nearest(sum));
      ASSERT_EQ((time -= Time::from_ps(b)).ps(), nearest(Wide{nearest(sum)} - b));
      ASSERT_FALSE(to_string(time).empty() || to_string(Bytes(a)).empty());
    }
}

// ⌈n · 10¹² / bytes per second⌉ picoseconds, in 128-bit arithmetic.
TEST(Units, TimeOfAMessageIsExactOrNever) {
  for (const double gbs : {1e-9, 0.001, 1.0, 33.3, 512.0, 4096.0, 1e6, 9.2e9})
    for (auto n : many_counts()) {
      if (n < 0) continue;
      const auto per_second = std::llround(gbs * 1e9);
      const Wide exact = (Wide{n} * 1'000'000'000'000 + per_second - 1) / per_second;
      ASSERT_EQ(Bandwidth::from_gbs(gbs).time_for(Bytes(n)).ps(), nearest(exact)) << n << " B at " << gbs;
      ASSERT_LT(Bandwidth::from_gbs(gbs).is_whole_time(Bytes(n)), 2);
    }
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
