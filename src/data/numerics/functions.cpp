#include "data/numerics/functions.hpp"

namespace kernbench::data {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

// A zero word, then the binary digits of 2/π after the point.
constexpr std::uint32_t kTwoOverPi[] = {0,           0xA2F9'836E, 0x4E44'1529, 0xFC27'57D1,
                                        0xF534'DDC0, 0xDB62'9599, 0x3C43'9041, 0xFE51'63AB};

/// 96 of these digits, from position `p` (0 … 159) on.
Wide digits_of_two_over_pi(unsigned p) {
  const std::uint32_t* w = kTwoOverPi + p / 32;
  const Wide words = (Wide{w[0]} << 96) | (Wide{w[1]} << 64) | (Wide{w[2]} << 32) | w[3];
  return (words << (p % 32)) >> 32;
}

}  // namespace

// x = m·2^e. Digits of 2/π heavier than 2¹⁻ᵉ give whole turns; the next 96 times m, modulo 2⁹⁶, are the
// quadrant (2 bits) and the fraction of one (94 bits), with an error below 2⁻⁷⁰. Digit 1, of weight ½, is at
// position 32.
Angle large_angle(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t m = (bits & 0x007F'FFFF) | 0x0080'0000;
  const int e = static_cast<int>(bits >> 23) - 150;
  const Wide product = digits_of_two_over_pi(static_cast<unsigned>(32 - 1 + e - 1)) * m;
  const Wide turn = product << 32;                           // of a full turn, as a 128 bit fraction
  const auto fraction = static_cast<SignedWide>(turn << 2);  // of a quadrant, −½ … ½
  const Wide nearest = turn + (Wide{1} << 125);
  constexpr double kHalfPi = 0x1.921fb54442d18p+0;
  return {static_cast<std::uint64_t>(nearest >> 126), static_cast<double>(fraction) * 0x1p-128 * kHalfPi};
}

float large_sin_f32(float x) {
  const double size = x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
  const double value = sine_of(large_angle(static_cast<float>(size)));
  return static_cast<float>(x < 0 ? -value : value);
}

float large_cos_f32(float x) {
  const auto a = large_angle(x < 0 ? -x : x);
  return static_cast<float>(sine_of({a.quadrants + 1, a.rest}));
}

}  // namespace kernbench::data
