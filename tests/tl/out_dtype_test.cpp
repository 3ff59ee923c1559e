#include "tl/recording.hpp"

namespace kernbench::tl::out_dtype_test {
namespace {

TEST(OutDtype, ReplacesThePromotedOne) {
  EXPECT_THAT(
      recorded([](Context& tl) {
        const auto x = tl.load(kA, {4}, f32), y = tl.load(kB, {4}, i8);
        tl.exp2(x, {.out_dtype = f16});
        tl.sub(x, 1.0, {.out_dtype = bf16});
        tl.add(y, y, {.out_dtype = i32});
        tl.sum(x, 0, false, {.out_dtype = f16});
        tl.max(y, {}, false, {.out_dtype = i32});
        tl.div(y, y, {.out_dtype = f16});
        tl.where(x > 0, x, 0, {.out_dtype = f16});
      }),
      ElementsAre("%0:f32[4] = dma_read 0x1000", "%1:i8[4] = dma_read 0x20000", "%2:f16[4] = exp2 %0:f32[4]",
                  "%4:bf16[4] = sub %0:f32[4], 1:f32", "%5:i32[4] = add %1:i8[4], %1:i8[4]",
                  "%6:f16[] = sum %0:f32[4] axis 0", "%8:i32[] = max %7:i8[4] axis 0",
                  "%9:f16[4] = div %1:i8[4], %1:i8[4]", "%11:i1[4] = gt %0:f32[4], 0:f32",
                  "%12:f16[4] = where %11:i1[4], %0:f32[4], 0:f32"));
}

TEST(OutDtype, IsRefusedWhereTheOperationDoesNotRound) {
  const auto refused = [](auto call) {
    return error_of([&](Context& tl) { call(tl, tl.zeros({4}, f32), tl.zeros({4}, i32)); }).id();
  };
  EXPECT_EQ(refused([](Context& tl, auto x, auto) { tl.exp(x, {.out_dtype = i32}); }), "tl.dtype");
  EXPECT_EQ(refused([](Context& tl, auto, auto i) { tl.add(i, i, {.out_dtype = f32}); }), "tl.dtype");
  EXPECT_EQ(refused([](Context& tl, auto, auto i) { tl.sum(i, 0, false, {.out_dtype = f32}); }), "tl.dtype");
  EXPECT_EQ(refused([](Context& tl, auto, auto i) { tl.add(i, i, {.out_dtype = i1}); }), "tl.dtype");
  EXPECT_EQ(refused([](Context& tl, auto x, auto) {
              const std::array<Operand, 2> both{x, x};
              tl.math(MathOp::lt, both, {.out_dtype = i32});
            }),
            "tl.dtype");
}

TEST(OutDtype, IsHashed) {
  const auto hash = [](DType out) {
    Context tl;
    return run_kernel([&](Context& c) { c.exp(c.load(kA, {4}, f32), {.out_dtype = out}); }, tl).fingerprint();
  };
  EXPECT_NE(hash(f16), hash(bf16));
}

TEST(Cat, PutsTilesOneAfterTheOther) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {2, 4}, f16), y = tl.load(kB, {3, 4}, f16);
                tl.cat({x, y, x});
                tl.cat({x, x}, -1);
                tl.join(x, x);
              }),
              ElementsAre("%0:f16[2, 4] = dma_read 0x1000", "%1:f16[3, 4] = dma_read 0x20000",
                          "%2:f16[7, 4] = cat %0:f16[2, 4], %1:f16[3, 4], %0:f16[2, 4] axis 0",
                          "%3:f16[2, 8] = cat %0:f16[2, 4], %0:f16[2, 4] axis 1",
                          "%6:f16[2, 4, 2] = cat %4:f16[2, 4, 1], %5:f16[2, 4, 1] axis 2"));
}

TEST(Cat, RefusesWhatDoesNotFit) {
  const auto refused = [](Dims a, Dims b, DType dtype, int axis) {
    return error_of([&](Context& tl) {
             const auto x = tl.zeros(a, f16), y = tl.zeros(b, dtype);
             tl.cat({x, y}, axis);
           })
        .id();
  };
  EXPECT_EQ(refused({2, 4}, {2, 5}, f16, 0), "tl.shape");
  EXPECT_EQ(refused({2, 4}, {2, 4}, f32, 0), "tl.dtype");
  EXPECT_EQ(refused({2, 4}, {2, 4}, f16, 2), "tl.axis");
  EXPECT_EQ(refused({2, 4}, {4}, f16, 0), "tl.shape");
  EXPECT_EQ(error_of([](Context& tl) { tl.cat(std::span<const Tile>()); }).id(), "tl.shape");
}

TEST(Shards, OfATensorThisPeHoldsNothingOfAreEmpty) {
  Context tl({.tensors = {Ptr(0x1000, f16)}});
  EXPECT_TRUE(tl.shards(Ptr(0x1000)).empty());
  EXPECT_THROW(tl.shard(Ptr(0x1000)), KernelError);
  EXPECT_THROW(tl.shards(Ptr(0x2000)), KernelError);  // no argument at all
}

}  // namespace
}  // namespace kernbench::tl::out_dtype_test
