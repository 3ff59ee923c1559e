// What recording computes of known values is what replay computes, for every operation.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "data/numerics/elementwise.hpp"
#include "data/tiles.hpp"
#include "kernbench/tl.hpp"
#include "tl/constants.hpp"

namespace kernbench::data::known_values_test {
namespace {

using tl::KnownValues;
using tl::Operand;

NdArray array_of(DType dtype, const Shape& shape, const std::vector<double>& numbers) {
  NdArray array(dtype, shape);
  const auto size = static_cast<std::size_t>(itemsize(dtype));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(array.bytes().data() + i * size, scalar_content(dtype, numbers[i]).get(), size);
  return array;
}

NdArray array_of(const isa::Program& program, isa::ValueId id) {
  KnownValues known;
  return array_of(program.value(id).dtype, program.shape(id), *known.ask(program, id).numbers);
}

/// Sixteen numbers below and above 0, of that dtype.
tl::Tile numbers(tl::Context& tl, DType dtype, int which) {
  const auto i = tl.arange(0, 16);
  if (dtype == DType::u64) return tl.cast(which == 0 ? i * 11 : i % 3, dtype);
  return tl.cast(which == 0 ? i * 11 - 70 : which == 1 ? (i - 5) * 3 : i % 3, dtype);
}

bool takes(MathOp op, DType dtype) {
  try {
    std::vector<DType> dtypes(static_cast<std::size_t>(info(op).operands), dtype);
    if (op == MathOp::where) dtypes[0] = DType::i1;
    result_dtype(op, dtypes);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::vector<Operand> operands_of(tl::Context& tl, MathOp op, DType dtype) {
  std::vector<Operand> operands;
  for (int i = 0; i < info(op).operands; ++i)
    operands.emplace_back(numbers(tl, op == MathOp::where && i == 0 ? DType::i1 : dtype, i));
  return operands;
}

void expect_as_replayed(MathOp op, DType dtype) {
  tl::Context tl;
  const auto operands = operands_of(tl, op, dtype);
  const auto result = tl.math(op, operands);
  KnownValues known;
  const auto answer = known.ask(tl.program(), result.id());
  if (dtype != DType::u64) {
    ASSERT_EQ(answer.numbers != nullptr, tl::is_evaluated(op)) << to_string(op);
  }
  if (answer.numbers == nullptr) return;  // also what has left the range that a double holds
  std::vector<NdArray> arrays;
  for (const auto& o : operands) arrays.push_back(array_of(tl.program(), o.tile().id()));
  const std::vector<ConstArray> in(arrays.begin(), arrays.end());
  NdArray replayed(result.dtype(), result.shape());
  elementwise(op, in, replayed);
  EXPECT_EQ(array_of(result.dtype(), result.shape(), *answer.numbers), replayed)
      << to_string(op) << " of " << to_string(dtype);
}

TEST(KnownValues, OfEveryElementwiseOperationAreThoseOfReplay) {
  std::set<MathOp> seen;
  for (const auto& that : math_ops()) {
    if (that.kind != MathKind::elementwise || that.result == ResultRule::given) continue;
    for (const auto dtype : kAllDTypes)
      if (takes(that.op, dtype)) expect_as_replayed(that.op, dtype), seen.insert(that.op);
    EXPECT_TRUE(seen.contains(that.op)) << that.name << " takes no dtype at all";
  }
}

TEST(KnownValues, OfACastAreThoseOfReplay) {
  for (const auto from : kAllDTypes)
    for (const auto to : kAllDTypes) {
      if (from == to) continue;
      tl::Context tl;
      const auto x = numbers(tl, from, 0), y = tl.cast(x, to);
      if (KnownValues().ask(tl.program(), y.id()).numbers == nullptr) {
        EXPECT_EQ(to, DType::u64);  // numbers below 0 are beyond 2⁵³ there, and count as not known
        continue;
      }
      NdArray replayed(to, y.shape());
      const std::vector<NdArray> in{array_of(tl.program(), x.id())};
      const ConstArray operand(in[0]);
      elementwise(MathOp::cast, {&operand, 1}, replayed);
      EXPECT_EQ(array_of(tl.program(), y.id()), replayed) << to_string(from) << " to " << to_string(to);
    }
}

TEST(KnownValues, KnowNothingOfReductions) {
  for (const auto& that : math_ops()) {
    if (that.kind != MathKind::reduction) continue;
    EXPECT_FALSE(tl::is_evaluated(that.op)) << that.name;
  }
}

}  // namespace
}  // namespace kernbench::data::known_values_test
