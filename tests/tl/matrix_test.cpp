#include "tl/recording.hpp"

namespace kernbench::tl::matrix_test {
namespace {

using isa::EpiloguePoint;

TEST(Dot, GivesF32UnlessToldOtherwise) {
  const auto product = [](DType a, DType b, DotOptions options = {}) {
    return recorded([&](Context& tl) {
             const auto x = tl.load(kA, {4, 8}, a), y = tl.load(kB, {8, 6}, b);
             tl.dot(x, y, options);
           })
        .at(2);
  };
  EXPECT_EQ(product(f16, f16), "%2:f32[4, 6] = gemm %0:f16[4, 8], %1:f16[8, 6]");
  EXPECT_EQ(product(f16, f16, {.out_dtype = f16}), "%2:f16[4, 6] = gemm %0:f16[4, 8], %1:f16[8, 6]");
  EXPECT_EQ(product(f8e4m3, bf16), "%2:f32[4, 6] = gemm %0:f8e4m3[4, 8], %1:bf16[8, 6]");
  EXPECT_EQ(product(i8, i8), "%2:i32[4, 6] = gemm %0:i8[4, 8], %1:i8[8, 6]");
}

TEST(Dot, AddsAnAccumulator) {
  EXPECT_EQ(recorded([](Context& tl) {
              auto acc = tl.zeros({4, 6}, f32);
              const auto a = tl.load(kA, {4, 8}, f16), b = tl.load(kB, {8, 6}, f16);
              acc = tl.dot(a, b, {.acc = acc});
            }).at(3),
            "%4:f32[4, 6] = gemm %2:f16[4, 8], %3:f16[8, 6] acc %1:f32[4, 6]");
}

TEST(Dot, TakesViews) {
  EXPECT_EQ(recorded([](Context& tl) {
              const auto x = tl.load(kA, {4, 8}, f16);
              tl.dot(x, tl.trans(x));
            }).at(1),
            "%2:f32[4, 4] = gemm %0:f16[4, 8], %1:f16[8, 4]");
}

TEST(Composite, StreamsReferencesAndTilesIntoMemory) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto a = tl.load(kA, {64, 128}, f16);
                tl.composite("gemm", a, tl.ref(kB, {128, 32}, f16), tl.ref(kC, {64, 32}, f16));
              }),
              ElementsAre("%0:f16[64, 128] = dma_read 0x1000",
                          "composite gemm %0:f16[64, 128], @0x20000:f16[128, 32] -> @0x40000:f16[64, 32]"));
}

TEST(Composite, HasAnEpilogueOfNamedOperations) {
  Context tl;
  run_kernel(
      [](Context& c) {
        const auto bias = c.load(kA, {32}, f32), more = c.load(kA, {64, 1}, f16);
        c.composite(
            "gemm", c.ref(kA, {64, 128}, f16), c.ref(kB, {128, 32}, f16), c.ref(kC, {64, 32}, f16),
            {.epilogue = {
                 {"mul", 0.5, EpiloguePoint::per_k_step}, {"add", bias}, {"mul", more}, {"relu"}, {"exp"}}});
      },
      tl);
  EXPECT_EQ(to_string(tl.commands().at(2)),
            "composite gemm @0x1000:f16[64, 128], @0x20000:f16[128, 32] -> @0x40000:f16[64, 32]"
            " per k step mul 0.5:f32 then add %0:f32[32] then mul %1:f16[64, 1] then maximum 0:f32 then exp");
  const auto& command = tl.program().command(2);
  const auto& spec = tl.program().composite(command);
  EXPECT_EQ(tl.program().epilogue(spec).size(), 5u);
  // a, b and the four operands of the epilogue: more than a command holds by itself
  EXPECT_EQ(tl.program().reads(command).size(), 6u);
  EXPECT_EQ(tl.program().reads(command)[3], 0u);
  EXPECT_EQ(tl.program().value(0).last_reader, 2u);
  EXPECT_EQ(tl.program().value(1).last_reader, 2u);
}

TEST(Composite, CanBeWaitedFor) {
  EXPECT_EQ(recorded([](Context& tl) {
              const auto r = tl.ref(kA, {16, 16}, bf16);
              tl.wait(tl.composite("gemm", r, r, tl.ref(kB, {16, 16}, bf16)));
            }).at(1),
            "wait #0");
}

TEST(Dot, TakesLeadingAxesAsBatchesThatBroadcast) {
  const auto product = [](Dims a, Dims b, Dims acc) {
    return recorded([&](Context& tl) {
             const auto x = tl.load(kA, a, f16), y = tl.load(kB, b, f16), z = tl.load(kC, acc, f32);
             tl.dot(x, y, {.acc = z});
           })
        .at(3);
  };
  EXPECT_EQ(product({3, 4, 8}, {3, 8, 6}, {4, 6}),
            "%3:f32[3, 4, 6] = gemm %0:f16[3, 4, 8], %1:f16[3, 8, 6] acc %2:f32[4, 6]");
  EXPECT_EQ(product({4, 8}, {2, 1, 8, 6}, {6}),
            "%3:f32[2, 1, 4, 6] = gemm %0:f16[4, 8], %1:f16[2, 1, 8, 6] acc %2:f32[6]");
  EXPECT_EQ(product({4, 8}, {8, 6}, {4, 1}),
            "%3:f32[4, 6] = gemm %0:f16[4, 8], %1:f16[8, 6] acc %2:f32[4, 1]");
}

TEST(Dot, RefusesBatchesAndAccumulatorsThatDoNotBroadcast) {
  const auto error = [](Dims a, Dims b, Dims acc) {
    return error_of([&](Context& tl) {
             const auto x = tl.zeros(a, f16), y = tl.zeros(b, f16), z = tl.zeros(acc, f32);
             tl.dot(x, y, {.acc = z});
           })
        .id();
  };
  EXPECT_EQ(error({3, 4, 8}, {2, 8, 6}, {4, 6}), "tl.shape");
  EXPECT_EQ(error({4, 8}, {8, 6}, {3, 6}), "tl.shape");
  EXPECT_EQ(error({4, 8}, {8, 6}, {2, 4, 6}), "tl.shape");
  EXPECT_EQ(error({8}, {8, 6}, {6}), "tl.shape");
}

TEST(Composite, WithoutAnOutputMakesATile) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto y = tl.composite("gemm", tl.ref(kA, {64, 128}, f16), tl.ref(kB, {128, 32}, f16),
                                            {.epilogue = {{"relu"}}, .out_dtype = f16});
                tl.store(kC, y);
              }),
              ElementsAre("composite gemm @0x1000:f16[64, 128], @0x20000:f16[128, 32] -> %3:f16[64, 32]"
                          " then maximum 0:f32",
                          "dma_write 0x40000 %3:f16[64, 32]"));
  EXPECT_EQ(error_of([](Context& tl) {
              const auto r = tl.ref(kA, {64, 64}, f16);
              tl.composite("gemm", r, r, tl.ref(kB, {64, 64}, f16), {.out_dtype = f32});
            }).id(),
            "tl.dtype");
  EXPECT_EQ(error_of([](Context& tl) {
              const auto r = tl.ref(kA, {64, 64}, f16);
              tl.composite("gemm", r, r, {.out_dtype = i32});
            }).id(),
            "tl.dtype");
}

TEST(Composite, OfATileTakesItsScratch) {
  Context tl({.scratch = Bytes(64 * 64 * 4)});
  const auto r = tl.ref(kA, {64, 64}, f16);
  tl.composite("gemm", r, r);
  EXPECT_EQ(tl.finish().peak_scratch(), Bytes(64 * 64 * 4));
  EXPECT_EQ(error_of(
                [](Context& c) {
                  const auto x = c.ref(kA, {64, 64}, f16);
                  c.composite("gemm", x, x);
                },
                {.scratch = Bytes(64 * 64 * 4 - 64)})
                .id(),
            "tl.scratch");
}

}  // namespace
}  // namespace kernbench::tl::matrix_test
