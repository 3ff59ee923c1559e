// Operations on rows: softmax, norms, rotary positions. Every PE has whole rows; all is done in f32.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernbench/fixed_math.hpp"
#include "nn/operation.hpp"
#include "nn/pieces.hpp"
#include "nn/product.hpp"
#include "nn/rms_columns.hpp"

namespace kernbench::nn {
namespace {

/// Works on a block of rows, in f32.
using RowsFn = std::function<tl::Tile(tl::Context&, const tl::Tile&)>;

tl::Tile in_f32(tl::Context& tl, const tl::Tile& t) {
  return t.dtype() == DType::f32 ? t : tl.cast(t, DType::f32);
}

/// So many rows that `tiles` tiles of them in f32 fit; an error if not even one does.
std::int64_t rows_at_once(const tl::Context& tl, const Call& call, std::int64_t cols, int tiles) {
  const std::int64_t rows = tl.environment().scratch.count() / (cols * 4 * tiles);
  if (rows < 1)
    call.fail(
        "nn.row",
        fmt::format("a row of {} elements, {} times in f32, is more than the scratch of a PE", cols, tiles),
        "split the rows into shorter ones, or give the machine more pe.pe_tcm.kernel_scratch_mb");
  return rows;
}

struct RowOp {
  int tiles;  // of a block in f32 that are alive at once
  RowsFn fn;
};

Tensor on_rows(const Call& call, const Tensor& x, const OpOptions& options, const RowOp& op) {
  const Placed placed(x);
  if (!placed.has_whole_rows()) call.fail_layout();
  Tensor y = call.empty(x.shape(), options.out_dtype.value_or(x.dtype()), x.dp());
  call.launch(placed.pes(), {y}, [&](tl::Context& tl) {
    const auto from = tl.shards(x.ptr()), to = tl.shards(y.ptr());
    const std::int64_t most = rows_at_once(tl, call, placed.cols(), op.tiles);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Matrix in = Matrix::of(from[i]), out = Matrix::of(to[i]);
      for (std::int64_t row = 0, rows = 0; row < in.rows; row += rows) {
        rows = std::min(most, in.rows - row);
        const auto result = op.fn(tl, in_f32(tl, in.block(row, 0, rows, in.cols).load(tl)));
        out.block(row, 0, rows, in.cols)
            .store(tl, out.dtype == DType::f32 ? result : tl.cast(result, out.dtype));
      }
    }
  });
  return y;
}

void check_vector(const Call& call, const Tensor& x, const Tensor& vector, const char* what) {
  const Placed placed(x), of_vector(vector);
  if (vector.shape().elements() != placed.cols() || of_vector.rows() != 1)
    call.fail("nn.shape", fmt::format("{} {} for {}", what, to_string(vector.shape()), to_string(x.shape())),
              "it has as many elements as a row");
  for (const PePlace pe : placed.pes())
    if (!of_vector.is_whole_at(pe))
      call.fail_layout(fmt::format("{} has no copy on cube {} PE {}", what, pe.cube, pe.pe));
}

/// A vector that every PE has a copy of, as one row in f32.
tl::Tile row_of(tl::Context& tl, const Tensor& vector) {
  return in_f32(tl, Matrix::of(own(tl, vector)).load(tl));
}

}  // namespace

Tensor softmax(const Tensor& x, const OpOptions& options) {
  const Call call("softmax", options, {x});
  return on_rows(call, x, options, {4, [](tl::Context& tl, const tl::Tile& t) { return tl.softmax(t, -1); }});
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps, const OpOptions& options) {
  const Call call("rms_norm", options, {x, weight});
  if (!Placed(x).has_whole_rows()) return rms_norm_columns(call, x, weight, eps, options);
  check_vector(call, x, weight, "the weight");
  const double n = static_cast<double>(Placed(x).cols());
  return on_rows(call, x, options, {6, [&](tl::Context& tl, const tl::Tile& t) {
                                      const auto scale = tl.rsqrt(tl.sum(t * t, 1, true) * (1 / n) + eps);
                                      return t * scale * row_of(tl, weight);
                                    }});
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const OpOptions& options) {
  const Call call("layer_norm", options, {x, weight, bias});
  check_vector(call, x, weight, "the weight");
  check_vector(call, x, bias, "the bias");
  const double n = static_cast<double>(Placed(x).cols());
  return on_rows(call, x, options, {8, [&](tl::Context& tl, const tl::Tile& t) {
                                      const auto centred = t - tl.sum(t, 1, true) * (1 / n);
                                      const auto var = tl.sum(centred * centred, 1, true) * (1 / n);
                                      return centred * tl.rsqrt(var + eps) * row_of(tl, weight) +
                                             row_of(tl, bias);
                                    }});
}

namespace {

void check_tables(const Call& call, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Shape& shape = x.shape();
  const Shape wanted =
      shape.rank() < 2 ? Shape() : Shape{shape[shape.rank() - 2], shape[shape.rank() - 1] / 2};
  if (shape.rank() < 2 || shape[shape.rank() - 1] % 2 != 0 || cos.shape() != wanted ||
      sin.shape() != wanted || cos.dtype() != DType::f32 || sin.dtype() != DType::f32)
    call.fail("nn.shape",
              fmt::format("{} with tables {} and {}", to_string(shape), to_string(cos.shape()),
                          to_string(sin.shape())),
              "x is (…, S, d) with an even d, the tables are f32 (S, d / 2)");
  const Placed placed(x), of_cos(cos), of_sin(sin);
  for (const PePlace pe : placed.pes())
    if (!of_cos.is_whole_at(pe) || !of_sin.is_whole_at(pe))
      call.fail_layout(fmt::format("the tables have no copy on cube {} PE {}", pe.cube, pe.pe));
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const OpOptions& options) {
  const Call call("rope", options, {x, cos, sin});
  check_tables(call, x, cos, sin);
  const Placed placed(x);
  if (!placed.has_whole_rows()) call.fail_layout();
  Tensor y = call.empty(x.shape(), options.out_dtype.value_or(x.dtype()), x.dp());
  const std::int64_t length = cos.shape()[0], half = cos.shape()[1];
  call.launch(placed.pes(), {y}, [&](tl::Context& tl) {
    const auto from = tl.shards(x.ptr()), to = tl.shards(y.ptr());
    const std::int64_t most = rows_at_once(tl, call, half, 16);
    const Matrix cosines = Matrix::of(own(tl, cos)), sines = Matrix::of(own(tl, sin));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Matrix in = Matrix::of(from[i]), out = Matrix::of(to[i]);
      for (std::int64_t row = 0, rows = 0; row < in.rows; row += rows) {
        const std::int64_t position = (from[i].origin[0] + row) % length;
        rows = std::min({most, in.rows - row, length - position});
        const auto a = in_f32(tl, in.block(row, 0, rows, half).load(tl));
        const auto b = in_f32(tl, in.block(row, half, rows, half).load(tl));
        const auto c = cosines.block(position, 0, rows, half).load(tl);
        const auto s = sines.block(position, 0, rows, half).load(tl);
        const auto put = [&](std::int64_t col, const tl::Tile& t) {
          out.block(row, col, rows, half).store(tl, out.dtype == DType::f32 ? t : tl.cast(t, out.dtype));
        };
        put(0, a * c - b * s);
        put(half, b * c + a * s);
      }
    }
  });
  return y;
}

RopeTables rope_tables(Torch& torch, std::int64_t length, std::int64_t d, const DPPolicy& dp, double base,
                       std::int64_t first) {
  if (length < 1 || d < 2 || d % 2 != 0)
    throw InputError({"nn.shape", "rope_tables", fmt::format("{} positions of {} elements", length, d),
                      "d is even, and there is a position at least"});
  if (!(base > 0 && base <= std::numeric_limits<double>::max()))
    throw InputError({"nn.base", "rope_tables",
                      fmt::format("the base of the angles is {}, which is no positive number", base),
                      "models have a base of 10000 or 500000"});
  NdArray cos(DType::f32, {length, d / 2}), sin(DType::f32, {length, d / 2});
  for (std::int64_t p = 0; p < length; ++p)
    for (std::int64_t i = 0; i < d / 2; ++i) {
      const double angle = static_cast<double>(first + p) *
                           fixed::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(d));
      cos.at<float>({p, i}) = static_cast<float>(fixed::cos(angle));
      sin.at<float>({p, i}) = static_cast<float>(fixed::sin(angle));
    }
  return {torch.from_numpy(std::move(cos), dp, "cos"), torch.from_numpy(std::move(sin), dp, "sin")};
}

}  // namespace kernbench::nn
