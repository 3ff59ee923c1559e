#include "data/numerics/kernels.hpp"

#include <array>
#include <bit>

#include "data/numerics/functions.hpp"
#include "data/numerics/fused.hpp"
#include "data/numerics/ordering.hpp"

namespace kernbench::data {
namespace {

// Each operation is a struct with `of`, generic over f32 and i32 where it means the same. Integer arithmetic
// goes through unsigned, which wraps.
#define KB_OP(Name, expression)                                                              \
  struct Name {                                                                              \
    template <Simd Level, class T>                                                           \
    [[gnu::always_inline]] static auto of(T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
      return expression;                                                                     \
    }                                                                                        \
  }

using Int = std::int32_t;
using Unsigned = std::uint32_t;

KB_OP(Add, a + b);
KB_OP(Sub, a - b);
KB_OP(Mul, a* b);
KB_OP(Div, a / b);
KB_OP(Neg, -a);
KB_OP(Abs, std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0x7FFF'FFFFu));
KB_OP(Fma, (fused_multiply_add<Level>(a, b, c)));
KB_OP(Maximum, larger(a, b));
KB_OP(Minimum, smaller(a, b));
KB_OP(Clamp, smaller(larger(a, b), c));
KB_OP(Where, a != 0 ? b : c);
KB_OP(Eq, a == b ? 1 : 0);
KB_OP(Ne, a != b ? 1 : 0);
KB_OP(Lt, a < b ? 1 : 0);
KB_OP(Le, a <= b ? 1 : 0);
KB_OP(Gt, a > b ? 1 : 0);
KB_OP(Ge, a >= b ? 1 : 0);
KB_OP(Exp, exp_f32(a));
KB_OP(Exp2, exp2_f32(a));
KB_OP(Log, log_f32(a));
KB_OP(Sqrt, __builtin_sqrtf(a));
KB_OP(Rsqrt, rsqrt_f32(a));
KB_OP(Sigmoid, sigmoid_f32(a));
KB_OP(Tanh, tanh_f32(a));
KB_OP(Erf, erf_f32(a));
KB_OP(SmallSin, small_sin_f32(a));
KB_OP(SmallCos, small_cos_f32(a));

KB_OP(IntAdd, static_cast<Int>(Unsigned(a) + Unsigned(b)));
KB_OP(IntSub, static_cast<Int>(Unsigned(a) - Unsigned(b)));
KB_OP(IntMul, static_cast<Int>(Unsigned(a) * Unsigned(b)));
KB_OP(IntNeg, static_cast<Int>(0 - Unsigned(a)));
KB_OP(IntAbs, static_cast<Int>(a < 0 ? 0 - Unsigned(a) : Unsigned(a)));
KB_OP(IntFma, static_cast<Int>(Unsigned(a) * Unsigned(b) + Unsigned(c)));
KB_OP(And, a& b);
KB_OP(Or, a | b);
KB_OP(Not, 1 - a);
// Toward zero, as Triton and C. By zero: −1, the remainder is the dividend; INT_MIN / −1 wraps (as RISC-V).
KB_OP(IntDiv, b == 0 ? -1 : b == -1 ? static_cast<Int>(0 - Unsigned(a)) : a / b);
KB_OP(IntMod, b == 0 ? a : b == -1 ? 0 : a % b);
#undef KB_OP

template <class Op, Simd Level, class In, class Out>
[[gnu::always_inline]] inline void loop(const In* a, const In* b, const In* c, Out* __restrict out,
                                        std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = Op::template of<Level>(a[i], b[i], c[i]);
}

template <class Op, class In, class Out>
void run_generic(const In* a, const In* b, const In* c, Out* out, std::size_t n) {
  loop<Op, Simd::generic>(a, b, c, out, n);
}

#if defined(__x86_64__)
template <class Op, class In, class Out>
[[gnu::target("avx2,fma")]] void run_avx2(const In* a, const In* b, const In* c, Out* out, std::size_t n) {
  loop<Op, Simd::avx2>(a, b, c, out, n);
}
#endif

template <class Op, class In, class Out>
BlockKernel<In, Out> kernel([[maybe_unused]] Simd level) {
#if defined(__x86_64__)
  if (level >= Simd::avx2) return run_avx2<Op, In, Out>;
#endif
  return run_generic<Op, In, Out>;
}

/// The vector loop for all, then the few that are too large for it once more.
template <class SmallOp, float (*large)(float)>
struct Periodic {
  static BlockKernel<float, float> for_level(Simd level) {
    return level >= Simd::avx2 ? run<Simd::avx2> : run<Simd::generic>;
  }

 private:
  template <Simd Level>
  static void run(const float* a, const float* b, const float* c, float* out, std::size_t n) {
    kernel<SmallOp, float, float>(Level)(a, b, c, out, n);
    for (std::size_t i = 0; i < n; ++i)
      if (const float size = a[i] < 0 ? -a[i] : a[i]; size >= kLargeAngle && size < __builtin_inff())
        out[i] = large(a[i]);
  }
};

}  // namespace

BlockKernel<float, float> float_kernel(MathOp op, Simd level) {
  switch (op) {
    case MathOp::add:
      return kernel<Add, float, float>(level);
    case MathOp::sub:
      return kernel<Sub, float, float>(level);
    case MathOp::mul:
      return kernel<Mul, float, float>(level);
    case MathOp::div:
      return kernel<Div, float, float>(level);
    case MathOp::neg:
      return kernel<Neg, float, float>(level);
    case MathOp::abs:
      return kernel<Abs, float, float>(level);
    case MathOp::fma:
      return kernel<Fma, float, float>(level);
    case MathOp::maximum:
      return kernel<Maximum, float, float>(level);
    case MathOp::minimum:
      return kernel<Minimum, float, float>(level);
    case MathOp::clamp:
      return kernel<Clamp, float, float>(level);
    case MathOp::where:
      return kernel<Where, float, float>(level);
    case MathOp::exp:
      return kernel<Exp, float, float>(level);
    case MathOp::exp2:
      return kernel<Exp2, float, float>(level);
    case MathOp::log:
      return kernel<Log, float, float>(level);
    case MathOp::sqrt:
      return kernel<Sqrt, float, float>(level);
    case MathOp::rsqrt:
      return kernel<Rsqrt, float, float>(level);
    case MathOp::sigmoid:
      return kernel<Sigmoid, float, float>(level);
    case MathOp::tanh:
      return kernel<Tanh, float, float>(level);
    case MathOp::erf:
      return kernel<Erf, float, float>(level);
    case MathOp::sin:
      return Periodic<SmallSin, large_sin_f32>::for_level(level);
    case MathOp::cos:
      return Periodic<SmallCos, large_cos_f32>::for_level(level);
    default:
      return nullptr;
  }
}

BlockKernel<Int, Int> int_kernel(MathOp op, Simd level) {
  switch (op) {
    case MathOp::add:
      return kernel<IntAdd, Int, Int>(level);
    case MathOp::sub:
      return kernel<IntSub, Int, Int>(level);
    case MathOp::mul:
      return kernel<IntMul, Int, Int>(level);
    case MathOp::floordiv:
      return kernel<IntDiv, Int, Int>(level);
    case MathOp::mod:
      return kernel<IntMod, Int, Int>(level);
    case MathOp::bit_and:
      return kernel<And, Int, Int>(level);
    case MathOp::bit_or:
      return kernel<Or, Int, Int>(level);
    case MathOp::bit_not:
      return kernel<Not, Int, Int>(level);
    case MathOp::neg:
      return kernel<IntNeg, Int, Int>(level);
    case MathOp::abs:
      return kernel<IntAbs, Int, Int>(level);
    case MathOp::fma:
      return kernel<IntFma, Int, Int>(level);
    case MathOp::maximum:
      return kernel<Maximum, Int, Int>(level);
    case MathOp::minimum:
      return kernel<Minimum, Int, Int>(level);
    case MathOp::clamp:
      return kernel<Clamp, Int, Int>(level);
    case MathOp::where:
      return kernel<Where, Int, Int>(level);
    case MathOp::eq:
      return kernel<Eq, Int, Int>(level);
    case MathOp::ne:
      return kernel<Ne, Int, Int>(level);
    case MathOp::lt:
      return kernel<Lt, Int, Int>(level);
    case MathOp::le:
      return kernel<Le, Int, Int>(level);
    case MathOp::gt:
      return kernel<Gt, Int, Int>(level);
    case MathOp::ge:
      return kernel<Ge, Int, Int>(level);
    default:
      return nullptr;
  }
}

BlockKernel<float, Int> float_comparison(MathOp op, Simd level) {
  switch (op) {
    case MathOp::eq:
      return kernel<Eq, float, Int>(level);
    case MathOp::ne:
      return kernel<Ne, float, Int>(level);
    case MathOp::lt:
      return kernel<Lt, float, Int>(level);
    case MathOp::le:
      return kernel<Le, float, Int>(level);
    case MathOp::gt:
      return kernel<Gt, float, Int>(level);
    case MathOp::ge:
      return kernel<Ge, float, Int>(level);
    default:
      return nullptr;
  }
}

}  // namespace kernbench::data
