#include "kernbench/math_op.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

#include "kernbench/error.hpp"

namespace kernbench::math_op_test {
namespace {

using enum DType;

DType result(MathOp op, std::initializer_list<DType> operands) {
  return result_dtype(op, std::span(operands.begin(), operands.size()));
}

TEST(MathOps, HaveDistinctNames) {
  std::set<std::string_view> names;
  for (const auto& op : math_ops()) EXPECT_TRUE(names.insert(op.name).second) << op.name;
}

TEST(MathOps, HaveTheCostClassesOfTheTimingModel) {
  std::set<std::string_view> four, eight;
  for (const auto& op : math_ops()) {
    if (default_cycles(op.cost) == 4) four.insert(op.name);
    if (default_cycles(op.cost) == 8) eight.insert(op.name);
  }
  EXPECT_EQ(four, (std::set<std::string_view>{"div", "floordiv", "mod", "sqrt", "rsqrt", "umulhi", "gather",
                                              "histogram"}));
  EXPECT_EQ(eight, (std::set<std::string_view>{"exp", "exp2", "log", "log2", "sin", "cos", "tanh", "sigmoid",
                                               "erf"}));
}

TEST(ResultDType, OfArithmeticIsPromotedAndCountsTruthValues) {
  EXPECT_EQ(result(MathOp::add, {f16, bf16}), f32);
  EXPECT_EQ(result(MathOp::mul, {i8, f16}), f16);
  EXPECT_EQ(result(MathOp::add, {i8, i8}), i8);
  EXPECT_EQ(result(MathOp::add, {i1, i1}), i32);
  EXPECT_EQ(result(MathOp::sum, {i1}), i32);
  EXPECT_EQ(result(MathOp::sum, {bf16}), bf16);
  EXPECT_EQ(result(MathOp::fma, {f8e4m3, f8e5m2, f8e4m3}), f16);
}

TEST(ResultDType, OfDivisionAndRealFunctionsOfIntegersIsF32) {
  EXPECT_EQ(result(MathOp::div, {i32, i8}), f32);
  EXPECT_EQ(result(MathOp::div, {i32, f16}), f16);
  EXPECT_EQ(result(MathOp::exp, {i8}), f32);
  EXPECT_EQ(result(MathOp::exp, {f8e4m3}), f8e4m3);
  EXPECT_EQ(result(MathOp::floordiv, {i8, i32}), i32);
}

TEST(ResultDType, OfBitsIsThePromotedInteger) {
  EXPECT_EQ(result(MathOp::bit_and, {i1, i1}), i1);
  EXPECT_EQ(result(MathOp::bit_xor, {i1, u8}), u8);
  EXPECT_EQ(result(MathOp::shr, {i32, i64}), i64);
  EXPECT_EQ(result(MathOp::umulhi, {u32, i32}), u32);
}

// p = ⌈log2(length)⌉: a scan p passes, a bitonic sort p(p+1)/2, at least one.
TEST(MathOps, AlongAnAxisPassOverItsElementsSeveralTimes) {
  EXPECT_EQ(passes(MathOp::cumsum, 1024), 10);
  EXPECT_EQ(passes(MathOp::cumsum, 1025), 11);
  EXPECT_EQ(passes(MathOp::cummax, 1), 1);
  EXPECT_EQ(passes(MathOp::sort, 256), 36);
  EXPECT_EQ(passes(MathOp::flip, 256), 1);
  EXPECT_EQ(passes(MathOp::sum, 256), 1);
}

TEST(ResultDType, OfComparisonsIsTruthAndOfSelectionWhatIsSelected) {
  EXPECT_EQ(result(MathOp::lt, {f16, i32}), i1);
  EXPECT_EQ(result(MathOp::where, {i1, i8, i1}), i8);
  EXPECT_EQ(result(MathOp::maximum, {i1, i1}), i1);
  EXPECT_EQ(result(MathOp::argmax, {f16}), i32);
}

TEST(ResultDType, RefusesWhatTheOperationDoesNotTake) {
  EXPECT_THROW(result(MathOp::floordiv, {f16, i32}), InputError);
  EXPECT_THROW(result(MathOp::bit_and, {i1, f16}), InputError);
  EXPECT_THROW(result(MathOp::shl, {i1, i8}), InputError);
  EXPECT_THROW(result(MathOp::umulhi, {i16, i16}), InputError);
  EXPECT_THROW(result(MathOp::bit_not, {f32}), InputError);
  EXPECT_THROW(result(MathOp::where, {i8, f32, f32}), InputError);
  EXPECT_THROW(result(MathOp::add, {f32}), InputError);
  EXPECT_THROW(result(MathOp::cast, {f32}), InternalError);
}

}  // namespace
}  // namespace kernbench::math_op_test
