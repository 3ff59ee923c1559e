#include "tl/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/number.hpp"
#include "base/scalar_ops.hpp"
#include "kernbench/error.hpp"

namespace kernbench::tl {
namespace {

using isa::ValueId;
using isa::ValueKind;
using Int = std::int64_t;

constexpr std::size_t kMaxKept = 1 << 22;  // numbers; beyond that what is known is found again when asked for

constexpr double kExact = 0x1p53;  // integers up to here are exact

/// Integers as replay does them: in i32, or the promoted dtype's own type if that is u32, i64 or u64, wrapping.
template <class T>
T integer(MathOp op, T a, T b, T c) {
  if (op == MathOp::copy) return a;
  const auto result = scalar::with_int_op(
      op, [&]<class Op>() { return std::optional<T>(Op::template of<Simd::generic>(a, b, c)); });
  KB_ASSERT(result, "{} of integers is not evaluated while recording", to_string(op));
  return *result;
}

/// What is left of a number in an integer dtype.
template <class T>
double cut(DType dtype, T n) {
  switch (dtype) {
    case DType::i8:
      return static_cast<std::int8_t>(n);
    case DType::i16:
      return static_cast<std::int16_t>(n);
    case DType::i32:
      return static_cast<std::int32_t>(n);
    case DType::u8:
      return static_cast<std::uint8_t>(n);
    case DType::u16:
      return static_cast<std::uint16_t>(n);
    case DType::u32:
      return static_cast<std::uint32_t>(n);
    case DType::i64:
      return static_cast<double>(static_cast<std::int64_t>(n));
    case DType::u64:
      return static_cast<double>(static_cast<std::uint64_t>(n));
    case DType::i1:
      return n != 0 ? 1 : 0;
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f8e4m3:
    case DType::f8e5m2:
      break;
  }
  KB_ASSERT(false, "{} is no integer dtype", to_string(dtype));
  return 0;
}

/// A number as an operation in an integer dtype takes it: in an unsigned one, what is below 0 wraps.
template <class T>
T operand_as(DType computed, double x) {
  const auto whole =
      x < 0 ? static_cast<T>(static_cast<Int>(x)) : static_cast<T>(static_cast<std::uint64_t>(x));
  if (computed == DType::u8) return static_cast<std::uint8_t>(whole);
  if (computed == DType::u16) return static_cast<std::uint16_t>(whole);
  return whole;
}

/// `fn` of a number of the type in which replay computes that dtype.
template <class Fn>
auto with_computed_type(DType computed, const Fn& fn) {
  if (computed == DType::u32) return fn(std::uint32_t{});
  if (computed == DType::i64) return fn(std::int64_t{});
  if (computed == DType::u64) return fn(std::uint64_t{});
  return fn(std::int32_t{});
}

double integer(MathOp op, DType computed, DType result, double a, double b, double c) {
  if (op == MathOp::bit_not && result == DType::i1) return 1 - a;
  return with_computed_type(computed, [&]<class T>(T) {
    return cut(result, integer<T>(op, operand_as<T>(computed, a), operand_as<T>(computed, b),
                                  operand_as<T>(computed, c)));
  });
}

/// Floats as replay does them: in f32.
float real(MathOp op, float a, float b, float c) {
  if (op == MathOp::copy) return a;
  const auto result = scalar::with_float_op(
      op, [&]<class Op>() { return std::optional<float>(Op::template of<Simd::generic>(a, b, c)); });
  KB_ASSERT(result, "{} of floats is not evaluated while recording", to_string(op));
  return *result;
}

template <class T>
bool compare(MathOp op, T a, T b) {
  const auto result = scalar::with_comparison(
      op, [&]<class Op>() { return std::optional<bool>(Op::template of<Simd::generic>(a, b, T{}) != 0); });
  KB_ASSERT(result, "{} is no comparison", to_string(op));
  return *result;
}

/// Two integers in the dtype they are promoted to, where −1 beside an unsigned number is the largest there is.
bool compare_integers(MathOp op, DType computed, double a, double b) {
  return with_computed_type(computed, [&]<class T>(T) {
    return compare(op, operand_as<T>(computed, a), operand_as<T>(computed, b));
  });
}

double cast(DType from, DType to, double number) {
  if (to == DType::i1) return number != 0 ? 1 : 0;
  if (is_integer(from) || is_float(to)) return round_to(to, number);
  if (std::isnan(number)) return 0;
  const int bits = 8 * itemsize(to) - (is_unsigned(to) ? 0 : 1);
  const double end = std::ldexp(1.0, bits), low = is_unsigned(to) ? 0 : -end;
  return std::clamp(std::trunc(number), low,
                    end - 1);  // of 64 bits end − 1 rounds to end: not exact, so not known
}

/// One operation on lanes, in the number world its operands are promoted to.
struct LaneOp {
  MathOp op;
  DType operands;  // promoted
  DType result;

  double operator()(double a, double b, double c) const {
    if (op == MathOp::where) return round_to(result, a != 0 ? b : c);
    const bool is_real = is_float(operands) || is_float(result);
    if (info(op).result == ResultRule::truth) {
      const bool holds = is_real ? compare(op, static_cast<float>(a), static_cast<float>(b))
                                 : compare_integers(op, operands, a, b);
      return holds ? 1 : 0;
    }
    if (is_real)
      return round_to(result, static_cast<double>(real(op, static_cast<float>(a), static_cast<float>(b),
                                                       static_cast<float>(c))));
    return integer(op, promote(operands, result), result, a, b, c);
  }
};

/// Strides by which a row-major operand is read to make a result of another shape.
isa::Strides broadcast_strides(const Shape& from, const Shape& to) {
  const auto dense = isa::row_major(from);
  isa::Strides strides{};
  const auto more = static_cast<std::size_t>(to.rank() - from.rank());
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != 1) strides[static_cast<std::size_t>(i) + more] = dense[static_cast<std::size_t>(i)];
  return strides;
}

Int element(const Shape& shape, const isa::Strides& strides, Int lane) {
  Int at = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    at += lane % shape[axis] * strides[static_cast<std::size_t>(axis)];
    lane /= shape[axis];
  }
  return at;
}

/// The length of the last axis, and the step along it.
Int row_length(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[shape.rank() - 1]; }
Int row_step(const Shape& shape, const isa::Strides& strides) {
  return shape.rank() == 0 ? 0 : strides[static_cast<std::size_t>(shape.rank() - 1)];
}

/// `in` read by strides in the order of `shape`.
KnownValues::Numbers gathered(const KnownValues::Numbers& in, const Shape& shape, const isa::Strides& strides,
                              Int offset) {
  KnownValues::Numbers out(static_cast<std::size_t>(shape.elements()));
  const auto length = row_length(shape), step = row_step(shape, strides);
  for (Int first = 0; first < shape.elements(); first += length) {
    const double* row = in.data() + offset + element(shape, strides, first);
    for (Int i = 0; i < length; ++i) out[static_cast<std::size_t>(first + i)] = row[i * step];
  }
  return out;
}

}  // namespace

bool is_evaluated(MathOp op) {
  switch (op) {
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
    case MathOp::maximum_number:
    case MathOp::minimum_number:
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
    case MathOp::bit_xor:
    case MathOp::shl:
    case MathOp::shr:
    case MathOp::umulhi:
    case MathOp::floor:
    case MathOp::ceil:
      return true;
    case MathOp::exp:
    case MathOp::exp2:
    case MathOp::log:
    case MathOp::log2:
    case MathOp::sqrt:
    case MathOp::rsqrt:
    case MathOp::sigmoid:
    case MathOp::tanh:
    case MathOp::erf:
    case MathOp::sin:
    case MathOp::cos:
    case MathOp::sum:
    case MathOp::max:
    case MathOp::min:
    case MathOp::argmax:
    case MathOp::argmin:
    case MathOp::prod:
    case MathOp::xor_sum:
    case MathOp::cat:
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
  return false;
}

KnownValues::Answer KnownValues::ask(const isa::Program& program, ValueId id) {
  if (elements_ > kMaxKept) clear();
  // Operands are older than results, so the values that are needed can be computed in ascending order.
  std::vector<ValueId> needed, open{id};
  std::unordered_set<ValueId> seen;
  while (!open.empty()) {
    const auto next = open.back();
    open.pop_back();
    if (is_known(next) || !seen.insert(next).second) continue;
    needed.push_back(next);
    const auto& v = program.value(next);
    if (v.kind == ValueKind::scalar) continue;
    if (v.kind == ValueKind::view) {
      open.push_back(program.base(next));
      continue;
    }
    const auto& c = program.command(v.producer);
    if (c.kind != isa::CommandKind::math || !is_evaluated(c.op)) return {nullptr, v.producer};
    for (const auto read : program.reads(c)) open.push_back(read);
  }
  std::ranges::sort(needed);
  for (const auto n : needed)
    if (!evaluate(program, n)) return {nullptr, program.value(n).producer};
  return {&known_.at(id), std::nullopt};
}

/// False if a double does not hold what comes out.
bool KnownValues::evaluate(const isa::Program& program, ValueId id) {
  const auto& v = program.value(id);
  Numbers numbers;
  if (v.kind == ValueKind::scalar)
    numbers = {program.scalar(id)};
  else if (v.kind == ValueKind::view)
    numbers = view(program, id);
  else
    numbers = math(program, program.command(v.producer));
  const bool is_wide = v.dtype == DType::i64 || v.dtype == DType::u64;
  if (is_wide && std::ranges::any_of(numbers, [](double x) { return std::fabs(x) > kExact; })) return false;
  elements_ += numbers.size();
  known_.emplace(id, std::move(numbers));
  return true;
}

KnownValues::Numbers KnownValues::view(const isa::Program& program, ValueId id) const {
  const auto layout = program.layout(id);
  return gathered(known_.at(layout.base), program.shape(id), layout.strides, layout.offset);
}

KnownValues::Numbers KnownValues::math(const isa::Program& program, const isa::Command& c) const {
  const auto& shape = program.shape(c.result);
  const auto dtype = program.value(c.result).dtype;
  const auto reads = program.reads(c);
  std::array<Numbers, 3> in;
  DType promoted = program.value(reads[0]).dtype;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    in[i] = gathered(known_.at(reads[i]), shape, broadcast_strides(program.shape(reads[i]), shape), 0);
    promoted = promote(promoted, program.value(reads[i]).dtype);
  }
  auto numbers = std::move(in[0]);
  if (c.op == MathOp::arange) {
    for (std::size_t lane = 0; lane < numbers.size(); ++lane) numbers[lane] += static_cast<double>(lane);
  } else if (c.op == MathOp::cast) {
    for (auto& number : numbers) number = cast(promoted, dtype, number);
  } else if (c.op != MathOp::fill) {
    const LaneOp op{c.op, promoted, dtype};
    in[1].resize(numbers.size());
    in[2].resize(numbers.size());
    for (std::size_t lane = 0; lane < numbers.size(); ++lane)
      numbers[lane] = op(numbers[lane], in[1][lane], in[2][lane]);
  }
  return numbers;
}

}  // namespace kernbench::tl
