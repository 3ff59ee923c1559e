// Scans, and operations that put elements in other places.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "tl/recorder.hpp"

namespace kernbench::tl {

Tile Recorder::arrangement(MathOp op, std::span<const isa::ValueId> reads, int axis, DType dtype,
                           const Shape& shape, bool reversed, At at) {
  const auto result = new_tile(dtype, builder_.shape({shape.begin(), shape.end()}), at);
  append({.kind = isa::CommandKind::math,
          .op = op,
          .detail8 = static_cast<std::uint8_t>(reversed ? 1 : 0),
          .result = result,
          .detail = static_cast<std::uint32_t>(axis)},
         reads, at);
  return handle(result);
}

Tile Recorder::along(MathOp op, const Tile& x, int axis, bool reversed, const MathOptions& options, At at) {
  const auto id = tile(x, to_string(op), at);
  const auto text = [&] { return fmt::format("{} of {}", to_string(op), describe(id)); };
  const int at_axis = placed(at, "axis", text, [&] { return shape(id).axis(axis); });
  auto dtype = value(id).dtype;
  if (info(op).kind == MathKind::scan) {
    const auto natural = placed(at, "dtype", text, [&] { return kernbench::result_dtype(op, {&dtype, 1}); });
    dtype = out_dtype(op, natural, options, at);
  }
  return arrangement(op, {&id, 1}, at_axis, dtype, shape(id), reversed, at);
}

Tile Context::cumsum(const Tile& x, int axis, bool reverse, const MathOptions& options, At at) {
  return recorder_->along(MathOp::cumsum, x, axis, reverse, options, at);
}
Tile Context::cumprod(const Tile& x, int axis, bool reverse, const MathOptions& options, At at) {
  return recorder_->along(MathOp::cumprod, x, axis, reverse, options, at);
}

Tile Context::scan(MathOp op, const Tile& x, int axis, bool reverse, const MathOptions& options, At at) {
  for (const auto& [named, as] :
       {std::pair(MathOp::add, MathOp::cumsum), std::pair(MathOp::mul, MathOp::cumprod),
        std::pair(MathOp::maximum, MathOp::cummax), std::pair(MathOp::minimum, MathOp::cummin)})
    if (op == named || op == as) return recorder_->along(as, x, axis, reverse, options, at);
  recorder_->fail(
      at, {"dtype", fmt::format("scan with {}", to_string(op)), "it takes add, mul, maximum or minimum"});
}

Tile Context::flip(const Tile& x, int axis, At at) {
  return recorder_->along(MathOp::flip, x, axis, false, {}, at);
}
Tile Context::sort(const Tile& x, int axis, bool descending, At at) {
  return recorder_->along(MathOp::sort, x, axis, descending, {}, at);
}

Tile Context::gather(const Tile& x, const Tile& index, int axis, At at) {
  auto& r = *recorder_;
  const std::array reads{r.tile(x, "gather", at), r.tile(index, "gather", at)};
  const auto text = [&] { return fmt::format("gather of {}", r.describe(reads)); };
  const Shape from = r.shape(reads[0]), to = r.shape(reads[1]);
  const int along = r.placed(at, "axis", text, [&] { return from.axis(axis); });
  if (from.rank() != to.rank() || from.without(along) != to.without(along))
    r.fail(at, {"shape", text(), fmt::format("all extents but those of axis {} must be equal", along)});
  const auto dtype = r.value(reads[1]).dtype;
  if (!is_integer(dtype) || dtype == DType::i1) r.fail(at, {"dtype", text(), "an index is an integer"});
  if (from[along] == 0 && to.elements() > 0) r.fail(at, {"shape", text(), "there is nothing to take"});
  return r.arrangement(MathOp::gather, reads, along, r.value(reads[0]).dtype, to, false, at);
}

Tile Context::histogram(const Tile& x, std::int64_t bins, At at) {
  auto& r = *recorder_;
  const auto id = r.tile(x, "histogram", at);
  const auto dtype = r.value(id).dtype;
  if (!is_integer(dtype)) r.fail(at, {"dtype", "histogram of " + r.describe(id), "it takes integers"});
  if (bins < 1) reject_not_positive("number of bins", bins, at);
  const Shape shape = r.tables().shape_of(r.shape_id({bins}, "histogram", at));
  return r.arrangement(MathOp::histogram, {&id, 1}, 0, DType::i32, shape, false, at);
}

}  // namespace kernbench::tl
