// Math commands: elementwise, creation and reductions.
#include <fmt/format.h>

#include <array>
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
    check_exact(operands[i], dtype, to_string(op), at);
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
        [&] { return broadcast(builder_.tables().shape_of(common), builder_.tables().shape_of(other)); });
    common = builder_.shape({shape.begin(), shape.end()});
  }
  return common;
}

DType Recorder::out_dtype(MathOp op, DType natural, const MathOptions& options, At at) const {
  if (!options.out_dtype) return natural;
  if (!may_convert(op, natural, *options.out_dtype))
    fail(at,
         {"dtype",
          fmt::format("{} with the result {} to {}", to_string(op), to_string(natural),
                      to_string(*options.out_dtype)),
          "out_dtype is a float for floats, an integer dtype for integers; comparisons, logic, indices and "
          "copies have none: cast"});
  return *options.out_dtype;
}

Tile Recorder::math(MathOp op, std::span<const Operand> operands, At at, const MathOptions& options) {
  const auto typed = resolve(op, operands, at);
  const auto dtype = out_dtype(op, result_dtype(op, typed, at), options, at);
  const auto result = new_tile(dtype, common_shape(op, typed, at), at);
  append({.kind = isa::CommandKind::math, .op = op, .result = result},
         std::span(typed.ids.data(), typed.count), at);
  return handle(result);
}

Tile Recorder::checked_math(MathOp op, std::span<const Operand> operands, At at, const MathOptions& options) {
  const auto& that = info(op);
  if (that.kind != MathKind::elementwise || that.result == ResultRule::given)
    fail(at, {"dtype", fmt::format("{} is no elementwise operation on promoted operands", that.name),
              "it has a call of its own"});
  if (operands.size() != static_cast<std::size_t>(that.operands))
    fail(at, {"dtype", fmt::format("{} with {} operands", that.name, operands.size()),
              fmt::format("it takes {}", that.operands)});
  return math(op, operands, at, options);
}

Tile Recorder::unary(MathOp op, const Tile& x, At at, const MathOptions& options) {
  return math(op, {Operand(x, at)}, at, options);
}

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

Tile Recorder::reduce(MathOp op, const Tile& x, std::optional<int> axis, bool keep_dims, At at,
                      const MathOptions& options) {
  auto id = tile(x, to_string(op), at);
  const auto whole = shape(id);
  const auto text = [&] { return fmt::format("{} of {}", to_string(op), describe(id)); };
  if (!axis) {
    const std::int64_t elements = whole.elements();
    id = reshape(id, builder_.shape({&elements, 1}), at).id();
  }
  const int over = placed(at, "axis", text, [&] { return shape(id).axis(axis.value_or(0)); });
  const bool has_start = op == MathOp::sum || op == MathOp::prod || op == MathOp::xor_sum;
  if (shape(id)[over] == 0 && !has_start)
    fail(at, {"axis", fmt::format("{} over an empty axis", text()),
              "only a sum or a product of nothing has a value"});
  const Shape rest = shape(id).without(over);
  const DType operand = value(id).dtype;
  const auto natural = placed(at, "dtype", text, [&] { return kernbench::result_dtype(op, {&operand, 1}); });
  const auto dtype = out_dtype(op, natural, options, at);
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

Tile Recorder::cat(std::span<const Tile> tiles, int axis, At at) {
  constexpr std::size_t kMost = 255;
  if (tiles.empty() || tiles.size() > kMost)
    fail(at, {"shape", fmt::format("cat of {} tiles", tiles.size()), fmt::format("give 1 to {}", kMost)});
  std::vector<isa::ValueId> ids;
  for (const auto& t : tiles) ids.push_back(tile(t, "cat", at));
  const auto text = [&] { return fmt::format("cat of {}", describe(ids)); };
  const int along = placed(at, "axis", text, [&] { return shape(ids[0]).axis(axis); });
  std::vector<std::int64_t> extents(shape(ids[0]).begin(), shape(ids[0]).end());
  extents[static_cast<std::size_t>(along)] = 0;
  for (const auto id : ids) {
    if (value(id).dtype != value(ids[0]).dtype)
      fail(at, {"dtype", text(), "it takes tiles of one dtype; cast first"});
    if (shape(id).rank() != shape(ids[0]).rank() || shape(id).without(along) != shape(ids[0]).without(along))
      fail(at, {"shape", text(), fmt::format("all extents but those of axis {} must be equal", along)});
    extents[static_cast<std::size_t>(along)] += shape(id)[along];
  }
  const auto to = placed(at, "shape", text, [&] { return builder_.shape(extents); });
  const auto result = new_tile(value(ids[0]).dtype, to, at);
  append({.kind = isa::CommandKind::math,
          .op = MathOp::cat,
          .result = result,
          .detail = static_cast<std::uint32_t>(along)},
         ids, at);
  return handle(result);
}

// ── operators ──

Tile operator+(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::add, {a, b}); }
Tile operator-(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::sub, {a, b}); }
Tile operator*(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::mul, {a, b}); }
Tile operator/(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::div, {a, b}); }
Tile operator%(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::mod, {a, b}); }
Tile operator&(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::bit_and, {a, b}); }
Tile operator|(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::bit_or, {a, b}); }
Tile operator^(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::bit_xor, {a, b}); }
Tile operator<<(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::shl, {a, b}); }
Tile operator>>(const Operand& a, const Operand& b) { return Recorder::operation(MathOp::shr, {a, b}); }
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

Tile Context::math(MathOp op, std::span<const Operand> operands, const MathOptions& options, At at) {
  return recorder_->checked_math(op, operands, at, options);
}
Tile Context::add(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::add, {a, b}, at, options);
}
Tile Context::sub(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::sub, {a, b}, at, options);
}
Tile Context::mul(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::mul, {a, b}, at, options);
}
Tile Context::div(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::div, {a, b}, at, options);
}
Tile Context::floordiv(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::floordiv, {a, b}, at, options);
}
Tile Context::where(const Tile& mask, const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::where, {Operand(mask, at), a, b}, at, options);
}
Tile Context::maximum(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::maximum, {a, b}, at, options);
}
Tile Context::minimum(const Operand& a, const Operand& b, const MathOptions& options, At at) {
  return recorder_->math(MathOp::minimum, {a, b}, at, options);
}
Tile Context::fma(const Operand& a, const Operand& b, const Operand& c, const MathOptions& options, At at) {
  return recorder_->math(MathOp::fma, {a, b, c}, at, options);
}
Tile Context::clamp(const Operand& x, const Operand& least, const Operand& most, const MathOptions& options,
                    At at) {
  return recorder_->math(MathOp::clamp, {x, least, most}, at, options);
}
Tile Context::exp(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::exp, x, at, options);
}
Tile Context::exp2(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::exp2, x, at, options);
}
Tile Context::log(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::log, x, at, options);
}
Tile Context::sqrt(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::sqrt, x, at, options);
}
Tile Context::rsqrt(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::rsqrt, x, at, options);
}
Tile Context::abs(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::abs, x, at, options);
}
Tile Context::sigmoid(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::sigmoid, x, at, options);
}
Tile Context::tanh(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::tanh, x, at, options);
}
Tile Context::erf(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::erf, x, at, options);
}
Tile Context::sin(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::sin, x, at, options);
}
Tile Context::cos(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::cos, x, at, options);
}

Tile Context::log2(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::log2, x, at, options);
}
Tile Context::floor(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::floor, x, at, options);
}
Tile Context::ceil(const Tile& x, const MathOptions& options, At at) {
  return recorder_->unary(MathOp::ceil, x, at, options);
}
Tile Context::umulhi(const Operand& a, const Operand& b, At at) {
  return recorder_->math(MathOp::umulhi, {a, b}, at);
}

Tile Context::reduce(MathOp op, const Tile& x, std::optional<int> axis, bool keep_dims,
                     const MathOptions& options, At at) {
  if (info(op).kind != MathKind::reduction)
    recorder_->fail(at,
                    {"dtype", fmt::format("{} is no reduction", to_string(op)), "it has a call of its own"});
  return recorder_->reduce(op, x, axis, keep_dims, at, options);
}
Tile Context::argmin(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::argmin, x, axis, keep_dims, at);
}
Tile Context::prod(const Tile& x, std::optional<int> axis, bool keep_dims, const MathOptions& options,
                   At at) {
  return recorder_->reduce(MathOp::prod, x, axis, keep_dims, at, options);
}
Tile Context::xor_sum(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::xor_sum, x, axis, keep_dims, at);
}
Tile Context::sum(const Tile& x, std::optional<int> axis, bool keep_dims, const MathOptions& options, At at) {
  return recorder_->reduce(MathOp::sum, x, axis, keep_dims, at, options);
}
Tile Context::max(const Tile& x, std::optional<int> axis, bool keep_dims, const MathOptions& options, At at) {
  return recorder_->reduce(MathOp::max, x, axis, keep_dims, at, options);
}
Tile Context::min(const Tile& x, std::optional<int> axis, bool keep_dims, const MathOptions& options, At at) {
  return recorder_->reduce(MathOp::min, x, axis, keep_dims, at, options);
}
Tile Context::argmax(const Tile& x, std::optional<int> axis, bool keep_dims, At at) {
  return recorder_->reduce(MathOp::argmax, x, axis, keep_dims, at);
}

Tile Context::softmax(const Tile& x, int axis, At at) {
  const auto id = recorder_->tile(x, "softmax", at);
  if (is_integer(recorder_->value(id).dtype))
    recorder_->fail(
        at, {"dtype", "softmax of " + recorder_->describe(id), "it takes floats; cast the tile first"});
  const auto largest = max(x, axis, true, {}, at);
  const auto shifted = recorder_->math(MathOp::sub, {Operand(x, at), Operand(largest, at)}, at);
  const auto raised = exp(shifted, {}, at);
  const auto total = sum(raised, axis, true, {}, at);
  return recorder_->math(MathOp::div, {Operand(raised, at), Operand(total, at)}, at);
}

Tile Context::zeros(const Dims& shape, DType dtype, At at) {
  return recorder_->create(MathOp::fill, shape, 0, dtype, at);
}
Tile Context::full(const Dims& shape, double number, DType dtype, At at) {
  return recorder_->create(MathOp::fill, shape, number, dtype, at);
}
Tile Context::copy(const Tile& x, At at) { return recorder_->unary(MathOp::copy, x, at); }

Tile Context::cat(std::initializer_list<Tile> tiles, int axis, At at) {
  return recorder_->cat({tiles.begin(), tiles.size()}, axis, at);
}
Tile Context::cat(std::span<const Tile> tiles, int axis, At at) { return recorder_->cat(tiles, axis, at); }
Tile Context::join(const Tile& a, const Tile& b, At at) {
  const std::array both{expand_dims(a, -1, at), expand_dims(b, -1, at)};
  return recorder_->cat(both, -1, at);
}

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

Tile Context::bitcast(const Tile& x, DType dtype, At at) {
  auto& r = *recorder_;
  const auto id = r.tile(x, "bitcast", at);
  const auto from = r.value(id).dtype;
  if (from == dtype) return x;
  if (itemsize(from) != itemsize(dtype) || from == DType::i1 || dtype == DType::i1)
    r.fail(at, {"dtype", fmt::format("bitcast of {} to {}", r.describe(id), to_string(dtype)),
                "both take as many bits, and neither is i1; cast converts"});
  const auto result = r.new_tile(dtype, r.value(id).shape, at);
  r.append({.kind = isa::CommandKind::math, .op = MathOp::bitcast, .result = result}, {id}, at);
  return r.handle(result);
}

}  // namespace kernbench::tl
