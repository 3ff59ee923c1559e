#include "data/numerics/elementwise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/simd.hpp"
#include "data/numerics/strided.hpp"
#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data::elementwise_test {
namespace {

using reference::meaning;
using reference::number;
using reference::rounded;
using reference::same;
using ::testing::ElementsAre;

/// The meaning on integers, before wrapping.
std::int64_t int_meaning(MathOp op, std::int64_t a, std::int64_t b, std::int64_t c) {
  switch (op) {
    case MathOp::mul:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    case MathOp::fma:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) +
                                       static_cast<std::uint64_t>(c));
    case MathOp::floordiv:
      return b == 0 ? -1 : a / b;
    case MathOp::mod:
      return b == 0 ? a : a % b;
    case MathOp::bit_and:
      return a & b;
    case MathOp::bit_or:
      return a | b;
    case MathOp::bit_xor:
      return a ^ b;
    default:
      return static_cast<std::int64_t>(
          meaning(op, static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
  }
}

bool is_transcendental(MathOp op) {
  return info(op).cost == MathCost::transcendental ||
         op == MathOp::rsqrt;  // tested with tolerance, elsewhere
}

std::vector<MathOp> exact_ops() {
  std::vector<MathOp> ops;
  for (const auto& op : math_ops())
    if (op.kind == MathKind::elementwise && op.result != ResultRule::given && !is_transcendental(op.op) &&
        op.result != ResultRule::shift && op.op != MathOp::bit_not)  // these in integers_test.cpp
      ops.push_back(op.op);
  return ops;
}

/// A shape that broadcasts to `whole`: leading axes may be missing, others may be 1.
Shape shrunk(Random& random, const Shape& whole) {
  std::vector<std::int64_t> extents(whole.begin() + random.below(whole.rank() + 1), whole.end());
  for (auto& e : extents)
    if (random.below(3) == 0) e = 1;
  return Shape(extents);
}

Shape any_shape(Random& random) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(random.below(5)));
  for (auto& e : extents) e = 1 + random.below(6);
  if (!extents.empty() && random.below(4) == 0) extents[0] = 900 + random.below(400);  // more than one block
  return Shape(extents);
}

std::optional<DType> result_if_accepted(MathOp op, const std::vector<DType>& operands) {
  try {
    return result_dtype(op, operands);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

NdArray compute(MathOp op, const std::vector<NdArray>& operands) {
  return elementwise(op, std::vector<ConstArray>(operands.begin(), operands.end()));
}

void expect_meaning(MathOp op, const std::vector<NdArray>& operands, const NdArray& got) {
  bool floats = is_float(got.dtype());
  for (const auto& a : operands) floats |= info(op).result == ResultRule::truth && is_float(a.dtype());
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.elements()); ++i) {
    double in[3] = {0, 0, 0};
    for (std::size_t k = 0; k < operands.size(); ++k)
      in[k] = number(operands[k], reference::source(operands[k].shape(), got.shape(), i));
    double want = 0;
    if (floats) {
      for (auto& x : in) x = static_cast<float>(x);  // an i32 beside a float
      want = rounded(got.dtype(), static_cast<float>(meaning(op, in[0], in[1], in[2])));
    } else {
      want = reference::wrapped(
          got.dtype(), int_meaning(op, static_cast<std::int64_t>(in[0]), static_cast<std::int64_t>(in[1]),
                                   static_cast<std::int64_t>(in[2])));
    }
    ASSERT_TRUE(same(number(got, i), want))
        << to_string(op) << "(" << in[0] << ", " << in[1] << ", " << in[2] << ") as "
        << to_string(got.dtype()) << ": " << number(got, i) << ", not " << want;
  }
  ASSERT_TRUE(op == MathOp::copy || reference::nans_are_canonical(got)) << to_string(op);
}

void expect_same_at_every_level(MathOp op, const std::vector<NdArray>& operands, const NdArray& want) {
  for (const auto level : {Simd::generic, Simd::avx2}) {
    const SimdCap cap(level);
    ASSERT_EQ(compute(op, operands), want) << to_string(op);
  }
}

/// Random operands of these dtypes with shapes that broadcast together.
std::vector<NdArray> random_operands(Random& random, const std::vector<DType>& dtypes) {
  const auto whole = any_shape(random);
  std::vector<NdArray> operands;
  for (const auto t : dtypes) {
    const auto shape = shrunk(random, whole);
    operands.push_back(random.below(3) ? random.array(t, shape) : random.any_bits(t, shape));
  }
  return operands;
}

template <class Visit>
void for_every_choice_of_dtypes(int operands, Visit visit) {
  const int choices = operands == 1 ? 8 : operands == 2 ? 64 : 512;
  for (int choice = 0; choice < choices; ++choice) {
    std::vector<DType> dtypes;
    for (int k = 0, rest = choice; k < operands; ++k, rest /= 8)
      dtypes.push_back(kAllDTypes[static_cast<std::size_t>(rest % 8)]);
    visit(dtypes);
  }
}

TEST(Elementwise, EveryExactOperationOnEveryChoiceOfDTypesMeansWhatItSays) {
  Random random(11);
  for (const auto op : exact_ops())
    for_every_choice_of_dtypes(info(op).operands, [&](const std::vector<DType>& dtypes) {
      if (!result_if_accepted(op, dtypes)) return;
      for (int round = 0; round < (dtypes.size() == 3 ? 2 : 8); ++round) {
        const auto operands = random_operands(random, dtypes);
        const auto got = compute(op, operands);
        EXPECT_EQ(got.dtype(), *result_if_accepted(op, dtypes));
        expect_meaning(op, operands, got);
        expect_same_at_every_level(op, operands, got);
      }
    });
}

TEST(Elementwise, TheResultHasTheBroadcastShape) {
  const NdArray a(DType::f16, {8, 1, 6, 1}), b(DType::f16, {7, 1, 5});
  EXPECT_EQ(compute(MathOp::add, {a, b}).shape(), (Shape{8, 7, 6, 5}));
  EXPECT_EQ(compute(MathOp::add, {NdArray(DType::f32, {0, 3}), NdArray(DType::f32, {3})}).shape(),
            (Shape{0, 3}));
}

TEST(Elementwise, RefusesShapesAndDTypesThatDoNotFit) {
  EXPECT_THROW(compute(MathOp::add, {NdArray(DType::f32, {2}), NdArray(DType::f32, {3})}), InputError);
  EXPECT_THROW(compute(MathOp::mod, {NdArray(DType::f32, {2}), NdArray(DType::f32, {2})}), InputError);
  EXPECT_THROW(compute(MathOp::add, {NdArray(DType::f32, {2})}), InputError);
}

TEST(Elementwise, FloatMathIsDoneInF32AndRoundedOnce) {
  // 2048 + 1 is 2049 in f32; f16 has only 2048 and 2050 there: a tie, to even. fma keeps the product's tail.
  const auto a = NdArray::of<F16>({1}, {F16(2048)}), one = NdArray::of<F16>({1}, {F16(1)});
  EXPECT_EQ(number(compute(MathOp::add, {a, one}), 0), 2048);
  const auto x = NdArray::of<float>({1}, {1 + 0x1p-12f}), minus = NdArray::of<float>({1}, {-(1 + 0x1p-11f)});
  EXPECT_EQ(number(compute(MathOp::fma, {x, x, minus}), 0), 0x1p-24);
}

TEST(Elementwise, IntegersWrapInTheirOwnWidth) {
  const auto a = NdArray::of<std::int8_t>({3}, {127, -128, -128}),
             b = NdArray::of<std::int8_t>({3}, {1, -1, -128});
  EXPECT_THAT(compute(MathOp::add, {a, b}).view<std::int8_t>(), ElementsAre(-128, 127, 0));
  EXPECT_THAT(compute(MathOp::mul, {a, b}).view<std::int8_t>(), ElementsAre(127, -128, 0));
  EXPECT_THAT(compute(MathOp::abs, {a}).view<std::int8_t>(), ElementsAre(127, -128, -128));
}

TEST(Elementwise, IntegerDivisionTruncatesAndIsDefinedForZero) {
  const auto low = std::numeric_limits<std::int32_t>::min();
  const auto a = NdArray::of<std::int32_t>({5}, {-7, 7, 5, low, -7}),
             b = NdArray::of<std::int32_t>({5}, {2, -2, 0, -1, 0});
  EXPECT_THAT(compute(MathOp::floordiv, {a, b}).view<std::int32_t>(), ElementsAre(-3, -3, -1, low, -1));
  EXPECT_THAT(compute(MathOp::mod, {a, b}).view<std::int32_t>(), ElementsAre(-1, 1, 5, 0, -7));
}

TEST(Elementwise, DivisionOfIntegersGivesF32) {
  const auto a = NdArray::of<std::int32_t>({2}, {1, -1}), b = NdArray::of<std::int8_t>({2}, {3, 0});
  EXPECT_THAT(compute(MathOp::div, {a, b}).view<float>(),
              ElementsAre(1.0f / 3, -std::numeric_limits<float>::infinity()));
}

TEST(Elementwise, CopyKeepsEveryBit) {
  const auto a = Random(12).any_bits(DType::f32, {3000});
  EXPECT_EQ(compute(MathOp::copy, {a}), a);
}

double cast_meaning(DType to, DType from, double x) {
  if (to == DType::i1) return x != 0;
  if (is_float(to)) return rounded(to, static_cast<float>(x));
  if (is_integer(from)) return reference::wrapped(to, static_cast<std::int64_t>(x));
  if (std::isnan(x)) return 0;
  const double low = to == DType::i8 ? -128 : -0x1p31, high = to == DType::i8 ? 127 : 0x1p31 - 1;
  return std::trunc(std::min(std::max(x, low), high)) + 0.0;  // no −0
}

TEST(Cast, BetweenEveryPairOfDTypesFollowsTheRule) {
  Random random(13);
  for (const auto from : reference::kDTypes)
    for (const auto to : reference::kDTypes)
      for (const bool tame : {true, false}) {
        const auto a = tame ? random.array(from, {3, 700}) : random.any_bits(from, {3, 700});
        const auto got = cast(a, to);
        ASSERT_EQ(got.dtype(), to);
        for (std::size_t i = 0; i < 2100; ++i)
          ASSERT_TRUE(same(number(got, i), cast_meaning(to, from, number(a, i))))
              << to_string(from) << " " << number(a, i) << " to " << to_string(to) << " gave "
              << number(got, i);
        ASSERT_TRUE(reference::nans_are_canonical(got));
      }
}

TEST(Cast, SaturatesAtTheEdgesOfIntegers) {
  const auto a = NdArray::of<float>({6}, {0x1p31f, -0x1p31f, 2147483520.0f, 127.9f, -128.9f, -0.9f});
  const auto top = std::numeric_limits<std::int32_t>::max(),
             bottom = std::numeric_limits<std::int32_t>::min();
  EXPECT_THAT(cast(a, DType::i32).view<std::int32_t>(), ElementsAre(top, bottom, 2147483520, 127, -128, 0));
  EXPECT_THAT(cast(a, DType::i8).view<std::int8_t>(), ElementsAre(127, -128, 127, 127, -128, 0));
}

TEST(Create, FillAndArangeMakeEveryDType) {
  for (const auto t : reference::kDTypes) {
    NdArray a(t, {5, 300}), b(t, {5, 300}), c(t, {5, 300});
    fill(a, 2.7f);
    fill(b, std::int32_t{-300});
    arange(c, -3);
    for (std::size_t i = 0; i < 1500; ++i) {
      ASSERT_TRUE(same(number(a, i), cast_meaning(t, DType::f32, 2.7f)));
      ASSERT_TRUE(same(number(b, i), cast_meaning(t, DType::i32, -300)));
      ASSERT_TRUE(same(number(c, i), cast_meaning(t, DType::i32, static_cast<double>(i) - 3)))
          << to_string(t) << i;
    }
  }
}

TEST(Gather, ReadsTransposedReversedAndSlicedArrays) {
  const auto a = NdArray::of<std::int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto read = [&](const Shape& shape, std::vector<std::int64_t> strides, std::size_t from) {
    NdArray out(DType::i32, shape);
    gather(DType::i32, a.bytes().data() + 4 * from, shape, strides, out.bytes().data());
    return std::vector<std::int32_t>(out.view<std::int32_t>().begin(), out.view<std::int32_t>().end());
  };
  EXPECT_THAT(read({3, 2}, {1, 3}, 0), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(read({2, 2}, {3, 2}, 0), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(read({6}, {-1}, 5), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(read({2, 1, 3}, {0, 7, 1}, 3), ElementsAre(3, 4, 5, 3, 4, 5));
  EXPECT_THAT(read({}, {}, 4), ElementsAre(4));
}

}  // namespace
}  // namespace kernbench::data::elementwise_test
