// Every integer operation on every integer dtype, beside arithmetic in 128 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/numerics/arrange.hpp"
#include "data/numerics/elementwise.hpp"
#include "data/numerics/reduce.hpp"
#include "data/random_arrays.hpp"
#include "data/reference.hpp"

namespace kernbench::data::integers_test {
namespace {

constexpr std::array kIntegers = {DType::i8, DType::i16, DType::i32, DType::i64,
                                  DType::u8, DType::u16, DType::u32, DType::u64};

using reference::product;
using reference::Wide;
using reference::wrapped;

Wide number(const NdArray& a, std::size_t i) { return reference::integer(a, i); }
Wide meaning(MathOp op, DType t, Wide a, Wide b, Wide c) { return reference::meaning(op, t, a, b, c); }

/// Numbers of the whole range, small ones of both signs, and the edges.
NdArray operand(Random& random, DType t, bool small) {
  auto a = random.any_bits(t, {500});
  const auto size = static_cast<std::size_t>(itemsize(t));
  for (std::size_t i = 0; i < 500; ++i) {
    if (!small && i % 5 != 0) continue;
    for (std::size_t byte = 0; byte < size; ++byte) {
      const bool high = byte + 1 == size;
      const auto edge = i % 3 == 0 ? (high ? 0x80 : 0) : i % 3 == 1 ? 0xFF : byte == 0 ? random.below(70) : 0;
      a.bytes()[i * size + byte] = static_cast<std::byte>(edge);
    }
  }
  return a;
}

bool takes(MathOp op, DType t) {
  const auto& that = info(op);
  if (that.kind != MathKind::elementwise || that.result == ResultRule::given || op == MathOp::where)
    return false;
  if (that.result == ResultRule::real || that.result == ResultRule::division) return false;
  return op != MathOp::umulhi || itemsize(t) >= 4;
}

TEST(Integers, EveryOperationOnEveryDTypeMeansWhatItSays) {
  Random random(51);
  for (const auto& that : math_ops())
    for (const auto t : kIntegers)
      for (const bool small : {false, true}) {
        if (!takes(that.op, t)) continue;
        std::vector<NdArray> in;
        for (int i = 0; i < that.operands; ++i) in.push_back(operand(random, t, small));
        const auto got = elementwise(that.op, std::vector<ConstArray>(in.begin(), in.end()));
        for (std::size_t i = 0; i < 500; ++i) {
          const auto at = [&](std::size_t k) { return k < in.size() ? number(in[k], i) : Wide{0}; };
          const auto expected = meaning(that.op, t, at(0), at(1), at(2));
          ASSERT_TRUE(number(got, i) == (got.dtype() == DType::i1 ? expected : wrapped(t, expected)))
              << that.name << " of " << to_string(t) << " element " << i;
        }
      }
}

TEST(Integers, OfTwoDTypesArePromotedFirst) {
  Random random(52);
  for (const auto a : kIntegers)
    for (const auto b : kIntegers) {
      const auto t = promote(a, b);
      const std::vector<NdArray> in{random.any_bits(a, {300}), random.any_bits(b, {300})};
      const std::vector<ConstArray> operands(in.begin(), in.end());
      const auto sum = elementwise(MathOp::add, operands), less = elementwise(MathOp::lt, operands);
      ASSERT_EQ(sum.dtype(), t);
      for (std::size_t i = 0; i < 300; ++i) {
        const auto x = wrapped(t, number(in[0], i)), y = wrapped(t, number(in[1], i));
        ASSERT_TRUE(number(sum, i) == wrapped(t, x + y)) << to_string(a) << to_string(b);
        ASSERT_TRUE(number(less, i) == (x < y ? 1 : 0)) << to_string(a) << to_string(b);
      }
    }
}

TEST(Integers, CastToEachOtherKeepingTheLowBits) {
  Random random(53);
  for (const auto from : kIntegers)
    for (const auto to : kIntegers) {
      const auto a = random.any_bits(from, {300});
      const auto b = cast(a, to);
      for (std::size_t i = 0; i < 300; ++i) ASSERT_TRUE(number(b, i) == wrapped(to, number(a, i)));
    }
}

TEST(Integers, OfFloatsSaturate) {
  const auto a = NdArray::of<float>({5}, {1e30f, -1e30f, NAN, -1.5f, 200.75f});
  const auto top = [](DType t) { return (Wide{1} << (8 * itemsize(t) - (is_unsigned(t) ? 0 : 1))) - 1; };
  const auto bottom = [](DType t) { return is_unsigned(t) ? Wide{0} : -(Wide{1} << (8 * itemsize(t) - 1)); };
  for (const auto t : kIntegers) {
    const auto b = cast(a, t);
    EXPECT_TRUE(number(b, 0) == top(t)) << to_string(t);
    EXPECT_TRUE(number(b, 1) == bottom(t)) << to_string(t);
    EXPECT_TRUE(number(b, 2) == 0);
    EXPECT_TRUE(number(b, 3) == std::max(bottom(t), Wide{-1}));
    EXPECT_TRUE(number(b, 4) == std::min(top(t), Wide{200}));
  }
}

TEST(Integers, NotOfTruthValuesIsLogical) {
  const auto a = NdArray::of<bool>({2}, {true, false});
  const auto b = elementwise(MathOp::bit_not, std::vector<ConstArray>{a});
  EXPECT_EQ(b, (NdArray::of<bool>({2}, {false, true})));
}

TEST(Reductions, OfIntegersFollowTheirDefinition) {
  Random random(54);
  for (const auto t : kIntegers) {
    const auto a = random.any_bits(t, {7, 33});
    const auto sum = reduce(MathOp::sum, a, 1), times = reduce(MathOp::prod, a, 1),
               all = reduce(MathOp::xor_sum, a, 1), least = reduce(MathOp::min, a, 1),
               at = reduce(MathOp::argmin, a, 1);
    for (std::size_t row = 0; row < 7; ++row) {
      Wide s = 0, p = 1, x = 0, m = number(a, row * 33);
      std::size_t where = 0;
      for (std::size_t i = 0; i < 33; ++i) {
        const auto n = number(a, row * 33 + i);
        s = wrapped(t, s + n), p = wrapped(t, product(p, n)), x ^= n;
        if (n < m) m = n, where = i;
      }
      EXPECT_TRUE(number(sum, row) == s && number(times, row) == p && number(all, row) == wrapped(t, x))
          << to_string(t);
      EXPECT_TRUE(number(least, row) == m && number(at, row) == static_cast<Wide>(where)) << to_string(t);
    }
  }
}

TEST(Scans, GoFromOneEndToTheOther) {
  Random random(55);
  for (const auto t : kIntegers)
    for (const auto op : {MathOp::cumsum, MathOp::cumprod, MathOp::cummax, MathOp::cummin})
      for (const bool reverse : {false, true}) {
        const auto a = random.any_bits(t, {3, 20, 5});
        NdArray got(t, a.shape());
        scan(op, a, 1, reverse, got);
        for (std::size_t o = 0; o < 3; ++o)
          for (std::size_t j = 0; j < 5; ++j) {
            Wide sum = 0;
            for (std::size_t i = 0; i < 20; ++i) {
              const auto at = (o * 20 + (reverse ? 19 - i : i)) * 5 + j;
              const auto n = number(a, at);
              const auto step = op == MathOp::cumsum    ? MathOp::add
                                : op == MathOp::cumprod ? MathOp::mul
                                : op == MathOp::cummax  ? MathOp::maximum
                                                        : MathOp::minimum;
              sum = i == 0 ? n : wrapped(t, meaning(step, t, sum, n, 0));
              ASSERT_TRUE(number(got, at) == sum) << to_string(op) << " of " << to_string(t);
            }
          }
      }
}

TEST(Arrange, FlipsSortsGathersAndCounts) {
  const auto a = NdArray::of<float>({2, 4}, {3, NAN, -1, 2, 0, -0.5F, 8, 1});
  NdArray out(DType::f32, {2, 4});
  flip(a, 1, out);
  EXPECT_EQ(out.view<float>()[4], 1);
  EXPECT_EQ(out.view<float>()[7], 0);
  sort(a, 1, false, out);
  EXPECT_EQ(out.view<float>()[0], -1);
  EXPECT_EQ(out.view<float>()[2], 3);
  EXPECT_NE(out.view<float>()[3], out.view<float>()[3]);  // NaN last
  sort(a, 0, true, out);
  EXPECT_EQ(out.view<float>()[0], 3);
  EXPECT_EQ(out.view<float>()[6], -1);
  NdArray three(DType::f32, {2, 3});
  gather(a, NdArray::of<std::int32_t>({2, 3}, {3, 0, -1, 1, 1, 6}), 1, three);
  EXPECT_EQ(three, NdArray::of<float>({2, 3}, {2, 3, 2, -0.5F, -0.5F, 8}));
  NdArray counts(DType::i32, {3});
  histogram(NdArray::of<std::uint8_t>({6}, {2, 0, 2, 7, 1, 2}), counts);
  EXPECT_EQ(counts, NdArray::of<std::int32_t>({3}, {1, 1, 3}));
}

}  // namespace
}  // namespace kernbench::data::integers_test
