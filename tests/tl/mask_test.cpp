#include <fmt/format.h>

#include "tl/recording.hpp"

namespace kernbench::tl::mask_test {
namespace {

// The lanes a load of `shape` moves under the mask `make` builds, as text.
template <class Make>
std::string lanes(Dims shape, Make make) {
  Context tl;
  const auto x = tl.load(kA, shape, f16, {.mask = make(tl)});
  const auto& command = tl.program().command(tl.program().value(x.id()).producer);
  if (!tl.program().masked(command)) return "all";
  std::string text;
  for (const auto run : tl.program().active_runs(command))
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", run.begin, run.end);
  return text;
}

TEST(Mask, IsStoredAsRunsOfLanes) {
  EXPECT_EQ(lanes({16}, [](Context& tl) { return tl.arange(0, 16) < 10; }), "0:10");
  EXPECT_EQ(lanes({8}, [](Context& tl) { return tl.arange(0, 8) % 3 == 0; }), "0:1 3:4 6:7");
  EXPECT_EQ(lanes({8}, [](Context& tl) { return tl.arange(0, 8) >= 0; }), "all");
  EXPECT_EQ(lanes({8}, [](Context& tl) { return tl.arange(0, 8) < 0; }), "");
}

TEST(Mask, CombinesWithAndOrNot) {
  EXPECT_EQ(lanes({8},
                  [](Context& tl) {
                    const auto i = tl.arange(0, 8);
                    return (i >= 2) & (i < 5);
                  }),
            "2:5");
  EXPECT_EQ(lanes({8},
                  [](Context& tl) {
                    const auto i = tl.arange(0, 8);
                    return ~((i < 2) | (i == 6));
                  }),
            "2:6 7:8");
}

TEST(Mask, ComparesSignedWithUnsignedNumbersInTheirCommonDtype) {
  // -4 … 3 beside 0 … 7 as u32: what is below 0 wraps to the largest numbers, and 0 < 4 … 3 < 7 holds
  EXPECT_EQ(lanes({8}, [](Context& tl) { return tl.arange(0, 8) - 4 < tl.cast(tl.arange(0, 8), u32); }),
            "4:8");
  // i8 -4 … -1 are 252 … 255 in u8, and 0 … 3 are not
  EXPECT_EQ(lanes({8},
                  [](Context& tl) {
                    const auto narrow = tl.cast(tl.arange(0, 8) - 4, i8);
                    return narrow >= tl.cast(tl.arange(0, 8) * 0 + 250, u8);
                  }),
            "0:4");
  // the larger of i8 -1 and u8 3 is 255
  EXPECT_EQ(lanes({4},
                  [](Context& tl) {
                    const auto minus_one = tl.cast(tl.arange(0, 4) * 0 - 1, i8);
                    return tl.maximum(minus_one, tl.cast(tl.arange(0, 4), u8)) == 255;
                  }),
            "all");
}

TEST(Mask, OfTwoAxesIsBuiltFromViews) {
  // rows below 3, columns below 2 of [4, 4]
  EXPECT_EQ(lanes({4, 4},
                  [](Context& tl) {
                    const auto rows = tl.expand_dims(tl.arange(0, 4), 1),
                               cols = tl.expand_dims(tl.arange(0, 4), 0);
                    return (rows < 3) & (cols < 2);
                  }),
            "0:2 4:6 8:10");
  // whole rows join into one run
  EXPECT_EQ(lanes({4, 4}, [](Context& tl) { return tl.expand_dims(tl.arange(0, 4), 1) < 3; }), "0:12");
  // a lower triangle
  EXPECT_EQ(lanes({3, 3},
                  [](Context& tl) {
                    return tl.expand_dims(tl.arange(0, 3), 1) >= tl.expand_dims(tl.arange(0, 3), 0);
                  }),
            "0:1 3:5 6:9");
}

TEST(Mask, BroadcastsToTheAccess) {
  EXPECT_EQ(lanes({2, 4}, [](Context& tl) { return tl.arange(0, 4) < 3; }), "0:3 4:7");
}

TEST(Mask, MayUseEveryOperationOnKnownIntegers) {
  const auto one = [](auto fn) { return lanes({8}, [&](Context& tl) { return fn(tl, tl.arange(-4, 4)); }); };
  // −4 … 3, and which of them the condition holds for, by hand
  EXPECT_EQ(one([](Context&, Tile i) { return i + 1 == -3; }), "0:1");
  EXPECT_EQ(one([](Context&, Tile i) { return i - 1 == 2; }), "7:8");
  EXPECT_EQ(one([](Context&, Tile i) { return i * i == 9; }), "1:2 7:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.floordiv(i, 2) == -1; }), "1:3");  // −3, −2: toward zero
  EXPECT_EQ(one([](Context&, Tile i) { return i % 2 == -1; }), "1:2 3:4");  // −3, −1: sign of the dividend
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.floordiv(i, 0) == -1; }), "all");
  EXPECT_EQ(one([](Context&, Tile i) { return -i == 4; }), "0:1");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.abs(i) == 3; }), "1:2 7:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.maximum(i, 1) == 1; }), "0:6");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.minimum(i, 1) == 1; }), "5:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.clamp(i, -2, 2) == 2; }), "6:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.fma(i, i, -1) == 8; }), "1:2 7:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.where(i < 0, i + 10, i) > 7; }),
            "2:4");  // 6 7 8 9 0 1 2 3
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.copy(i) != 0; }), "0:4 5:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.cast(i, i1); }), "0:4 5:8");
  EXPECT_EQ(one([](Context& tl, Tile i) { return tl.cast(i * 100, i8) < 0; }), "1:2 3:4 6:7");
  // × 100 = −400 −300 −200 −100 0 100 200 300; low byte: 112 −44 56 −100 0 100 −56 44
}

TEST(Mask, MayUseKnownFloats) {
  EXPECT_EQ(lanes({8}, [](Context& tl) { return tl.cast(tl.arange(0, 8), f32) / 2 > 2.25; }),
            "5:8");  // 2.5, 3, 3.5
  EXPECT_EQ(lanes({8}, [](Context& tl) { return tl.arange(0, 8) / 4 == 0.25; }),
            "1:2");  // integers divide to f32
  // f16 holds 2048 and 2050 but not 2049, which rounds to even
  EXPECT_EQ(lanes({4}, [](Context& tl) { return tl.cast(tl.arange(2047, 2051), f16) == 2048; }), "1:3");
  EXPECT_EQ(lanes({4}, [](Context& tl) { return tl.cast(tl.full({4}, 2.9, f32), i32) == 2; }), "all");
  EXPECT_EQ(lanes({4}, [](Context& tl) { return tl.cast(tl.full({4}, 300, f32), i8) == 127; }),
            "all");  // saturates
}

TEST(Mask, MayUseProgramIdsAndSlicesOfKnownTiles) {
  EXPECT_EQ(lanes({4},
                  [](Context& tl) {
                    return tl.arange(0, 16).slice({{2, 10, 2}}) + 4 * tl.program_id(0) < 6;
                  }),
            "0:2");  // 2 4 6 8
}

TEST(Mask, OfIntegersWraps) {
  EXPECT_EQ(lanes({2}, [](Context& tl) { return tl.arange(2147483646, 2147483648) + 1 < 0; }), "1:2");
}

TEST(Mask, LeavesOtherInLanesThatAreOff) {
  EXPECT_EQ(
      recorded([](Context& tl) { tl.load(kA, {8}, f16, {.mask = tl.arange(0, 8) < 3, .other = -1}); }).back(),
      "%5:f16[8] = dma_read 0x1000 lanes [0:3] other -1");
}

TEST(Mask, WorksForStores) {
  EXPECT_EQ(recorded([](Context& tl) {
              const auto mask = tl.arange(0, 8) < 3;
              tl.store(kB, tl.load(kA, {8}, f16, {.mask = mask}), {.mask = mask});
            }).back(),
            "dma_write 0x20000 lanes [0:3] %4:f16[8]");
}

TEST(Mask, IsStoredOnceHoweverOftenItIsUsed) {
  Context tl;
  const auto mask = tl.arange(0, 8) < 3;
  for (const int i : tl.static_range(10)) tl.load(kA + 16 * i, {8}, f16, {.mask = mask});
  const auto same = tl.arange(0, 8) <= 2;
  tl.load(kA, {8}, f16, {.mask = same});
  const auto commands = tl.program().commands();
  EXPECT_EQ(commands.back().detail, commands[2].detail);
}

TEST(Mask, MayHangOnALongChain) {
  EXPECT_EQ(lanes({4},
                  [](Context& tl) {
                    auto i = tl.arange(0, 4);
                    for (int n = 0; n < 100'000; ++n) i += 1;
                    return i < 100'002;
                  }),
            "0:2");
}

}  // namespace
}  // namespace kernbench::tl::mask_test
