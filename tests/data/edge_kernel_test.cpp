// Kernels at the edges of the language: nothing, one element, odd shapes, numbers that do not fit. Recorded, simulated
// and replayed; what must come out is written down or computed here, element by element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "data/simulated_world.hpp"
#include "seeds.hpp"

namespace kernbench::data::edge_kernel_test {
namespace {

using namespace kernbench::dtypes;
using device::OpKind;
using device::testing::kBase;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Pointwise;
using tl::Context;
using tl::Ptr;

constexpr PeCoord kPe{0, 0, 0};
constexpr std::uint64_t kIn = 0, kMore = 1 << 20, kOut = 2 << 20;
constexpr Ptr kInPtr{kBase + kIn}, kMorePtr{kBase + kMore}, kOutPtr{kBase + kOut};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

using Numbers = std::vector<double>;

Numbers numbers(const NdArray& array) {
  Numbers out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.elements()); ++i)
    out.push_back(reference::number(array, i));
  return out;
}

/// What a kernel leaves at kOut, if that many elements are there.
template <class Kernel>
Numbers result_of(Kernel kernel, DType dtype, const Shape& shape, const NdArray& in = NdArray(f32, {1}),
                  const NdArray& more = NdArray(f32, {1})) {
  SimulatedWorld world;
  world.put(kPe, kIn, in);
  world.put(kPe, kMore, more);
  world.kernels.run(kPe, kernel);
  world.replay(2);
  return numbers(world.get(kPe, kOut, dtype, shape));
}

/// The result of an operation on two tiles of these numbers.
template <class Op>
Numbers of_two(DType dtype, const Numbers& a, const Numbers& b, DType result, Op op) {
  const auto n = static_cast<std::int64_t>(a.size());
  return result_of(
      [&](Context& tl) {
        const auto fill = [&](const Numbers& values) {
          auto tile = tl.full({n}, values[0], dtype);
          for (std::int64_t i = 1; i < n; ++i)
            tile = tl.where(tl.arange(0, n) == i, values[static_cast<std::size_t>(i)], tile);
          return tile;
        };
        tl.store(kOutPtr, op(tl, fill(a), fill(b)));
      },
      result, {n});
}

NdArray counting(const Shape& shape) {
  NdArray array(f32, shape);
  float next = 0;
  for (auto& x : array.view<float>()) x = next++;
  return array;
}

// ── nothing ──

TEST(EdgeKernel, TilesOfNothingPassThroughEveryOperation) {
  const auto kernel = [](Context& tl) {
    const auto none = tl.load(kInPtr, {0, 5}, f32);
    const auto sums = tl.sum(tl.exp(none + 1.0) * none, 0);       // [5] of zeros
    const auto product = tl.dot(tl.reshape(none, {5, 0}), none);  // [5, 5] of zeros: K is 0
    tl.store(kMorePtr, tl.dot(none, tl.zeros({5, 3}, f32)));      // [0, 3]: nothing
    tl.store(kMorePtr, tl.max(none, 1));
    tl.store(kOutPtr, sums + tl.sum(product, -1) + tl.sum(none));
  };
  EXPECT_THAT(result_of(kernel, f32, {5}), Each(0.0));
}

TEST(EdgeKernel, ACompositeOfNoDepthGivesZerosAndItsEpilogue) {
  const auto kernel = [](Context& tl) {
    tl.composite("gemm", tl.ref(kInPtr, {3, 0}, f16), tl.ref(kMorePtr, {0, 2}, f16),
                 tl.ref(kOutPtr, {3, 2}, f32), {.epilogue = {{"add", 2.5}}});
  };
  EXPECT_THAT(result_of(kernel, f32, {6}), Each(2.5));
}

// max(1, ⌈dim / tile⌉) tiles each way: one of each kind.
TEST(EdgeKernel, ACompositeOfNoRowsOrColumnsMovesNothing) {
  for (const auto& [m, n] : {std::pair(0, 4), std::pair(4, 0), std::pair(0, 0)}) {
    SimulatedWorld world;
    world.put(kPe, kIn, NdArray(f16, {64}));
    world.put(kPe, kMore, NdArray(f16, {64}));
    world.kernels.run(kPe, [m = m, n = n](Context& tl) {
      tl.wait(tl.composite("gemm", tl.ref(kInPtr, {m, 8}, f16), tl.ref(kMorePtr, {8, n}, f16),
                           tl.ref(kOutPtr, {m, n}, f16)));
      tl.store(kOutPtr, tl.full({1}, 7.0, f32));
    });
    world.replay();
    EXPECT_EQ(world.kernels.of(OpKind::tile_gemm).size(), 1u);
    EXPECT_EQ(world.kernels.of(OpKind::tile_dma_in).size(), 2u);
    EXPECT_EQ(world.kernels.of(OpKind::tile_dma_out).size(), 1u);
    EXPECT_THAT(numbers(world.get(kPe, kOut, f32, {1})), ElementsAre(7));
  }
}

// Lanes that are off are neither moved nor translated: address 0x42 is mapped nowhere.
TEST(EdgeKernel, AMaskWithoutALaneTouchesNothing) {
  const auto kernel = [](Context& tl) {
    const auto none = tl.arange(0, 8) < 0;
    const auto x = tl.load(Ptr(0x42), {8}, f32, {.mask = none, .other = 1.5});
    tl.store(Ptr(0x42), x, {.mask = none});
    tl.store(kOutPtr, x);
  };
  EXPECT_THAT(result_of(kernel, f32, {8}), Each(1.5));
}

// The window maps, of 4 rows of 4, the first 64 MiB: the last two lanes of each row lie behind its end or not by the
// mask alone.
TEST(EdgeKernel, OnlyActiveLanesAreTranslated) {
  const auto kernel = [](Context& tl) {
    const Ptr last = Ptr(kBase + (64 << 20) - 8);  // two f32 before the end
    const auto inside = tl.arange(0, 4) < 2;
    tl.store(last, tl.full({4}, 3.0, f32), {.mask = inside});
    tl.store(kOutPtr, tl.load(last, {4}, f32, {.mask = inside, .other = -1}));
  };
  EXPECT_THAT(result_of(kernel, f32, {4}), ElementsAre(3, 3, -1, -1));
}

TEST(EdgeKernel, LanesThatAreOffKeepWhatMemoryHeld) {
  const auto kernel = [](Context& tl) {
    const auto i = tl.arange(0, 7);
    tl.store(kOutPtr, tl.zeros({3, 7}, f32));
    tl.store(kOutPtr, tl.full({3, 7}, 1.0, f32), {.mask = (i % 3 == 1) | (i == 6)});
  };
  EXPECT_THAT(result_of(kernel, f32, {7}), ElementsAre(0, 1, 0, 0, 1, 0, 1));
}

// ── one ──

TEST(EdgeKernel, OneByOneProductsAndReductions) {
  const auto in = NdArray::of<float>({1}, {3}), more = NdArray::of<float>({1}, {-5});
  const auto kernel = [](Context& tl) {
    const auto a = tl.load(kInPtr, {1, 1}, f32), b = tl.load(kMorePtr, {1, 1}, f32);
    const auto scalar = tl.sum(tl.dot(a, b));  // rank 0
    tl.store(kOutPtr, scalar + tl.max(tl.reshape(a, {1, 1, 1, 1, 1, 1, 1, 1}), -1, true));
  };
  EXPECT_THAT(result_of(kernel, f32, {1}, in, more), ElementsAre(-12));
  const auto composite = [](Context& tl) {
    tl.composite("gemm", tl.ref(kInPtr, {1, 1}, f32), tl.load(kMorePtr, {1, 1}, f32),
                 tl.ref(kOutPtr, {1, 1}, f32), {.epilogue = {{"abs"}, {"mul", tl.full({}, 2.0, f16)}}});
  };
  EXPECT_THAT(result_of(composite, f32, {1}, in, more), ElementsAre(30));
}

// ── numbers that do not fit ──

TEST(EdgeKernel, F8OverflowsToNanOrInfinity) {
  const auto sum = [](Context&, const tl::Tile& a, const tl::Tile& b) { return a + b; };
  // e4m3: 448 is the largest, its step there 32: 448 + 16 is half way, to even, 448; more is NaN. The smallest is 2⁻⁹.
  EXPECT_THAT(of_two(f8e4m3, {448, 448, -448, 0x1p-9, 448}, {14, 18, -448, -0x1p-9, -448}, f8e4m3, sum),
              Pointwise(NanSensitiveDoubleEq(), Numbers{448, kNan, kNan, 0, 0}));
  // e5m2: 57344 and a step of 8192: half way rounds to infinity.
  EXPECT_THAT(of_two(f8e5m2, {57344, 57344, -57344, kInf, 1}, {3584, 4096, -8192, -kInf, kNan}, f8e5m2, sum),
              Pointwise(NanSensitiveDoubleEq(), Numbers{57344, kInf, -kInf, kNan, kNan}));
  // Together they are computed in f16, where the sum fits.
  EXPECT_THAT(
      result_of(
          [](Context& tl) { tl.store(kOutPtr, tl.full({2}, 448.0, f8e4m3) + tl.full({2}, 64.0, f8e5m2)); },
          f16, {2}),
      Each(512));
}

TEST(EdgeKernel, NansAreNeitherEqualNorOrderedAndWinInMaximum) {
  const Numbers a{kNan, 1, kInf}, b{1, kNan, -kInf};
  const auto of = [&](DType result, auto op) { return of_two(f16, a, b, result, op); };
  EXPECT_THAT(of(i1, [](Context&, auto x, auto y) { return (x < y) | (x > y) | (x == y); }),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(of(i1, [](Context&, auto x, auto y) { return x != y; }), ElementsAre(1, 1, 1));
  EXPECT_THAT(of(f16, [](Context& tl, auto x, auto y) { return tl.maximum(x, y); }),
              Pointwise(NanSensitiveDoubleEq(), Numbers{kNan, kNan, kInf}));
  EXPECT_THAT(of(f16, [](Context& tl, auto x, auto) { return tl.where(x == x, x, 0); }),
              ElementsAre(0, 1, kInf));
  EXPECT_THAT(of(i8, [](Context& tl, auto x, auto) { return tl.cast(x, i8); }), ElementsAre(0, 1, 127));
}

TEST(EdgeKernel, IntegersWrapInTheirWidthAndDivideToF32) {
  const double low = -2147483648.0, top = 2147483647.0;
  const auto i32s = [&](auto op) { return of_two(i32, {low, top, 65536, 7}, {-1, 1, 65536, 0}, i32, op); };
  EXPECT_THAT(i32s([](Context&, auto x, auto y) { return x + y; }), ElementsAre(top, low, 131072, 7));
  EXPECT_THAT(i32s([](Context&, auto x, auto y) { return x * y; }), ElementsAre(low, top, 0, 0));
  EXPECT_THAT(i32s([](Context& tl, auto x, auto y) { return tl.floordiv(x, y); }),
              ElementsAre(low, top, 1, -1));
  EXPECT_THAT(i32s([](Context&, auto x, auto y) { return x % y; }), ElementsAre(0, 0, 0, 7));
  EXPECT_THAT(i32s([](Context&, auto x, auto) { return -x; }), ElementsAre(low, -top, -65536, -7));
  const auto i8s = [&](DType result, auto op) {
    return of_two(i8, {127, -128, 100}, {2, -128, 3}, result, op);
  };
  EXPECT_THAT(i8s(i8, [](Context&, auto x, auto y) { return x * y; }), ElementsAre(-2, 0, 44));
  EXPECT_THAT(i8s(i8, [](Context& tl, auto x, auto y) { return tl.fma(x, y, y); }), ElementsAre(0, -128, 47));
  EXPECT_THAT(i8s(f32, [](Context&, auto x, auto y) { return x / y; }), ElementsAre(63.5, 1, 100.0f / 3));
  EXPECT_THAT(i8s(i8, [](Context& tl, auto x, auto) { return tl.broadcast_to(tl.sum(x), {3}); }), Each(99));
}

TEST(EdgeKernel, TruthValuesAreCountedAndOrdered) {
  const auto kernel = [](Context& tl) {
    const auto odd = tl.arange(0, 6) % 2 == 1;  // 0 1 0 1 0 1
    const auto all = tl.cast(tl.max(odd), i32) * 100 + tl.cast(tl.min(odd), i32) * 10;
    tl.store(kOutPtr, odd + odd + tl.sum(odd) + tl.argmax(odd) + all);
  };
  // 2 · odd + 3 + 1 + 100
  EXPECT_THAT(result_of(kernel, i32, {6}), ElementsAre(104, 106, 104, 106, 104, 106));
}

// ── axes, strides and views ──

TEST(EdgeKernel, AxesCountFromTheBackToo) {
  const auto in = counting({2, 3, 4});  // element (i, j, k) is 12 i + 4 j + k
  const auto reduced = [&](int axis, const Shape& shape) {
    return result_of(
        [&](Context& tl) {
          tl.store(kOutPtr, tl.max(tl.load(kInPtr, {2, 3, 4}, f32), axis));
        },
        f32, shape, in);
  };
  EXPECT_EQ(reduced(-1, {6}), reduced(2, {6}));
  EXPECT_THAT(reduced(-1, {6}), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_THAT(reduced(-2, {8}), ElementsAre(8, 9, 10, 11, 20, 21, 22, 23));
  EXPECT_THAT(reduced(-3, {12}), ElementsAre(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23));
}

TEST(EdgeKernel, LoadsMayRepeatTransposeAndOverlap) {
  const auto in = counting({3, 4});
  const auto loaded = [&](tl::Dims shape, tl::Dims strides, const Shape& flat) {
    return result_of(
        [&](Context& tl) { tl.store(kOutPtr, tl.load(kInPtr + 4, shape, f32, {.strides = strides})); }, f32,
        flat, in);
  };
  EXPECT_THAT(loaded({2, 3}, {0, 1}, {6}), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(loaded({2, 3}, {1, 0}, {6}), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(loaded({4}, {0}, {4}), Each(1));
  EXPECT_THAT(loaded({2, 3}, {1, 4}, {6}), ElementsAre(1, 5, 9, 2, 6, 10));
  EXPECT_THAT(loaded({3, 3}, {1, 1}, {9}), ElementsAre(1, 2, 3, 2, 3, 4, 3, 4, 5));
  EXPECT_THAT(loaded({2, 1, 2}, {5, 77, 3}, {4}), ElementsAre(1, 4, 6, 9));
}

TEST(EdgeKernel, AStoreOfAViewWritesItsElements) {
  const auto in = counting({4, 6});
  const auto kernel = [](Context& tl) {
    const auto x = tl.load(kInPtr, {4, 6}, f32);
    // Columns 5 3 1 do not exist: steps are positive. Rows 1 3, columns 1 4, turned.
    const auto part = tl.trans(x.slice({{1, 4, 2}, {1, 6, 3}}));  // [[7, 19], [10, 22]]
    tl.store(kOutPtr, tl.broadcast_to(tl.expand_dims(part, 0), {2, 2, 2}), {.strides = {4, 1, 2}});
  };
  EXPECT_THAT(result_of(kernel, f32, {8}, in), ElementsAre(7, 10, 19, 22, 7, 10, 19, 22));
}

TEST(EdgeKernel, ProductsTakeViewsOfEveryKind) {
  const auto in = counting({4, 6});
  const auto kernel = [](Context& tl) {
    const auto x = tl.load(kInPtr, {4, 6}, f32);
    const auto row = x.slice({tl::index(-1)});  // 18 … 23
    tl.store(kOutPtr, tl.dot(tl.broadcast_to(row, {2, 6}), tl.trans(x)));
  };
  Numbers want;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      double sum = 0;  // small integers: exact
      for (int k = 0; k < 6; ++k) sum += (18 + k) * (6 * j + k);
      want.push_back(sum);
    }
  EXPECT_EQ(result_of(kernel, f32, {8}, in), want);
}

TEST(EdgeKernel, OddShapesOfProductsAreRightToTheBit) {
  Random random(41);
  for (const auto& [m, k, n] : {std::array{1, 65, 33}, std::array{33, 1, 1}, std::array{31, 129, 7},
                                std::array{2, 64, 32}, std::array{65, 63, 31}}) {
    const auto a = random.array(f16, {m, k}), b = random.array(f16, {n, k});
    const auto bias = random.array(f16, {m, 1});
    Numbers want;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum = std::fmaf(static_cast<float>(a.at<F16>({i, l})), static_cast<float>(b.at<F16>({j, l})), sum);
        want.push_back(static_cast<float>(F16(sum + static_cast<float>(bias.at<F16>({i, 0})))));
      }
    for (const bool streamed : {true, false}) {
      SimulatedWorld world;
      world.put(kPe, kIn, a);
      world.put(kPe, kMore, b);
      world.put(kPe, 3 << 20, bias);
      world.kernels.run(kPe, [&, m = m, k = k, n = n](Context& tl) {
        const auto more = tl.load(Ptr(kBase + (3 << 20)), {m, 1}, f16);
        const auto out = tl.ref(kOutPtr, {m, n}, f16);
        if (streamed)  // B is stored column by column
          tl.composite("gemm", tl.ref(kInPtr, {m, k}, f16), tl.trans(tl.ref(kMorePtr, {n, k}, f16)), out,
                       {.epilogue = {{"add", more}}});
        else
          tl.composite("gemm", tl.load(kInPtr, {m, k}, f16), tl.trans(tl.load(kMorePtr, {n, k}, f16)), out,
                       {.epilogue = {{"add", more}}});
      });
      world.replay(2);
      EXPECT_EQ(numbers(world.get(kPe, kOut, f16, {m, n})), want)
          << m << " " << k << " " << n << " " << streamed;
    }
  }
}

TEST(EdgeKernel, IntegerProductsAreI32WithTheirEpilogue) {
  Random random(42);
  const auto a = random.any_bits(i8, {5, 70}), b = random.any_bits(i8, {70, 3});
  Numbers want;
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t l = 0; l < 70; ++l)
        sum += a.at<std::int8_t>({i, l}) * static_cast<std::int64_t>(b.at<std::int8_t>({l, j}));
      want.push_back(static_cast<double>(std::max<std::int64_t>(sum * 3, 0)));
    }
  const auto kernel = [](Context& tl) {
    tl.composite("gemm", tl.ref(kInPtr, {5, 70}, i8), tl.ref(kMorePtr, {70, 3}, i8),
                 tl.ref(kOutPtr, {5, 3}, i32), {.epilogue = {{"mul", 3}, {"relu"}}});
  };
  EXPECT_EQ(result_of(kernel, i32, {15}, a, b), want);
}

TEST(EdgeKernel, SoftmaxOfLargeNumbersAndOfOneElement) {
  const auto in = NdArray::of<float>({2, 3}, {1000, 1000, -1000, -3e38f, -3e38f, -3e38f});
  const auto of = [&](tl::Dims shape, int axis) {
    return result_of([&](Context& tl) { tl.store(kOutPtr, tl.softmax(tl.load(kInPtr, shape, f32), axis)); },
                     f32, {6}, in);
  };
  EXPECT_THAT(of({2, 3}, -1), ElementsAre(0.5, 0.5, 0, 1.0f / 3, 1.0f / 3, 1.0f / 3));
  EXPECT_THAT(of({6, 1}, 1), Each(1));
}

// The larger of +0 and −0 is +0, in both orders: 1 / it is +∞. The smaller is −0.
TEST(EdgeKernel, MasksKnowTheOrderOfZeros) {
  const auto kernel = [](Context& tl) {
    const auto plus = tl.cast(tl.arange(0, 4) * 0, f32), minus = -plus;
    const auto on = [&](const tl::Tile& mask) {
      return tl.load(kInPtr, {4}, f32, {.mask = mask, .other = 7});
    };
    tl.store(kOutPtr, on(1.0 / tl.maximum(plus, minus) > 0));
    tl.store(kOutPtr + 16, on(1.0 / tl.maximum(minus, plus) > 0));
    tl.store(kOutPtr + 32, on(1.0 / tl.minimum(plus, minus) > 0));
    tl.store(kOutPtr + 48, on(1.0 / tl.minimum(minus, plus) > 0));
  };
  EXPECT_THAT(result_of(kernel, f32, {16}, counting({4})),
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 7, 7, 7, 7, 7, 7, 7, 7));
}

/// Each pair of an integer and a float expression over lane numbers, of every operation a mask may be made of.
tl::Tile random_known(Context& tl, Random& random, std::int64_t n) {
  auto i = tl.arange(-random.below(200), n);
  i = i.slice({{0, n}});
  auto x = tl.cast(i, kAllDTypes[static_cast<std::size_t>(random.below(8))]);
  for (int step = 0; step < 6; ++step) {
    const auto y = tl.cast(i * (random.below(9) - 4), kAllDTypes[static_cast<std::size_t>(random.below(8))]);
    switch (random.below(12)) {
      case 0:
        x = x + y;
        break;
      case 1:
        x = x - y;
        break;
      case 2:
        x = x * y;
        break;
      case 3:
        x = x / y;
        break;
      case 4:
        x = tl.maximum(x, y);
        break;
      case 5:
        x = tl.minimum(-x, y);
        break;
      case 6:
        x = tl.fma(x, y, i);
        break;
      case 7:
        x = tl.clamp(x, -y, tl.abs(y));
        break;
      case 8:
        x = tl.where(x < y, x, y);
        break;
      case 9:
        x = is_integer(x.dtype()) && is_integer(y.dtype()) ? tl.floordiv(x, y) : tl.copy(y);
        break;
      case 10:
        x = is_integer(x.dtype()) && is_integer(y.dtype()) ? x % y : tl.copy(x);
        break;
      default:
        x = tl.cast(x, kAllDTypes[static_cast<std::size_t>(random.below(8))]);
        break;
    }
  }
  switch (random.below(4)) {
    case 0:
      return x < i;
    case 1:
      return ~(x >= 0) | (x == i);
    case 2:
      return (x != i) & (x <= 1);
    default:
      return tl.cast(x, i1);
  }
}

// A mask is evaluated while recording; the same tile, stored, is computed by replay.
TEST(EdgeKernel, MasksAreWhatReplayComputesForTheSameExpression) {
  const std::int64_t n = 64;
  const auto [first, end] = testing::seeds(0, 200);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    SimulatedWorld world;
    world.put(kPe, kIn, counting({n}));
    world.kernels.run(kPe, [seed](Context& tl) {
      Random random(seed);
      const auto mask = random_known(tl, random, n);
      tl.store(kOutPtr, mask);
      tl.store(kMorePtr, tl.load(kInPtr, {n}, f32, {.mask = mask, .other = -1}));
    });
    world.replay();
    const auto on = numbers(world.get(kPe, kOut, i1, {n})), loaded = numbers(world.get(kPe, kMore, f32, {n}));
    for (std::size_t lane = 0; lane < n; ++lane)
      ASSERT_EQ(loaded[lane], on[lane] != 0 ? static_cast<double>(lane) : -1)
          << "seed " << seed << ", lane " << lane;
  }
}

}  // namespace
}  // namespace kernbench::data::edge_kernel_test
