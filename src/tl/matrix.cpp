#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "tl/recorder.hpp"

namespace kernbench::tl {
namespace {

// The dtype a product is accumulated in; nothing for pairs that have no product.
std::optional<DType> accumulated(DType a, DType b) {
  if (is_float(a) && is_float(b)) return DType::f32;
  if (a == DType::i8 && b == DType::i8) return DType::i32;
  return std::nullopt;
}

// Operations that make sense on an accumulator: elementwise, of one or two operands, and not a comparison,
// logic or integer division.
bool is_epilogue(const MathOpInfo& op) {
  return op.kind == MathKind::elementwise && op.operands <= 2 && op.op != MathOp::copy &&
         (op.result == ResultRule::arithmetic || op.result == ResultRule::division ||
          op.result == ResultRule::ordering || op.result == ResultRule::real);
}

std::string epilogue_names() {
  std::vector<std::string_view> names{"relu"};
  for (const auto& op : math_ops())
    if (is_epilogue(op)) names.push_back(op.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Product {
  isa::ValueId a, b;
  std::int64_t m, n;
  DType accumulator;
};

Product checked_product(Recorder& r, std::string_view op, isa::ValueId a, isa::ValueId b, At at) {
  const auto text = [&] { return fmt::format("{} of {} and {}", op, r.describe(a), r.describe(b)); };
  const auto &left = r.shape(a), &right = r.shape(b);
  if (left.rank() != 2 || right.rank() != 2 || left[1] != right[0])
    r.fail(at, {"shape", text(), "it takes [M, K] and [K, N]"});
  const auto accumulator = accumulated(r.value(a).dtype, r.value(b).dtype);
  if (!accumulator) r.fail(at, {"dtype", text(), "it takes two floats or two i8"});
  return {a, b, left[0], right[1], *accumulator};
}

void check_out_dtype(Recorder& r, const Product& p, DType out, std::string_view op, At at) {
  if (p.accumulator == DType::i32 ? out == DType::i32 : is_float(out)) return;
  r.fail(at,
         {"dtype", fmt::format("{} of {} and {} to {}", op, r.describe(p.a), r.describe(p.b), to_string(out)),
          p.accumulator == DType::i32 ? "a product of i8 is i32" : "a product of floats is a float"});
}

void check_acc(Recorder& r, const Product& p, isa::ValueId acc, DType out, At at) {
  const auto dtype = r.value(acc).dtype;
  const auto& shape = r.shape(acc);
  if (shape.rank() != 2 || shape[0] != p.m || shape[1] != p.n)
    r.fail(at, {"shape", fmt::format("dot with acc {}", r.describe(acc)),
                fmt::format("the product is {}", to_string(Shape{p.m, p.n}))});
  if (dtype != out && dtype != p.accumulator)
    r.fail(at, {"dtype", fmt::format("dot to {} with acc {}", to_string(out), r.describe(acc)),
                fmt::format("acc is {} or the result's dtype", to_string(p.accumulator))});
}

// As a store's: strides are above 0 where there is more than one element.
void check_out_strides(Recorder& r, isa::ValueId out, At at) {
  const auto& shape = r.shape(out);
  for (int axis = 0; axis < 2; ++axis)
    if (shape.elements() > 0 && shape[axis] > 1 && r.layout(out).strides[static_cast<std::size_t>(axis)] == 0)
      r.fail(at, {"strides",
                  fmt::format("composite gemm into {} with stride 0 in axis {}", r.describe(out), axis),
                  "each element of the result has a place of its own"});
}

isa::EpilogueStep checked_step(Recorder& r, const Product& p, const EpilogueOp& step, At at) {
  const bool relu = step.op == "relu";
  const auto* found = std::ranges::find(math_ops(), relu ? "maximum" : step.op, &MathOpInfo::name).base();
  if (found == math_ops().data() + math_ops().size() || !is_epilogue(*found))
    r.fail(at, {"composite", fmt::format("unknown epilogue operation {}", quote(step.op)),
                "known: " + epilogue_names()});
  const auto operand = relu ? Operand(0, at) : step.operand;
  const bool has_operand = operand.kind() != Operand::Kind::none;
  if (has_operand != (found->operands == 2))
    r.fail(at, {"composite", fmt::format("epilogue {} with {} operand", step.op, has_operand ? "an" : "no"),
                fmt::format("it takes {} beside the accumulator", found->operands - 1)});
  if (!has_operand) return {found->op, step.point, isa::kNone};
  if (operand.kind() != Operand::Kind::tile)
    return {found->op, step.point, r.scalar(operand.number(), p.accumulator, "epilogue", at)};
  const auto id = r.tile(operand.tile(), "epilogue", at);
  if (!broadcasts_to(r.shape(id), Shape{p.m, p.n}))
    r.fail(at, {"shape", fmt::format("epilogue {} with {}", step.op, r.describe(id)),
                fmt::format("it must broadcast to {}", to_string(Shape{p.m, p.n}))});
  return {found->op, step.point, id};
}

}  // namespace

Tile Context::dot(const Tile& a, const Tile& b, const DotOptions& options, At at) {
  auto& r = *recorder_;
  const auto left = r.tile(a, "dot", at), right = r.tile(b, "dot", at);
  const auto product = checked_product(r, "dot", left, right, at);
  const auto out = options.out_dtype.value_or(product.accumulator);
  check_out_dtype(r, product, out, "dot", at);
  std::array<isa::ValueId, 3> reads{left, right, isa::kNone};
  if (options.acc) {
    reads[2] = r.tile(options.acc, "dot", at);
    check_acc(r, product, reads[2], out, at);
  }
  const std::array extents{product.m, product.n};
  const auto result = r.new_tile(out, r.builder().shape(extents), at);
  r.append({.kind = isa::CommandKind::gemm, .result = result}, std::span(reads).first(options.acc ? 3 : 2),
           at);
  return r.handle(result);
}

Op Context::composite(std::string_view op, const Tile& a, const Tile& b, const Tile& out,
                      const CompositeOptions& options, At at) {
  auto& r = *recorder_;
  if (op != "gemm")
    r.fail(at, {"composite", fmt::format("unknown composite operation {}", quote(op)), "known: gemm"});
  const auto left = r.tile_or_reference(a, "composite", at), right = r.tile_or_reference(b, "composite", at);
  const auto product = checked_product(r, "composite gemm", left, right, at);
  const auto to = r.tile_or_reference(out, "composite", at);
  if (r.value(to).kind != isa::ValueKind::reference)
    r.fail(at, {"composite", fmt::format("composite gemm into {}", r.describe(to)),
                "its result goes to memory: give it a tl.ref"});
  if (r.shape(to) != Shape{product.m, product.n})
    r.fail(at, {"shape", fmt::format("composite gemm into {}", r.describe(to)),
                fmt::format("the product is {}", to_string(Shape{product.m, product.n}))});
  check_out_dtype(r, product, r.value(to).dtype, "composite gemm", at);
  check_out_strides(r, to, at);

  std::vector<isa::ValueId> reads{left, right};
  std::vector<isa::EpilogueStep> steps;
  for (const auto& step : options.epilogue) {
    steps.push_back(checked_step(r, product, step, at));
    if (steps.back().operand != isa::kNone) reads.push_back(steps.back().operand);
  }
  const auto spec = r.builder().composite({isa::CompositeOp::gemm, left, right, to, 0, 0}, steps);
  return r.op(r.append({.kind = isa::CommandKind::composite, .detail = spec}, reads, at));
}

}  // namespace kernbench::tl
