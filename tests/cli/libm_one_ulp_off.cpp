// A C library whose functions are each wrong by one unit in the last place, as another version of it may be. Preloaded, it
// takes the place of the true one.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

namespace {

template <class Float, class Bits>
Float next_larger_magnitude(Float x) {
  Bits bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  if (x != x || x - x != 0 || x == 0) return x;  // NaN, infinities, zero
  ++bits;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
double off(double x) { return next_larger_magnitude<double, std::uint64_t>(x); }
float off(float x) { return next_larger_magnitude<float, std::uint32_t>(x); }

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define KB_ONE(name, Float)                              \
  extern "C" Float name(Float x) {                       \
    static auto* const real = next<Float(Float)>(#name); \
    return off(real(x));                                 \
  }
#define KB_TWO(name, Float)                                     \
  extern "C" Float name(Float x, Float y) {                     \
    static auto* const real = next<Float(Float, Float)>(#name); \
    return off(real(x, y));                                     \
  }
#define KB_SINCOS(name, Float)                                          \
  extern "C" void name(Float x, Float* sine, Float* cosine) {           \
    static auto* const real = next<void(Float, Float*, Float*)>(#name); \
    real(x, sine, cosine);                                              \
    *sine = off(*sine), *cosine = off(*cosine);                         \
  }
#define KB_BOTH(kind, name) kind(name, double) kind(name##f, float)

KB_BOTH(KB_ONE, exp)
KB_BOTH(KB_ONE, exp2)
KB_BOTH(KB_ONE, exp10)
KB_BOTH(KB_ONE, expm1)
KB_BOTH(KB_ONE, log)
KB_BOTH(KB_ONE, log2)
KB_BOTH(KB_ONE, log10)
KB_BOTH(KB_ONE, log1p)
KB_BOTH(KB_ONE, sin)
KB_BOTH(KB_ONE, cos)
KB_BOTH(KB_ONE, tan)
KB_BOTH(KB_ONE, asin)
KB_BOTH(KB_ONE, acos)
KB_BOTH(KB_ONE, atan)
KB_BOTH(KB_ONE, sinh)
KB_BOTH(KB_ONE, cosh)
KB_BOTH(KB_ONE, tanh)
KB_BOTH(KB_ONE, asinh)
KB_BOTH(KB_ONE, acosh)
KB_BOTH(KB_ONE, atanh)
KB_BOTH(KB_ONE, erf)
KB_BOTH(KB_ONE, erfc)
KB_BOTH(KB_ONE, cbrt)
KB_BOTH(KB_ONE, lgamma)
KB_BOTH(KB_ONE, tgamma)
KB_BOTH(KB_TWO, pow)
KB_BOTH(KB_TWO, atan2)
KB_BOTH(KB_TWO, hypot)
KB_BOTH(KB_SINCOS, sincos)
