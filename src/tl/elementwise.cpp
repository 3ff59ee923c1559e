// Math commands: elementwise, creation and reductions.
#include <fmt/format.h>

#include <vector>

#include "tl/recorder.hpp"

namespace kernbench::tl {

Recorder::Typed Recorder::resolve(MathOp op, std::span<const Operand> operands, At at) {
  Typed typed{.ids = {}, .dtypes = {}, .count = operands.size()};
  bool all_tiles = true;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    all_tiles = all_tiles && operands[i].kind() == Operand::Kind::tile;
    if (operands[i].kind() != Operand::Kind::tile) continue;
    typed.ids[i] = tile(operands[i].tile(), to_string(op), at);
    typed.dtypes[i] = value(typed.ids[i]).dtype;
  }
  if (all_tiles) return typed;
  const auto dtype = scalar_dtype(op, operands);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind() == Operand::Kind::tile) continue;
    typed.ids[i] = scalar(operands[i].number(), dtype, to_string(op), at);
    typed.dtypes[i] = dtype;
  }
  return typed;
}

DType Recorder::result_dtype(MathOp op, const Typed& typed, At at) const {
  const std::span ids(typed.ids.data(), typed.count);
  return placed(
      at, "dtype", [&] { return fmt::format("{} of {}", to_string(op), describe(ids)); },
      [&] { return kernbench::result_dtype(op, std::span(typed.dtypes.data(), typed.count)); });
}

std::uint32_t Recorder::common_shape(MathOp op, const Typed& typed, At at) {
  auto common = value(typed.ids[0]).shape;
  for (std::size_t i = 1; i < typed.count; ++i) {
    const auto other = value(typed.ids[i]).shape;
    if (other == common || value(typed.ids[i]).kind == isa::ValueKind::scalar) continue;
    if (value(typed.ids[0]).kind == isa::ValueKind::scalar && i == 1) {
      common = other;
      continue;
    }
    const auto shape = placed(
        at, "shape",
        [&] {
          return fmt::format("{} of {}", to_string(op), describe(std::span(typed.ids.data(), typed.count)));
        },
        [&] { return broadcast(builder_.program().shape_of(common), builder_.program().shape_of(other)); });
    common = builder_.shape({shape.begin(), shape.end()});
  }
  return common;
}

Tile Recorder::math(MathOp op, std::span<const Operand> operands, At at) {
  const auto typed = resolve(op, operands, at);
  const auto dtype = result_dtype(op, typed, at);
  const auto result = new_tile(dtype, common_shape(op, typed, at), at);
  append({.kind = isa::CommandKind::math, .op = op, .result = result},
         std::span(typed.ids.data(), typed.count), at);
  return handle(result);
}

Tile Recorder::checked_math(MathOp op, std::span<const Operand> operands, At at) {
  const auto& that = info(op);
  if (that.kind != MathKind::elementwise || that.result == ResultRule::given)
    fail(at, {"dtype", fmt::format("{} is no elementwise operation on promoted operands", that.name),
              "it has a call of its own"});
  if (operands.size() != static_cast<std::size_t>(that.operands))
    fail(at, {"dtype", fmt::format("{} with {} operands", that.name, operands.size()),
              fmt::format("it takes {}", that.operands)});
  return math(op, operands, at);
}

Tile Recorder::unary(MathOp op, const Tile& x, At at) { return math(op, {Operand(x, at)}, at); }

Tile Recorder::operation(MathOp op, std::initializer_list<Operand> operands) {
  Recorder* recorder = nullptr;
  At at;
  for (const auto& o : operands) {
    if (recorder == nullptr) recorder = o.tile().recorder_;
    if (at.line() == 0) at = o.at();
  }
  if (recorder == nullptr)
    throw KernelError({.id = "tl.tile",
                       .where = isa::to_string({at.file_name(), at.line()}),
                       .what = fmt::format("{} of an empty tile", to_string(op)),
                       .hint = "assign the handle the result of a tl call first"});
  return recorder->math(op, operands, at);
}

Tile Recorder::create(MathOp op, const Dims& shape, double first, DType dtype, At at) {
  const auto id = shape_id(shape, to_string(op), at);
  const auto start = scalar(first, dtype, to_string(op), at);
  const auto result = new_tile(dtype, id, at);
  append({.kind = isa::CommandKind::math, .op = op, .result = result}, {start}, at);
  return handle(result);
}

Tile Recorder::reduce(MathOp op, const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  auto id = tile(x, to_string(op), at);
  const auto whole = shape(id);
  const auto text = [&] { return fmt::format("{} of {}", to_string(op), describe(id)); };
  if (!axis) {
    const std::int64_t elements = whole.elements();
    id = reshape(id, builder_.shape({&elements, 1}), at).id();
  }
  const int over = placed(at, "axis", text, [&] { return shape(id).axis(axis.value_or(0)); });
  if (shape(id)[over] == 0 && op != MathOp::sum)
    fail(at, {"axis", fmt::format("{} over an empty axis", text()), "only a sum of nothing has a value"});
  const Shape rest = shape(id).without(over);
  const DType operand = value(id).dtype;
  const auto dtype = placed(at, "dtype", text, [&] { return kernbench::result_dtype(op, {&operand, 1}); });
  const auto result = new_tile(dtype, builder_.shape({rest.begin(), rest.end()}), at);
  append({.kind = isa::CommandKind::math,
          .op = op,
          .result = result,
          .detail = static_cast<std::uint32_t>(over)},
         {id}, at);
  if (!keep_dims) return handle(result);
  if (axis) return expand_dims(result, over);
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(whole.rank()), 1);
  return reshape(result, builder_.shape(ones), at);
}

// ── operators ──

Tile operator+(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::add, {a, b}); }
Tile operator-(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::sub, {a, b}); }
Tile operator*(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::mul, {a, b}); }
Tile operator/(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::div, {a, b}); }
Tile operator%(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::mod, {a, b}); }
Tile operator&(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::bit_and, {a, b}); }
Tile operator|(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::bit_or, {a, b}); }
Tile operator==(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::eq, {a, b}); }
Tile operator!=(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::ne, {a, b}); }
Tile operator<(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::lt, {a, b}); }
Tile operator<=(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::le, {a, b}); }
Tile operator>(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::gt, {a, b}); }
Tile operator>=(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::ge, {a, b}); }
Tile operator-(const Operand& a) { return Recorder::operation(MathOp::neg, {a}); }
Tile operator~(const Operand& a) { return Recorder::operation(MathOp::bit_not, {a}); }

Tile& Tile::operator+=(const Operand& b) { return *this = Operand(*this, b.at()) + b; }
Tile& Tile::operator-=(const Operand& b) { return *this = Operand(*this, b.at()) - b; }
Tile& Tile::operator*=(const Operand& b) { return *this = Operand(*this, b.at()) * b; }
Tile& Tile::operator/=(const Operand& b) { return *this = Operand(*this, b.at()) / b; }

// ── functions ──

Tile Context::math(MathOp op, std::span<const Operand> operands, At at) {
  return recorder_->checked_math(op, operands, at);
}
Tile Context::floordiv(const Operand& a, const Operand& b, At at) {
  return recorder_->math(MathOp::floordiv, {a, b}, at);
}
Tile Context::where(const Tile& mask, const Operand& a, const Operand& b, At at) {
  return recorder_->math(MathOp::where, {Operand(mask, at), a, b}, at);
}
Tile Context::maximum(const Operand& a, const Operand& b, At at) {
  return recorder_->math(MathOp::maximum, {a, b}, at);
}
Tile Context::minimum(const Operand& a, const Operand& b, At at) {
  return recorder_->math(MathOp::minimum, {a, b}, at);
}
Tile Context::fma(const Operand& a, const Operand& b, const Operand& c, At at) {
  return recorder_->math(MathOp::fma, {a, b, c}, at);
}
Tile Context::clamp(const Operand& x, const Operand& least, const Operand& most, At at) {
  return recorder_->math(MathOp::clamp, {x, least, most}, at);
}
Tile Context::exp(const Tile& x, At at) { return recorder_->unary(MathOp::exp, x, at); }
Tile Context::exp2(const Tile& x, At at) { return recorder_->unary(MathOp::exp2, x, at); }
Tile Context::log(const Tile& x, At at) { return recorder_->unary(MathOp::log, x, at); }
Tile Context::sqrt(const Tile& x, At at) { return recorder_->unary(MathOp::sqrt, x, at); }
Tile Context::rsqrt(const Tile& x, At at) { return recorder_->unary(MathOp::rsqrt, x, at); }
Tile Context::abs(const Tile& x, At at) { return recorder_->unary(MathOp::abs, x, at); }
Tile Context::sigmoid(const Tile& x, At at) { return recorder_->unary(MathOp::sigmoid, x, at); }
Tile Context::tanh(const Tile& x, At at) { return recorder_->unary(MathOp::tanh, x, at); }
Tile Context::erf(const Tile& x, At at) { return recorder_->unary(MathOp::erf, x, at); }
Tile Context::sin(const Tile& x, At at) { return recorder_->unary(MathOp::sin, x, at); }
Tile Context::cos(const Tile& x, At at) { return recorder_->unary(MathOp::cos, x, at); }

Tile Context::sum(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::sum, x, axis, keep_dims, at);
}
Tile Context::max(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::max, x, axis, keep_dims, at);
}
Tile Context::min(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::min, x, axis, keep_dims, at);
}
Tile Context::argmax(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::argmax, x, axis, keep_dims, at);
}

Tile Context::softmax(const Tile& x, int axis, At at) {
  const auto id = recorder_->tile(x, "softmax", at);
  if (is_integer(recorder_->value(id).dtype))
    recorder_->fail(
        at, {"dtype", "softmax of " + recorder_->describe(id), "it takes floats; cast the tile first"});
  const auto largest = max(x, axis, true, at);
  const auto shifted = recorder_->math(MathOp::sub, {Operand(x, at), Operand(largest, at)}, at);
  const auto raised = exp(shifted, at);
  const auto total = sum(raised, axis, true, at);
  return recorder_->math(MathOp::div, {Operand(raised, at), Operand(total, at)}, at);
}

Tile Context::zeros(const Dims& shape, DType dtype, At at) {
  return recorder_->create(MathOp::fill, shape, 0, dtype, at);
}
Tile Context::full(const Dims& shape, double number, DType dtype, At at) {
  return recorder_->create(MathOp::fill, shape, number, dtype, at);
}
Tile Context::copy(const Tile& x, At at) { return recorder_->unary(MathOp::copy, x, at); }

Tile Context::arange(std::int64_t begin, std::int64_t end, At at) {
  if (end <= begin)
    recorder_->fail(
        at, {"shape", fmt::format("arange({}, {}) has no elements", begin, end), "end is above begin"});
  recorder_->check_number(static_cast<double>(begin), DType::i32, "arange", at);
  recorder_->check_number(static_cast<double>(end - 1), DType::i32, "arange", at);
  return recorder_->create(MathOp::arange, {end - begin}, static_cast<double>(begin), DType::i32, at);
}

Tile Context::cast(const Tile& x, DType dtype, At at) {
  const auto id = recorder_->tile(x, "cast", at);
  if (recorder_->value(id).dtype == dtype) return x;
  const auto result = recorder_->new_tile(dtype, recorder_->value(id).shape, at);
  recorder_->append({.kind = isa::CommandKind::math, .op = MathOp::cast, .result = result}, {id}, at);
  return recorder_->handle(result);
}

}  // namespace kernbench::tl
