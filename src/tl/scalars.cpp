// Numbers beside tiles.
#include <fmt/format.h>

#include "base/number.hpp"
#include "tl/recorder.hpp"

namespace kernbench::tl {
namespace {

DType own_dtype(Operand::Kind kind) {
  return kind == Operand::Kind::real ? DType::f32 : kind == Operand::Kind::integer ? DType::i32 : DType::i1;
}

// Truth values count as i32 0 and 1 where they are computed with, and so must the number beside them.
bool counts(MathOp op) {
  const auto rule = info(op).result;
  return rule == ResultRule::arithmetic || rule == ResultRule::division || rule == ResultRule::integer ||
         rule == ResultRule::real;
}

}  // namespace

void Recorder::check_number(double number, DType dtype, std::string_view op, At at) const {
  if (fits(dtype, number)) [[likely]]
    return;
  fail(at, {"scalar", fmt::format("{}: the number {} is no {}", op, number, to_string(dtype)),
            "a number takes the dtype of the tile beside it; cast the tile first"});
}

void Recorder::check_exact(const Operand& number, DType dtype, std::string_view op, At at) const {
  if (number.is_exact() || is_float(dtype)) return;
  fail(at, {"scalar",
            fmt::format("{}: a number beside {} has 53 bits, and a whole number near {:.0f} needs more", op,
                        to_string(dtype), number.number()),
            "put it together of two halves: tl.full(shape, n >> 32, dtype) << 32 | (n & 0xffffffff)"});
}

isa::ValueId Recorder::scalar(double number, DType dtype, std::string_view op, At at) {
  check_number(number, dtype, op, at);
  return builder_.scalar(dtype, round_to(dtype, number));
}

DType Recorder::scalar_dtype(MathOp op, std::span<const Operand> operands) const {
  std::optional<DType> dtype;
  for (const auto& o : operands.subspan(op == MathOp::where ? 1 : 0)) {
    if (o.kind() != Operand::Kind::tile) continue;
    const auto other = value(o.tile().id()).dtype;
    dtype = dtype ? promote(*dtype, other) : other;
  }
  if (!dtype)
    for (const auto& o : operands.subspan(op == MathOp::where ? 1 : 0))
      dtype = dtype ? promote(*dtype, own_dtype(o.kind())) : own_dtype(o.kind());
  return *dtype == DType::i1 && counts(op) ? DType::i32 : *dtype;
}

}  // namespace kernbench::tl
