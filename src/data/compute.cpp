#include "data/compute.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "data/numerics/arrange.hpp"
#include "data/numerics/elementwise.hpp"
#include "data/numerics/gemm.hpp"
#include "data/numerics/reduce.hpp"
#include "data/numerics/strided.hpp"
#include "kernbench/error.hpp"

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
  fill(out, out.dtype == DType::u64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(first))
                                    : static_cast<std::int64_t>(first));
}

void arrange(const LiveTiles& tiles, const isa::Program& program, const isa::Command& c, const Array& out) {
  std::vector<Dense> operands;
  std::vector<ConstArray> arrays;
  for (const auto id : program.reads(c)) arrays.push_back(operands.emplace_back(tiles.operand(id)).array);
  switch (c.op) {
    case MathOp::cat:
      return concatenate(arrays, program.axis(c), out);
    case MathOp::flip:
      return flip(arrays[0], program.axis(c), out);
    case MathOp::sort:
      return sort(arrays[0], program.axis(c), program.reversed(c), out);
    case MathOp::gather:
      return gather(arrays[0], arrays[1], program.axis(c), out);
    case MathOp::histogram:
      return histogram(arrays[0], out);
    default:
      KB_ASSERT(false, "{} is no arrangement", to_string(c.op));
  }
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
    case MathKind::scan:
      scan(c.op, tiles.operand(reads[0]).array, program.axis(c), program.reversed(c), out);
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

namespace {

/// Whether two lanes lie on one place.
bool overlap(Pieces pieces) {
  std::ranges::sort(pieces, {}, [](const Piece& p) { return p.at.raw(); });
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i - 1].at.raw() + static_cast<std::uint64_t>(pieces[i - 1].bytes) > pieces[i].at.raw())
      return true;
  return false;
}

/// Lanes that lie on one place are combined one after the other: each begins with what the one before it made.
void combine_in_turn(MathOp op, const Pieces& pieces, const ConstArray& tile, const std::byte* before,
                     std::byte* after) {
  const auto size = static_cast<std::int64_t>(itemsize(tile.dtype));
  std::unordered_map<std::uint64_t, std::int64_t> last;  // where the lane that changed a place last is
  for (const Piece& p : pieces)
    for (std::int64_t at = 0; at < p.bytes; at += size) {
      const std::int64_t lane = p.offset + at;
      const auto [found, is_first] = last.try_emplace(p.at.raw() + static_cast<std::uint64_t>(at), lane);
      const std::byte* const from = is_first ? before + lane : after + found->second;
      const std::array operands{ConstArray(tile.dtype, {}, from),
                                ConstArray(tile.dtype, {}, tile.data + lane)};
      elementwise(op, operands, Array(tile.dtype, {}, after + lane));
      found->second = lane;
    }
}

}  // namespace

Buffer combined(const MemoryStore& store, const LiveTiles& tiles, const isa::Program& program,
                const isa::Command& c, const Pieces& pieces) {
  const auto tile = tiles.operand(c.read[0]);
  const auto dtype = tile.array.dtype;
  const auto& shape = tile.array.shape;
  const auto size = program.bytes(c.read[0]);
  const auto before = new_buffer(size), after = new_buffer(size);
  std::memset(before.get(), 0, static_cast<std::size_t>(size.count()));
  copy_out(store, pieces, {before.get(), static_cast<std::size_t>(size.count())});
  if (overlap(pieces)) {
    combine_in_turn(c.op, pieces, tile.array, before.get(), after.get());
    return after;
  }
  const std::array operands{ConstArray(dtype, shape, before.get()), tile.array};
  elementwise(c.op, operands, Array(dtype, shape, after.get()));
  return after;
}

Buffer compute(const LiveTiles& tiles, const isa::Program& program, const isa::Command& c, int threads) {
  return c.kind == isa::CommandKind::gemm ? multiply(tiles, program, c, threads)
                                          : calculate(tiles, program, c);
}

}  // namespace kernbench::data
