// Composite commands: whole or tile step by tile step, the bits are those of a scalar loop.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/numerics/elementwise.hpp"
#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "data/replay_world.hpp"

namespace kernbench::data::composite_replay_test {
namespace {

using namespace kernbench::dtypes;
using tl::Ptr;

constexpr std::uint64_t kA = 0x10000, kB = 0x20000, kC = 0x30000, kBias = 0x40000;
constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1};

float at(const NdArray& x, std::int64_t i) {
  return static_cast<float>(reference::number(x, static_cast<std::size_t>(i)));
}

/// c = a · b, one fmaf per k, ascending.
NdArray product(const NdArray& a, const NdArray& b) {
  const auto m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  NdArray c(f32, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t l = 0; l < k; ++l)
        c.at<float>({i, j}) = std::fmaf(at(a, i * k + l), at(b, l * n + j), c.at<float>({i, j}));
  return c;
}

struct Case {
  std::int64_t m, n, k;
};

class CompositeReplay : public ::testing::TestWithParam<bool> {};

// With `scattered`, pages and pieces are cut; both ways of computing must not care.
INSTANTIATE_TEST_SUITE_P(, CompositeReplay, ::testing::Bool());

TEST_P(CompositeReplay, GivesTheBitsOfAScalarLoopForAllStagings) {
  Random random(1);
  for (const auto [m, n, k] : {Case{4, 8, 16}, Case{9, 17, 33}, Case{1, 1, 1}, Case{13, 5, 50}})
    for (const int staged : {0, 1, 2, 3}) {  // bit 0: a is loaded first, bit 1: b is
      World world;
      world.scattered = GetParam();
      const auto a = random.array(f16, {m, k}), b = random.array(f16, {k, n});
      world.host_write(kA, a);
      world.host_write(kB, b);
      world.run(kPe0, [&](tl::Context& tl) {
        const auto x = (staged & 1) != 0 ? tl.load(Ptr(kA), {m, k}, f16) : tl.ref(Ptr(kA), {m, k}, f16);
        const auto y = (staged & 2) != 0 ? tl.load(Ptr(kB), {k, n}, f16) : tl.ref(Ptr(kB), {k, n}, f16);
        tl.composite("gemm", x, y, tl.ref(Ptr(kC), {m, n}, f32));
      });
      world.replay();
      EXPECT_EQ(world.memory(kC, f32, {m, n}), product(a, b)) << m << "x" << n << "x" << k << " " << staged;
    }
}

/// Steps on each k step's product and on the output, with a bias that is broadcast.
void with_epilogue(tl::Context& tl, std::int64_t m, std::int64_t n, std::int64_t k) {
  using enum isa::EpiloguePoint;
  const auto bias = tl.load(Ptr(kBias), {n}, f16);
  tl.composite("gemm", tl.ref(Ptr(kA), {m, k}, f16), tl.ref(Ptr(kB), {k, n}, f16),
               tl.ref(Ptr(kC), {m, n}, f16),
               {.epilogue = {{"mul", 0.75, per_k_step}, {"add", bias}, {"relu", {}}}});
}

/// The same by hand: the product of each 16 of k starts from 0, is scaled, and added.
NdArray expected_epilogue(const NdArray& a, const NdArray& b, const NdArray& bias) {
  const auto m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  NdArray c(f16, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t first = 0; first < k; first += World::kTile.k) {
        float step = 0;
        for (auto l = first; l < std::min(k, first + World::kTile.k); ++l)
          step = std::fmaf(at(a, i * k + l), at(b, l * n + j), step);
        sum = sum + step * 0.75f;
      }
      c.at<F16>({i, j}) = F16(std::max(0.0f, sum + at(bias, j)));
    }
  return c;
}

TEST_P(CompositeReplay, AppliesEpiloguesPerKStepAndPerOutput) {
  World world;
  world.scattered = GetParam();
  Random random(2);
  const std::int64_t m = 10, n = 19, k = 40;
  const auto a = random.array(f16, {m, k}), b = random.array(f16, {k, n}), bias = random.array(f16, {n});
  world.host_write(kA, a);
  world.host_write(kB, b);
  world.host_write(kBias, bias);
  world.run(kPe0, [&](tl::Context& tl) { with_epilogue(tl, m, n, k); });
  world.replay();
  EXPECT_EQ(world.memory(kC, f16, {m, n}), expected_epilogue(a, b, bias));
}

// The host writes the same bytes over an operand after the first output, so the rest is computed tile by tile.
TEST_P(CompositeReplay, CutsEpilogueOperandsOfEveryShapeIntoTiles) {
  const std::int64_t m = 8, n = 19, k = 40;  // 2 × 3 outputs, 3 k steps
  Random random(4);
  const auto a = random.array(f16, {m, k}), b = random.array(f16, {k, n});
  const auto ab = product(a, b);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{n}, Shape{1, n}, Shape{m, 1}, Shape{m, n}}) {
    World world;
    world.scattered = GetParam();
    const auto more = random.array(f16, shape);
    world.host_write(kA, a);
    world.host_write(kB, b);
    world.host_write(kBias, more);
    const auto origin = world.launch_on(
        kPe0,
        [&](tl::Context& tl) {
          tl.composite("gemm", tl.ref(Ptr(kA), {m, k}, f16), tl.ref(Ptr(kB), {k, n}, f16),
                       tl.ref(Ptr(kC), {m, n}, f32),
                       {.epilogue = {{"add", tl.load(Ptr(kBias), shape, f16)}}});
        },
        world.new_request());
    world.play(origin);
    auto all = world.records;
    const auto cut =
        all.size() - 5 * (3 * 3 + 1);  // five outputs of 3 · (two reads, a product) and a write are to come
    world.host_write(kA, a);
    auto write = world.records.back();
    write.start = write.end = all[cut - 1].end;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(cut), write);
    world.records = all;
    world.replay();
    const auto c = world.memory(kC, f32, {m, n});
    for (std::int64_t i = 0; i < m * n; ++i) {
      const auto from = reference::source(shape, {m, n}, static_cast<std::size_t>(i));
      ASSERT_EQ(at(c, i), at(ab, i) + at(more, static_cast<std::int64_t>(from)))
          << to_string(shape) << " " << i;
    }
  }
}

// Another PE overwrites an operand when half of the records have come: the tiles read by then have the old
// bytes.
TEST_P(CompositeReplay, AnInterferingWriteIsSeenByTheTilesReadAfterIt) {
  const std::int64_t m = 8, n = 19, k = 40;  // 2 × 3 outputs, 3 k steps
  Random random(3);
  const auto a = random.array(f16, {m, k}), b = random.array(f16, {k, n}), bias = random.array(f16, {n});
  const auto later = random.array(f16, {m, k});
  const auto old_c = expected_epilogue(a, b, bias), new_c = expected_epilogue(later, b, bias);
  const std::size_t per_output = 3 * 3 + 1;  // 3 steps of two reads and a product, one write
  for (const int outputs : {0, 2, 3, 5, 6}) {
    World world;
    world.scattered = GetParam();
    world.host_write(kA, a);
    world.host_write(kB, b);
    world.host_write(kBias, bias);
    const auto origin = world.launch_on(
        kPe0, [&](tl::Context& tl) { with_epilogue(tl, m, n, k); }, world.new_request());
    world.play(origin);
    auto all = world.records;
    const auto begin = all.size() - 6 * per_output;
    const auto cut = begin + static_cast<std::size_t>(outputs) * per_output;
    world.host_write(kA, later);
    auto write = world.records.back();
    write.start = write.end = all[cut - 1].end;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(cut), write);
    world.records = all;
    world.replay();
    const auto c = world.memory(kC, f16, {m, n});
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const bool is_old = i / 4 * 3 + j / 8 < outputs;
        EXPECT_EQ(static_cast<float>(c.at<F16>({i, j})),
                  static_cast<float>((is_old ? old_c : new_c).at<F16>({i, j})))
            << i << "," << j << " after " << outputs;
      }
  }
}

// out is a: as its records say, the tiles of the second column of outputs read what the first have
// overwritten.
TEST_P(CompositeReplay, WritingOverItsOwnOperandHappensTileByTile) {
  World world;
  world.scattered = GetParam();
  Random random(4);
  auto a = random.array(f32, {4, 16});
  const auto b = random.array(f32, {16, 16});
  world.host_write(kA, a);
  world.host_write(kB, b);
  world.run(kPe0, [&](tl::Context& tl) {
    const auto x = tl.ref(Ptr(kA), {4, 16}, f32);
    tl.composite("gemm", x, tl.ref(Ptr(kB), {16, 16}, f32), x);
  });
  world.replay();
  for (const std::int64_t half : {0, 8}) {  // 1 × 2 outputs of 8 columns, one k step
    const auto c = product(a, b);
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = half; j < half + 8; ++j) a.at<float>({i, j}) = c.at<float>({i, j});
  }
  EXPECT_EQ(world.memory(kA, f32, {4, 16}), a);
}

// Two PEs write the halves of the columns of one matrix at the same time; their rows lie in turn.
TEST_P(CompositeReplay, PesThatShareAMatrixByColumnsDoNotDisturbEachOther) {
  const std::int64_t m = 12, k = 20, n = 16;
  Random random(5);
  const auto a = random.array(f16, {m, k}), b = random.array(f16, {k, n});
  for (const int threads : {1, 2}) {
    World world;
    world.scattered = GetParam();
    world.host_write(kA, a);
    world.host_write(kB, b);
    const auto half = [&](int which) {
      return [&, which](tl::Context& tl) {
        const auto right = tl.ref(Ptr(kB), {k, n}, f16).slice({tl::all, {8 * which, 8 * which + 8}});
        const auto out = tl.ref(Ptr(kC), {m, n}, f32).slice({tl::all, {8 * which, 8 * which + 8}});
        tl.composite("gemm", tl.ref(Ptr(kA), {m, k}, f16), right, out);
      };
    };
    const auto request = world.new_request();
    const auto first = world.launch_on(kPe0, half(0), request),
               second = world.launch_on(kPe1, half(1), request);
    world.play(first);
    const auto one = world.records;
    world.play(second);
    std::vector<device::OpRecord> mixed(one.begin(), one.begin() + 2);  // the host's
    const auto steps = one.size() - 2;
    for (std::size_t i = 0; i < steps; ++i) {
      mixed.push_back(world.records[2 + i]);
      mixed.push_back(world.records[2 + steps + i]);
      mixed.back().end = mixed[mixed.size() - 2].end;
    }
    world.records = mixed;
    world.replay(threads);
    EXPECT_EQ(world.memory(kC, f32, {m, n}), product(a, b));
  }
}

TEST(CompositeReplayOnce, ARunThatStopsInTheMiddleHasWrittenTheTilesSoFar) {
  World world;
  Random random(6);
  const auto a = random.array(f16, {8, 16}), b = random.array(f16, {16, 8});
  world.host_write(kA, a);
  world.host_write(kB, b);
  world.host_write(kC, NdArray(f32, {8, 8}));
  world.run(kPe0, [&](tl::Context& tl) {
    tl.composite("gemm", tl.ref(Ptr(kA), {8, 16}, f16), tl.ref(Ptr(kB), {16, 8}, f16),
                 tl.ref(Ptr(kC), {8, 8}, f32));
  });
  world.records.resize(3 + 4 +
                       3);  // 3 writes of the host; in, in, gemm, out of the first tile; not yet the second's
  world.replay();
  const auto c = world.memory(kC, f32, {8, 8}), whole = product(a, b);
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t j = 0; j < 8; ++j)
      EXPECT_EQ(c.at<float>({i, j}), i < 4 ? whole.at<float>({i, j}) : 0.0f);
}

TEST(CompositeReplayOnce, MultipliesIntegers) {
  World world;
  Random random(7);
  const auto a = random.array(i8, {5, 70}), b = random.array(i8, {70, 9});
  world.host_write(kA, a);
  world.host_write(kB, b);
  world.run(kPe0, [&](tl::Context& tl) {
    tl.composite("gemm", tl.ref(Ptr(kA), {5, 70}, i8), tl.ref(Ptr(kB), {70, 9}, i8),
                 tl.ref(Ptr(kC), {5, 9}, i32));
  });
  world.replay();
  const auto c = world.memory(kC, i32, {5, 9});
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 9; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t l = 0; l < 70; ++l) sum += a.at<std::int8_t>({i, l}) * b.at<std::int8_t>({l, j});
      EXPECT_EQ(c.at<std::int32_t>({i, j}), sum);
    }
}

}  // namespace
}  // namespace kernbench::data::composite_replay_test
