#include "nn/product.hpp"

#include <algorithm>

namespace kernbench::nn {

Matrix Matrix::of(const tl::Shard& shard) {
  const bool vector = shard.shape.rank() < 2;
  const std::int64_t cols = shard.shape.rank() == 0 ? 1 : shard.shape[shard.shape.rank() - 1];
  return {shard.ptr, vector ? 1 : shard.shape[0], cols, cols, shard.dtype};
}

Matrix Matrix::block(std::int64_t row, std::int64_t col, std::int64_t n_rows, std::int64_t n_cols) const {
  return {ptr + (row * stride + col) * itemsize(dtype), n_rows, n_cols, stride, dtype};
}

tl::Tile Matrix::ref(tl::Context& tl) const { return tl.ref(ptr, {rows, cols}, dtype, {stride, 1}); }
tl::Tile Matrix::load(tl::Context& tl) const {
  return tl.load(ptr, {rows, cols}, dtype, {.strides = {stride, 1}});
}
void Matrix::store(tl::Context& tl, const tl::Tile& tile) const {
  tl.store(ptr, tile, {.strides = {stride, 1}});
}

namespace {

constexpr std::int64_t kTile = 32;  // rows of A and columns of B come in these

std::int64_t parts(std::int64_t extent, std::int64_t part) { return (extent + part - 1) / part; }

/// How much of an operand may be kept: all of it if it fits, else panels of which the next one is loaded meanwhile.
std::int64_t panel_of(std::int64_t extent, std::int64_t line_bytes, std::int64_t room) {
  if (extent * line_bytes <= room / 16 * 15) return extent;
  return room / 16 * 7 / line_bytes / kTile * kTile;
}

}  // namespace

ProductPlan plan_product(std::int64_t m, std::int64_t k, std::int64_t n, int itemsize, Bytes room) {
  const std::int64_t a = m * k * itemsize, b = k * n * itemsize;
  ProductPlan best{ProductPlan::Keeps::neither, 0, a * parts(n, kTile) + b * parts(m, kTile)};
  const auto consider = [&](const ProductPlan& plan) {
    if (plan.panel > 0 && plan.bytes < best.bytes) best = plan;
  };
  const std::int64_t rows = panel_of(m, k * itemsize, room.count());
  const std::int64_t cols = panel_of(n, k * itemsize, room.count());
  const ProductPlan with_a{ProductPlan::Keeps::a, rows, a + b * parts(m, std::max(rows, kTile))};
  const ProductPlan with_b{ProductPlan::Keeps::b, cols, b + a * parts(n, std::max(cols, kTile))};
  // Where two read as much, the one that keeps less: the products begin when that is there.
  consider(a <= b ? with_a : with_b);
  consider(a <= b ? with_b : with_a);
  return best;
}

void product(tl::Context& tl, const Matrix& a, const Matrix& b, const Matrix& c,
             const std::vector<EpilogueStep>& epilogue) {
  const std::int64_t m = a.rows, k = a.cols, n = b.cols;
  const ProductPlan plan = plan_product(m, k, n, itemsize(a.dtype), tl.environment().scratch);
  const auto options = [&](std::int64_t col, std::int64_t cols) {
    tl::CompositeOptions made;
    for (const EpilogueStep& step : epilogue) {
      tl::Operand operand;
      if (!step.operand.is_null())
        operand = tl.load(step.operand + col * itemsize(step.dtype), {1, cols}, step.dtype);
      else if (step.number)
        operand = *step.number;
      made.epilogue.push_back({step.op, operand});
    }
    return made;
  };
  switch (plan.keeps) {
    case ProductPlan::Keeps::neither:
      tl.composite("gemm", a.ref(tl), b.ref(tl), c.ref(tl), options(0, n));
      return;
    case ProductPlan::Keeps::a:
      for (std::int64_t row = 0; row < m; row += plan.panel) {
        const std::int64_t rows = std::min(plan.panel, m - row);
        tl.composite("gemm", a.block(row, 0, rows, k).load(tl), b.ref(tl), c.block(row, 0, rows, n).ref(tl),
                     options(0, n));
      }
      return;
    case ProductPlan::Keeps::b:
      for (std::int64_t col = 0; col < n; col += plan.panel) {
        const std::int64_t cols = std::min(plan.panel, n - col);
        tl.composite("gemm", a.ref(tl), b.block(0, col, k, cols).load(tl), c.block(0, col, m, cols).ref(tl),
                     options(col, cols));
      }
      return;
  }
}

}  // namespace kernbench::nn
