#include "kernbench/fixed_math.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "data/numerics/functions.hpp"
#include "kernbench/error.hpp"

namespace kernbench::fixed {
namespace {

using data::polynomial;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number as the sum of two, the second below an ulp of the first.
struct Sum {
  double high, low;
};

constexpr Sum kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Sum kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

double nearest(double x) { return std::floor(x + 0.5); }

/// e^(x.high + x.low) = 2^k · e^r, |r| ≤ ln2/2, by the Taylor series; the first term left out, r¹⁵/15!, is below 2⁻⁶².
double exp_of(Sum x) {
  constexpr double kTerms[] = {1.0,
                               1.0,
                               1.0 / 2,
                               1.0 / 6,
                               1.0 / 24,
                               1.0 / 120,
                               1.0 / 720,
                               1.0 / 5040,
                               1.0 / 40320,
                               1.0 / 362880,
                               1.0 / 3628800,
                               1.0 / 39916800,
                               1.0 / 479001600,
                               1.0 / 6227020800,
                               1.0 / 87178291200};
  if (x.high > 710) return kInfinity;
  if (x.high < -746) return 0;
  const double k = nearest(x.high * data::kLog2E);
  const double r = std::fma(-k, kLn2.high, x.high) + std::fma(-k, kLn2.low, x.low);
  return std::ldexp(polynomial(r, kTerms), static_cast<int>(k));
}

/// x = 2^k · m, m in [√½, √2): k·ln2 + 2·atanh(s), s = (m − 1)/(m + 1), |s| < 0.1716, by the series of atanh. s is kept as a
/// sum of two, as an exponent multiplies the error of the logarithm.
Sum log_of(double x) {
  constexpr double kTerms[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                               1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) m *= 2, --exponent;
  const double k = exponent;
  const double above = m - 1, below = m + 1, below_rest = m - (below - 1);  // the first is exact
  const double s = above / below;
  const double s_rest = (std::fma(-s, below, above) - s * below_rest) / below;
  const double square = s * s;
  const double high = k * kLn2.high, high_rest = std::fma(k, kLn2.high, -high);
  const double sum = high + 2 * s, sum_rest = (high - sum) + 2 * s;  // |high| is 0 or the larger
  return {sum,
          sum_rest + (high_rest + k * kLn2.low + 2 * (s_rest + s * square * polynomial(square, kTerms)))};
}

/// x less the nearest multiple of π/2, and which multiple that is. fma gives the difference to the first 53 bits of it with
/// one rounding.
data::Angle angle_of(double x) {
  const double k = nearest(x / kHalfPi.high);
  return {static_cast<std::uint64_t>(static_cast<std::int64_t>(k)),
          std::fma(-k, kHalfPi.low, std::fma(-k, kHalfPi.high, x))};
}

/// The sine of (angle.quadrants + turned) quarters of a turn and the rest, by Taylor series to r¹⁷ and r¹⁸.
double sine_of(data::Angle angle, std::uint64_t turned) {
  constexpr double kSine[] = {1.0,
                              -1.0 / 6,
                              1.0 / 120,
                              -1.0 / 5040,
                              1.0 / 362880,
                              -1.0 / 39916800,
                              1.0 / 6227020800.0,
                              -1.0 / 1307674368000.0,
                              1.0 / 355687428096000.0};
  constexpr double kCosine[] = {1.0,
                                -1.0 / 2,
                                1.0 / 24,
                                -1.0 / 720,
                                1.0 / 40320,
                                -1.0 / 3628800,
                                1.0 / 479001600,
                                -1.0 / 87178291200.0,
                                1.0 / 20922789888000.0,
                                -1.0 / 6402373705728000.0};
  const std::uint64_t quadrant = angle.quadrants + turned;
  const double r = angle.rest, square = r * r;
  const double value = quadrant % 2 != 0 ? polynomial(square, kCosine) : r * polynomial(square, kSine);
  return quadrant % 4 >= 2 ? -value : value;
}

}  // namespace

double exp(double x) { return x != x ? x : exp_of({x, 0}); }

double pow(double base, double exponent) {
  KB_ASSERT(base > 0 && base < kInfinity, "a power of {}", base);
  const Sum log = log_of(base);
  const double high = exponent * log.high;
  return exp_of({high, std::fma(exponent, log.high, -high) + exponent * log.low});
}

double sin(double x) { return std::isfinite(x) ? sine_of(angle_of(x), 0) : x - x; }
double cos(double x) { return std::isfinite(x) ? sine_of(angle_of(x), 1) : x - x; }

float erf(float x) { return data::erf_f32(x); }

}  // namespace kernbench::fixed
