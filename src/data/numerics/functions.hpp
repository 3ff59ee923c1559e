// exp, log, tanh … of f32 with the same bits on every machine: fixed algorithms in f64 made of additions,
// multiplications, divisions and bit operations alone (no libm, whose variants differ by processor), rounded
// to f32 once. The f64 error is below 2⁻³⁵ of the result, so the f32 result is the correctly rounded one
// except when the exact value lies that close to a tie: the error is below 0.501 ulp. Free of branches, so
// that loops over them become vector code.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kernbench::data {

#define KB_INLINE [[gnu::always_inline]] inline

/// c₀ + c₁x + c₂x² + … by Horner's rule; written out, as a loop in here keeps the loop around it from vector
/// code.
template <std::size_t N, std::size_t... I>
KB_INLINE double polynomial(double x, const double (&c)[N], std::index_sequence<I...>) {
  double sum = c[N - 1];
  ((sum = sum * x + c[N - 2 - I]), ...);
  return sum;
}
template <std::size_t N>
KB_INLINE double polynomial(double x, const double (&c)[N]) {
  return polynomial(x, c, std::make_index_sequence<N - 1>());
}

KB_INLINE double clamped(double x, double low, double high) {  // a NaN stays
  const double above = x < low ? low : x;
  return above > high ? high : above;
}

/// `x` with the sign bit of `sign` in place of, or flipped by, its own.
KB_INLINE double with_sign_of(double x, double sign) {
  const auto mask = std::uint64_t{1} << 63;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) & ~mask) |
                               (std::bit_cast<std::uint64_t>(sign) & mask));
}
KB_INLINE double flipped_by(double x, double sign) {
  const auto mask = std::uint64_t{1} << 63;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ (std::bit_cast<std::uint64_t>(sign) & mask));
}
KB_INLINE double magnitude(double x) { return with_sign_of(x, 0.0); }

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kRoundMagic =
    0x1.8p52;  // adding it leaves the nearest integer in the low mantissa bits

/// A number split as 2^k · e^r, |r| ≤ ln2/2, with e^r given as 1 + `fraction`.
struct ExpParts {
  double scale;     // 2^k
  double fraction;  // e^r − 1, accurate relative to itself
};

/// e^r − 1 by its Taylor series; the first term left out, r¹²/12!, is below 2⁻⁴⁶·r for |r| ≤ 0.3466.
KB_INLINE double exp_minus_one_near_zero(double r) {
  constexpr double kTerms[] = {1.0,        1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,     1.0 / 720,
                               1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
  return r * polynomial(r, kTerms);
}

/// `shifted` is k + kRoundMagic, |k| < 1000.
KB_INLINE double power_of_two(double shifted) {
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

KB_INLINE ExpParts exp_parts(double x) {  // |x| ≤ 700
  const double shifted = x * kLog2E + kRoundMagic;
  const double k = shifted - kRoundMagic;
  return {power_of_two(shifted), exp_minus_one_near_zero(x - k * kLn2)};
}

KB_INLINE double exp_f64(double x) {
  const auto parts = exp_parts(x);
  return parts.scale * parts.fraction + parts.scale;
}

// e^±110 and 2^±160 are beyond the range of f32 on both sides.
KB_INLINE float exp_f32(float x) { return static_cast<float>(exp_f64(clamped(x, -110, 110))); }

KB_INLINE float exp2_f32(float x) {
  const double bounded = clamped(x, -160, 160);
  const double shifted = bounded + kRoundMagic;
  const double scale = power_of_two(shifted);
  const double fraction = exp_minus_one_near_zero((bounded - (shifted - kRoundMagic)) * kLn2);
  return static_cast<float>(scale * fraction + scale);
}

KB_INLINE float sigmoid_f32(float x) {
  return static_cast<float>(1.0 / (1.0 + exp_f64(clamped(-static_cast<double>(x), -110, 110))));
}

/// (e^2x − 1) / (e^2x + 1) of |x|; the numerator keeps its relative accuracy near 0. 1 in f32 from |x| = 9.02
/// on.
KB_INLINE float tanh_f32(float x) {
  const auto parts = exp_parts(clamped(2 * magnitude(x), 0, 40));
  const double numerator = parts.scale * parts.fraction + (parts.scale - 1);
  return static_cast<float>(with_sign_of(numerator / (numerator + 2), x));
}

/// x = 2^k · m, m in [√½, √2): k and ln(m) = 2·atanh(s), s = (m − 1)/(m + 1), |s| < 0.1716, by the series of atanh.
struct LogParts {
  double k, ln_m;
};
KB_INLINE LogParts log_parts(float x) {
  constexpr double kTerms[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7, 2.0 / 9,
                               2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17};
  constexpr std::uint64_t kSqrtHalf = 0x3FE6'A09E'667F'3BCD;
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(x));  // every f32 but 0 is normal in f64
  const std::uint64_t above = bits - kSqrtHalf;
  const std::uint64_t biased_k = (above + (std::uint64_t{1024} << 52)) >> 52;  // k + 1024
  const double k = std::bit_cast<double>(0x4330'0000'0000'0000 | biased_k) - (0x1p52 + 1024);
  const double m = std::bit_cast<double>(bits - (above & 0xFFF0'0000'0000'0000));
  const double s = (m - 1) / (m + 1);
  return {k, s * polynomial(s * s, kTerms)};
}
KB_INLINE float log_edges(float x, double result) {
  result = x == 0 ? -__builtin_inf() : result;
  result = x == __builtin_inff() ? __builtin_inf() : result;
  return x < 0 || x != x ? __builtin_nanf("") : static_cast<float>(result);
}
KB_INLINE float log_f32(float x) {
  const auto parts = log_parts(x);
  return log_edges(x, parts.k * kLn2 + parts.ln_m);
}
/// Exact for powers of two, where ln(m) is 0.
KB_INLINE float log2_f32(float x) {
  const auto parts = log_parts(x);
  return log_edges(x, parts.k + parts.ln_m * 0x1.71547652b82fep+0);  // 1/ln2
}

KB_INLINE float rsqrt_f32(float x) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
}

/// |x| < 1: Taylor series; the first term left out is x³³/(16!·33)·2/√π < 2⁻⁴⁹·x. From there to 4, where erf
/// is 1 in f32, the polynomial in u = (2x − 5)/3 of degree 22 that equals erf at the Chebyshev points (numpy:
/// cheb2poly(chebinterpolate(lambda u: erf((3*u + 5) / 2), 22))); its error is below 10⁻¹³.
KB_INLINE float erf_f32(float x) {
  constexpr double kTwoOverSqrtPi = 0x1.20dd750429b6dp+0;
  constexpr double kNearTerms[] = {1.0,
                                   -1.0 / 3,
                                   1.0 / 10,
                                   -1.0 / 42,
                                   1.0 / 216,
                                   -1.0 / 1320,
                                   1.0 / 9360,
                                   -1.0 / 75600,
                                   1.0 / 685440,
                                   -1.0 / 6894720,
                                   1.0 / 76204800,
                                   -1.0 / 918086400,
                                   1.0 / 11975040000,
                                   -1.0 / 168129561600,
                                   1.0 / 2528170444800,
                                   -1.0 / 40537905408000};
  constexpr double kFarTerms[] = {
      0x1.ffcaa8f4c9bd6p-1,   0x1.ac44a29b5ce60p-9,   -0x1.9180586e04708p-7,  0x1.cdb9ff224239ep-6,
      -0x1.65964ec172b1cp-5,  0x1.7c8c4bac999ffp-5,   -0x1.0521f9b2fe20ap-5,  0x1.2fadbcb61bd36p-7,
      0x1.b5d37f3c91d35p-8,   -0x1.3b46f1b1fb642p-7,  0x1.29cc4da9510b2p-8,   0x1.d08e1a94f4de6p-12,
      -0x1.ded6ea214de9cp-10, 0x1.e076c3aa590b2p-11,  0x1.b72fa837a6f4cp-15,  -0x1.2cccf5890b216p-12,
      0x1.f28deac2c8592p-14,  0x1.9f66b4de9bd36p-16,  -0x1.32b2934de9bd2p-15, 0x1.3ae3d37a6f4dep-18,
      0x1.5130642c85909p-18,  -0x1.209d37a6f4deap-20, -0x1.26921642c8591p-22};
  const double size = clamped(magnitude(x), 0, 4);
  const double near = kTwoOverSqrtPi * size * polynomial(size * size, kNearTerms);
  const double far = polynomial((2 * size - 5) * (1.0 / 3), kFarTerms);
  return static_cast<float>(with_sign_of(size < 1 ? near : far, x));
}

/// An angle as quadrants·π/2 + rest, |rest| ≤ π/4 and a little.
struct Angle {
  std::uint64_t quadrants;  // modulo 4 in the low bits
  double rest;
};

/// For 0 ≤ x < kLargeAngle: π/2 in two parts, the first of 33 bits, so that k times it is exact (Cody and
/// Waite).
inline constexpr float kLargeAngle = 0x1p19f;
KB_INLINE Angle small_angle(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kRoundMagic;  // 2/π
  const double k = shifted - kRoundMagic;
  return {std::bit_cast<std::uint64_t>(shifted), (x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a626331p-34};
}

/// For every finite x ≥ 1, by the binary digits of 2/π that matter to it (Payne and Hanek).
Angle large_angle(float x);

/// Taylor series to r¹⁵ and r¹⁶; what is left out is below 2⁻⁵⁰ for |r| ≤ 0.8.
KB_INLINE double sine_near_zero(double r) {
  constexpr double kTerms[] = {1.0,          -1.0 / 6,        1.0 / 120,          -1.0 / 5040,
                               1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
  return r * polynomial(r * r, kTerms);
}
KB_INLINE double cosine_near_zero(double r) {
  constexpr double kTerms[] = {1.0,
                               -1.0 / 2,
                               1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0};
  return polynomial(r * r, kTerms);
}

/// sin(rest + quadrants·π/2).
KB_INLINE double sine_of(Angle a) {
  const double value = (a.quadrants & 1) != 0 ? cosine_near_zero(a.rest) : sine_near_zero(a.rest);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ ((a.quadrants & 2) << 62));
}

// For |x| < kLargeAngle; infinities give NaN here, larger numbers go through large_angle.
KB_INLINE float small_sin_f32(float x) {
  return static_cast<float>(flipped_by(sine_of(small_angle(magnitude(x))), x));
}
KB_INLINE float small_cos_f32(float x) {
  const auto a = small_angle(magnitude(x));
  return static_cast<float>(sine_of({a.quadrants + 1, a.rest}));
}
float large_sin_f32(float x);
float large_cos_f32(float x);

#undef KB_INLINE

}  // namespace kernbench::data
