// Functions of numbers with the same bits on every computer. The C library's differ in their last bit from one version and
// processor to the next, so nothing that decides a time or a number calls those. (std::sqrt, fma, floor, ldexp and the like
// are exact by their standard, and fine.)
#pragma once

namespace kernbench::fixed {

/// Relative errors are below 2⁻⁵¹. Infinities, zeros and NaN are as in the C library.
double exp(double x);
/// The base must be greater than 0.
double pow(double base, double exponent);
/// Absolute errors below 2⁻⁵¹, for |x| < 2⁴⁰.
double sin(double x);
double cos(double x);
/// The argument is an f32; the result is rounded once.
float erf(float x);

}  // namespace kernbench::fixed
