#include "tl/recording.hpp"

namespace kernbench::tl::memory_test {
namespace {

TEST(Load, IsAReadIntoANewTile) {
  EXPECT_THAT(recorded([](Context& tl) {
                tl.load(kA, {4, 8}, f16);
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000"));
}

TEST(Load, TakesStridesInElements) {
  EXPECT_THAT(recorded([](Context& tl) {
                tl.load(kA, {4, 8}, f16, {.strides = {128, 1}});
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000 strides [128, 1]"));
  EXPECT_THAT(recorded([](Context& tl) {
                tl.load(kA, {4, 8}, f16, {.strides = {8, 1}});
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000"));  // row-major, as if none were given
  EXPECT_THAT(recorded([](Context& tl) {
                tl.load(kA, {4, 8}, f16, {.strides = {0, 1}});
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000 strides [0, 1]"));  // one row four times
}

TEST(Load, OfAScalarShapeIsOneElement) {
  EXPECT_THAT(recorded([](Context& tl) { tl.load(kA, {}, f32); }), ElementsAre("%0:f32[] = dma_read 0x1000"));
}

TEST(Store, WritesTheTileItIsGiven) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4, 8}, f16);
                tl.store(kB, x);
                tl.store(kB, tl.trans(x), {.strides = {64, 1}});
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000", "dma_write 0x20000 %0:f16[4, 8]",
                          "dma_write 0x20000 strides [64, 1] %1:f16[8, 4]"));
}

TEST(Wait, HoldsForACommandOrForTheOneThatMakesATile) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4, 4}, f16);
                const auto stored = tl.store(kB, x);
                tl.wait(stored);
                tl.wait(tl.trans(x));
                tl.wait(tl.send("E", x));
              }),
              ElementsAre("%0:f16[4, 4] = dma_read 0x1000", "dma_write 0x20000 %0:f16[4, 4]", "wait #1",
                          "wait #0", "send E %0:f16[4, 4]", "wait #4"));
}

TEST(Fence, IsACommand) {
  EXPECT_THAT(recorded([](Context& tl) { tl.fence(); }), ElementsAre("fence"));
}

TEST(Ref, IsAnOperandAndNoCommand) {
  Context tl;
  const auto r = tl.ref(kA, {8, 4}, f16, {100, 1});
  EXPECT_THAT(tl.commands(), IsEmpty());
  EXPECT_EQ(tl.program().address(r.id()), 0x1000u);
  EXPECT_EQ(tl.program().layout(r.id()).strides[0], 100);
  EXPECT_EQ(tl.program().value(r.id()).producer, isa::kNone);
  EXPECT_EQ(r.shape(), (Shape{8, 4}));
}

TEST(LastReader, IsTheLastCommandThatReadsTheTileOrAViewOfIt) {
  Context tl;
  const auto x = tl.load(kA, {4, 4}, f16);  // 0
  const auto y = x + x;                     // 1
  tl.store(kB, tl.trans(x));                // 2
  tl.store(kB, y);                          // 3
  const auto z = tl.load(kC, {64}, f16);    // 4
  const auto value = [&](const Tile& t) { return tl.program().value(t.id()); };
  EXPECT_EQ(value(x).last_reader, 2u);
  EXPECT_EQ(value(x).readers, 2u);  // x + x reads it once
  EXPECT_EQ(value(y).last_reader, 3u);
  EXPECT_EQ(value(y).readers, 1u);
  EXPECT_EQ(value(z).last_reader, 4u);  // nobody reads it: its own command
  EXPECT_EQ(value(z).readers, 0u);
  EXPECT_EQ(value(z).producer, 4u);
  EXPECT_EQ(value(x).granules, 1u);  // 32 bytes
  EXPECT_EQ(value(z).granules, 2u);  // 128 bytes
}

}  // namespace
}  // namespace kernbench::tl::memory_test
