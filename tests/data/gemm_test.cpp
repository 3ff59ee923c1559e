#include "data/numerics/gemm.hpp"

#include <cblas.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/fused.hpp"
#include "base/simd.hpp"
#include "data/numerics/blocks.hpp"
#include "data/random_arrays.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data::gemm_test {
namespace {

struct Size {
  std::int64_t m, n, k;
};

// One element, vectors, odd everything, one more and one less than each kernel's rows and columns, more than
// one block of k (384), of rows (144) and of columns (1024).
const std::vector<Size> kSizes = {{1, 1, 1},    {1, 37, 5},     {41, 1, 7},   {13, 33, 17},
                                  {11, 31, 16}, {12, 32, 64},   {5, 15, 385}, {7, 17, 1000},
                                  {145, 48, 3}, {157, 65, 400}, {3, 1027, 9}, {6, 16, 384}};

std::vector<float> as_floats(const NdArray& a) {
  std::vector<float> out(static_cast<std::size_t>(a.elements()));
  load(a.dtype(), a.bytes().data(), out.size(), out.data());
  return out;
}

/// The definition: one fmaf per k, ascending, from 0 or the accumulator.
NdArray scalar_product(const NdArray& a, const NdArray& b, const NdArray* acc) {
  const auto left = as_floats(a), right = as_floats(b);
  const auto m = a.shape()[0], n = b.shape()[1], depth = a.shape()[1];
  NdArray c(DType::f32, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = acc ? acc->at<float>({i, j}) : 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum = std::fmaf(left[static_cast<std::size_t>(i * depth + k)],
                        right[static_cast<std::size_t>(k * n + j)], sum);
      c.at<float>({i, j}) = std::isnan(sum) ? std::bit_cast<float>(0x7FC0'0000u) : sum;
    }
  return c;
}

NdArray product(const NdArray& a, const NdArray& b, const NdArray* acc = nullptr, int threads = 1) {
  NdArray c(dot_dtype(a.dtype(), b.dtype()), {a.shape()[0], b.shape()[1]});
  gemm(a, b, acc ? std::optional<ConstArray>(*acc) : std::nullopt, c, threads);
  return c;
}

TEST(Gemm, HasTheBitsOfAScalarLoopAtEverySimdLevelAndThreadCount) {
  Random random(1);
  for (const auto [m, n, k] : kSizes) {
    const auto a = random.array(DType::f16, {m, k}), b = random.array(DType::f16, {k, n});
    const auto acc = random.array(DType::f32, {m, n});
    const auto want = scalar_product(a, b, nullptr), want_more = scalar_product(a, b, &acc);
    for (const auto level : {Simd::generic, Simd::avx2, Simd::avx512})
      for (const int threads : {1, 2, 3}) {
        const SimdCap cap(level);
        EXPECT_EQ(product(a, b, nullptr, threads), want) << m << " " << n << " " << k;
        EXPECT_EQ(product(a, b, &acc, threads), want_more) << m << " " << n << " " << k;
      }
  }
}

TEST(Gemm, TakesEveryPairOfFloatDTypes) {
  Random random(2);
  for (const auto left : kAllDTypes)
    for (const auto right : kAllDTypes) {
      if (!is_float(left) || !is_float(right)) continue;
      const auto a = random.array(left, {9, 21}), b = random.array(right, {21, 35});
      EXPECT_EQ(product(a, b), scalar_product(a, b, nullptr)) << to_string(left) << to_string(right);
    }
}

/// Random numbers times 2^exponent.
NdArray scaled(Random& random, const Shape& shape, int exponent) {
  auto a = random.array(DType::f32, shape);
  for (auto& x : a.view<float>()) x = std::ldexp(x, exponent);
  return a;
}

void expect_scalar_bits(const NdArray& a, const NdArray& b) {
  const auto want = scalar_product(a, b, nullptr);
  for (const auto level : {Simd::generic, Simd::avx2, Simd::avx512}) {
    const SimdCap cap(level);
    EXPECT_EQ(product(a, b), want);
  }
}

TEST(Gemm, RoundsSubnormalsOverflowsAndNansAsTheScalarLoopDoes) {
  Random random(3);
  for (const int exponent : {-64, -70, -76, 62, 63})  // products near 2⁻¹²⁸ … 2⁻¹⁵², and 2¹²⁴, 2¹²⁶
    expect_scalar_bits(scaled(random, {23, 40}, exponent), scaled(random, {40, 37}, exponent));
  expect_scalar_bits(random.any_bits(DType::f32, {23, 4}), random.any_bits(DType::f32, {4, 37}));
}

TEST(Gemm, InPlaceAccumulationIsTheSameAsApart) {
  Random random(4);
  const auto a = random.array(DType::bf16, {30, 50}), b = random.array(DType::bf16, {50, 40});
  auto c = random.array(DType::f32, {30, 40});
  const auto want = scalar_product(a, b, &c);
  gemm(a, b, ConstArray(c), c);
  EXPECT_EQ(c, want);
}

TEST(Gemm, AddingUpPiecesOfKInOrderGivesTheBitsOfTheWhole) {
  Random random(5);
  const auto a = random.array(DType::f16, {20, 90}), b = random.array(DType::f16, {90, 20});
  auto slice_a = [&](std::int64_t from, std::int64_t to) {
    NdArray s(DType::f16, {20, to - from});
    for (std::int64_t i = 0; i < 20; ++i)
      for (auto k = from; k < to; ++k) s.at<F16>({i, k - from}) = a.at<F16>({i, k});
    return s;
  };
  auto slice_b = [&](std::int64_t from, std::int64_t to) {
    NdArray s(DType::f16, {to - from, 20});
    for (auto k = from; k < to; ++k)
      for (std::int64_t j = 0; j < 20; ++j) s.at<F16>({k - from, j}) = b.at<F16>({k, j});
    return s;
  };
  auto sum = product(slice_a(0, 32), slice_b(0, 32));
  sum = product(slice_a(32, 64), slice_b(32, 64), &sum);
  sum = product(slice_a(64, 90), slice_b(64, 90), &sum);
  EXPECT_EQ(sum, product(a, b));
}

// |c − exact| ≤ ½ ulp(exact) + K·2⁻²⁴·Σ|a·b|, with dgemm for both sums: it errs by K·2⁻⁵³·Σ|a·b|, far less.
TEST(Gemm, IsWithinTheErrorBoundOfAnF64Reference) {
  Random random(6);
  for (const auto dtype : {DType::f16, DType::f32})
    for (const int size : {64, 300}) {
      const auto a = random.array(dtype, {size, size}), b = random.array(dtype, {size, size});
      const auto left = as_floats(a), right = as_floats(b);
      std::vector<double> a64(left.begin(), left.end()), b64(right.begin(), right.end());
      std::vector<double> exact(a64.size()), magnitude(a64.size());
      const auto dgemm = [size](const auto& x, const auto& y, auto& z) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, x.data(), size, y.data(),
                    size, 0, z.data(), size);
      };
      dgemm(a64, b64, exact);
      for (auto& x : a64) x = std::fabs(x);
      for (auto& x : b64) x = std::fabs(x);
      dgemm(a64, b64, magnitude);
      const auto c = product(a, b);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const auto nearest = static_cast<float>(exact[i]);
        const double ulp = std::nextafter(std::fabs(nearest), HUGE_VALF) - std::fabs(nearest);
        ASSERT_LE(std::fabs(c.view<float>()[i] - exact[i]), 0.5 * ulp + size * 0x1p-24 * magnitude[i]);
      }
    }
}

TEST(Gemm, OfIntegersAccumulatesInI32AndWraps) {
  Random random(7);
  for (const auto [m, n, k] : kSizes)
    for (const auto dtype : {DType::i8, DType::i32}) {
      const auto a = random.any_bits(dtype, {m, k}), b = random.any_bits(dtype, {k, n});
      std::vector<std::int32_t> left(static_cast<std::size_t>(m * k)), right(static_cast<std::size_t>(k * n));
      load(dtype, a.bytes().data(), left.size(), left.data());
      load(dtype, b.bytes().data(), right.size(), right.data());
      NdArray want(DType::i32, {m, n});
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          std::uint32_t sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum += static_cast<std::uint32_t>(left[static_cast<std::size_t>(i * k + p)]) *
                   static_cast<std::uint32_t>(right[static_cast<std::size_t>(p * n + j)]);
          want.at<std::int32_t>({i, j}) = static_cast<std::int32_t>(sum);
        }
      for (const auto level : {Simd::generic, Simd::avx2}) {
        const SimdCap cap(level);
        EXPECT_EQ(product(a, b), want) << to_string(dtype) << " " << m << " " << n << " " << k;
        EXPECT_EQ(product(a, b, nullptr, 2), want);
      }
    }
}

TEST(Gemm, OfNoDepthIsTheAccumulator) {
  const NdArray a(DType::f16, {3, 0}), b(DType::f16, {0, 4});
  const auto acc = Random(8).array(DType::f32, {3, 4});
  EXPECT_EQ(product(a, b), NdArray(DType::f32, {3, 4}));
  EXPECT_EQ(product(a, b, &acc), acc);
}

TEST(Gemm, RefusesShapesAndDTypesThatDoNotFit) {
  NdArray c(DType::f32, {2, 2});
  const NdArray a(DType::f16, {2, 3});
  EXPECT_THROW(gemm(a, NdArray(DType::f16, {2, 2}), {}, c), InputError);
  EXPECT_THROW(gemm(a, NdArray(DType::f16, {3}), {}, c), InputError);
  EXPECT_THROW(gemm(a, NdArray(DType::i8, {3, 2}), {}, c), InputError);
  EXPECT_THROW(gemm(a, NdArray(DType::f16, {3, 2}), ConstArray(NdArray(DType::f16, {2, 2})), c), InputError);
  EXPECT_THROW(dot_dtype(DType::i1, DType::i8), InputError);
}

TEST(SoftFma, AgreesWithFmafOnValuesOfEveryKind) {
  Random random(9);
  for (int i = 0; i < 3'000'000; ++i) {
    const float a = random.any_float(), b = random.any_float();
    // Half of the time an addend near the product, where cancellation and double rounding bite.
    const float c =
        i % 2 ? random.any_float() : -a * b * (1 + static_cast<float>(random.below(64)) * 0x1p-24f);
    const float want = std::fmaf(a, b, c), got = soft_fmaf(a, b, c);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got));
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want))
          << a << " " << b << " " << c;
  }
}

TEST(SoftFma, DoesNotRoundTwice) {
  // (1 + 2⁻¹²)² = 1 + 2⁻¹¹ + 2⁻²⁴ is a tie that would go to even, down; 2⁻¹⁰⁰ more tips it up, though f64
  // cannot hold that sum.
  const float x = 1.0f + 0x1p-12f;
  EXPECT_EQ(soft_fmaf(x, x, 0.0f), 1.0f + 0x1p-11f);
  EXPECT_EQ(soft_fmaf(x, x, 0x1p-100f), 1.0f + 0x1p-11f + 0x1p-23f);
  EXPECT_EQ(soft_fmaf(x, x, -0x1p-100f), 1.0f + 0x1p-11f);
}

}  // namespace
}  // namespace kernbench::data::gemm_test
