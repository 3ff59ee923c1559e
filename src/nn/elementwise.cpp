// Operations on each element: every PE on what it holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/operation.hpp"
#include "nn/pieces.hpp"
#include "nn/product.hpp"

namespace kernbench::nn {
namespace {

using OneTile = std::function<tl::Tile(tl::Context&, const tl::Tile&)>;
using TwoTiles = std::function<tl::Tile(const tl::Tile&, const tl::Tile&)>;

constexpr int kTilesAtOnce = 8;  // that may be alive, in f32

std::int64_t block_elements(const tl::Context& tl) {
  return tl.environment().scratch.count() / kTilesAtOnce / 8;
}

void put(tl::Context& tl, const Matrix& to, const tl::Tile& tile) {
  to.store(tl, tile.dtype() == to.dtype ? tile : tl.cast(tile, to.dtype));
}

Tensor unary(const char* name, const Tensor& x, const OpOptions& options, const OneTile& fn) {
  const Call call(name, options, {x});
  Tensor y = call.empty(x.shape(), options.out_dtype.value_or(x.dtype()), x.dp());
  call.launch(Placed(x).pes(), {y}, [&](tl::Context& tl) {
    const auto from = tl.shards(x.ptr()), to = tl.shards(y.ptr());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Matrix in = Matrix::of(from[i]), out = Matrix::of(to[i]);
      for (const Rect& b : blocks_of({0, 0, in.rows, in.cols}, block_elements(tl)))
        put(tl, out.block(b.row, b.col, b.rows, b.cols),
            fn(tl, in.block(b.row, b.col, b.rows, b.cols).load(tl)));
    }
  });
  return y;
}

/// Where the second operand's part begins for a shard of the first: one row for all rows, or the same shard.
struct Second {
  bool is_row;
  std::vector<tl::Shard> shards;

  Matrix of(std::size_t i, const tl::Shard& first, const Rect& block) const {
    if (!is_row) return Matrix::of(shards[i]).block(block.row, block.col, block.rows, block.cols);
    const std::int64_t col = first.origin.rank() == 0 ? 0 : first.origin[first.origin.rank() - 1];
    for (const tl::Shard& s : shards) {
      const std::int64_t begin = s.origin.rank() == 0 ? 0 : s.origin[s.origin.rank() - 1];
      const Matrix row = Matrix::of(s);
      if (col >= begin && col + block.col + block.cols <= begin + row.cols)
        return row.block(0, col - begin + block.col, 1, block.cols);
    }
    KB_ASSERT(false, "a row that was checked to be there is not");
    return {};
  }
};

/// Every PE of the first operand has the columns of the row that it needs.
bool row_is_there(const Placed& first, const Placed& row) {
  return row.rows() == 1 && row.cols() == first.cols() && std::ranges::all_of(first.pes(), [&](PePlace pe) {
           const auto held = row.at(pe);
           return std::ranges::all_of(first.at(pe), [&](const Rect& r) {
             return std::ranges::any_of(
                 held, [&](const Rect& h) { return h.col <= r.col && r.col + r.cols <= h.col + h.cols; });
           });
         });
}

Tensor binary(const char* name, const Tensor& a, const Tensor& b, const OpOptions& options,
              const TwoTiles& fn) {
  const Call call(name, options, {a, b});
  const Placed of_a(a), of_b(b);
  const bool alike = a.shape() == b.shape();
  const bool row = !alike && b.shape().elements() == of_a.cols() && of_b.rows() == 1;
  if (!alike && !row)
    call.fail("nn.shape", fmt::format("{} and {}", to_string(a.shape()), to_string(b.shape())),
              "both have one shape, or the second is a vector as long as a row of the first");
  if (alike ? !of_a.lies_like(of_b) : !row_is_there(of_a, of_b)) call.fail_layout();
  Tensor y = call.empty(a.shape(), options.out_dtype.value_or(a.dtype()), a.dp());
  call.launch(of_a.pes(), {y}, [&](tl::Context& tl) {
    const auto from = tl.shards(a.ptr()), to = tl.shards(y.ptr());
    const Second second{row, tl.shards(b.ptr())};
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Matrix in = Matrix::of(from[i]), out = Matrix::of(to[i]);
      for (const Rect& r : blocks_of({0, 0, in.rows, in.cols}, block_elements(tl))) {
        const auto left = in.block(r.row, r.col, r.rows, r.cols).load(tl);
        put(tl, out.block(r.row, r.col, r.rows, r.cols), fn(left, second.of(i, from[i], r).load(tl)));
      }
    }
  });
  return y;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, const OpOptions& options) {
  return binary("add", a, b, options, [](const tl::Tile& x, const tl::Tile& y) { return x + y; });
}

Tensor mul(const Tensor& a, const Tensor& b, const OpOptions& options) {
  return binary("mul", a, b, options, [](const tl::Tile& x, const tl::Tile& y) { return x * y; });
}

Tensor relu(const Tensor& x, const OpOptions& options) {
  return unary("relu", x, options, [](tl::Context& tl, const tl::Tile& t) { return tl.maximum(t, 0); });
}

Tensor gelu(const Tensor& x, const OpOptions& options) {
  return unary("gelu", x, options, [](tl::Context& tl, const tl::Tile& t) {
    const auto wide = t.dtype() == DType::f32 ? t : tl.cast(t, DType::f32);
    return wide * 0.5 * (tl.erf(wide * (1 / std::numbers::sqrt2)) + 1.0);
  });
}

Tensor silu(const Tensor& x, const OpOptions& options) {
  return unary("silu", x, options, [](tl::Context& tl, const tl::Tile& t) { return t * tl.sigmoid(t); });
}

}  // namespace kernbench::nn
