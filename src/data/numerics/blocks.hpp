// Elements of any dtype in and out of the two types all computing is done in: f32 for floats, i32 for
// integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernbench/dtype.hpp"

namespace kernbench::data {

/// `n` elements as f32: exact for floats, i8 and i1; i32 rounds to nearest even.
void load(DType dtype, const std::byte* from, std::size_t n, float* to);
/// `n` elements of an integer dtype as i32.
void load(DType dtype, const std::byte* from, std::size_t n, std::int32_t* to);

/// Rounds to a float dtype (half.hpp says how). To an integer: toward zero, what does not fit becomes the
/// nearest that does, NaN becomes 0. To i1: whether it is not zero. Every NaN stored is canonical.
void store(DType dtype, const float* from, std::size_t n, std::byte* to);
/// To an integer dtype, keeping the low bits (i1: whether not zero); to a float dtype through f32.
void store(DType dtype, const std::int32_t* from, std::size_t n, std::byte* to);

/// Replaces every NaN by the canonical one.
void canonicalize(float* values, std::size_t n);

}  // namespace kernbench::data
