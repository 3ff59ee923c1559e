#include "nn/embedding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nn/product.hpp"

namespace kernbench::nn {
namespace {

Shape with_width(const Shape& ids, std::int64_t width) {
  std::vector<std::int64_t> extents(ids.begin(), ids.end());
  extents.push_back(width);
  return Shape(extents);
}

/// The kernel: every row that an id names, as far as this PE holds its columns. Outside of the table: zeros, or an error.
struct Lookup {
  const Call& call;
  Tensor ids, table, result;
  std::int64_t first, rows;
  bool zeros_outside;

  void operator()(tl::Context& tl) const {
    const Matrix from = Matrix::of(own(tl, table)), to = Matrix::of(own(tl, result));
    for (std::int64_t i = 0; i < to.rows; ++i) {
      const std::int64_t id = tl.load_scalar<std::int32_t>(ids.ptr() + i * 4) - first;
      const bool inside = id >= 0 && id < rows;
      if (!inside && !zeros_outside)
        call.fail("nn.id", fmt::format("id {} at place {}, but the table has {} rows", id, i, rows),
                  "ids count from 0");
      const auto row =
          inside ? from.block(id, 0, 1, from.cols).load(tl) : tl.zeros({1, from.cols}, from.dtype);
      to.block(i, 0, 1, to.cols).store(tl, to.dtype == from.dtype ? row : tl.cast(row, to.dtype));
    }
  }
};

Tensor look_up(const Tensor& ids, const Tensor& table, const OpOptions& options, std::int64_t first,
               bool part) {
  const Call call("embedding", options, {table, ids});
  if (ids.dtype() != DType::i32 || table.shape().rank() != 2 || ids.shape().rank() < 1)
    call.fail("nn.shape",
              fmt::format("ids {}{} and a table {}", to_string(ids.dtype()), to_string(ids.shape()),
                          to_string(table.shape())),
              "ids are i32, the table is (rows, width)");
  const Placed placed(table);
  const PlacedKind kind = placed.kind();
  if (kind != PlacedKind::columns && kind != PlacedKind::whole && kind != PlacedKind::replicated)
    call.fail_layout();
  Tensor result =
      call.empty(with_width(ids.shape(), placed.cols()), options.out_dtype.value_or(table.dtype()),
                 same_columns(table, ids.shape().elements()));
  call.launch(placed.pes(), {result}, Lookup{call, ids, table, result, first, placed.rows(), part});
  return result;
}

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& table, const OpOptions& options) {
  return look_up(ids, table, options, 0, false);
}

Tensor embedding_part(const Tensor& ids, const Tensor& table, std::int64_t first, const OpOptions& options) {
  return look_up(ids, table, options, first, true);
}

}  // namespace kernbench::nn
