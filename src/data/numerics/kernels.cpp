#include "data/numerics/kernels.hpp"

#include <array>
#include <bit>
#include <type_traits>

#include "base/scalar_ops.hpp"
#include "data/numerics/functions.hpp"

namespace kernbench::data {
namespace {

using Int = std::int32_t;

/// Functions of one f32, in the form of scalar_ops.hpp.
#define KB_FUNCTION(Name, expression)               \
  struct Name {                                     \
    template <Simd Level, class T>                  \
    [[gnu::always_inline]] static T of(T a, T, T) { \
      return expression;                            \
    }                                               \
  }
KB_FUNCTION(Exp, exp_f32(a));
KB_FUNCTION(Exp2, exp2_f32(a));
KB_FUNCTION(Log, log_f32(a));
KB_FUNCTION(Sqrt, __builtin_sqrtf(a));
KB_FUNCTION(Rsqrt, rsqrt_f32(a));
KB_FUNCTION(Sigmoid, sigmoid_f32(a));
KB_FUNCTION(Tanh, tanh_f32(a));
KB_FUNCTION(Erf, erf_f32(a));
KB_FUNCTION(SmallSin, small_sin_f32(a));
KB_FUNCTION(SmallCos, small_cos_f32(a));
KB_FUNCTION(Log2, log2_f32(a));
#undef KB_FUNCTION

struct TruthNot {
  template <Simd Level, class T>
  [[gnu::always_inline]] static T of(T a, T, T) {
    return 1 - a;
  }
};

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

BlockKernel<float, float> function_kernel(MathOp op, Simd level) {
  switch (op) {
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
    case MathOp::log2:
      return kernel<Log2, float, float>(level);
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
    case MathOp::eq:
    case MathOp::ne:
    case MathOp::lt:
    case MathOp::le:
    case MathOp::gt:
    case MathOp::ge:
    case MathOp::neg:
    case MathOp::abs:
    case MathOp::bit_not:
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
    case MathOp::maximum_number:
    case MathOp::minimum_number:
    case MathOp::max_number:
    case MathOp::min_number:
    case MathOp::argmax_number:
    case MathOp::argmin_number:
      break;
  }
  return nullptr;
}

}  // namespace

BlockKernel<float, float> float_kernel(MathOp op, Simd level) {
  const auto arithmetic = scalar::with_float_op(
      op, [&]<class Op>() -> BlockKernel<float, float> { return kernel<Op, float, float>(level); });
  return arithmetic ? arithmetic : function_kernel(op, level);
}

template <class T>
BlockKernel<T, T> int_kernel(MathOp op, Simd level) {
  const auto with = [&]<class Op>() -> BlockKernel<T, T> { return kernel<Op, T, T>(level); };
  const auto arithmetic = scalar::with_int_op(op, with);
  return arithmetic ? arithmetic : scalar::with_comparison(op, with);
}
template BlockKernel<std::int32_t, std::int32_t> int_kernel<std::int32_t>(MathOp op, Simd level);
template BlockKernel<std::uint32_t, std::uint32_t> int_kernel<std::uint32_t>(MathOp op, Simd level);
template BlockKernel<std::int64_t, std::int64_t> int_kernel<std::int64_t>(MathOp op, Simd level);
template BlockKernel<std::uint64_t, std::uint64_t> int_kernel<std::uint64_t>(MathOp op, Simd level);

BlockKernel<std::int32_t, std::int32_t> truth_not(Simd level) { return kernel<TruthNot, Int, Int>(level); }

BlockKernel<float, Int> float_comparison(MathOp op, Simd level) {
  return scalar::with_comparison(
      op, [&]<class Op>() -> BlockKernel<float, Int> { return kernel<Op, float, Int>(level); });
}

}  // namespace kernbench::data
