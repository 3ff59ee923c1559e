// What the operations of math_op.hpp do to single numbers: f32, and integers of 32 or 64 bits. One table for those who compute
// tiles (as loops over blocks) and for those who must know a number while a kernel is recorded; both then have the same bits.
//
// Each operation is a struct with `of`. Integer arithmetic goes through unsigned, which wraps.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/fused.hpp"
#include "base/ordering.hpp"
#include "base/simd.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::scalar {

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

/// `Level` is that of the code around it; an operation of fewer operands does not look at the others.
#define KB_SCALAR_OP(Name, expression)                                                       \
  struct Name {                                                                              \
    template <Simd Level, class T>                                                           \
    [[gnu::always_inline]] static auto of(T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
      return expression;                                                                     \
    }                                                                                        \
  }
// clang-format off
KB_SCALAR_OP(Add, a + b);
KB_SCALAR_OP(Sub, a - b);
KB_SCALAR_OP(Mul, a * b);
KB_SCALAR_OP(Div, a / b);
KB_SCALAR_OP(Neg, -a);
KB_SCALAR_OP(Abs, std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0x7FFF'FFFFu));
KB_SCALAR_OP(Fma, (fused_multiply_add<Level>(a, b, c)));
KB_SCALAR_OP(Maximum, larger(a, b));
KB_SCALAR_OP(Minimum, smaller(a, b));
KB_SCALAR_OP(MaximumNumber, larger_number(a, b));
KB_SCALAR_OP(MinimumNumber, smaller_number(a, b));
KB_SCALAR_OP(Clamp, smaller(larger(a, b), c));
KB_SCALAR_OP(Where, a != 0 ? b : c);
KB_SCALAR_OP(Eq, a == b ? 1 : 0);
KB_SCALAR_OP(Ne, a != b ? 1 : 0);
KB_SCALAR_OP(Lt, a < b ? 1 : 0);
KB_SCALAR_OP(Le, a <= b ? 1 : 0);
KB_SCALAR_OP(Gt, a > b ? 1 : 0);
KB_SCALAR_OP(Ge, a >= b ? 1 : 0);
KB_SCALAR_OP(Floor, __builtin_floorf(a));
KB_SCALAR_OP(Ceil, __builtin_ceilf(a));
KB_SCALAR_OP(IntAdd, static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b)));
KB_SCALAR_OP(IntSub, static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b)));
KB_SCALAR_OP(IntMul, static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b)));
KB_SCALAR_OP(IntNeg, static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a)));
KB_SCALAR_OP(IntAbs, static_cast<T>(is_negative(a) ? Unsigned<T>(0) - Unsigned<T>(a) : Unsigned<T>(a)));
KB_SCALAR_OP(IntFma, static_cast<T>(Unsigned<T>(a) * Unsigned<T>(b) + Unsigned<T>(c)));
KB_SCALAR_OP(And, a & b);
KB_SCALAR_OP(Or, a | b);
KB_SCALAR_OP(Xor, a ^ b);
KB_SCALAR_OP(BitNot, static_cast<T>(~a));
// By as many bits as there are, or more: nothing is left, of a negative number −1.
KB_SCALAR_OP(ShiftLeft, Unsigned<T>(b) < 8 * sizeof(T) ? static_cast<T>(Unsigned<T>(a) << Unsigned<T>(b)) : T{0});
KB_SCALAR_OP(ShiftRight,
      Unsigned<T>(b) < 8 * sizeof(T) ? static_cast<T>(a >> b) : static_cast<T>(is_negative(a) ? -1 : 0));
KB_SCALAR_OP(HighProduct, high_product(a, b));
// Toward zero, as Triton and C. By zero: all bits set, the remainder is the dividend; the most negative / −1 wraps (as RISC-V).
KB_SCALAR_OP(IntDiv, b == 0 ? static_cast<T>(-1)
              : std::is_signed_v<T> && Unsigned<T>(b) == Unsigned<T>(-1)
                  ? static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a))
                  : static_cast<T>(a / b));
KB_SCALAR_OP(IntMod, b == 0                                                     ? a
              : std::is_signed_v<T> && Unsigned<T>(b) == Unsigned<T>(-1) ? T{0}
                                                                         : static_cast<T>(a % b));
// clang-format on
#undef KB_SCALAR_OP

/// `fn.template operator()<Op>()` with the operation on f32; what that gives for the functions (exp, sin, …) and for what is no
/// arithmetic of floats is an empty result.
template <class Fn>
auto with_float_op(MathOp op, const Fn& fn) -> decltype(fn.template operator()<Add>()) {
  switch (op) {
    case MathOp::add:
      return fn.template operator()<Add>();
    case MathOp::sub:
      return fn.template operator()<Sub>();
    case MathOp::mul:
      return fn.template operator()<Mul>();
    case MathOp::div:
      return fn.template operator()<Div>();
    case MathOp::maximum:
      return fn.template operator()<Maximum>();
    case MathOp::minimum:
      return fn.template operator()<Minimum>();
    case MathOp::maximum_number:
      return fn.template operator()<MaximumNumber>();
    case MathOp::minimum_number:
      return fn.template operator()<MinimumNumber>();
    case MathOp::neg:
      return fn.template operator()<Neg>();
    case MathOp::abs:
      return fn.template operator()<Abs>();
    case MathOp::where:
      return fn.template operator()<Where>();
    case MathOp::fma:
      return fn.template operator()<Fma>();
    case MathOp::clamp:
      return fn.template operator()<Clamp>();
    case MathOp::floor:
      return fn.template operator()<Floor>();
    case MathOp::ceil:
      return fn.template operator()<Ceil>();
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
    case MathOp::bit_xor:
    case MathOp::shl:
    case MathOp::shr:
    case MathOp::umulhi:
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
    case MathOp::max_number:
    case MathOp::min_number:
    case MathOp::argmax_number:
    case MathOp::argmin_number:
      break;
  }
  return {};
}

/// The same with the operation on integers.
template <class Fn>
auto with_int_op(MathOp op, const Fn& fn) -> decltype(fn.template operator()<IntAdd>()) {
  switch (op) {
    case MathOp::add:
      return fn.template operator()<IntAdd>();
    case MathOp::sub:
      return fn.template operator()<IntSub>();
    case MathOp::mul:
      return fn.template operator()<IntMul>();
    case MathOp::floordiv:
      return fn.template operator()<IntDiv>();
    case MathOp::mod:
      return fn.template operator()<IntMod>();
    case MathOp::bit_and:
      return fn.template operator()<And>();
    case MathOp::bit_or:
      return fn.template operator()<Or>();
    case MathOp::maximum:
      return fn.template operator()<Maximum>();
    case MathOp::minimum:
      return fn.template operator()<Minimum>();
    case MathOp::maximum_number:
      return fn.template operator()<MaximumNumber>();
    case MathOp::minimum_number:
      return fn.template operator()<MinimumNumber>();
    case MathOp::neg:
      return fn.template operator()<IntNeg>();
    case MathOp::abs:
      return fn.template operator()<IntAbs>();
    case MathOp::bit_not:
      return fn.template operator()<BitNot>();
    case MathOp::where:
      return fn.template operator()<Where>();
    case MathOp::fma:
      return fn.template operator()<IntFma>();
    case MathOp::clamp:
      return fn.template operator()<Clamp>();
    case MathOp::bit_xor:
      return fn.template operator()<Xor>();
    case MathOp::shl:
      return fn.template operator()<ShiftLeft>();
    case MathOp::shr:
      return fn.template operator()<ShiftRight>();
    case MathOp::umulhi:
      return fn.template operator()<HighProduct>();
    case MathOp::div:
    case MathOp::eq:
    case MathOp::ne:
    case MathOp::lt:
    case MathOp::le:
    case MathOp::gt:
    case MathOp::ge:
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
    case MathOp::max_number:
    case MathOp::min_number:
    case MathOp::argmax_number:
    case MathOp::argmin_number:
      break;
  }
  return {};
}

/// The same with a comparison, which gives 0 or 1.
template <class Fn>
auto with_comparison(MathOp op, const Fn& fn) -> decltype(fn.template operator()<Eq>()) {
  switch (op) {
    case MathOp::eq:
      return fn.template operator()<Eq>();
    case MathOp::ne:
      return fn.template operator()<Ne>();
    case MathOp::lt:
      return fn.template operator()<Lt>();
    case MathOp::le:
      return fn.template operator()<Le>();
    case MathOp::gt:
      return fn.template operator()<Gt>();
    case MathOp::ge:
      return fn.template operator()<Ge>();
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
    case MathOp::maximum_number:
    case MathOp::minimum_number:
    case MathOp::bitcast:
    case MathOp::max_number:
    case MathOp::min_number:
    case MathOp::argmax_number:
    case MathOp::argmin_number:
      break;
  }
  return {};
}

}  // namespace kernbench::scalar
