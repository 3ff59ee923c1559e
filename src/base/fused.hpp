// a·b + c rounded once, on processors with and without an instruction for it. Same bits on both.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/simd.hpp"

namespace kernbench {

/// Without an instruction: the product of two f32 is exact in f64, so only the sum rounds. It is rounded to
/// odd (the last bit of an inexact sum is set), after which rounding to f32 is as good as rounding once
/// (Boldo and Melquiond 2008). The error of the sum is Knuth's, exact; it is NaN where the sum is infinite.
[[gnu::always_inline]] inline float soft_fmaf(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool inexact = (error > 0) | (error < 0);
  const bool rounded_up = (error < 0) != (sum < 0);  // away from zero
  const std::uint64_t odd = rounded_up ? bits - 1 : bits + 1;
  const std::uint64_t was_odd = 0 - (bits & 1);  // all ones or none: selects stay free of branches
  const std::uint64_t rounded = inexact ? (bits & was_odd) | (odd & ~was_odd) : bits;
  return static_cast<float>(std::bit_cast<double>(rounded));
}

/// The form for code compiled for `Level`.
template <Simd Level>
[[gnu::always_inline]] inline float fused_multiply_add(float a, float b, float c) {
#if defined(__x86_64__) && !defined(__FMA__)
  if constexpr (Level == Simd::generic) return soft_fmaf(a, b, c);
#endif
  return __builtin_fmaf(a, b, c);
}

}  // namespace kernbench
