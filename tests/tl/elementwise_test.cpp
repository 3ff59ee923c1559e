#include "tl/recording.hpp"

namespace kernbench::tl::elementwise_test {
namespace {

// Records one operation on x:f16[4] (%0) and gives its command.
template <class Fn>
std::string on_f16(Fn fn) {
  return recorded([&](Context& tl) { fn(tl, tl.load(kA, {4}, f16)); }).at(1);
}
template <class Fn>
std::string on_i32(Fn fn) {
  return recorded([&](Context& tl) { fn(tl, tl.load(kA, {4}, i32)); }).at(1);
}
template <class Fn>
std::string on_i1(Fn fn) {
  return recorded([&](Context& tl) { fn(tl, tl.load(kA, {4}, i1)); }).at(1);
}

TEST(Elementwise, OperatorsOnTiles) {
  EXPECT_EQ(on_f16([](Context&, Tile x) { x + x; }), "%1:f16[4] = add %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { x - x; }), "%1:f16[4] = sub %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { x* x; }), "%1:f16[4] = mul %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { x / x; }), "%1:f16[4] = div %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_i32([](Context&, Tile x) { x / x; }), "%1:f32[4] = div %0:i32[4], %0:i32[4]");
  EXPECT_EQ(on_i32([](Context&, Tile x) { x % x; }), "%1:i32[4] = mod %0:i32[4], %0:i32[4]");
  EXPECT_EQ(on_i32([](Context& tl, Tile x) { tl.floordiv(x, x); }),
            "%1:i32[4] = floordiv %0:i32[4], %0:i32[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { -x; }), "%1:f16[4] = neg %0:f16[4]");
  EXPECT_EQ(on_i1([](Context&, Tile x) { x& x; }), "%1:i1[4] = and %0:i1[4], %0:i1[4]");
  EXPECT_EQ(on_i1([](Context&, Tile x) { x | x; }), "%1:i1[4] = or %0:i1[4], %0:i1[4]");
  EXPECT_EQ(on_i1([](Context&, Tile x) { ~x; }), "%1:i1[4] = not %0:i1[4]");
}

TEST(Elementwise, ComparisonsGiveTruthValues) {
  EXPECT_EQ(on_f16([](Context&, Tile x) { (void)(x == x); }), "%1:i1[4] = eq %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { (void)(x != x); }), "%1:i1[4] = ne %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { (void)(x < x); }), "%1:i1[4] = lt %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { (void)(x <= x); }), "%1:i1[4] = le %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { (void)(x > x); }), "%1:i1[4] = gt %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context&, Tile x) { (void)(x >= x); }), "%1:i1[4] = ge %0:f16[4], %0:f16[4]");
}

TEST(Elementwise, FunctionsOfOneTile) {
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.exp(x); }), "%1:f16[4] = exp %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.exp2(x); }), "%1:f16[4] = exp2 %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.log(x); }), "%1:f16[4] = log %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.sqrt(x); }), "%1:f16[4] = sqrt %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.rsqrt(x); }), "%1:f16[4] = rsqrt %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.abs(x); }), "%1:f16[4] = abs %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.sigmoid(x); }), "%1:f16[4] = sigmoid %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.tanh(x); }), "%1:f16[4] = tanh %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.erf(x); }), "%1:f16[4] = erf %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.sin(x); }), "%1:f16[4] = sin %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.cos(x); }), "%1:f16[4] = cos %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.copy(x); }), "%1:f16[4] = copy %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.cast(x, f32); }), "%1:f32[4] = cast %0:f16[4]");
}

TEST(Elementwise, ACastToItsOwnDTypeIsTheTileItself) {
  EXPECT_THAT(recorded([](Context& tl) { tl.cast(tl.load(kA, {4}, f16), f16); }),
              ElementsAre("%0:f16[4] = dma_read 0x1000"));
}

TEST(Elementwise, FunctionsOfTwoAndThree) {
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.maximum(x, x); }),
            "%1:f16[4] = maximum %0:f16[4], %0:f16[4]");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.minimum(x, 1); }), "%2:f16[4] = minimum %0:f16[4], 1:f16");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.fma(x, x, 2.0); }),
            "%2:f16[4] = fma %0:f16[4], %0:f16[4], 2:f16");
  EXPECT_EQ(on_f16([](Context& tl, Tile x) { tl.clamp(x, -1, 1); }),
            "%3:f16[4] = clamp %0:f16[4], -1:f16, 1:f16");
  EXPECT_EQ(on_i1([](Context& tl, Tile m) { tl.where(m, 1.5, 0.0); }),
            "%3:f32[4] = where %0:i1[4], 1.5:f32, 0:f32");
  EXPECT_THAT(recorded([](Context& tl) {
                auto x = tl.load(kA, {4}, bf16);
                tl.where(x > 0.0, x, 0.0);
              }),
              ElementsAre("%0:bf16[4] = dma_read 0x1000", "%2:i1[4] = gt %0:bf16[4], 0:bf16",
                          "%3:bf16[4] = where %2:i1[4], %0:bf16[4], 0:bf16"));
}

TEST(Elementwise, ANumberTakesTheTilesDTypeAndIsRoundedToIt) {
  // 0.1 in f16 is 0x2E66 = 1638 · 2⁻¹⁴
  EXPECT_EQ(on_f16([](Context&, Tile x) { x * 0.1; }), "%2:f16[4] = mul %0:f16[4], 0.0999755859375:f16");
  EXPECT_EQ(on_f16([](Context&, Tile x) { 2 - x; }), "%2:f16[4] = sub 2:f16, %0:f16[4]");
  EXPECT_EQ(on_i32([](Context&, Tile x) { x + 7; }), "%2:i32[4] = add %0:i32[4], 7:i32");
  EXPECT_EQ(on_i1([](Context&, Tile x) { x + 7; }), "%2:i32[4] = add %0:i1[4], 7:i32");  // truth values count
  EXPECT_EQ(on_i1([](Context&, Tile x) { x & true; }), "%2:i1[4] = and %0:i1[4], 1:i1");
}

TEST(Elementwise, CompoundAssignmentMovesTheHandleOn) {
  EXPECT_THAT(recorded([](Context& tl) {
                auto x = tl.load(kA, {4}, f16);
                const auto before = x;
                x += before;
                x -= 1;
                x *= x;
                x /= before;
              }),
              ElementsAre("%0:f16[4] = dma_read 0x1000", "%1:f16[4] = add %0:f16[4], %0:f16[4]",
                          "%3:f16[4] = sub %1:f16[4], 1:f16", "%4:f16[4] = mul %3:f16[4], %3:f16[4]",
                          "%5:f16[4] = div %4:f16[4], %0:f16[4]"));
}

TEST(Elementwise, CreationIsFillAndArange) {
  EXPECT_THAT(
      recorded([](Context& tl) {
        tl.zeros({2, 3}, f32);
        tl.full({4}, 1.5, bf16);
        tl.arange(3, 7);
      }),
      ElementsAre("%1:f32[2, 3] = fill 0:f32", "%3:bf16[4] = fill 1.5:bf16", "%5:i32[4] = arange 3:i32"));
}

TEST(Reduction, RunsOverAnAxisOrAll) {
  const auto reduce = [](auto fn) {
    return recorded([&](Context& tl) { fn(tl, tl.load(kA, {2, 3}, f16)); }).at(1);
  };
  EXPECT_EQ(reduce([](Context& tl, Tile x) { tl.sum(x, 0); }), "%1:f16[3] = sum %0:f16[2, 3] axis 0");
  EXPECT_EQ(reduce([](Context& tl, Tile x) { tl.max(x, -1); }), "%1:f16[2] = max %0:f16[2, 3] axis 1");
  EXPECT_EQ(reduce([](Context& tl, Tile x) { tl.min(x, 1); }), "%1:f16[2] = min %0:f16[2, 3] axis 1");
  EXPECT_EQ(reduce([](Context& tl, Tile x) { tl.argmax(x, 0); }), "%1:i32[3] = argmax %0:f16[2, 3] axis 0");
  EXPECT_EQ(reduce([](Context& tl, Tile x) { tl.sum(x); }), "%2:f16[] = sum %1:f16[6] axis 0");
}

TEST(Reduction, MayKeepItsAxes) {
  Context tl;
  const auto x = tl.load(kA, {2, 3}, f16);
  EXPECT_EQ(tl.sum(x, 0, true).shape(), (Shape{1, 3}));
  EXPECT_EQ(tl.sum(x, 1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(tl.sum(x, {}, true).shape(), (Shape{1, 1}));
}

TEST(Reduction, SoftmaxIsFiveCommands) {
  EXPECT_THAT(
      recorded([](Context& tl) {
        tl.softmax(tl.load(kA, {2, 8}, f16));
      }),
      ElementsAre("%0:f16[2, 8] = dma_read 0x1000", "%1:f16[2] = max %0:f16[2, 8] axis 1",
                  "%3:f16[2, 8] = sub %0:f16[2, 8], %2:f16[2, 1]", "%4:f16[2, 8] = exp %3:f16[2, 8]",
                  "%5:f16[2] = sum %4:f16[2, 8] axis 1", "%7:f16[2, 8] = div %4:f16[2, 8], %6:f16[2, 1]"));
  EXPECT_EQ(recorded([](Context& tl) {
              tl.softmax(tl.load(kA, {2, 8}, f16), 0);
            }).at(1),
            "%1:f16[8] = max %0:f16[2, 8] axis 0");
}

TEST(Elementwise, EveryOperationCanBeNamed) {
  for (const auto& op : math_ops()) {
    if (op.kind != MathKind::elementwise || op.result == ResultRule::given) continue;
    Context tl;
    const bool integer =
        op.result == ResultRule::integer || op.result == ResultRule::bits || op.result == ResultRule::shift;
    const auto x = tl.load(kA, {4}, integer ? i32 : f32);
    const auto mask = tl.load(kA, {4}, i1);
    std::vector<Operand> operands(static_cast<std::size_t>(op.operands), Operand(x));
    if (op.op == MathOp::where) operands[0] = mask;
    tl.math(op.op, operands);
    EXPECT_EQ(tl.commands().back().as<isa::Math>().op, op.op) << op.name;
  }
}

}  // namespace
}  // namespace kernbench::tl::elementwise_test
