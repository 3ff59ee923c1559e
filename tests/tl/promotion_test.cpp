// Result shapes and dtypes of random operands against a model that is written down independently: shapes by
// counting from the back, dtypes from a table.
#include <map>
#include <random>

#include "tl/recording.hpp"

namespace kernbench::tl::promotion_test {
namespace {

// The design's rule, as a table of (row, column); the lower half mirrors it.
//           f16   bf16  f32  i32   i8    i1    e4m3  e5m2
constexpr DType kPromoted[8][8] = {
    /*f16 */ {f16, f32, f32, f16, f16, f16, f16, f16},
    /*bf16*/ {f32, bf16, f32, bf16, bf16, bf16, bf16, bf16},
    /*f32 */ {f32, f32, f32, f32, f32, f32, f32, f32},
    /*i32 */ {f16, bf16, f32, i32, i32, i32, f8e4m3, f8e5m2},
    /*i8  */ {f16, bf16, f32, i32, i8, i8, f8e4m3, f8e5m2},
    /*i1  */ {f16, bf16, f32, i32, i8, i1, f8e4m3, f8e5m2},
    /*e4m3*/ {f16, bf16, f32, f8e4m3, f8e4m3, f8e4m3, f8e4m3, f16},
    /*e5m2*/ {f16, bf16, f32, f8e5m2, f8e5m2, f8e5m2, f16, f8e5m2},
};
DType promoted(DType a, DType b) { return kPromoted[static_cast<int>(a)][static_cast<int>(b)]; }

std::optional<std::vector<std::int64_t>> broadcast_by_hand(std::vector<std::int64_t> a,
                                                           std::vector<std::int64_t> b) {
  while (a.size() < b.size()) a.insert(a.begin(), 1);
  while (b.size() < a.size()) b.insert(b.begin(), 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 1) a[i] = b[i];
    if (b[i] != 1 && b[i] != a[i]) return std::nullopt;
  }
  return a;
}

TEST(Promotion, OfEveryPairIsTheTables) {
  constexpr std::size_t kInTable = 8;
  for (const auto a : std::span(kAllDTypes).first(kInTable))
    for (const auto b : std::span(kAllDTypes).first(kInTable)) {
      Context tl;
      const auto x = tl.load(kA, {4}, a), y = tl.load(kA, {4}, b);
      const auto both = promoted(a, b);
      const auto counted = both == i1 ? i32 : both;
      const auto names = std::string(to_string(a)) + " with " + std::string(to_string(b));
      EXPECT_EQ((x + y).dtype(), counted) << names;
      EXPECT_EQ((x * y).dtype(), counted) << names;
      EXPECT_EQ((x / y).dtype(), is_integer(both) ? f32 : both) << names;
      EXPECT_EQ(tl.maximum(x, y).dtype(), both) << names;
      EXPECT_EQ((x < y).dtype(), i1) << names;
      EXPECT_EQ(tl.where(tl.load(kA, {4}, i1), x, y).dtype(), both) << names;
    }
}

TEST(Promotion, ANumberNeverWidensATile) {
  for (const auto dtype : kAllDTypes) {
    Context tl;
    const auto x = tl.load(kA, {4}, dtype);
    EXPECT_EQ((x + 1).dtype(), dtype == i1 ? i32 : dtype);
    EXPECT_EQ(tl.maximum(x, 1.0).dtype(), dtype);
  }
}

TEST(Broadcasting, OfRandomShapesIsNumPys) {
  std::mt19937 random(3);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto shape = [&] {
      std::vector<std::int64_t> s(static_cast<std::size_t>(pick(4)));
      for (auto& extent : s) extent = pick(3) == 0 ? pick(4) : 1 + 2 * pick(2);
      return s;
    };
    const auto a = shape(), b = shape();
    const auto wanted = broadcast_by_hand(a, b);
    Context tl;
    const auto x = tl.load(kA, Dims(a), f16), y = tl.load(kA, Dims(b), f16);
    if (!wanted) {
      EXPECT_THROW(x + y, KernelError);
      ++refused;
    } else {
      EXPECT_EQ((x + y).shape(), Shape(std::span<const std::int64_t>(*wanted)));
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
}

TEST(Broadcasting, OfThreeOperandsIsThatOfAllTogether) {
  Context tl;
  const auto mask = tl.load(kA, {4, 1, 1}, i1), x = tl.load(kA, {3, 1}, f16), y = tl.load(kA, {2}, f16);
  EXPECT_EQ(tl.where(mask, x, y).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(tl.fma(x, y, mask).shape(), (Shape{4, 3, 2}));
}

}  // namespace
}  // namespace kernbench::tl::promotion_test
