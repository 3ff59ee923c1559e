// Reductions over one axis, in one order of operations everywhere.
//
// sum: element i of the axis goes to partial sum i mod 16, ascending, each starting at +0; then 16 partial
// sums become
//   8, 4, 2, 1 by adding the upper half to the lower. In f32, rounded to the dtype once at the end; integers
//   wrap; truth values are counted in i32. The order does not depend on which axis it is.
// max, min: as maximum and minimum; a NaN wins, +0 is above −0. max_number, min_number: a NaN loses against any number.
// argmax: the first index of the largest; of the first NaN if there is one. −0 and +0 are equal.
#pragma once

#include "data/numerics/array.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::data {

/// `out` has the shape of `in` without that axis (counted from the front, or from the back if negative) and
/// the result dtype of the operation, or one it may convert to. InputError on a bad axis, or on max, min and argmax of no elements.
void reduce(MathOp op, const ConstArray& in, int axis, const Array& out);
NdArray reduce(MathOp op, const ConstArray& in, int axis);

/// cumsum, cumprod, cummax, cummin along an axis: element i is made of elements 0 … i, or of i … last if `reverse`, one
/// after the other, in f32 or the integer's type, and rounded where it is stored. `out` has the shape of `in`.
void scan(MathOp op, const ConstArray& in, int axis, bool reverse, const Array& out);

}  // namespace kernbench::data
