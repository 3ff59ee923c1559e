#include "data/numerics/reduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "data/numerics/strided.hpp"
#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data::reduce_test {
namespace {

using reference::number;
using ::testing::ElementsAre;

/// The documented order, on one line of elements: 16 partial sums, then halves.
float sum_in_order(const std::vector<double>& line) {
  float partial[16] = {};
  for (std::size_t i = 0; i < line.size(); ++i) partial[i % 16] += static_cast<float>(line[i]);
  for (const int half : {8, 4, 2, 1})
    for (int l = 0; l < half; ++l) partial[l] += partial[l + half];
  return partial[0];
}

double reference_reduction(MathOp op, DType in, DType out, const std::vector<double>& line) {
  if (op == MathOp::sum && is_float(in)) return reference::rounded(out, sum_in_order(line));
  if (op == MathOp::sum) {
    std::int64_t sum = 0;
    for (const double x : line) sum += static_cast<std::int64_t>(x);
    return reference::wrapped(out, sum);
  }
  std::size_t best = 0;
  const double sign = op == MathOp::min ? -1 : 1;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const double a = sign * line[best], b = sign * line[i];
    const bool zeros = op != MathOp::argmax && a == 0 && b == 0 && std::signbit(a) && !std::signbit(b);
    if (!std::isnan(a) && (std::isnan(b) || b > a || zeros)) best = i;
  }
  return op == MathOp::argmax ? static_cast<double>(best) : line[best];
}

/// The elements along `axis` that reduce to element `i` of the result.
std::vector<double> line_of(const NdArray& a, int axis, std::size_t i) {
  std::size_t inner = 1;
  for (int k = axis + 1; k < a.shape().rank(); ++k) inner *= static_cast<std::size_t>(a.shape()[k]);
  const auto length = static_cast<std::size_t>(a.shape()[axis]);
  std::vector<double> line;
  for (std::size_t k = 0; k < length; ++k)
    line.push_back(number(a, (i / inner * length + k) * inner + i % inner));
  return line;
}

const std::vector<Shape> kShapes = {{1},       {17},       {5000},       {1, 7},
                                    {33, 1},   {40, 3},    {3, 40, 2},   {2, 100, 9},
                                    {7, 5, 3}, {2, 3, 70}, {2, 33, 130}, {2, 2, 2, 2, 2}};

TEST(Reduce, EveryOperationOnEveryDTypeAndAxisFollowsItsDefinition) {
  Random random(31);
  for (const auto op : {MathOp::sum, MathOp::max, MathOp::min, MathOp::argmax})
    for (const auto t : reference::kDTypes)
      for (const auto& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis)
          for (const bool tame : {true, false}) {
            const auto a = tame ? random.array(t, shape) : random.any_bits(t, shape);
            const auto got = reduce(op, a, axis);
            ASSERT_EQ(got.shape(), shape.without(axis));
            ASSERT_EQ(got.dtype(), result_dtype(op, {&t, 1}));
            for (std::size_t i = 0; i < static_cast<std::size_t>(got.elements()); ++i) {
              const double want = reference_reduction(op, t, got.dtype(), line_of(a, axis, i));
              ASSERT_TRUE(reference::same(number(got, i), want))
                  << to_string(op) << " of " << to_string(t) << " " << to_string(shape) << " over axis "
                  << axis << ": " << number(got, i) << ", not " << want;
            }
            ASSERT_TRUE(reference::nans_are_canonical(got));
          }
}

// Each partial sum adds at most ⌈n/16⌉ numbers and four foldings follow: |error| ≤ (⌈n/16⌉ + 4)·2⁻²⁴·Σ|x|.
TEST(Reduce, ASumIsWithinItsErrorBoundOfTheExactOne) {
  const auto a = Random(32).array(DType::f32, {100'000});
  long double exact = 0, size = 0;
  for (const float x : a.view<float>()) exact += x, size += std::fabs(x);
  const auto got = reduce(MathOp::sum, a, 0).view<float>()[0];
  EXPECT_LE(std::fabs(got - exact), (6250 + 4) * 0x1p-24L * size);
}

TEST(Reduce, ASumHasTheSameBitsOverAnyAxis) {
  const auto a = Random(33).array(DType::f32, {100, 70});
  NdArray turned(DType::f32, {70, 100});
  const std::int64_t strides[] = {1, 70};
  gather(DType::f32, a.bytes().data(), {70, 100}, strides, turned.bytes().data());
  EXPECT_EQ(reduce(MathOp::sum, a, 0), reduce(MathOp::sum, turned, 1));
}

TEST(Reduce, CountsTruthValuesAndWrapsIntegers) {
  EXPECT_THAT(reduce(MathOp::sum, NdArray::of<bool>({3}, {true, false, true}), 0).view<std::int32_t>(),
              ElementsAre(2));
  EXPECT_THAT(reduce(MathOp::sum, NdArray::of<std::int8_t>({2}, {100, 100}), -1).view<std::int8_t>(),
              ElementsAre(-56));
}

TEST(Reduce, ANanWinsAndArgmaxFindsTheFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto a = NdArray::of<float>({5}, {3, nan, 9, nan, 9});
  EXPECT_TRUE(std::isnan(reduce(MathOp::max, a, 0).view<float>()[0]));
  EXPECT_TRUE(std::isnan(reduce(MathOp::min, a, 0).view<float>()[0]));
  EXPECT_THAT(reduce(MathOp::argmax, a, 0).view<std::int32_t>(), ElementsAre(1));
  EXPECT_THAT(reduce(MathOp::argmax, NdArray::of<float>({3}, {1, 9, 9}), 0).view<std::int32_t>(),
              ElementsAre(1));
}

TEST(Reduce, ANumberWinsOverNanInTheNumberReductions) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto a = NdArray::of<float>({2, 5}, {nan, 3, nan, 9, 1, nan, nan, nan, nan, nan});
  const auto most = reduce(MathOp::max_number, a, 1), least = reduce(MathOp::min_number, a, 1);
  EXPECT_EQ(most.view<float>()[0], 9);
  EXPECT_EQ(least.view<float>()[0], 1);
  EXPECT_TRUE(std::isnan(most.view<float>()[1]) && std::isnan(least.view<float>()[1]));
  EXPECT_THAT(reduce(MathOp::argmax_number, a, 1).view<std::int32_t>(), ElementsAre(3, 0));
  EXPECT_THAT(reduce(MathOp::argmin_number, a, 1).view<std::int32_t>(), ElementsAre(4, 0));
  // Over the other axis each column has at most one number.
  EXPECT_THAT(reduce(MathOp::argmax_number, a, 0).view<std::int32_t>(), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_EQ(reduce(MathOp::max_number, a, 0).view<float>()[1], 3);
}

TEST(Reduce, OfNoElementsIsZeroForSumAndAnErrorForTheOthers) {
  const NdArray a(DType::f32, {3, 0});
  EXPECT_EQ(reduce(MathOp::sum, a, 1), NdArray(DType::f32, {3}));
  EXPECT_THROW(reduce(MathOp::max, a, 1), InputError);
  EXPECT_THROW(reduce(MathOp::argmax, a, 1), InputError);
  EXPECT_EQ(reduce(MathOp::max, a, 0).elements(), 0);
}

TEST(Reduce, RefusesAnAxisThatIsNotThere) {
  EXPECT_THROW(reduce(MathOp::sum, NdArray(DType::f32, {2, 3}), 2), InputError);
  EXPECT_THROW(reduce(MathOp::sum, NdArray(DType::f32, {}), 0), InputError);
}

}  // namespace
}  // namespace kernbench::data::reduce_test
