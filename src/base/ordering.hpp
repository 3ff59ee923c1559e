// The larger and the smaller of two numbers: a NaN wins (as NumPy and PyTorch), and +0 is larger than −0, so
// that the result does not depend on the order of operands.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace kernbench {

[[gnu::always_inline]] inline float larger(float a, float b) {
  const float plus_zero =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & std::bit_cast<std::uint32_t>(b));
  const float number = a > b ? a : b;  // b if it is NaN
  const float ordered = a == b ? plus_zero : number;
  return a != a ? a : ordered;
}
[[gnu::always_inline]] inline float smaller(float a, float b) {
  const float minus_zero =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) | std::bit_cast<std::uint32_t>(b));
  const float number = a < b ? a : b;
  const float ordered = a == b ? minus_zero : number;
  return a != a ? a : ordered;
}
template <std::integral T>
[[gnu::always_inline]] inline T larger(T a, T b) {
  return a > b ? a : b;
}
template <std::integral T>
[[gnu::always_inline]] inline T smaller(T a, T b) {
  return a < b ? a : b;
}

}  // namespace kernbench
