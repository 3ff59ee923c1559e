// Operations on whole tiles, recorded, simulated and replayed, beside a plain reference.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "data/hazards.hpp"
#include "data/simulated_world.hpp"

namespace kernbench::data::language_test {
namespace {

using namespace kernbench::dtypes;
using device::testing::kBase;
using tl::Context;
using tl::Ptr;

constexpr PeCoord kPe{0, 0, 0};
constexpr std::uint64_t kX = 0, kY = 1 << 20, kZ = 2 << 20, kOut = 3 << 20;
constexpr Ptr kXPtr{kBase + kX}, kYPtr{kBase + kY}, kZPtr{kBase + kZ}, kOutPtr{kBase + kOut};

template <class T>
NdArray random_array(unsigned seed, const Shape& shape) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-2, 2);
  NdArray array(kDTypeOf<T>, shape);
  for (T& x : array.view<T>()) x = T(number(random));
  return array;
}

/// What a kernel of x, y and z leaves at kOut.
NdArray result_of(const std::function<void(Context&)>& kernel, const NdArray& x, const NdArray& y,
                  const NdArray& z, DType dtype, const Shape& shape) {
  SimulatedWorld world;
  world.put(kPe, kX, x);
  world.put(kPe, kY, y);
  world.put(kPe, kZ, z);
  world.kernels.run(kPe, kernel);
  world.replay(2);
  return world.get(kPe, kOut, dtype, shape);
}

TEST(BatchedDot, IsAProductForEachIndexOfItsLeadingAxes) {
  constexpr std::int64_t kBatch = 3, kHeads = 2, kM = 5, kK = 37, kN = 9;
  const auto a = random_array<F16>(1, {kBatch, kHeads, kM, kK}), b = random_array<F16>(2, {kHeads, kK, kN});
  const auto acc = random_array<float>(3, {kHeads, 1, kN});
  const auto got = result_of(
      [&](Context& tl) {
        const auto x = tl.load(kXPtr, a.shape(), f16), y = tl.load(kYPtr, b.shape(), f16),
                   z = tl.load(kZPtr, acc.shape(), f32);
        tl.store(kOutPtr, tl.dot(x, y, {.acc = z}));
      },
      a, b, acc, f32, {kBatch, kHeads, kM, kN});
  for (std::int64_t batch = 0; batch < kBatch; ++batch)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kM; ++i)
        for (std::int64_t j = 0; j < kN; ++j) {
          float sum = acc.at<float>({h, 0, j});
          for (std::int64_t k = 0; k < kK; ++k)
            sum = std::fmaf(static_cast<float>(a.at<F16>({batch, h, i, k})),
                            static_cast<float>(b.at<F16>({h, k, j})), sum);
          ASSERT_EQ(got.at<float>({batch, h, i, j}), sum) << batch << h << i << j;
        }
}

// The result of a composite that makes a tile has the bits of one that writes to memory.
TEST(CompositeIntoATile, HasTheBitsOfOneIntoMemory) {
  constexpr std::int64_t kM = 70, kK = 150, kN = 50;
  const auto a = random_array<F16>(4, {kM, kK}), b = random_array<F16>(5, {kK, kN}),
             bias = random_array<F16>(6, {kN});
  for (const bool resident : {false, true})
    for (const auto point : {isa::EpiloguePoint::per_output_tile, isa::EpiloguePoint::per_k_step}) {
      const auto run = [&](bool tile) {
        return result_of(
            [&](Context& tl) {
              const auto x = resident ? tl.load(kXPtr, {kM, kK}, f16) : tl.ref(kXPtr, {kM, kK}, f16);
              const auto y = tl.ref(kYPtr, {kK, kN}, f16), z = tl.load(kZPtr, {kN}, f16);
              const std::vector<tl::EpilogueOp> steps{{"mul", z, point}, {"relu"}};
              if (!tile) {
                tl.composite("gemm", x, y, tl.ref(kOutPtr, {kM, kN}, f16), {.epilogue = steps});
                return;
              }
              tl.store(kOutPtr, tl.composite("gemm", x, y, {.epilogue = steps, .out_dtype = f16}));
            },
            a, b, bias, f16, {kM, kN});
      };
      EXPECT_EQ(run(true), run(false)) << resident;
    }
}

TEST(CompositeIntoATile, SeesItsOperandsAsTheyWereWhenItReadThem) {
  const auto a = random_array<F16>(7, {64, 64});
  const auto got = result_of(
      [&](Context& tl) {
        const auto x = tl.ref(kXPtr, {64, 64}, f16);
        const auto product = tl.composite("gemm", x, x);
        tl.store(kXPtr, tl.zeros({64, 64}, f16));  // waits for the composite to have read its operands
        tl.store(kOutPtr, product);
      },
      a, a, a, f32, {64, 64});
  for (std::int64_t i = 0; i < 64; ++i)
    for (std::int64_t j = 0; j < 64; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < 64; ++k)
        sum = std::fmaf(static_cast<float>(a.at<F16>({i, k})), static_cast<float>(a.at<F16>({k, j})), sum);
      ASSERT_EQ(got.at<float>({i, j}), sum);
    }
}

TEST(OutDtype, RoundsOnceFromF32) {
  const auto x = random_array<F16>(8, {64}), y = random_array<F16>(9, {64});
  const auto wide = result_of(
      [&](Context& tl) {
        const auto a = tl.load(kXPtr, {64}, f16), b = tl.load(kYPtr, {64}, f16);
        tl.store(kOutPtr, tl.mul(a, b, {.out_dtype = f32}));
      },
      x, y, x, f32, {64});
  for (std::int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(wide.at<float>({i}), static_cast<float>(x.at<F16>({i})) * static_cast<float>(y.at<F16>({i})));
  const auto narrow = result_of(
      [&](Context& tl) {
        const auto a = tl.load(kXPtr, {64}, f16), b = tl.load(kYPtr, {64}, f16);
        tl.store(kOutPtr, tl.mul(a, b, {.out_dtype = bf16}));
      },
      x, y, x, bf16, {64});
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(narrow.at<BF16>({i}), BF16(wide.at<float>({i})));
}

// 200 · i8 of 127 is beyond i8 and, in halves, beyond f16's exact integers: the wide sum loses nothing.
TEST(OutDtype, OfAReductionIsTheWidthItIsSummedIn) {
  NdArray x(i8, {200});
  for (auto& n : x.view<std::int8_t>()) n = 127;
  const auto sum = [&](DType out) {
    return result_of(
        [&](Context& tl) {
          tl.store(kOutPtr, tl.sum(tl.load(kXPtr, {200}, i8), 0, false, {.out_dtype = out}));
        },
        x, x, x, out, {});
  };
  EXPECT_EQ(sum(i32).at<std::int32_t>({}), 25400);
  EXPECT_EQ(sum(i8).at<std::int8_t>({}), static_cast<std::int8_t>(25400));
}

TEST(Cat, PutsEveryElementInItsPlace) {
  const auto x = random_array<F16>(10, {2, 3, 4}), y = random_array<F16>(11, {2, 5, 4});
  const auto got = result_of(
      [&](Context& tl) {
        const auto a = tl.load(kXPtr, {2, 3, 4}, f16), b = tl.load(kYPtr, {2, 5, 4}, f16);
        tl.store(kOutPtr, tl.cat({a, b, a}, 1));
      },
      x, y, x, f16, {2, 11, 4});
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 11; ++j)
      for (std::int64_t k = 0; k < 4; ++k) {
        const auto expected = j < 3   ? x.at<F16>({i, j, k})
                              : j < 8 ? y.at<F16>({i, j - 3, k})
                                      : x.at<F16>({i, j - 8, k});
        EXPECT_EQ(got.at<F16>({i, j, k}), expected);
      }
}

TEST(Join, PutsTwoTilesSideBySide) {
  const auto x = random_array<F16>(12, {6}), y = random_array<F16>(13, {6});
  const auto got = result_of(
      [&](Context& tl) {
        const auto a = tl.load(kXPtr, {6}, f16), b = tl.load(kYPtr, {6}, f16);
        tl.store(kOutPtr, tl.join(a, b));
      },
      x, y, x, f16, {6, 2});
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got.at<F16>({i, 0}), x.at<F16>({i}));
    EXPECT_EQ(got.at<F16>({i, 1}), y.at<F16>({i}));
  }
}

}  // namespace
}  // namespace kernbench::data::language_test
