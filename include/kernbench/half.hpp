// The small float formats as storage: strong types that hold bits. There is no arithmetic on them; convert to
// f32, compute, convert back.
//
// Conversion from f32 rounds once, to nearest, ties to even, with gradual underflow. What does not fit
// becomes infinity; in f8e4m3, which has none, it becomes NaN (OCP's non-saturating mode, as PyTorch does it:
// 464, half way to the next value, still rounds to 448, anything larger is NaN). Conversion to f32 is exact.
//
// NaN: every conversion that yields NaN yields the one canonical NaN of its target, sign clear and only the
// quiet bit set (f32 0x7FC00000, f16 0x7E00, bf16 0x7FC0, f8e5m2 0x7E, f8e4m3 0x7F). Sign and payload of a
// NaN differ between processors and between orders of operands, so they are not carried.
//
// The bulk forms use the vector units of the machine they run on and give the bits of the scalar forms.
// All assume the default floating-point environment (nearest, no flush to zero).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernbench/dtype.hpp"

namespace kernbench {

/// The f32 NaN that every conversion and operation gives.
inline constexpr std::uint32_t kCanonicalNan = 0x7FC0'0000;

namespace detail {

/// A binary format of one sign, `Exponent` and `Mantissa` bits. `Fn`: no infinity, NaN is all ones.
template <int Exponent, int Mantissa, bool Fn>
struct FloatFormat {
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr int kDropped = 23 - Mantissa;  // mantissa bits an f32 has more
  static constexpr std::uint32_t kSignShift = Exponent + Mantissa;
  static constexpr std::uint32_t kMagnitude = (1u << kSignShift) - 1;
  static constexpr std::uint32_t kInf = ((1u << Exponent) - 1) << Mantissa;
  static constexpr std::uint32_t kNan = Fn ? kMagnitude : kInf | (1u << (Mantissa - 1));
  static constexpr std::uint32_t kOverflow = Fn ? kNan : kInf;  // the first magnitude that is no number
  // f32 bits of the smallest normal number of this format.
  static constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(127 - kBias + 1) << 23;

  // Adding this number to a subnormal leaves its rounded multiple of the smallest step in the low bits.
  static constexpr std::uint32_t kSubnormalMagic = static_cast<std::uint32_t>(127 + 24 - kBias - Mantissa)
                                                   << 23;
  static constexpr float kRebias = std::bit_cast<float>(static_cast<std::uint32_t>(254 - kBias) << 23);

  /// Free of branches, so that loops over it become vector code.
  static constexpr std::uint32_t encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFF'FFFFu;
    const std::uint32_t sign = (bits >> 31) << kSignShift;
    const std::uint32_t half_step = (1u << (kDropped - 1)) - 1 + ((magnitude >> kDropped) & 1);
    const std::uint32_t normal =
        ((magnitude + half_step) >> kDropped) - (static_cast<std::uint32_t>(127 - kBias) << Mantissa);
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kSubnormalMagic);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - kSubnormalMagic;
    const std::uint32_t finite = magnitude < kMinNormal ? subnormal : normal;
    const std::uint32_t rounded = finite < kOverflow ? finite : kOverflow;
    const bool is_nan = magnitude > 0x7F80'0000u || (Fn && rounded == kNan);
    return is_nan ? kNan : sign | rounded;
  }

  static constexpr float decode(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & kMagnitude;
    const std::uint32_t sign = (bits >> kSignShift) << 31;
    const float scaled = std::bit_cast<float>(magnitude << kDropped) * kRebias;
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled) | sign;
    const bool is_inf = !Fn && magnitude == kInf;
    const bool is_nan = Fn ? magnitude == kNan : magnitude > kInf;
    return std::bit_cast<float>(is_nan ? kCanonicalNan : is_inf ? sign | 0x7F80'0000u : finite);
  }
};

template <class Bits, DType Type, int Exponent, int Mantissa, bool Fn = false>
struct SmallFloat {
  using Format = FloatFormat<Exponent, Mantissa, Fn>;
  static constexpr DType kDType = Type;

  Bits bits = 0;

  constexpr SmallFloat() = default;
  constexpr explicit SmallFloat(float value) : bits(static_cast<Bits>(Format::encode(value))) {}
  static constexpr SmallFloat from_bits(Bits b) {
    SmallFloat v;
    v.bits = b;
    return v;
  }
  constexpr explicit operator float() const { return Format::decode(bits); }

  /// Equality of bits: NaN equals itself, +0 and −0 differ. Compare as float for the other meaning.
  friend constexpr bool operator==(SmallFloat, SmallFloat) = default;
};

}  // namespace detail

using F16 = detail::SmallFloat<std::uint16_t, DType::f16, 5, 10>;
using BF16 = detail::SmallFloat<std::uint16_t, DType::bf16, 8, 7>;
using F8E4M3 = detail::SmallFloat<std::uint8_t, DType::f8e4m3, 4, 3, true>;
using F8E5M2 = detail::SmallFloat<std::uint8_t, DType::f8e5m2, 5, 2>;

/// Bulk conversions; `in` and `out` have the same length and do not overlap.
void to_f32(std::span<const F16> in, std::span<float> out);
void to_f32(std::span<const BF16> in, std::span<float> out);
void to_f32(std::span<const F8E4M3> in, std::span<float> out);
void to_f32(std::span<const F8E5M2> in, std::span<float> out);
void from_f32(std::span<const float> in, std::span<F16> out);
void from_f32(std::span<const float> in, std::span<BF16> out);
void from_f32(std::span<const float> in, std::span<F8E4M3> out);
void from_f32(std::span<const float> in, std::span<F8E5M2> out);

}  // namespace kernbench
