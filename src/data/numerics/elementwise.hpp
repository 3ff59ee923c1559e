// Elementwise operations on arrays of any dtypes, with NumPy broadcasting.
//
// Floats: every operand is taken as f32 (exact, but for i32 beyond 2²⁴, which rounds), the operation is done
// in f32 rounded once, and the result is rounded to its dtype. exp … cos are our own (functions.hpp).
// Integers: computed in i32, or in u32, i64, u64 where that is the promoted dtype, and cut to the result's width, which is
// the same as computing in that width, wrapping. << and >> by the width or more leave nothing (of negative numbers −1).
//   // and % truncate toward zero, as Triton and C; n // 0 is −1, n % 0 is n, the most negative // −1 wraps
//   to itself (RISC-V's choice: a lane that `where` discards later must not stop the run).
// Mixed: `promote` says which of the two worlds it is. `/` of integers converts both to f32 first.
// NaN: comparisons are false, but != true. maximum, minimum and clamp give NaN if any operand is; +0 is above
// −0.
//   A result that is NaN is the canonical one, whatever the operation; `copy` alone keeps all bits.
// cast: to a smaller float as half.hpp says; float to integer toward zero, saturating, NaN gives 0; integer
// to
//   integer keeps the low bits; integer to float through f32; to i1 whether it is not zero.
#pragma once

#include <cstdint>
#include <span>

#include "data/numerics/array.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::data {

/// `out` has the broadcast shape and, but for cast, the result dtype of the operation or one it may convert to
/// (InternalError otherwise), and overlaps no operand. The result is rounded once, to the dtype of `out`. Operands the operation does not take, or shapes that do not
/// broadcast, are an InputError.
void elementwise(MathOp op, std::span<const ConstArray> operands, const Array& out);

/// The same into a new array; not for cast.
NdArray elementwise(MathOp op, std::span<const ConstArray> operands);
NdArray cast(const ConstArray& a, DType to);

/// Every element is `value`, as cast of an f32 or i32 would give it.
void fill(const Array& out, float value);
void fill(const Array& out, std::int32_t value);
void fill(const Array& out, std::int64_t value);
/// start, start + 1, …; as cast of an i32 would give it.
void arange(const Array& out, std::int32_t start);

}  // namespace kernbench::data
