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
/// The same, except that a number wins over a NaN (IEEE 754's maximumNumber and minimumNumber).
[[gnu::always_inline]] inline float larger_number(float a, float b) {
  const float ordered = larger(a, b);
  return a != a ? b : b != b ? a : ordered;
}
[[gnu::always_inline]] inline float smaller_number(float a, float b) {
  const float ordered = smaller(a, b);
  return a != a ? b : b != b ? a : ordered;
}
template <std::integral T>
[[gnu::always_inline]] inline T larger(T a, T b) {
  return a > b ? a : b;
}
template <std::integral T>
[[gnu::always_inline]] inline T smaller(T a, T b) {
  return a < b ? a : b;
}

template <std::integral T>
[[gnu::always_inline]] inline T larger_number(T a, T b) {
  return larger(a, b);
}
template <std::integral T>
[[gnu::always_inline]] inline T smaller_number(T a, T b) {
  return smaller(a, b);
}

}  // namespace kernbench
