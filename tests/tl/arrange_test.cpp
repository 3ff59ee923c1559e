#include "tl/recording.hpp"

namespace kernbench::tl::arrange_test {
namespace {

TEST(Bits, AreOperatorsOnIntegers) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4}, u32), y = tl.load(kB, {4}, i64);
                (void)(x ^ 3), (void)(x << 2), (void)(y >> x), (void)~x, (void)(x & x);
                tl.umulhi(x, x);
              }),
              ElementsAre("%0:u32[4] = dma_read 0x1000", "%1:i64[4] = dma_read 0x20000",
                          "%3:u32[4] = xor %0:u32[4], 3:u32", "%5:u32[4] = shl %0:u32[4], 2:u32",
                          "%6:i64[4] = shr %1:i64[4], %0:u32[4]", "%7:u32[4] = not %0:u32[4]",
                          "%8:u32[4] = and %0:u32[4], %0:u32[4]", "%9:u32[4] = umulhi %0:u32[4], %0:u32[4]"));
  EXPECT_EQ(error_of([](Context& tl) { (void)(tl.zeros({4}, f16) << 1); }).id(), "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) { (void)(tl.zeros({4}, u8) + 256); }).id(), "tl.scalar");
}

TEST(Scan, HasTheShapeOfItsOperand) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4, 8}, f16);
                tl.cumsum(x, 1);
                tl.cumprod(x, -1, true, {.out_dtype = f32});
                tl.scan(MathOp::maximum, x);
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000", "%1:f16[4, 8] = cumsum %0:f16[4, 8] axis 1",
                          "%2:f32[4, 8] = cumprod %0:f16[4, 8] axis 1 reversed",
                          "%3:f16[4, 8] = cummax %0:f16[4, 8] axis 0"));
  EXPECT_EQ(error_of([](Context& tl) { tl.scan(MathOp::sub, tl.zeros({4}, f16)); }).id(), "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) { tl.cumsum(tl.zeros({4}, f16), 1); }).id(), "tl.axis");
}

TEST(Arrange, RecordsOneCommandEach) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4, 8}, f16);
                const auto i = tl.load(kB, {4, 2}, i32);
                tl.flip(x);
                tl.sort(x, 0, true);
                tl.gather(x, i);
                tl.histogram(i, 16);
              }),
              ElementsAre("%0:f16[4, 8] = dma_read 0x1000", "%1:i32[4, 2] = dma_read 0x20000",
                          "%2:f16[4, 8] = flip %0:f16[4, 8] axis 1",
                          "%3:f16[4, 8] = sort %0:f16[4, 8] axis 0 reversed",
                          "%4:f16[4, 2] = gather %0:f16[4, 8], %1:i32[4, 2] axis 1",
                          "%5:i32[16] = histogram %1:i32[4, 2] axis 0"));
  EXPECT_EQ(error_of([](Context& tl) {
              tl.gather(tl.zeros({4, 8}, f16), tl.zeros({3, 8}, i32));
            }).id(),
            "tl.shape");
  EXPECT_EQ(error_of([](Context& tl) { tl.gather(tl.zeros({8}, f16), tl.zeros({8}, f16)); }).id(),
            "tl.dtype");
}

TEST(Bitcast, IsOneCommandBetweenDtypesOfOneSize) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4}, f32);
                tl.bitcast(tl.bitcast(x, i32), i32);
              }),
              ElementsAre("%0:f32[4] = dma_read 0x1000", "%1:i32[4] = bitcast %0:f32[4]"));
  EXPECT_EQ(error_of([](Context& tl) { tl.bitcast(tl.zeros({4}, f32), i16); }).id(), "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) { tl.bitcast(tl.zeros({4}, i8), i1); }).id(), "tl.dtype");
}

TEST(Atomic, OfLanesAnywhereIsOneCommand) {
  // Lanes 0 and 2 lie on one place, lane 1 elsewhere, lane 3 is off.
  const std::array<std::uint64_t, 4> places{0x2000, 0x3000, 0x2000, 0};
  const std::array<std::uint8_t, 4> on{1, 1, 1, 0};
  EXPECT_THAT(recorded([&](Context& tl) {
                const auto x = tl.load(kA, {4}, f32);
                tl.atomic_at(MathOp::add, {places, on}, x);
              }),
              ElementsAre("%0:f32[4] = dma_read 0x1000", "atomic add 0x2000 and 2 more places %0:f32[4]"));
  EXPECT_EQ(error_of([&](Context& tl) { tl.atomic_at(MathOp::add, {places}, tl.zeros({3}, f32)); }).id(),
            "tl.lanes");
  EXPECT_EQ(error_of([&](Context& tl) { tl.atomic_at(MathOp::mul, {places}, tl.zeros({4}, f32)); }).id(),
            "tl.dtype");
}

TEST(Atomic, IsAReadAndAWriteOfOneCommand) {
  EXPECT_THAT(recorded([](Context& tl) {
                tl.atomic_add(Ptr(0x1000, f32), tl.zeros({4}, f16));
                tl.atomic_or(kB, tl.zeros({4}, u8), {.mask = tl.arange(0, 4) < 2});
              }).at(2),
              "atomic add 0x1000 %2:f32[4]");
  EXPECT_EQ(error_of([](Context& tl) { tl.atomic_and(kA, tl.zeros({4}, f32)); }).id(), "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) { tl.atomic(MathOp::mul, kA, tl.zeros({4}, f32)); }).id(), "tl.dtype");
}

}  // namespace
}  // namespace kernbench::tl::arrange_test
