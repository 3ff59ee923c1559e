#include "data/numerics/kernels.hpp"

#include <array>
#include <bit>
#include <type_traits>

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
template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
[[gnu::always_inline]] constexpr bool is_negative(T a) {
  if constexpr (std::is_signed_v<T>) return a < 0;
  return false;
}

/// The upper half of the product of two numbers taken as unsigned.
template <class T>
[[gnu::always_inline]] inline T high_product(T a, T b) {
  __extension__ using Wider = unsigned __int128;
  using Wide = std::conditional_t<sizeof(T) == 8, Wider, std::uint64_t>;
  return static_cast<T>((Wide{Unsigned<T>(a)} * Wide{Unsigned<T>(b)}) >> (8 * sizeof(T)));
}

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

KB_OP(Log2, log2_f32(a));
KB_OP(Floor, __builtin_floorf(a));
KB_OP(Ceil, __builtin_ceilf(a));

KB_OP(IntAdd, static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b)));
KB_OP(IntSub, static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b)));
KB_OP(IntMul, static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b)));
KB_OP(IntNeg, static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a)));
KB_OP(IntAbs, static_cast<T>(is_negative(a) ? Unsigned<T>(0) - Unsigned<T>(a) : Unsigned<T>(a)));
KB_OP(IntFma, static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b) + Unsigned<T>(c)));
KB_OP(And, a& b);
KB_OP(Or, a | b);
KB_OP(Xor, a ^ b);
KB_OP(TruthNot, 1 - a);
KB_OP(BitNot, static_cast<T>(~a));
// By as many bits as there are, or more: nothing is left, of a negative number −1.
KB_OP(ShiftLeft, Unsigned<T>(b) < 8 * sizeof(T) ? static_cast<T>(Unsigned<T>(a) << Unsigned<T>(b)) : T{0});
KB_OP(ShiftRight,
      Unsigned<T>(b) < 8 * sizeof(T) ? static_cast<T>(a >> b) : static_cast<T>(is_negative(a) ? -1 : 0));
KB_OP(HighProduct, high_product(a, b));
// Toward zero, as Triton and C. By zero: all bits set, the remainder is the dividend; the most negative / −1 wraps (as RISC-V).
KB_OP(IntDiv, b == 0 ? static_cast<T>(-1)
              : std::is_signed_v<T> && Unsigned<T>(b) == Unsigned<T>(-1)
                  ? static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a))
                  : static_cast<T>(a / b));
KB_OP(IntMod, b == 0                                                     ? a
              : std::is_signed_v<T> && Unsigned<T>(b) == Unsigned<T>(-1) ? T{0}
                                                                         : static_cast<T>(a % b));
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
    case MathOp::floor:
      return kernel<Floor, float, float>(level);
    case MathOp::ceil:
      return kernel<Ceil, float, float>(level);
    case MathOp::log2:
      return kernel<Log2, float, float>(level);
    case MathOp::floordiv:
    case MathOp::mod:
    case MathOp::bit_and:
    case MathOp::bit_or:
    case MathOp::eq:
    case MathOp::ne:
    case MathOp::lt:
    case MathOp::le:
    case MathOp::gt:
    case MathOp::ge:
    case MathOp::bit_not:
    case MathOp::cast:
    case MathOp::copy:
    case MathOp::fill:
    case MathOp::arange:
    case MathOp::sum:
    case MathOp::max:
    case MathOp::min:
    case MathOp::argmax:
    case MathOp::cat:
    case MathOp::bit_xor:
    case MathOp::shl:
    case MathOp::shr:
    case MathOp::umulhi:
    case MathOp::argmin:
    case MathOp::prod:
    case MathOp::xor_sum:
    case MathOp::cumsum:
    case MathOp::cumprod:
    case MathOp::cummax:
    case MathOp::cummin:
    case MathOp::flip:
    case MathOp::sort:
    case MathOp::gather:
    case MathOp::histogram:
    case MathOp::bitcast:
      break;
  }
  return nullptr;
}

template <class T>
BlockKernel<T, T> int_kernel(MathOp op, Simd level) {
  switch (op) {
    case MathOp::add:
      return kernel<IntAdd, T, T>(level);
    case MathOp::sub:
      return kernel<IntSub, T, T>(level);
    case MathOp::mul:
      return kernel<IntMul, T, T>(level);
    case MathOp::floordiv:
      return kernel<IntDiv, T, T>(level);
    case MathOp::mod:
      return kernel<IntMod, T, T>(level);
    case MathOp::bit_and:
      return kernel<And, T, T>(level);
    case MathOp::bit_or:
      return kernel<Or, T, T>(level);
    case MathOp::bit_xor:
      return kernel<Xor, T, T>(level);
    case MathOp::bit_not:
      return kernel<BitNot, T, T>(level);
    case MathOp::shl:
      return kernel<ShiftLeft, T, T>(level);
    case MathOp::shr:
      return kernel<ShiftRight, T, T>(level);
    case MathOp::umulhi:
      return kernel<HighProduct, T, T>(level);
    case MathOp::neg:
      return kernel<IntNeg, T, T>(level);
    case MathOp::abs:
      return kernel<IntAbs, T, T>(level);
    case MathOp::fma:
      return kernel<IntFma, T, T>(level);
    case MathOp::maximum:
      return kernel<Maximum, T, T>(level);
    case MathOp::minimum:
      return kernel<Minimum, T, T>(level);
    case MathOp::clamp:
      return kernel<Clamp, T, T>(level);
    case MathOp::where:
      return kernel<Where, T, T>(level);
    case MathOp::eq:
      return kernel<Eq, T, T>(level);
    case MathOp::ne:
      return kernel<Ne, T, T>(level);
    case MathOp::lt:
      return kernel<Lt, T, T>(level);
    case MathOp::le:
      return kernel<Le, T, T>(level);
    case MathOp::gt:
      return kernel<Gt, T, T>(level);
    case MathOp::ge:
      return kernel<Ge, T, T>(level);
    case MathOp::div:
    case MathOp::exp:
    case MathOp::exp2:
    case MathOp::log:
    case MathOp::sqrt:
    case MathOp::rsqrt:
    case MathOp::sigmoid:
    case MathOp::tanh:
    case MathOp::erf:
    case MathOp::sin:
    case MathOp::cos:
    case MathOp::cast:
    case MathOp::copy:
    case MathOp::fill:
    case MathOp::arange:
    case MathOp::sum:
    case MathOp::max:
    case MathOp::min:
    case MathOp::argmax:
    case MathOp::cat:
    case MathOp::floor:
    case MathOp::ceil:
    case MathOp::log2:
    case MathOp::argmin:
    case MathOp::prod:
    case MathOp::xor_sum:
    case MathOp::cumsum:
    case MathOp::cumprod:
    case MathOp::cummax:
    case MathOp::cummin:
    case MathOp::flip:
    case MathOp::sort:
    case MathOp::gather:
    case MathOp::histogram:
    case MathOp::bitcast:
      break;
  }
  return nullptr;
}
template BlockKernel<std::int32_t, std::int32_t> int_kernel<std::int32_t>(MathOp op, Simd level);
template BlockKernel<std::uint32_t, std::uint32_t> int_kernel<std::uint32_t>(MathOp op, Simd level);
template BlockKernel<std::int64_t, std::int64_t> int_kernel<std::int64_t>(MathOp op, Simd level);
template BlockKernel<std::uint64_t, std::uint64_t> int_kernel<std::uint64_t>(MathOp op, Simd level);

BlockKernel<std::int32_t, std::int32_t> truth_not(Simd level) { return kernel<TruthNot, Int, Int>(level); }

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
    case MathOp::add:
    case MathOp::sub:
    case MathOp::mul:
    case MathOp::div:
    case MathOp::floordiv:
    case MathOp::mod:
    case MathOp::bit_and:
    case MathOp::bit_or:
    case MathOp::maximum:
    case MathOp::minimum:
    case MathOp::neg:
    case MathOp::abs:
    case MathOp::bit_not:
    case MathOp::exp:
    case MathOp::exp2:
    case MathOp::log:
    case MathOp::sqrt:
    case MathOp::rsqrt:
    case MathOp::sigmoid:
    case MathOp::tanh:
    case MathOp::erf:
    case MathOp::sin:
    case MathOp::cos:
    case MathOp::cast:
    case MathOp::copy:
    case MathOp::where:
    case MathOp::fma:
    case MathOp::clamp:
    case MathOp::fill:
    case MathOp::arange:
    case MathOp::sum:
    case MathOp::max:
    case MathOp::min:
    case MathOp::argmax:
    case MathOp::cat:
    case MathOp::bit_xor:
    case MathOp::shl:
    case MathOp::shr:
    case MathOp::umulhi:
    case MathOp::floor:
    case MathOp::ceil:
    case MathOp::log2:
    case MathOp::argmin:
    case MathOp::prod:
    case MathOp::xor_sum:
    case MathOp::cumsum:
    case MathOp::cumprod:
    case MathOp::cummax:
    case MathOp::cummin:
    case MathOp::flip:
    case MathOp::sort:
    case MathOp::gather:
    case MathOp::histogram:
    case MathOp::bitcast:
      break;
  }
  return nullptr;
}

}  // namespace kernbench::data
