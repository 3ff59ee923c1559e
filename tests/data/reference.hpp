// A second opinion on what the numerics compute: one element at a time, in f64 or long double, with index
// arithmetic written out. Shares only the scalar conversions of half.hpp, which have tests of their own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernbench/math_op.hpp"
#include "kernbench/ndarray.hpp"

namespace kernbench::data::reference {

/// The dtypes whose results are looked at as f64 here; integers_test.cpp has the other integers.
inline constexpr std::array kDTypes = {DType::f16, DType::bf16, DType::f32,    DType::i32,
                                       DType::i8,  DType::i1,   DType::f8e4m3, DType::f8e5m2};

/// Element `i` in row-major order as a number (every dtype but i64 and u64 fits in f64).
inline double number(const NdArray& a, std::size_t i) {
  switch (a.dtype()) {
    case DType::f16:
      return static_cast<float>(a.view<F16>()[i]);
    case DType::bf16:
      return static_cast<float>(a.view<BF16>()[i]);
    case DType::f32:
      return a.view<float>()[i];
    case DType::f8e4m3:
      return static_cast<float>(a.view<F8E4M3>()[i]);
    case DType::f8e5m2:
      return static_cast<float>(a.view<F8E5M2>()[i]);
    case DType::i32:
      return a.view<std::int32_t>()[i];
    case DType::i8:
      return a.view<std::int8_t>()[i];
    case DType::i1:
    case DType::u8:
      return a.view<std::uint8_t>()[i];
    case DType::i16:
      return a.view<std::int16_t>()[i];
    case DType::u16:
      return a.view<std::uint16_t>()[i];
    case DType::u32:
      return a.view<std::uint32_t>()[i];
    case DType::i64:
      return static_cast<double>(a.view<std::int64_t>()[i]);
    case DType::u64:
      return static_cast<double>(a.view<std::uint64_t>()[i]);
  }
  return 0;
}

/// The value of an f32 after rounding to a float dtype.
inline double rounded(DType t, float x) {
  switch (t) {
    case DType::f16:
      return static_cast<float>(F16(x));
    case DType::bf16:
      return static_cast<float>(BF16(x));
    case DType::f8e4m3:
      return static_cast<float>(F8E4M3(x));
    case DType::f8e5m2:
      return static_cast<float>(F8E5M2(x));
    default:
      return x;
  }
}

/// An integer cut to the width of its dtype, two's complement.
inline double wrapped(DType t, std::int64_t x) {
  if (t == DType::i8) return static_cast<std::int8_t>(static_cast<std::uint64_t>(x) & 0xFF);
  return static_cast<std::int32_t>(static_cast<std::uint64_t>(x) & 0xFFFF'FFFF);
}

/// Where element `i` of an array of shape `out` comes from in one of shape `in` that was broadcast to it.
inline std::size_t source(const Shape& in, const Shape& out, std::size_t i) {
  std::size_t offset = 0, stride = 1;
  for (int back = 1; back <= out.rank(); ++back) {
    const auto extent = static_cast<std::size_t>(out[out.rank() - back]);
    if (back <= in.rank()) {
      const auto own = static_cast<std::size_t>(in[in.rank() - back]);
      if (own != 1) offset += i % extent * stride;
      stride *= own;
    }
    i /= extent;
  }
  return offset;
}

/// Both NaN (and the stored one canonical, which the caller checks), or equal with the same sign of zero.
inline bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// No NaN but the canonical one.
inline bool nans_are_canonical(const NdArray& a) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.elements()); ++i) {
    if (!std::isnan(number(a, i))) continue;
    const auto* p = a.bytes().data() + i * static_cast<std::size_t>(itemsize(a.dtype()));
    std::uint32_t bits = 0;
    for (int byte = 0; byte < itemsize(a.dtype()); ++byte)
      bits |= static_cast<std::uint32_t>(p[byte]) << (8 * byte);
    const std::uint32_t want = a.dtype() == DType::f32      ? 0x7FC0'0000
                               : a.dtype() == DType::f16    ? 0x7E00
                               : a.dtype() == DType::bf16   ? 0x7FC0
                               : a.dtype() == DType::f8e4m3 ? 0x7F
                                                            : 0x7E;
    if (bits != want) return false;
  }
  return true;
}

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// What is left of a number in a dtype.
inline Wide wrapped(DType t, Wide x) {
  const int bits = 8 * itemsize(t);
  const Wide modulus = Wide{1} << bits;
  Wide rest = x & (modulus - 1);
  if (!is_unsigned(t) && rest >= modulus / 2) rest -= modulus;
  return rest;
}

/// Element `i` of an array of integers.
inline Wide integer(const NdArray& a, std::size_t i) {
  const auto size = static_cast<std::size_t>(itemsize(a.dtype()));
  Wide x = 0;
  for (std::size_t byte = 0; byte < size; ++byte)
    x |= Wide{static_cast<unsigned char>(a.bytes()[i * size + byte])} << (8 * byte);
  return a.dtype() == DType::i1 ? x : wrapped(a.dtype(), x);
}

/// Modulo 2¹²⁸.
inline Wide product(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}
inline Wide unsigned_of(DType t, Wide x) { return x & ((Wide{1} << (8 * itemsize(t))) - 1); }

/// The operation on numbers of that dtype, before wrapping; as the header of elementwise.hpp has it.
inline Wide meaning(MathOp op, DType t, Wide a, Wide b, Wide c) {
  const int bits = 8 * itemsize(t);
  switch (op) {
    case MathOp::add:
      return a + b;
    case MathOp::sub:
      return a - b;
    case MathOp::mul:
      return product(a, b);
    case MathOp::fma:
      return wrapped(t, product(a, b)) + c;
    case MathOp::floordiv:
      return b == 0 ? -1 : a / b;
    case MathOp::mod:
      return b == 0 ? a : a % b;
    case MathOp::bit_and:
      return a & b;
    case MathOp::bit_or:
      return a | b;
    case MathOp::bit_xor:
      return a ^ b;
    case MathOp::bit_not:
      return ~a;
    case MathOp::shl:
      return b < 0 || b >= bits ? 0 : a << static_cast<int>(b);
    case MathOp::shr:
      return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b);
    case MathOp::umulhi:
      return static_cast<Wide>(
          (static_cast<UnsignedWide>(unsigned_of(t, a)) * static_cast<UnsignedWide>(unsigned_of(t, b))) >>
          bits);
    case MathOp::neg:
      return -a;
    case MathOp::abs:
      return a < 0 ? -a : a;
    case MathOp::maximum:
    case MathOp::maximum_number:
      return std::max(a, b);
    case MathOp::minimum:
    case MathOp::minimum_number:
      return std::min(a, b);
    case MathOp::clamp:
      return std::min(std::max(a, b), c);
    case MathOp::eq:
      return a == b;
    case MathOp::ne:
      return a != b;
    case MathOp::lt:
      return a < b;
    case MathOp::le:
      return a <= b;
    case MathOp::gt:
      return a > b;
    case MathOp::ge:
      return a >= b;
    case MathOp::copy:
      return a;
    default:
      ADD_FAILURE() << to_string(op);
      return 0;
  }
}

inline double larger_of(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (a == b) return std::signbit(a) ? b : a;
  return std::max(a, b);
}
inline double smaller_of(double a, double b) { return -larger_of(-a, -b); }
inline double larger_number_of(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : larger_of(a, b);
}

/// What the operation means on numbers. Sums, products and quotients of f32 are correctly rounded if done in
/// f64 and rounded to f32 after it (53 ≥ 2·24 + 2 bits); the caller rounds.
inline double meaning(MathOp op, double a, double b, double c) {
  switch (op) {
    case MathOp::add:
      return a + b;
    case MathOp::sub:
      return a - b;
    case MathOp::mul:
      return a * b;
    case MathOp::div:
      return a / b;
    case MathOp::maximum:
      return larger_of(a, b);
    case MathOp::minimum:
      return smaller_of(a, b);
    case MathOp::maximum_number:
      return larger_number_of(a, b);
    case MathOp::minimum_number:
      return -larger_number_of(-a, -b);
    case MathOp::clamp:
      return smaller_of(larger_of(a, b), c);
    case MathOp::eq:
      return a == b;
    case MathOp::ne:
      return a != b;
    case MathOp::lt:
      return a < b;
    case MathOp::le:
      return a <= b;
    case MathOp::gt:
      return a > b;
    case MathOp::ge:
      return a >= b;
    case MathOp::neg:
      return -a;
    case MathOp::abs:
      return std::fabs(a);
    case MathOp::sqrt:
      return std::sqrt(a);
    case MathOp::fma:
      return std::fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
    case MathOp::where:
      return a != 0 ? b : c;
    case MathOp::floor:
      return std::floor(a);
    case MathOp::ceil:
      return std::ceil(a);
    case MathOp::copy:
      return a;
    case MathOp::exp:
      return std::exp(a);
    case MathOp::exp2:
      return std::exp2(a);
    case MathOp::log:
      return std::log(a);
    case MathOp::log2:
      return std::log2(a);
    case MathOp::rsqrt:
      return 1 / std::sqrt(a);
    case MathOp::sigmoid:
      return 1 / (1 + std::exp(-a));
    case MathOp::tanh:
      return std::tanh(a);
    case MathOp::erf:
      return std::erf(a);
    case MathOp::sin:
      return std::sin(a);
    case MathOp::cos:
      return std::cos(a);
    default:
      ADD_FAILURE() << to_string(op);
      return 0;
  }
}

}  // namespace kernbench::data::reference
