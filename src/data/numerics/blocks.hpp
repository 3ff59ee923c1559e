// Elements of any dtype in and out of the types computing is done in: f32 for floats; for integers i32, or the dtype's own
// type where that does not hold them all (u32, i64, u64).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernbench/dtype.hpp"

namespace kernbench::data {

/// `n` elements as f32: exact for floats and integers of up to 16 bits; others round to nearest even.
void load(DType dtype, const std::byte* from, std::size_t n, float* to);
/// `n` elements of an integer dtype, modulo the width of the type.
void load(DType dtype, const std::byte* from, std::size_t n, std::int32_t* to);
void load(DType dtype, const std::byte* from, std::size_t n, std::uint32_t* to);
void load(DType dtype, const std::byte* from, std::size_t n, std::int64_t* to);
void load(DType dtype, const std::byte* from, std::size_t n, std::uint64_t* to);

/// Rounds to a float dtype (half.hpp says how). To an integer: toward zero, what does not fit becomes the
/// nearest that does, NaN becomes 0. To i1: whether it is not zero. Every NaN stored is canonical.
void store(DType dtype, const float* from, std::size_t n, std::byte* to);
/// To an integer dtype, keeping the low bits (i1: whether not zero); to a float dtype through f32.
void store(DType dtype, const std::int32_t* from, std::size_t n, std::byte* to);
void store(DType dtype, const std::uint32_t* from, std::size_t n, std::byte* to);
void store(DType dtype, const std::int64_t* from, std::size_t n, std::byte* to);
void store(DType dtype, const std::uint64_t* from, std::size_t n, std::byte* to);

/// Calls `fn(T{})` with the type that integers of a dtype are computed in.
template <class Fn>
decltype(auto) with_int_type(DType dtype, Fn&& fn) {
  if (dtype == DType::u32) return fn(std::uint32_t{});
  if (dtype == DType::i64) return fn(std::int64_t{});
  if (dtype == DType::u64) return fn(std::uint64_t{});
  return fn(std::int32_t{});
}

/// Replaces every NaN by the canonical one.
void canonicalize(float* values, std::size_t n);

}  // namespace kernbench::data
