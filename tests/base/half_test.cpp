// The references here share nothing with the implementation: decoding goes through ldexp, encoding through
// double arithmetic and a search in the list of all values of the format.
#include "kernbench/half.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/simd.hpp"

namespace kernbench::half_test {
namespace {

template <class T>
struct Spec;  // exponent bits, mantissa bits, bias, whether it has infinity
template <>
struct Spec<F16> {
  static constexpr int kExponent = 5, kMantissa = 10, kBias = 15;
  static constexpr bool kHasInf = true;
  static constexpr std::uint32_t kNan = 0x7E00;
};
template <>
struct Spec<BF16> {
  static constexpr int kExponent = 8, kMantissa = 7, kBias = 127;
  static constexpr bool kHasInf = true;
  static constexpr std::uint32_t kNan = 0x7FC0;
};
template <>
struct Spec<F8E4M3> {
  static constexpr int kExponent = 4, kMantissa = 3, kBias = 7;
  static constexpr bool kHasInf = false;
  static constexpr std::uint32_t kNan = 0x7F;
};
template <>
struct Spec<F8E5M2> {
  static constexpr int kExponent = 5, kMantissa = 2, kBias = 15;
  static constexpr bool kHasInf = true;
  static constexpr std::uint32_t kNan = 0x7E;
};

template <class T>
constexpr std::uint32_t kPatterns = 1u << (8 * sizeof(T));

template <class T>
T from_pattern(std::uint32_t bits) {
  return T::from_bits(static_cast<decltype(T::bits)>(bits));
}

/// The value of a pattern from the definition of the format.
template <class T>
double reference_decode(std::uint32_t bits) {
  using S = Spec<T>;
  const int exponent = static_cast<int>(bits >> S::kMantissa) & ((1 << S::kExponent) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << S::kMantissa) - 1);
  const bool negative = (bits >> (S::kExponent + S::kMantissa)) != 0;
  const bool top = exponent == (1 << S::kExponent) - 1;
  double value = 0;
  if (top && S::kHasInf)
    value = mantissa ? std::nan("") : HUGE_VAL;
  else if (top && mantissa == (1 << S::kMantissa) - 1)
    value = std::nan("");
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - S::kBias - S::kMantissa);
  else
    value = std::ldexp(mantissa + (1 << S::kMantissa), exponent - S::kBias - S::kMantissa);
  return negative ? -value : value;
}

/// All finite magnitudes in ascending order; the index is the pattern.
template <class T>
const std::vector<double>& magnitudes() {
  static const auto list = [] {
    std::vector<double> values;
    for (std::uint32_t b = 0; b < kPatterns<T> / 2; ++b)
      if (std::isfinite(reference_decode<T>(b))) values.push_back(reference_decode<T>(b));
    return values;
  }();
  return list;
}

/// Nearest, ties to even, by scaling to whole steps in double (exact for every f32) and rounding those.
template <class T>
std::uint32_t reference_encode(float x) {
  using S = Spec<T>;
  if (std::isnan(x)) return S::kNan;
  const std::uint32_t sign = std::signbit(x) ? kPatterns<T> / 2 : 0;
  const auto& all = magnitudes<T>();
  const auto overflow = S::kHasInf ? sign | static_cast<std::uint32_t>(all.size()) : S::kNan;
  if (std::isinf(x)) return overflow;
  const double size = std::fabs(static_cast<double>(x));
  const int exponent = size == 0 ? 1 - S::kBias : std::max(std::ilogb(size), 1 - S::kBias);
  const double step = std::ldexp(1.0, exponent - S::kMantissa);
  const double rounded = std::nearbyint(size / step) * step;
  if (rounded > all.back()) return overflow;
  return sign | static_cast<std::uint32_t>(std::ranges::lower_bound(all, rounded) - all.begin());
}

template <class T>
class SmallFloats : public testing::Test {};
using Formats = testing::Types<F16, BF16, F8E4M3, F8E5M2>;
TYPED_TEST_SUITE(SmallFloats, Formats);

TYPED_TEST(SmallFloats, EveryPatternDecodesToItsValue) {
  for (std::uint32_t b = 0; b < kPatterns<TypeParam>; ++b) {
    const auto got = static_cast<float>(from_pattern<TypeParam>(b));
    const double want = reference_decode<TypeParam>(b);
    if (std::isnan(want))
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), 0x7FC0'0000u) << b;
    else
      ASSERT_TRUE(got == want && std::signbit(got) == std::signbit(want)) << b;
  }
}

TYPED_TEST(SmallFloats, EveryPatternSurvivesARoundTripAndNanBecomesCanonical) {
  for (std::uint32_t b = 0; b < kPatterns<TypeParam>; ++b) {
    const bool nan = std::isnan(reference_decode<TypeParam>(b));
    const auto back = TypeParam(static_cast<float>(from_pattern<TypeParam>(b)));
    ASSERT_EQ(back.bits, nan ? Spec<TypeParam>::kNan : b) << b;
  }
}

TYPED_TEST(SmallFloats, MidpointsGoToEvenAndTheirNeighboursToTheNearest) {
  const auto& all = magnitudes<TypeParam>();
  for (std::uint32_t b = 0; b + 1 < all.size(); ++b) {
    const auto middle = static_cast<float>((all[b] + all[b + 1]) / 2);  // exact: one bit more than the format
    const std::uint32_t even = b % 2 == 0 ? b : b + 1;
    ASSERT_EQ(TypeParam(middle).bits, even) << b;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0f)).bits, b) << b;
    ASSERT_EQ(TypeParam(std::nextafter(middle, HUGE_VALF)).bits, b + 1) << b;
    ASSERT_EQ(TypeParam(-middle).bits, even | kPatterns<TypeParam> / 2) << b;
  }
}

// All 2³² with KERNBENCH_SLOW_TESTS set (a few minutes), else every 4099th, which meets all exponents.
TYPED_TEST(SmallFloats, EncodingAgreesWithDoubleArithmeticOverAllOfF32) {
  const std::uint64_t stride = std::getenv("KERNBENCH_SLOW_TESTS") ? 1 : 4099;
  for (std::uint64_t b = 0; b < (1ull << 32); b += stride) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(b));
    ASSERT_EQ(TypeParam(x).bits, reference_encode<TypeParam>(x)) << b;
  }
}

std::vector<float> floats_of_every_kind() {
  std::vector<float> in;
  for (std::uint64_t b = 0; b < (1ull << 32); b += 65537 - 2)
    in.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  for (const std::uint32_t b :
       {0x7F80'0001u, 0xFF80'0001u, 0xFFFF'FFFFu, 0x7FC0'0000u, 0x7F80'0000u, 0xFF80'0000u})
    in.push_back(std::bit_cast<float>(b));
  return in;
}

TYPED_TEST(SmallFloats, BulkConversionGivesTheScalarBitsAtEverySimdLevel) {
  const auto in = floats_of_every_kind();
  std::vector<TypeParam> patterns;
  for (std::uint32_t b = 0; b < kPatterns<TypeParam>; ++b) patterns.push_back(from_pattern<TypeParam>(b));
  for (const auto level : {Simd::generic, Simd::avx2, Simd::avx512}) {
    const SimdCap cap(level);
    std::vector<TypeParam> encoded(in.size());
    from_f32(in, encoded);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(encoded[i].bits, TypeParam(in[i]).bits) << in[i];
    std::vector<float> decoded(patterns.size());
    to_f32(patterns, decoded);
    for (std::size_t i = 0; i < patterns.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(decoded[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(patterns[i])));
  }
}

TYPED_TEST(SmallFloats, BulkConversionOfAnyLengthTouchesNothingBeyond) {
  for (std::size_t n = 0; n < 40; ++n) {
    const std::vector<float> in(n, 1.5f);
    std::vector<TypeParam> out(n + 1, TypeParam(3.0f));
    from_f32(in, std::span(out).first(n));
    EXPECT_EQ(std::ranges::count(out, TypeParam(1.5f)), static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(out.back(), TypeParam(3.0f));
  }
}

TEST(F8E4M3, OverflowsToNanBeyondTheTieAt464) {
  EXPECT_EQ(F8E4M3(448.0f).bits, 0x7E);
  EXPECT_EQ(F8E4M3(464.0f).bits, 0x7E);  // tie of 448 (even) and 480
  EXPECT_EQ(F8E4M3(std::nextafter(464.0f, 500.0f)).bits, 0x7F);
  EXPECT_EQ(F8E4M3(-1e30f).bits, 0x7F);
  EXPECT_EQ(F8E4M3(std::numeric_limits<float>::infinity()).bits, 0x7F);
}

TEST(F8E5M2, OverflowsToInfinityFromTheTieAt61440) {
  EXPECT_EQ(F8E5M2(57344.0f).bits, 0x7B);
  EXPECT_EQ(F8E5M2(std::nextafter(61440.0f, 0.0f)).bits, 0x7B);
  EXPECT_EQ(F8E5M2(61440.0f).bits, 0x7C);  // tie of 57344 (odd) and 65536
  EXPECT_EQ(F8E5M2(-1e30f).bits, 0xFC);
}

TEST(F16, OverflowsToInfinityFromTheTieAt65520) {
  EXPECT_EQ(F16(std::nextafter(65520.0f, 0.0f)).bits, 0x7BFF);
  EXPECT_EQ(F16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(F16(-65520.0f).bits, 0xFC00);
}

}  // namespace
}  // namespace kernbench::half_test
