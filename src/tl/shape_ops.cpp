// Views: other shapes over the same elements. They cost nothing and record no command.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "tl/recorder.hpp"

namespace kernbench::tl {
namespace {

using isa::Strides;

// Whether the elements follow each other in memory in row-major order. Axes of one element do not matter.
bool in_row_major_order(const Shape& shape, const Strides& strides) {
  const auto wanted = isa::row_major(shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] > 1 && strides[at_axis(axis)] != wanted[at_axis(axis)]) return false;
  return true;
}

// A shape with at most one −1, which becomes what is left of `elements`.
std::vector<std::int64_t> inferred(const Dims& dims, std::int64_t elements) {
  std::vector<std::int64_t> extents(dims.values().begin(), dims.values().end());
  const auto open = std::ranges::find(extents, -1);
  if (open == extents.end()) return extents;
  std::int64_t known = 1;
  for (const auto e : extents)
    if (__builtin_mul_overflow(known, e == -1 ? 1 : e, &known)) return extents;
  if (known > 0 && elements % known == 0) *open = elements / known;
  return extents;
}

// A bound of a slice, negative ones counted from the back.
std::int64_t bound(std::int64_t b, std::int64_t extent) {
  return b == Slice::kEnd ? extent : b < 0 ? b + extent : b;
}

}  // namespace

std::string text_of(const Dims& dims) { return fmt::format("[{}]", join(dims.values())); }

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int back = 1; back <= from.rank(); ++back) {
    const auto extent = from[from.rank() - back];
    if (extent != 1 && extent != to[to.rank() - back]) return false;
  }
  return true;
}

Tile Recorder::view(isa::ValueId of, std::uint32_t shape, const Strides& strides, std::int64_t offset) {
  const auto& v = value(of);
  if (v.kind == isa::ValueKind::reference) {
    const auto moved = builder_.tables().address(of) + static_cast<std::uint64_t>(offset * itemsize(v.dtype));
    return handle(builder_.reference(v.dtype, shape, moved, strides));
  }
  return handle(builder_.view(builder_.tables().base(of), shape, strides, offset));
}

Tile Recorder::reshape(isa::ValueId id, std::uint32_t shape, At at) {
  auto from = layout(id);
  if (!in_row_major_order(this->shape(id), from.strides)) {
    if (value(id).kind == isa::ValueKind::reference)
      fail(at,
           {"shape", fmt::format("reshape of {}, whose elements are not in row-major order", describe(id)),
            "load it first, or make the reference with the strides you mean"});
    id = unary(MathOp::copy, handle(id), at).id();
    from.offset = 0;
  }
  return view(id, shape, isa::row_major(builder_.tables().shape_of(shape)), from.offset);
}

Tile Recorder::expand_dims(isa::ValueId id, int axis) {
  const auto& from = shape(id);
  const auto old = layout(id);
  std::vector<std::int64_t> extents(from.begin(), from.end());
  extents.insert(extents.begin() + axis, 1);
  Strides strides{};
  for (int i = 0; i < from.rank(); ++i) strides[at_axis(i < axis ? i : i + 1)] = old.strides[at_axis(i)];
  return view(id, builder_.shape(extents), strides, old.offset);
}

Tile Recorder::slice(const Tile& x, std::span<const Slice> slices, At at) {
  const auto id = tile_or_reference(x, "slice", at);
  const auto from = shape(id);
  auto now = layout(id);
  if (slices.size() > static_cast<std::size_t>(from.rank()))
    fail(at, {"slice", fmt::format("{} slices of {}", slices.size(), describe(id)),
              fmt::format("it has {} axes", from.rank())});
  std::vector<std::int64_t> extents;
  Strides strides{};
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto s = at_axis(axis) < slices.size() ? slices[at_axis(axis)] : all;
    const auto begin = bound(s.begin, from[axis]);
    const auto end = bound(s.end, from[axis]);
    if (begin < 0 || end > from[axis] || begin > end || s.step <= 0 || (s.drops_axis && begin == end))
      fail(at,
           {"slice", fmt::format("slice {}:{}:{} of axis {} of {}", s.begin, end, s.step, axis, describe(id)),
            fmt::format("0 ≤ begin ≤ end ≤ {}, step ≥ 1", from[axis])});
    now.offset += begin * now.strides[at_axis(axis)];
    if (s.drops_axis) continue;
    const auto left = begin == end ? 0 : (end - begin - 1) / s.step + 1;
    strides[extents.size()] = left > 1 ? s.step * now.strides[at_axis(axis)] : now.strides[at_axis(axis)];
    extents.push_back(left);
  }
  return view(id, builder_.shape(extents), strides, now.offset);
}

Tile Context::reshape(const Tile& x, const Dims& shape, At at) {
  const auto id = recorder_->tile_or_reference(x, "reshape", at);
  const auto elements = recorder_->shape(id).elements();
  const auto to = recorder_->shape_id(Dims(inferred(shape, elements)), "reshape", at);
  if (recorder_->tables().shape_of(to).elements() != elements)
    recorder_->fail(at, {"shape", fmt::format("reshape of {} to {}", recorder_->describe(id), text_of(shape)),
                         fmt::format("the number of elements must stay {}", elements)});
  return recorder_->reshape(id, to, at);
}

Tile Context::trans(const Tile& x, const Dims& axes, At at) {
  const auto id = recorder_->tile_or_reference(x, "trans", at);
  const auto from = recorder_->shape(id);
  const auto old = recorder_->layout(id);
  std::vector<std::int64_t> order(axes.values().begin(), axes.values().end());
  if (!axes.given()) {
    for (int i = 0; i < from.rank(); ++i) order.push_back(i);
    if (from.rank() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  auto sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int64_t>(i)) sorted.clear();
  if (from.rank() < 2 || sorted.size() != static_cast<std::size_t>(from.rank()))
    recorder_->fail(at,
                    {"axis", fmt::format("trans of {} by {}", recorder_->describe(id), text_of(Dims(order))),
                     "it takes a tile of at least two axes and names each axis once"});
  std::vector<std::int64_t> extents;
  Strides strides{};
  for (const auto axis : order) {
    strides[extents.size()] = old.strides[static_cast<std::size_t>(axis)];
    extents.push_back(from[static_cast<int>(axis)]);
  }
  return recorder_->view(id, recorder_->builder().shape(extents), strides, old.offset);
}

Tile Context::expand_dims(const Tile& x, int axis, At at) {
  const auto id = recorder_->tile_or_reference(x, "expand_dims", at);
  const int rank = recorder_->shape(id).rank();
  const int to = axis < 0 ? axis + rank + 1 : axis;
  if (to < 0 || to > rank || rank == Shape::kMaxRank)
    recorder_->fail(at, {"axis", fmt::format("expand_dims of {} at axis {}", recorder_->describe(id), axis),
                         fmt::format("axes are 0 … {}, or −1 … {} from the back; at most {} in all", rank,
                                     -rank - 1, Shape::kMaxRank)});
  return recorder_->expand_dims(id, to);
}

Tile Context::broadcast_to(const Tile& x, const Dims& shape, At at) {
  const auto id = recorder_->tile_or_reference(x, "broadcast_to", at);
  const auto to = recorder_->shape_id(shape, "broadcast_to", at);
  const auto& wanted = recorder_->tables().shape_of(to);
  const auto from = recorder_->shape(id);
  const auto old = recorder_->layout(id);
  if (!broadcasts_to(from, wanted))
    recorder_->fail(
        at, {"shape", fmt::format("broadcast_to of {} to {}", recorder_->describe(id), text_of(shape)),
             "aligned at the last axis, extents must be equal or the tile's 1"});
  const int more = wanted.rank() - from.rank();
  Strides strides{};
  for (int i = 0; i < from.rank(); ++i)
    strides[at_axis(i + more)] = from[i] == wanted[i + more] ? old.strides[at_axis(i)] : 0;
  return recorder_->view(id, to, strides, old.offset);
}

Tile Context::slice(const Tile& x, std::initializer_list<Slice> slices, At at) {
  return recorder_->slice(x, {slices.begin(), slices.size()}, at);
}
Tile Context::slice(const Tile& x, std::span<const Slice> slices, At at) {
  return recorder_->slice(x, slices, at);
}

Tile Tile::slice(std::initializer_list<Slice> slices, At at) const {
  if (recorder_ == nullptr)
    throw KernelError({.id = "tl.tile",
                       .where = isa::to_string({at.file_name(), at.line()}),
                       .what = "slice of an empty tile",
                       .hint = "assign the handle the result of a tl call first"});
  return recorder_->slice(*this, {slices.begin(), slices.size()}, at);
}

DType Tile::dtype() const { return Recorder::tables_of(*this).value(id_).dtype; }
Shape Tile::shape() const { return Recorder::tables_of(*this).shape(id_); }

}  // namespace kernbench::tl
