// exp … cos against long double libm over a sweep of all f32, the same bits at every level, and a checksum of
// those bits that must come out on every machine and in every build type.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/simd.hpp"
#include "data/numerics/elementwise.hpp"
#include "data/numerics/functions.hpp"
#include "data/random_arrays.hpp"
#include "data/reference.hpp"

namespace kernbench::data::functions_test {
namespace {

struct Function {
  MathOp op;
  long double (*exact)(long double);
  std::uint64_t checksum;
};

const std::vector<Function> kFunctions = {
    {MathOp::exp, [](long double x) { return std::exp(x); }, 0x9FD7FE72C10702E4},
    {MathOp::exp2, [](long double x) { return std::exp2(x); }, 0xBE38BF0F8B2E0630},
    {MathOp::log, [](long double x) { return std::log(x); }, 0xF5D572260A53A57E},
    {MathOp::rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 0xB2230756F47B05D8},
    {MathOp::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 0xED9005F526D5DAE0},
    {MathOp::tanh, [](long double x) { return std::tanh(x); }, 0x7372778D673DDB77},
    {MathOp::erf, [](long double x) { return std::erf(x); }, 0x2FF4478DADB0C228},
    {MathOp::sin, [](long double x) { return std::sin(x); }, 0x74C0FBE5821BF06B},
    {MathOp::cos, [](long double x) { return std::cos(x); }, 0xD728D511B5A883F0},
};

/// Every 8191st pattern meets all exponents and both signs; beside them the specials and the neighbourhoods
/// where the functions have their edges.
NdArray sweep() {
  std::vector<float> x;
  for (std::uint64_t b = 0; b < (1ull << 32); b += 8191)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  for (const float edge :
       {0.0f, 1.0f, 4.0f, 0.70710678f, 1.41421356f, 88.72284f, -87.33655f, -103.97208f, 128.0f, -149.5f,
        1.57079637f, 3.14159274f, 0x1p19f, 16367173.0f * 0x1p72f, 9.01f, -17.3f, 3.92f})
    for (int i = -20; i <= 20; ++i) {
      const auto near =
          std::bit_cast<float>(std::bit_cast<std::uint32_t>(edge) + static_cast<std::uint32_t>(i));
      x.push_back(near);
      x.push_back(-near);
    }
  x.push_back(std::numeric_limits<float>::infinity());
  x.push_back(-std::numeric_limits<float>::infinity());
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  return NdArray::of<float>({static_cast<std::int64_t>(x.size())}, x);
}

NdArray apply(MathOp op, const NdArray& x) {
  const ConstArray in(x);
  return elementwise(op, {&in, 1});
}

/// Distance in units of the last place of the f32 nearest to `exact`.
long double ulps(float got, long double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : HUGE_VALL;
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : HUGE_VALL;
  const float size = std::fabs(nearest);
  const long double ulp = static_cast<long double>(std::nextafter(size, HUGE_VALF)) - size;
  return std::fabs(got - exact) / ulp;
}

TEST(Functions, AreWithin0501UlpOfTheExactValueOverAllOfF32) {
  const auto x = sweep();
  for (const auto& f : kFunctions) {
    const auto y = apply(f.op, x);
    long double worst = 0;
    for (std::size_t i = 0; i < x.view<float>().size(); ++i) {
      const long double error = ulps(y.view<float>()[i], f.exact(x.view<float>()[i]));
      ASSERT_LE(error, 0.501L) << to_string(f.op) << "(" << x.view<float>()[i]
                               << ") = " << y.view<float>()[i];
      worst = std::max(worst, error);
    }
    EXPECT_GT(worst, 0.49L) << to_string(f.op);  // the sweep is dense enough to meet hard cases
  }
}

TEST(Functions, GiveTheSameBitsAtEveryLevelAndOnEveryMachine) {
  const auto x = sweep();
  for (const auto& f : kFunctions)
    for (const auto level : {Simd::generic, Simd::avx2}) {
      const SimdCap cap(level);
      const auto y = apply(f.op, x);
      std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
      for (const auto byte : y.bytes()) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211ull;
      EXPECT_EQ(hash, f.checksum) << to_string(f.op);
    }
}

TEST(Functions, KeepTheSignOfZeroAndKnowTheSpecials) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto x = NdArray::of<float>({4}, {0.0f, -0.0f, inf, -inf});
  const auto expect = [&](MathOp op, std::vector<float> want) {
    const auto y = apply(op, x);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TRUE(reference::same(y.view<float>()[i], want[i])) << to_string(op) << " " << i;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect(MathOp::exp, {1, 1, inf, 0});
  expect(MathOp::exp2, {1, 1, inf, 0});
  expect(MathOp::log, {-inf, -inf, inf, nan});
  expect(MathOp::sqrt, {0.0f, -0.0f, inf, nan});
  expect(MathOp::rsqrt, {inf, -inf, 0, nan});
  expect(MathOp::sigmoid, {0.5f, 0.5f, 1, 0});
  expect(MathOp::tanh, {0.0f, -0.0f, 1, -1});
  expect(MathOp::erf, {0.0f, -0.0f, 1, -1});
  expect(MathOp::sin, {0.0f, -0.0f, nan, nan});
  expect(MathOp::cos, {1, 1, nan, nan});
}

TEST(Functions, OfSmallDTypesAreThoseOfF32RoundedAndOfIntegersF32) {
  Random random(21);
  for (const auto& f : kFunctions)
    for (const auto t : reference::kDTypes) {
      const auto x = random.any_bits(t, {7, 333});
      const auto y = apply(f.op, x);
      ASSERT_EQ(y.dtype(), is_integer(t) ? DType::f32 : t);
      for (std::size_t i = 0; i < 7 * 333; ++i) {
        const auto exact = f.exact(static_cast<float>(reference::number(x, i)));
        const auto nearest = static_cast<float>(exact);
        // The f32 in between is the nearest or one beside it.
        const double down = reference::rounded(y.dtype(), std::nextafter(nearest, -HUGE_VALF));
        const double up = reference::rounded(y.dtype(), std::nextafter(nearest, HUGE_VALF));
        const double got = reference::number(y, i);
        ASSERT_TRUE(reference::same(got, reference::rounded(y.dtype(), nearest)) || got == down || got == up)
            << to_string(f.op) << " of " << to_string(t) << " " << reference::number(x, i);
      }
      ASSERT_TRUE(reference::nans_are_canonical(y));
    }
}

TEST(Functions, LargeAngleReductionAgreesWithTheSmallOneWhereBothHold) {
  for (float x = 1; x < kLargeAngle; x = x * 1.37f + 0.11f) {
    const auto a = small_angle(x), b = large_angle(x);
    EXPECT_EQ(a.quadrants % 4, b.quadrants % 4) << x;
    EXPECT_NEAR(a.rest, b.rest, 1e-15 + std::fabs(a.rest) * 1e-12) << x;
  }
}

}  // namespace
}  // namespace kernbench::data::functions_test
