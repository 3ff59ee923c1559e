#include "data/compute.hpp"

#include <array>
#include <optional>
#include <vector>

#include "data/numerics/arrange.hpp"
#include "data/numerics/elementwise.hpp"
#include "data/numerics/gemm.hpp"
#include "data/numerics/reduce.hpp"
#include "data/numerics/strided.hpp"

namespace kernbench::data {
namespace {

Dense broadcast_to(const Dense& array, const Shape& shape) {
  if (array.array.shape == shape) return array;
  const auto content = new_buffer(Bytes(shape.elements() * itemsize(array.array.dtype)));
  StridedReader::broadcast_to(array.array, shape)
      .read(static_cast<std::size_t>(shape.elements()), content.get());
  return {content, ConstArray(array.array.dtype, shape, content.get())};
}

Buffer multiply(const LiveTiles& tiles, const isa::Program& program, const isa::Command& c, int threads) {
  const auto reads = program.reads(c);
  const auto a = tiles.operand(reads[0]), b = tiles.operand(reads[1]);
  const auto dtype = dot_dtype(a.array.dtype, b.array.dtype);
  const auto& shape = program.shape(c.result);
  std::optional<Dense> acc;
  std::optional<ConstArray> addend;
  if (reads.size() == 3)
    addend = acc.emplace(broadcast_to(as_dtype(tiles.operand(reads[2]), dtype), shape)).array;
  const auto sums = new_buffer(Bytes(shape.elements() * itemsize(dtype)));
  batched_gemm(a.array, b.array, addend, Array(dtype, shape, sums.get()), threads);
  return as_dtype({sums, ConstArray(dtype, shape, sums.get())}, program.value(c.result).dtype).keep;
}

void create(MathOp op, double first, const Array& out) {
  if (op == MathOp::arange) return arange(out, static_cast<std::int32_t>(first));
  if (is_float(out.dtype)) return fill(out, static_cast<float>(first));
  fill(out, static_cast<std::int32_t>(first));
}

void arrange(const LiveTiles& tiles, const isa::Program& program, const isa::Command& c, const Array& out) {
  std::vector<Dense> operands;
  std::vector<ConstArray> arrays;
  for (const auto id : program.reads(c)) arrays.push_back(operands.emplace_back(tiles.operand(id)).array);
  concatenate(arrays, program.axis(c), out);
}

Buffer calculate(const LiveTiles& tiles, const isa::Program& program, const isa::Command& c) {
  const auto reads = program.reads(c);
  auto content = new_buffer(program.bytes(c.result));
  const Array out(program.value(c.result).dtype, program.shape(c.result), content.get());
  switch (info(c.op).kind) {
    case MathKind::create:
      create(c.op, program.scalar(reads[0]), out);
      break;
    case MathKind::reduction:
      reduce(c.op, tiles.operand(reads[0]).array, program.axis(c), out);
      break;
    case MathKind::arrangement:
      arrange(tiles, program, c, out);
      break;
    case MathKind::elementwise: {
      const auto operand = [&](std::size_t i) {
        return i < reads.size() ? tiles.operand(reads[i]) : Dense();
      };
      const std::array<Dense, 3> operands = {operand(0), operand(1), operand(2)};
      const std::array arrays = {operands[0].array, operands[1].array, operands[2].array};
      elementwise(c.op, std::span(arrays).first(reads.size()), out);
      break;
    }
  }
  return content;
}

}  // namespace

Dense as_dtype(const Dense& array, DType dtype) {
  if (array.array.dtype == dtype) return array;
  const auto content = new_buffer(Bytes(array.array.shape.elements() * itemsize(dtype)));
  elementwise(MathOp::cast, {&array.array, 1}, Array(dtype, array.array.shape, content.get()));
  return {content, ConstArray(dtype, array.array.shape, content.get())};
}

Buffer loaded(const MemoryStore& store, const isa::Program& program, const isa::Command& c,
              const Pieces& pieces) {
  const auto size = program.bytes(c.result);
  auto content = new_buffer(size);
  if (program.masked(c)) {
    const auto dtype = program.value(c.result).dtype;
    const auto other = scalar_content(dtype, program.other(c));
    for (std::int64_t i = 0; i < size.count(); ++i) content[i] = other[i % itemsize(dtype)];
  }
  copy_out(store, pieces, {content.get(), static_cast<std::size_t>(size.count())});
  return content;
}

Buffer compute(const LiveTiles& tiles, const isa::Program& program, const isa::Command& c, int threads) {
  return c.kind == isa::CommandKind::gemm ? multiply(tiles, program, c, threads)
                                          : calculate(tiles, program, c);
}

}  // namespace kernbench::data
