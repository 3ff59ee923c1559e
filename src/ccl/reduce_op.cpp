#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/text.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr std::array kOps = {ReduceOp::SUM, ReduceOp::MAX, ReduceOp::MIN, ReduceOp::PROD, ReduceOp::AVG};

[[noreturn]] void refuse(const tl::Context& tl, ReduceOp op, DType dtype, std::string hint, At at) {
  fail_kernel(tl, "dtype", fmt::format("{} of {} tensors", to_string(op), to_string(dtype)), std::move(hint),
              at);
}

/// Whole numbers up to this one are exact in a float type.
int largest_exact(DType dtype) {
  switch (dtype) {
    case DType::f8e5m2:
      return 1 << 3;
    case DType::f8e4m3:
      return 1 << 4;
    case DType::bf16:
      return 1 << 8;
    case DType::f16:
      return 1 << 11;
    case DType::f32:
      return 1 << 24;
    case DType::i1:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      break;
  }
  KB_ASSERT(false, "{} is no float type", to_string(dtype));
}

}  // namespace

std::string_view to_string(ReduceOp op) {
  constexpr std::array kNames = {"SUM", "MAX", "MIN", "PROD", "AVG"};
  return kNames[static_cast<std::size_t>(op)];
}

ReduceOp parse_reduce_op(std::string_view name) {
  std::vector<std::string> known;
  for (const auto op : kOps) {
    if (to_string(op) == name) return op;
    known.emplace_back(to_string(op));
  }
  throw InputError({"ccl.unknown-op", "", fmt::format("no reduction is called {}", quote(name)),
                    suggest(name, known, "reductions")});
}

tl::Tile combine(tl::Context& tl, ReduceOp op, const tl::Tile& a, const tl::Tile& b, At at) {
  if (a.dtype() == DType::i1 && op != ReduceOp::MAX && op != ReduceOp::MIN)
    refuse(tl, op, a.dtype(), "MAX is `or`, MIN is `and`; to count, cast to i32 first", at);
  switch (op) {
    case ReduceOp::MAX:
      return tl.maximum(a, b, {}, at);
    case ReduceOp::MIN:
      return tl.minimum(a, b, {}, at);
    case ReduceOp::PROD:
      return tl::Operand(a, at) * tl::Operand(b, at);
    case ReduceOp::SUM:
    case ReduceOp::AVG:  // divided when all are added
      return tl::Operand(a, at) + tl::Operand(b, at);
  }
  KB_ASSERT(false, "an unknown reduction");
}

tl::Tile finished(tl::Context& tl, ReduceOp op, const tl::Tile& tile, int members, At at) {
  if (op != ReduceOp::AVG) return tile;
  const auto dtype = tile.dtype();
  if (is_integer(dtype)) refuse(tl, op, dtype, "averages of integers are no integers; cast to f32 first", at);
  if (members == 1) return tile;
  const tl::Operand count(members, at);
  if (members <= largest_exact(dtype)) return tl::Operand(tile, at) / count;
  return tl.cast(tl::Operand(tl.cast(tile, DType::f32, at), at) / count, dtype, at);
}

}  // namespace kernbench::ccl
