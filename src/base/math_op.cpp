#include "kernbench/math_op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

using enum MathKind;
using enum MathCost;
using R = ResultRule;

constexpr std::array kOps = {
    MathOpInfo{MathOp::add, "add", 2, elementwise, simple, R::arithmetic},
    MathOpInfo{MathOp::sub, "sub", 2, elementwise, simple, R::arithmetic},
    MathOpInfo{MathOp::mul, "mul", 2, elementwise, simple, R::arithmetic},
    MathOpInfo{MathOp::div, "div", 2, elementwise, division, R::division},
    MathOpInfo{MathOp::floordiv, "floordiv", 2, elementwise, division, R::integer},
    MathOpInfo{MathOp::mod, "mod", 2, elementwise, division, R::integer},
    MathOpInfo{MathOp::bit_and, "and", 2, elementwise, simple, R::bits},
    MathOpInfo{MathOp::bit_or, "or", 2, elementwise, simple, R::bits},
    MathOpInfo{MathOp::maximum, "maximum", 2, elementwise, simple, R::ordering},
    MathOpInfo{MathOp::minimum, "minimum", 2, elementwise, simple, R::ordering},
    MathOpInfo{MathOp::eq, "eq", 2, elementwise, simple, R::truth},
    MathOpInfo{MathOp::ne, "ne", 2, elementwise, simple, R::truth},
    MathOpInfo{MathOp::lt, "lt", 2, elementwise, simple, R::truth},
    MathOpInfo{MathOp::le, "le", 2, elementwise, simple, R::truth},
    MathOpInfo{MathOp::gt, "gt", 2, elementwise, simple, R::truth},
    MathOpInfo{MathOp::ge, "ge", 2, elementwise, simple, R::truth},
    MathOpInfo{MathOp::neg, "neg", 1, elementwise, simple, R::arithmetic},
    MathOpInfo{MathOp::abs, "abs", 1, elementwise, simple, R::arithmetic},
    MathOpInfo{MathOp::bit_not, "not", 1, elementwise, simple, R::bits},
    MathOpInfo{MathOp::exp, "exp", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::exp2, "exp2", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::log, "log", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::sqrt, "sqrt", 1, elementwise, division, R::real},
    MathOpInfo{MathOp::rsqrt, "rsqrt", 1, elementwise, division, R::real},
    MathOpInfo{MathOp::sigmoid, "sigmoid", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::tanh, "tanh", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::erf, "erf", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::sin, "sin", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::cos, "cos", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::cast, "cast", 1, elementwise, simple, R::given},
    MathOpInfo{MathOp::copy, "copy", 1, elementwise, simple, R::ordering},
    MathOpInfo{MathOp::where, "where", 3, elementwise, simple, R::select},
    MathOpInfo{MathOp::fma, "fma", 3, elementwise, simple, R::arithmetic},
    MathOpInfo{MathOp::clamp, "clamp", 3, elementwise, simple, R::ordering},
    MathOpInfo{MathOp::fill, "fill", 0, create, simple, R::given},
    MathOpInfo{MathOp::arange, "arange", 0, create, simple, R::given},
    MathOpInfo{MathOp::sum, "sum", 1, reduction, simple, R::arithmetic},
    MathOpInfo{MathOp::max, "max", 1, reduction, simple, R::ordering},
    MathOpInfo{MathOp::min, "min", 1, reduction, simple, R::ordering},
    MathOpInfo{MathOp::argmax, "argmax", 1, reduction, simple, R::index},
    MathOpInfo{MathOp::cat, "cat", 2, arrangement, simple, R::given},
    MathOpInfo{MathOp::bit_xor, "xor", 2, elementwise, simple, R::bits},
    MathOpInfo{MathOp::shl, "shl", 2, elementwise, simple, R::shift},
    MathOpInfo{MathOp::shr, "shr", 2, elementwise, simple, R::shift},
    MathOpInfo{MathOp::umulhi, "umulhi", 2, elementwise, division, R::shift},
    MathOpInfo{MathOp::floor, "floor", 1, elementwise, simple, R::real},
    MathOpInfo{MathOp::ceil, "ceil", 1, elementwise, simple, R::real},
    MathOpInfo{MathOp::log2, "log2", 1, elementwise, transcendental, R::real},
    MathOpInfo{MathOp::argmin, "argmin", 1, reduction, simple, R::index},
    MathOpInfo{MathOp::prod, "prod", 1, reduction, simple, R::arithmetic},
    MathOpInfo{MathOp::xor_sum, "xor_sum", 1, reduction, simple, R::bits},
    MathOpInfo{MathOp::cumsum, "cumsum", 1, scan, simple, R::arithmetic},
    MathOpInfo{MathOp::cumprod, "cumprod", 1, scan, simple, R::arithmetic},
    MathOpInfo{MathOp::cummax, "cummax", 1, scan, simple, R::ordering},
    MathOpInfo{MathOp::cummin, "cummin", 1, scan, simple, R::ordering},
    MathOpInfo{MathOp::flip, "flip", 1, arrangement, simple, R::given},
    MathOpInfo{MathOp::sort, "sort", 1, arrangement, simple, R::given},
    MathOpInfo{MathOp::gather, "gather", 2, arrangement, division, R::given},
    MathOpInfo{MathOp::histogram, "histogram", 1, arrangement, division, R::given},
    MathOpInfo{MathOp::bitcast, "bitcast", 1, elementwise, simple, R::given},
    MathOpInfo{MathOp::maximum_number, "maximum_number", 2, elementwise, simple, R::ordering},
    MathOpInfo{MathOp::minimum_number, "minimum_number", 2, elementwise, simple, R::ordering},
    MathOpInfo{MathOp::max_number, "max_number", 1, reduction, simple, R::ordering},
    MathOpInfo{MathOp::min_number, "min_number", 1, reduction, simple, R::ordering},
    MathOpInfo{MathOp::argmax_number, "argmax_number", 1, reduction, simple, R::index},
    MathOpInfo{MathOp::argmin_number, "argmin_number", 1, reduction, simple, R::index},
};

constexpr bool in_order_of_the_enum() {
  for (std::size_t i = 0; i < kOps.size(); ++i)
    if (kOps[i].op != static_cast<MathOp>(i)) return false;
  return true;
}
static_assert(in_order_of_the_enum(), "the table has the order of the enum");

/// Whether the enum has a name for it: compilers write any other value as `(kernbench::MathOp)70`.
template <MathOp Op>
constexpr bool is_named() {
  return std::string_view(__PRETTY_FUNCTION__).find("(kernbench::MathOp)") == std::string_view::npos;
}
static_assert(!is_named<static_cast<MathOp>(kOps.size())>(),
              "the table lacks the last operation of the enum");

[[noreturn]] void reject(MathOp op, std::span<const DType> operands, std::string hint) {
  std::vector<std::string_view> names;
  for (const auto t : operands) names.push_back(to_string(t));
  throw InputError({.id = "math.operands",
                    .where = "",
                    .what = fmt::format("{} of {}", to_string(op), join(names)),
                    .hint = std::move(hint)});
}

DType promote_all(std::span<const DType> operands) {
  DType t = operands[0];
  for (const auto other : operands.subspan(1)) t = promote(t, other);
  return t;
}

DType counted(DType t) { return t == DType::i1 ? DType::i32 : t; }
DType as_real(DType t) { return is_integer(t) ? DType::f32 : t; }
bool is_truth(DType t) { return t == DType::i1; }

}  // namespace

std::span<const MathOpInfo> math_ops() { return kOps; }
const MathOpInfo& info(MathOp op) { return kOps[static_cast<std::size_t>(op)]; }

DType result_dtype(MathOp op, std::span<const DType> operands) {
  const auto& that = info(op);
  if (operands.size() != static_cast<std::size_t>(that.operands))
    reject(op, operands, fmt::format("it takes {} operands, not {}", that.operands, operands.size()));
  switch (that.result) {
    case R::arithmetic:
      return counted(promote_all(operands));
    case R::division:
    case R::real:
      return as_real(promote_all(operands));
    case R::ordering:
      return promote_all(operands);
    case R::truth:
      return DType::i1;
    case R::index:
      return DType::i32;
    case R::integer:
      if (!std::ranges::all_of(operands, is_integer))
        reject(op, operands, "it takes integers; use / on floats");
      return counted(promote_all(operands));
    case R::bits:
      if (!std::ranges::all_of(operands, is_integer))
        reject(op, operands, "it takes integers; compare first for i1");
      return promote_all(operands);
    case R::shift:
      if (!std::ranges::all_of(operands, is_integer) || std::ranges::any_of(operands, is_truth))
        reject(op, operands, "it takes integers other than i1; cast first");
      if (op == MathOp::umulhi && itemsize(promote_all(operands)) < 4)
        reject(op, operands, "it takes integers of 32 or 64 bits; cast first");
      return promote_all(operands);
    case R::select:
      if (!is_truth(operands[0])) reject(op, operands, "its first operand is an i1 mask; compare first");
      return promote_all(operands.subspan(1));
    case R::given:
      break;
  }
  KB_ASSERT(false, "the result dtype of {} is the caller's to give", that.name);
  return DType::f32;
}

bool may_convert(MathOp op, DType natural, DType to) {
  if (natural == to) return true;
  if (op == MathOp::copy || is_truth(natural) || is_truth(to) || is_float(natural) != is_float(to))
    return false;
  switch (info(op).result) {
    case R::arithmetic:
    case R::division:
    case R::real:
    case R::ordering:
    case R::integer:
    case R::select:
      return true;
    case R::bits:
    case R::shift:
    case R::truth:
    case R::index:
    case R::given:
      break;
  }
  return false;
}

std::int64_t passes(MathOp op, std::int64_t length) {
  const auto steps =
      length <= 2 ? 1 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(length - 1)));
  if (op == MathOp::sort) return steps * (steps + 1) / 2;
  return info(op).kind == MathKind::scan ? steps : 1;
}

}  // namespace kernbench
