// Elementwise operations on blocks of f32 or integers, as loops the compiler makes vector code of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::data {

/// out[i] = op(a[i], b[i], c[i]). All have `n` elements and `out` overlaps none; an operation of fewer
/// operands does not look at the others.
template <class In, class Out>
using BlockKernel = void (*)(const In* a, const In* b, const In* c, Out* out, std::size_t n);

/// Null where the operation is not of that kind. A mask of `where` and a truth value are 0 or 1.
BlockKernel<float, float> float_kernel(MathOp op, Simd level);
/// For i32, u32, i64 and u64.
template <class T>
BlockKernel<T, T> int_kernel(MathOp op, Simd level);
/// `~` of truth values.
BlockKernel<std::int32_t, std::int32_t> truth_not(Simd level);
BlockKernel<float, std::int32_t> float_comparison(MathOp op, Simd level);

}  // namespace kernbench::data
