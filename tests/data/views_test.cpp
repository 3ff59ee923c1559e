// Every elementwise operation on every choice of dtypes, its operands read through views: broadcast, sliced, transposed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "data/numerics/elementwise.hpp"
#include "data/numerics/strided.hpp"
#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data::views_test {
namespace {

using reference::Wide;

/// About how many elements a result has: few, around the blocks in which they are computed, and many.
constexpr std::array kSizes = {1,    2,    3,    17,   255,  257,  511,  512,  513,  520,  767,
                               1000, 1023, 1024, 1025, 1536, 2047, 2049, 2500, 3073, 4097, 5000};

enum class Kind { dense, broadcast, slice, transpose };
constexpr std::array kKinds = {Kind::dense, Kind::broadcast, Kind::slice, Kind::transpose};

/// An operand: elements of `base` from `start` on, where neighbours along axis i are strides[i] elements apart.
struct View {
  NdArray base;
  NdArray dense;  // what the operation is given
  std::vector<std::int64_t> strides;
  std::int64_t start;
  std::vector<std::size_t> elements;  // of base, one for each element of the result
};

std::vector<std::size_t> walk(const Shape& shape, const std::vector<std::int64_t>& strides,
                              std::int64_t first) {
  std::vector<std::size_t> elements(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i), at = first;
    for (int axis = shape.rank() - 1; axis >= 0; rest /= shape[axis], --axis)
      at += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
    elements[i] = static_cast<std::size_t>(at);
  }
  return elements;
}

View view_of(Random& random, DType dtype, const Shape& result, Kind kind) {
  const auto rank = static_cast<std::size_t>(result.rank());
  std::vector<std::int64_t> extents(result.begin(), result.end()), whole = extents, step(rank, 1);
  std::int64_t start = 0;
  if (kind == Kind::broadcast) {
    for (auto& e : extents)
      if (random.below(2) != 0) e = 1;
    extents[static_cast<std::size_t>(random.below(result.rank()))] = 1;
    whole = extents;
  }
  if (kind == Kind::slice) {
    for (std::size_t i = 0; i < rank; ++i) step[i] = 1 + random.below(3), whole[i] = extents[i] * step[i] + 1;
    start = random.below(2);
  }
  std::vector<std::size_t> order(rank);  // in which the axes lie in memory, the outermost first
  std::iota(order.begin(), order.end(), 0);
  if (kind == Kind::transpose) std::rotate(order.begin(), order.begin() + 1, order.end());

  std::vector<std::int64_t> strides(rank), memory;
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0; stride *= whole[order[i]]) strides[order[i]] = stride * step[order[i]];
  for (const auto axis : order) memory.push_back(whole[axis]);

  View view{random.below(3) != 0 ? random.array(dtype, Shape(memory)) : random.any_bits(dtype, Shape(memory)),
            NdArray(dtype, Shape(extents)),
            strides,
            start,
            {}};
  gather(dtype, view.base.bytes().data() + start * itemsize(dtype), Shape(extents), strides,
         view.dense.bytes().data());
  for (std::size_t i = 0; i < rank; ++i)
    if (extents[i] == 1) view.strides[i] = 0;  // repeated, if the result has more
  return view;
}

/// A shape of two or three axes and about that many elements.
Shape shape_of(Random& random, int size) {
  const auto rows = std::min(1 + random.below(5), size);
  if (random.below(2) != 0) return {rows, (size + rows - 1) / rows};
  const auto middle = std::min(1 + random.below(7), (size + rows - 1) / rows);
  return {rows, middle, (size + rows * middle - 1) / (rows * middle)};
}

bool computed_as_floats(MathOp op, const std::vector<DType>& dtypes, DType result) {
  if (info(op).result != ResultRule::truth) return is_float(result);
  return std::ranges::any_of(dtypes, is_float);
}

float as_float(const NdArray& a, std::size_t i) {
  return is_float(a.dtype()) ? static_cast<float>(reference::number(a, i))
                             : static_cast<float>(reference::integer(a, i));
}

bool is_tolerant(MathOp op) { return info(op).cost == MathCost::transcendental || op == MathOp::rsqrt; }

/// The functions may be off by a unit of f32 before they are rounded to their dtype.
bool agrees(MathOp op, DType dtype, double got, double want) {
  const auto near = static_cast<float>(want);
  if (reference::same(got, reference::rounded(dtype, near))) return true;
  const float inf = std::numeric_limits<float>::infinity();
  return is_tolerant(op) && (got == reference::rounded(dtype, std::nextafter(near, inf)) ||
                             got == reference::rounded(dtype, std::nextafter(near, -inf)));
}

struct Case {
  MathOp op;
  const std::vector<View>* operands;
  const NdArray* got;

  double number(std::size_t k, std::size_t i) const {
    return k < operands->size() ? as_float((*operands)[k].base, (*operands)[k].elements[i]) : 0;
  }
  Wide integer(std::size_t k, std::size_t i) const {
    return k < operands->size() ? reference::integer((*operands)[k].base, (*operands)[k].elements[i]) : 0;
  }

  bool float_element_is_right(std::size_t i) const {
    const auto want = reference::meaning(op, number(0, i), number(1, i), number(2, i));
    return agrees(op, got->dtype(), reference::number(*got, i), want);
  }
  bool integer_element_is_right(std::size_t i, DType t) const {
    std::array<Wide, 3> in{};
    for (std::size_t k = 0; k < 3; ++k)
      in[k] = t == DType::i1 ? integer(k, i) : reference::wrapped(t, integer(k, i));
    if (op == MathOp::where) in[0] = integer(0, i);
    if (op == MathOp::where) return reference::integer(*got, i) == (in[0] != 0 ? in[1] : in[2]);
    if (op == MathOp::bit_not && t == DType::i1) return reference::integer(*got, i) == 1 - in[0];
    const auto want = reference::meaning(op, t, in[0], in[1], in[2]);
    return reference::integer(*got, i) ==
           (got->dtype() == DType::i1 ? want : reference::wrapped(got->dtype(), want));
  }
};

DType promoted(MathOp op, const std::vector<DType>& dtypes, DType result) {
  DType t = info(op).result == ResultRule::truth ? dtypes[0] : result;
  if (info(op).result == ResultRule::truth)
    for (const auto other : dtypes) t = promote(t, other);
  return t;
}

std::optional<DType> result_if_accepted(MathOp op, const std::vector<DType>& dtypes) {
  try {
    return result_dtype(op, dtypes);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void expect_meaning(Random& random, MathOp op, const std::vector<DType>& dtypes, Kind first, int size) {
  const auto result = result_if_accepted(op, dtypes);
  if (!result) return;
  const auto shape = shape_of(random, size);
  std::vector<View> operands;
  for (std::size_t k = 0; k < dtypes.size(); ++k)
    operands.push_back(view_of(random, dtypes[k], shape,
                               k == 0 ? first : kKinds[static_cast<std::size_t>(random.below(4))]));
  std::vector<ConstArray> arrays;
  for (const auto& view : operands) arrays.emplace_back(view.dense);
  const NdArray got = elementwise(op, arrays);
  for (auto& view : operands) view.elements = walk(got.shape(), view.strides, view.start);
  const Case all{op, &operands, &got};
  const bool floats = computed_as_floats(op, dtypes, *result);
  const auto t = promoted(op, dtypes, *result);
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.elements()); ++i) {
    const bool right = floats ? all.float_element_is_right(i) : all.integer_element_is_right(i, t);
    ASSERT_TRUE(right) << to_string(op) << " of " << to_string(dtypes[0]) << " and "
                       << to_string(dtypes.back()) << ", " << to_string(shape) << ": element " << i << " is "
                       << reference::number(got, i) << "; operands " << all.number(0, i) << ", "
                       << all.number(1, i) << ", " << all.number(2, i);
  }
}

std::vector<MathOp> operations(int operands) {
  std::vector<MathOp> ops;
  for (const auto& op : math_ops())
    if (op.kind == MathKind::elementwise && op.result != ResultRule::given && op.operands == operands)
      ops.push_back(op.op);
  return ops;
}

class Sizes {
 public:
  int next() { return kSizes[at_++ % kSizes.size()]; }

 private:
  std::size_t at_ = 0;
};

TEST(Views, OneOperandThroughAnyViewGivesWhatTheOperationMeans) {
  Random random(61);
  for (const auto op : operations(1))
    for (const auto dtype : kAllDTypes)
      for (const auto size : kSizes) {
        expect_meaning(random, op, {dtype}, Kind::slice, size);
        expect_meaning(random, op, {dtype}, Kind::transpose, size);
        if (HasFatalFailure()) return;
      }
}

TEST(Views, EveryPairOfDTypesThroughAnyViewGivesWhatTheOperationMeans) {
  Random random(62);
  Sizes sizes;
  for (const auto op : operations(2))
    for (const auto a : kAllDTypes)
      for (const auto b : kAllDTypes)
        for (const auto kind : kKinds) {
          expect_meaning(random, op, {a, b}, kind, sizes.next());
          if (HasFatalFailure()) return;
        }
}

TEST(Views, ThreeOperandsThroughAnyViewGiveWhatTheOperationMeans) {
  Random random(63);
  Sizes sizes;
  for (const auto op : operations(3))
    for (const auto a : kAllDTypes)
      for (const auto b : kAllDTypes)
        for (const auto c : kAllDTypes) {
          expect_meaning(random, op, {a, b, c}, kKinds[static_cast<std::size_t>(random.below(4))],
                         sizes.next());
          if (HasFatalFailure()) return;
        }
}

// 1,200 elements of i64, of which a block of 1,024 takes 8 KiB as they are stored and 4 KiB as f32.
TEST(Views, ColumnOf64BitIntegersBesideFloatsOfSeveralBlocksIsReadWhole) {
  Random random(64);
  for (const auto dtype : {DType::i64, DType::u64}) {
    const auto column = random.array(dtype, {3, 1}), row = random.array(dtype, {400});
    const auto floats = random.array(DType::f32, {3, 400});
    const auto sum = elementwise(MathOp::add, std::vector<ConstArray>{column, floats});
    const auto quotient = elementwise(MathOp::div, std::vector<ConstArray>{column, row});
    for (std::size_t i = 0; i < 1200; ++i) {
      ASSERT_EQ(sum.view<float>()[i], as_float(column, i / 400) + floats.view<float>()[i]);
      ASSERT_EQ(quotient.view<float>()[i], as_float(column, i / 400) / as_float(row, i % 400));
    }
  }
}

}  // namespace
}  // namespace kernbench::data::views_test
