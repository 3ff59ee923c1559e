// The functions beside those of the C library in long double, which has 11 more bits.
#include "kernbench/fixed_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/random_arrays.hpp"

namespace kernbench::data::fixed_math_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double between(Random& random, double low, double high) {
  return low + (high - low) * (random.bits() + random.bits() * 0x1p-32) * 0x1p-32;
}

void expect_near(double got, long double want) {
  EXPECT_LE(std::abs(static_cast<long double>(got) - want), std::abs(want) * 0x1p-51L)
      << got << " for " << want;
}

TEST(FixedMath, ExpIsWithinTheBoundItStates) {
  Random random(71);
  for (int i = 0; i < 20'000; ++i) {
    const double x = between(random, -700, 709), near = between(random, -1, 1);
    expect_near(fixed::exp(x), std::exp(static_cast<long double>(x)));
    expect_near(fixed::exp(near), std::exp(static_cast<long double>(near)));
  }
  EXPECT_EQ(fixed::exp(0), 1);
  EXPECT_EQ(fixed::exp(710), kInfinity);
  EXPECT_EQ(fixed::exp(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(fixed::exp(std::nan(""))));
}

TEST(FixedMath, PowIsWithinTheBoundItStates) {
  Random random(72);
  for (int i = 0; i < 20'000; ++i) {
    const double base = std::ldexp(between(random, 0.5, 1), random.below(60) - 30);
    const double exponent = between(random, -20, 20);
    expect_near(fixed::pow(base, exponent),
                std::pow(static_cast<long double>(base), static_cast<long double>(exponent)));
  }
  EXPECT_EQ(fixed::pow(1e4, 0), 1);
  EXPECT_EQ(fixed::pow(2, -3), 0.125);
  EXPECT_EQ(fixed::pow(1, 1e300), 1);
}

TEST(FixedMath, SineAndCosineAreWithinTheBoundTheyState) {
  Random random(73);
  for (int i = 0; i < 20'000; ++i)
    for (const double most : {1.0, 100.0, 1e6, 0x1p40}) {
      const double x = between(random, -most, most);
      EXPECT_NEAR(fixed::sin(x), static_cast<double>(std::sin(static_cast<long double>(x))), 0x1p-51) << x;
      EXPECT_NEAR(fixed::cos(x), static_cast<double>(std::cos(static_cast<long double>(x))), 0x1p-51) << x;
    }
  EXPECT_EQ(fixed::sin(0), 0);
  EXPECT_EQ(fixed::cos(0), 1);
  EXPECT_TRUE(std::isnan(fixed::cos(kInfinity)));
}

}  // namespace
}  // namespace kernbench::data::fixed_math_test
