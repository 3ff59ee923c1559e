#include "data/tiles.hpp"

#include <algorithm>
#include <utility>

#include "data/numerics/blocks.hpp"
#include "data/numerics/strided.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

// Whether elements that are `strides` apart follow each other in row-major order.
bool is_dense(const Shape& shape, const isa::Strides& strides) {
  const auto wanted = isa::row_major(shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (shape[axis] > 1 && strides[i] != wanted[i]) return false;
  }
  return true;
}

Dense gathered(DType dtype, const std::byte* from, const Shape& shape,
               std::span<const std::int64_t> strides) {
  const auto content = new_buffer(Bytes(shape.elements() * itemsize(dtype)));
  gather(dtype, from, shape, strides, content.get());
  return {content, ConstArray(dtype, shape, content.get())};
}

}  // namespace

// Units that are aligned for every dtype, in one allocation with their count of owners.
Buffer new_buffer(Bytes size) {
  const auto units =
      (static_cast<std::size_t>(size.count()) + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  auto whole = std::make_shared_for_overwrite<std::max_align_t[]>(units);
  return Buffer(whole, reinterpret_cast<std::byte*>(whole.get()));
}

Buffer scalar_content(DType dtype, double number) {
  auto content = new_buffer(Bytes(itemsize(dtype)));
  if (is_float(dtype)) {
    const auto value = static_cast<float>(number);
    store(dtype, &value, 1, content.get());
  } else if (dtype == DType::u64) {
    const auto value = static_cast<std::uint64_t>(number);
    store(dtype, &value, 1, content.get());
  } else {
    const auto value = static_cast<std::int64_t>(number);
    store(dtype, &value, 1, content.get());
  }
  return content;
}

Dense part_of(const Dense& matrix, const Region& region) {
  const auto& a = matrix.array;
  if (region.rows() == a.shape[0] && region.columns() == a.shape[1]) return matrix;
  const auto* first = a.data + (region.row_begin * a.shape[1] + region.column_begin) * itemsize(a.dtype);
  return gathered(a.dtype, first, {region.rows(), region.columns()}, std::array{a.shape[1], std::int64_t{1}});
}

Dense part_of_broadcast(const Dense& array, const Shape& matrix, const Region& region) {
  const auto& a = array.array;
  if (region.rows() == matrix[0] && region.columns() == matrix[1]) return array;
  const int rank = a.shape.rank();
  const bool has_rows = rank == 2 && a.shape[0] > 1, has_columns = rank >= 1 && a.shape[rank - 1] > 1;
  const std::array<std::int64_t, 2> strides{has_rows ? a.shape[1] : 0, has_columns ? 1 : 0};
  const auto first = region.row_begin * strides[0] + region.column_begin * strides[1];
  return gathered(a.dtype, a.data + first * itemsize(a.dtype), {region.rows(), region.columns()}, strides);
}

void LiveTiles::put(isa::ValueId tile, Buffer content) {
  const auto readers = program_->value(tile).readers;
  if (readers == 0) return;
  if (tiles_[tile].readers_left == 0) ++count_;
  tiles_[tile] = {std::move(content), readers};
}

const Buffer& LiveTiles::content_of(isa::ValueId tile) const {
  KB_ASSERT(tiles_[tile].readers_left > 0,
            "value %{} of kernel '{}' on {} is read before the record of its producer", tile,
            program_->kernel(), to_string(program_->pe()));
  return tiles_[tile].content;
}

Dense LiveTiles::operand(isa::ValueId id) const {
  const auto& value = program_->value(id);
  const auto& shape = program_->shape(id);
  if (value.kind == isa::ValueKind::scalar) {
    const auto content = scalar_content(value.dtype, program_->scalar(id));
    return {content, ConstArray(value.dtype, shape, content.get())};
  }
  if (value.kind != isa::ValueKind::view) {
    const auto& content = content_of(id);
    return {content, ConstArray(value.dtype, shape, content.get())};
  }
  const auto layout = program_->layout(id);
  const auto& content = content_of(layout.base);
  const auto* first = content.get() + layout.offset * itemsize(value.dtype);
  if (is_dense(shape, layout.strides)) return {content, ConstArray(value.dtype, shape, first)};
  return gathered(value.dtype, first, shape,
                  std::span(layout.strides).first(static_cast<std::size_t>(shape.rank())));
}

Bytes LiveTiles::touched(const isa::Command& command) const {
  Bytes most = program_->bytes(command.result);
  for (const auto id : program_->reads(command)) most = std::max(most, program_->bytes(id));
  return most;
}

void LiveTiles::retire(const isa::Command& command) {
  const auto reads = program_->reads(command);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto base = program_->base(reads[i]);
    const auto same = [&](isa::ValueId other) { return program_->base(other) == base; };
    if (std::ranges::any_of(reads.first(i), same)) continue;  // a command counts as one reader
    auto& tile = tiles_[base];
    if (tile.readers_left == 0 || --tile.readers_left > 0) continue;
    tile.content.reset();
    --count_;
  }
}

}  // namespace kernbench::data
