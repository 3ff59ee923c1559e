// The operations of the vector unit: one list for those who record them, time them and compute them.
//
// Result dtypes, with `promote` as in dtype.hpp:
//   arithmetic (+ − * neg abs fma sum    promoted; truth values count as i32 0 and 1
//   prod cumsum cumprod)
//   /                                    promoted; of integers f32
//   // %                                 integers only; promoted, truth values as i32
//   & | ^ ~                              integers only; promoted. ~ of i1 is "not"
//   << >> umulhi                         integers other than i1; promoted. umulhi: of 32 or 64 bits
//   comparisons                          i1
//   where(mask, a, b)                    a and b promoted; the mask must be i1
//   maximum minimum clamp max min        promoted
//   maximum_number minimum_number        promoted; a NaN loses against any number, as IEEE 754's maximumNumber
//   max_number min_number                the same over an axis
//   cummax cummin                        promoted
//   exp … cos, sqrt, rsqrt, floor, ceil  the float itself; of integers f32
//   argmax argmin                        i32
//   argmax_number argmin_number          i32; a NaN is found only where there is no number
//   cast bitcast fill arange             the one asked for
//   cat flip sort gather                 that of its first operand
//   histogram                            i32
// Where a kernel asks for an `out_dtype`, it replaces the promoted one: see may_convert.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernbench/dtype.hpp"

namespace kernbench {

// clang-format off
enum class MathOp : std::uint8_t {
  // two operands
  add, sub, mul, div, floordiv, mod, bit_and, bit_or, maximum, minimum, eq, ne, lt, le, gt, ge,
  // one operand
  neg, abs, bit_not, exp, exp2, log, sqrt, rsqrt, sigmoid, tanh, erf, sin, cos, cast, copy,
  // three operands
  where, fma, clamp,
  // none: made from numbers
  fill, arange,
  // over an axis
  sum, max, min, argmax,
  // elements in other places
  cat,
  // two operands
  bit_xor, shl, shr, umulhi,
  // one operand
  floor, ceil, log2,
  // over an axis
  argmin, prod, xor_sum,
  // along an axis: as many elements as before
  cumsum, cumprod, cummax, cummin,
  // elements in other places
  flip, sort, gather, histogram,
  // one operand
  bitcast,
  // two operands
  maximum_number, minimum_number,
  // over an axis
  max_number, min_number, argmax_number, argmin_number,
};
// clang-format on

enum class MathKind : std::uint8_t { elementwise, create, reduction, arrangement, scan };

/// How long an element takes. How many cycles each class is, is the machine's to say; by default 1, 4 and 8.
enum class MathCost : std::uint8_t { simple, division, transcendental };
constexpr int default_cycles(MathCost cost) {
  return cost == MathCost::simple ? 1 : cost == MathCost::division ? 4 : 8;
}

enum class ResultRule : std::uint8_t {
  arithmetic,
  division,
  integer,
  truth,
  select,
  ordering,
  real,
  index,
  given,
  bits,   // integers, i1 among them
  shift,  // integers but i1
};

/// How often an operation along an axis of that length passes over its elements: a scan ⌈log2(length)⌉ times, a sort
/// p(p+1)/2 times with the same p, as a bitonic network does; all others, and short axes, once.
std::int64_t passes(MathOp op, std::int64_t length);

struct MathOpInfo {
  MathOp op;
  std::string_view name;  // `add`, `exp2`
  int operands;           // tiles it reads; cat reads any number of them
  MathKind kind;
  MathCost cost;
  ResultRule result;
};

/// All operations, in the order of the enum.
std::span<const MathOpInfo> math_ops();
const MathOpInfo& info(MathOp op);
inline std::string_view to_string(MathOp op) { return info(op).name; }

/// The dtype of the result. InputError if their number is not the operation's or it does not take such
/// operands. For cast, bitcast, fill and arange the dtype is the caller's to give, so asking here is a defect.
DType result_dtype(MathOp op, std::span<const DType> operands);

/// Whether the operation can round its result to `to` instead of `natural`, its result dtype: from float to float or
/// from integer to integer. Comparisons, logic, indices and copies cannot.
bool may_convert(MathOp op, DType natural, DType to);

}  // namespace kernbench
