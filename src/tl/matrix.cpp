#include <fmt/format.h>

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
  return join(names);
}

struct Product {
  isa::ValueId a, b;
  Shape shape;  // of the result
  DType accumulator;
};

Shape leading(const Shape& shape) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.resize(extents.size() - 2);
  return Shape(extents);
}

/// Batches broadcast, then M and N.
template <class Text>
Shape product_shape(Recorder& r, const Text& text, const Shape& left, const Shape& right, At at) {
  if (left.rank() == 2 && right.rank() == 2) return {left[0], right[1]};
  const auto batches = r.placed(at, "shape", text, [&] { return broadcast(leading(left), leading(right)); });
  std::vector<std::int64_t> extents(batches.begin(), batches.end());
  extents.push_back(left[left.rank() - 2]);
  extents.push_back(right[right.rank() - 1]);
  return Shape(extents);
}

Product checked_product(Recorder& r, std::string_view op, isa::ValueId a, isa::ValueId b, bool batches,
                        At at) {
  const auto text = [&] { return fmt::format("{} of {} and {}", op, r.describe(a), r.describe(b)); };
  const Shape left = r.shape(a), right = r.shape(b);
  const bool ranks = batches ? left.rank() >= 2 && right.rank() >= 2 : left.rank() == 2 && right.rank() == 2;
  if (!ranks || left[left.rank() - 1] != right[right.rank() - 2])
    r.fail(at,
           {"shape", text(), batches ? "it takes […, M, K] and […, K, N]" : "it takes [M, K] and [K, N]"});
  const auto accumulator = accumulated(r.value(a).dtype, r.value(b).dtype);
  if (!accumulator) r.fail(at, {"dtype", text(), "it takes two floats or two i8"});
  return {a, b, product_shape(r, text, left, right, at), *accumulator};
}

void check_out_dtype(Recorder& r, const Product& p, DType out, std::string_view op, At at) {
  if (p.accumulator == DType::i32 ? out == DType::i32 : is_float(out)) return;
  r.fail(at,
         {"dtype", fmt::format("{} of {} and {} to {}", op, r.describe(p.a), r.describe(p.b), to_string(out)),
          p.accumulator == DType::i32 ? "a product of i8 is i32" : "a product of floats is a float"});
}

void check_acc(Recorder& r, const Product& p, isa::ValueId acc, DType out, At at) {
  const auto dtype = r.value(acc).dtype;
  if (!broadcasts_to(r.shape(acc), p.shape))
    r.fail(at, {"shape", fmt::format("dot with acc {}", r.describe(acc)),
                fmt::format("it must broadcast to the product, {}", to_string(p.shape))});
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
  if (!broadcasts_to(r.shape(id), p.shape))
    r.fail(at, {"shape", fmt::format("epilogue {} with {}", step.op, r.describe(id)),
                fmt::format("it must broadcast to {}", to_string(p.shape))});
  return {found->op, step.point, id};
}

isa::ValueId new_product(Recorder& r, const Product& p, DType out, At at) {
  return r.new_tile(out, r.builder().shape({p.shape.begin(), p.shape.end()}), at);
}

struct Steps {
  std::vector<isa::EpilogueStep> list;
  std::vector<isa::ValueId> reads;
};

Steps checked_steps(Recorder& r, const Product& p, const CompositeOptions& options, At at) {
  Steps steps{.list = {}, .reads = {p.a, p.b}};
  for (const auto& step : options.epilogue) {
    steps.list.push_back(checked_step(r, p, step, at));
    if (steps.list.back().operand != isa::kNone) steps.reads.push_back(steps.list.back().operand);
  }
  return steps;
}

Product checked_composite(Recorder& r, std::string_view op, const Tile& a, const Tile& b, At at) {
  if (op != "gemm")
    r.fail(at, {"composite", fmt::format("unknown composite operation {}", quote(op)), "known: gemm"});
  const auto left = r.tile_or_reference(a, "composite", at), right = r.tile_or_reference(b, "composite", at);
  return checked_product(r, "composite gemm", left, right, false, at);
}

void check_out(Recorder& r, const Product& p, isa::ValueId to, const CompositeOptions& options, At at) {
  const auto fail = [&](const char* id, std::string hint) {
    r.fail(at, {id, fmt::format("composite gemm into {}", r.describe(to)), std::move(hint)});
  };
  if (r.value(to).kind != isa::ValueKind::reference)
    fail("composite", "give a tl.ref, or no output at all: then the result is a new tile");
  if (r.shape(to) != p.shape) fail("shape", fmt::format("the product is {}", to_string(p.shape)));
  if (options.out_dtype && *options.out_dtype != r.value(to).dtype)
    fail("dtype", fmt::format("out_dtype is {}; leave it out, a reference has its own",
                              to_string(*options.out_dtype)));
  check_out_dtype(r, p, r.value(to).dtype, "composite gemm", at);
  check_out_strides(r, to, at);
}

}  // namespace

Tile Context::dot(const Tile& a, const Tile& b, const DotOptions& options, At at) {
  auto& r = *recorder_;
  const auto left = r.tile(a, "dot", at), right = r.tile(b, "dot", at);
  const auto product = checked_product(r, "dot", left, right, true, at);
  const auto out = options.out_dtype.value_or(product.accumulator);
  check_out_dtype(r, product, out, "dot", at);
  std::array<isa::ValueId, 3> reads{left, right, isa::kNone};
  if (options.acc) {
    reads[2] = r.tile(options.acc, "dot", at);
    check_acc(r, product, reads[2], out, at);
  }
  const auto result = new_product(r, product, out, at);
  r.append({.kind = isa::CommandKind::gemm, .result = result}, std::span(reads).first(options.acc ? 3 : 2),
           at);
  return r.handle(result);
}

Op Context::composite(std::string_view op, const Tile& a, const Tile& b, const Tile& out,
                      const CompositeOptions& options, At at) {
  auto& r = *recorder_;
  const auto product = checked_composite(r, op, a, b, at);
  const auto to = r.tile_or_reference(out, "composite", at);
  check_out(r, product, to, options, at);
  const auto steps = checked_steps(r, product, options, at);
  const auto spec =
      r.builder().composite({isa::CompositeOp::gemm, product.a, product.b, to, 0, 0}, steps.list);
  return r.op(r.append({.kind = isa::CommandKind::composite, .detail = spec}, steps.reads, at));
}

Tile Context::composite(std::string_view op, const Tile& a, const Tile& b, const CompositeOptions& options,
                        At at) {
  auto& r = *recorder_;
  const auto product = checked_composite(r, op, a, b, at);
  const auto dtype = options.out_dtype.value_or(product.accumulator);
  check_out_dtype(r, product, dtype, "composite gemm", at);
  const auto steps = checked_steps(r, product, options, at);
  const auto to = new_product(r, product, dtype, at);
  const auto spec =
      r.builder().composite({isa::CompositeOp::gemm, product.a, product.b, to, 0, 0}, steps.list);
  r.append({.kind = isa::CommandKind::composite, .result = to, .detail = spec}, steps.reads, at);
  return r.handle(to);
}

}  // namespace kernbench::tl
