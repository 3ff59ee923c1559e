// Numbers with one right answer.
#include "kernbench/reference.hpp"

#include <gtest/gtest.h>

#include <set>

#include "kernbench/error.hpp"

namespace kernbench::bench::reference_test {
namespace {

TEST(Eighths, AreMultiplesOfAnEighthFromMinusOneToOneAndAllOfThemOccur) {
  std::vector<std::int8_t> row(10'000);
  Eighths{{1, 10'000}, 7}.row(0, 0, row);
  const std::set<std::int8_t> seen(row.begin(), row.end());
  EXPECT_EQ(seen.size(), 17u);
  EXPECT_EQ(*seen.begin(), -8);
  EXPECT_EQ(*seen.rbegin(), 8);
}

TEST(Eighths, DependOnSeedAndPlaceAlone) {
  const Eighths numbers{{4, 100}, 7};
  std::vector<std::int8_t> whole(100), part(37), other_row(100), other_seed(100);
  numbers.row(2, 0, whole);
  numbers.row(2, 13, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 13));
  numbers.row(3, 0, other_row);
  Eighths{{4, 100}, 8}.row(2, 0, other_seed);
  EXPECT_NE(whole, other_row);
  EXPECT_NE(whole, other_seed);
}

TEST(Eighths, AreTheSameNumbersInEveryFloatType) {
  const Eighths numbers{{3, 50}, 1};
  std::vector<std::int8_t> row(50);
  numbers.row(1, 0, row);
  const NdArray halves = numbers.array(DType::f16), small = numbers.array(DType::f8e4m3),
                wide = numbers.array(DType::f32);
  for (std::int64_t i = 0; i < 50; ++i) {
    const float expected = static_cast<float>(row[static_cast<std::size_t>(i)]) / 8;
    EXPECT_EQ(static_cast<float>(halves.at<F16>({1, i})), expected);
    EXPECT_EQ(static_cast<float>(small.at<F8E4M3>({1, i})), expected);
    EXPECT_EQ(wide.at<float>({1, i}), expected);
  }
  EXPECT_THROW(numbers.array(DType::i32), InputError);
}

TEST(Product, IsTheSumOverKInDoublesRoundedOnce) {
  const Eighths a{{5, 301}, 1}, b{{301, 600}, 2};
  const NdArray x = a.array(DType::f32), y = b.array(DType::f32), got = product(a, b, DType::f16);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 600; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 301; ++k)
        sum += static_cast<double>(x.at<float>({i, k})) * static_cast<double>(y.at<float>({k, j}));
      ASSERT_EQ(got.at<F16>({i, j}).bits, F16(static_cast<float>(sum)).bits) << i << ", " << j;
    }
  }
}

TEST(Product, OfShapesThatDoNotFitIsRefused) {
  EXPECT_THROW(product({{2, 3}, 1}, {{4, 2}, 2}, DType::f16), InputError);
  EXPECT_THROW(product({{1, (1 << 18) + 1}, 1}, {{(1 << 18) + 1, 1}, 2}, DType::f16), InputError);
}

}  // namespace
}  // namespace kernbench::bench::reference_test
