// A second opinion on what the numerics compute: one element at a time, in f64 or long double, with index
// arithmetic written out. Shares only the scalar conversions of half.hpp, which have tests of their own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

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

}  // namespace kernbench::data::reference
