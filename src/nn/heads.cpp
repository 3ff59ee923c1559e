#include "nn/heads.hpp"

#include <algorithm>
#include <set>

#include "nn/attention_plan.hpp"
#include "nn/pieces.hpp"

namespace kernbench::nn {
namespace {

tl::Tile rounded_to(tl::Context& tl, const tl::Tile& t, DType dtype) {
  return t.dtype() == dtype ? t : tl.cast(t, dtype);
}

/// Rows of a result in memory, d wide, and the positions they are turned by; none: they are not turned.
struct HeadRows {
  tl::Ptr to;
  std::optional<std::int64_t> position;
  bool one_position = false;  // of all rows
};

/// What the kernels of a launch know.
struct HeadLaunch {
  HeadColumns heads;
  DType dtype;
  tl::Ptr product;
  tl::Ptr cos, sin;

  void put(tl::Context& tl, const tl::Tile& t, const HeadRows& rows) const {
    const std::int64_t d = heads.d, half = d / 2, n = t.shape()[0];
    if (!rows.position) {
      tl.store(rows.to, t);
      return;
    }
    const std::int64_t angles = rows.one_position ? 1 : n;
    const auto table = [&](tl::Ptr p) {
      return tl.load(p + *rows.position * half * 4, {angles, half}, DType::f32);
    };
    const auto c = table(cos), s = table(sin);
    const auto wide = tl.cast(t, DType::f32);
    const auto a = wide.slice({tl::all, {0, half}}), b = wide.slice({tl::all, {half, d}});
    const auto out = [&](std::int64_t col, const tl::Tile& x) {
      tl.store(rows.to + col * itemsize(dtype), rounded_to(tl, x, dtype), {.strides = {d, 1}});
    };
    out(0, a * c - b * s);
    out(half, b * c + a * s);
  }
};

/// Reads rectangles of a product from where they lie.
class ProductReader {
 public:
  ProductReader(const Tensor& product) : tiles_(source_tiles(product)), product_(product) {}

  /// How many rows from `row` on, at most `rows`, have these columns in the same tiles.
  std::int64_t rows_together(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) const {
    for (const SourceTile& tile : tiles_)
      if (!is_empty(common(tile.rect, {row, col, 1, cols})))
        rows = std::min(rows, tile.rect.row + tile.rect.rows - row);
    return rows;
  }

  tl::Tile load(tl::Context& tl, const Rect& rect) const {
    std::vector<std::pair<std::int64_t, tl::Tile>> parts;
    for (const SourceTile& tile : tiles_)
      if (const Rect both = common(tile.rect, rect); !is_empty(both))
        parts.emplace_back(both.col, part_of(tile, product_.ptr(), product_.dtype(), both).load(tl));
    std::ranges::sort(parts, {}, [](const auto& p) { return p.first; });
    std::vector<tl::Tile> beside;
    for (const auto& part : parts) beside.push_back(part.second);
    return beside.size() == 1 ? beside.front() : tl.cat(beside, 1);
  }

 private:
  std::vector<SourceTile> tiles_;
  Tensor product_;
};

/// One of q, k and v: its first column in the product, its heads, whether it is turned.
struct HeadResult {
  Tensor tensor;
  std::int64_t first_col, heads;
  bool turned;
};

constexpr std::int64_t kRowsAtOnce = 256;

/// Fills the running PE's rows of a result.
void fill_rows(tl::Context& tl, const HeadLaunch& launch, const ProductReader& reader,
               const HeadResult& result) {
  const HeadColumns& h = launch.heads;
  for (const tl::Shard& shard : tl.shards(result.tensor.ptr())) {
    const std::int64_t first = shard.origin[0], rows = shard.shape[0];
    for (std::int64_t done = 0, n = 0; done < rows; done += n) {
      const std::int64_t row = first + done, token = row % h.tokens, head = row / h.tokens % result.heads;
      const std::int64_t from = row / h.tokens / result.heads * h.tokens + token;
      const std::int64_t col = result.first_col + head * h.d;
      n = reader.rows_together(from, std::min({kRowsAtOnce, rows - done, h.tokens - token}), col, h.d);
      HeadRows to{shard.ptr + done * h.d * itemsize(launch.dtype), {}, false};
      if (result.turned) to.position = token;
      launch.put(tl, reader.load(tl, {from, col, n, h.d}), to);
    }
  }
}

std::vector<PePlace> all_holders(std::initializer_list<Tensor> tensors) {
  std::set<PePlace> pes;
  for (const Tensor& tensor : tensors) {
    const Placed placed(tensor);
    pes.insert(placed.pes().begin(), placed.pes().end());
  }
  return {pes.begin(), pes.end()};
}

HeadLaunch launch_of(const HeadColumns& heads, const Tensor& product, const RopeTables& tables) {
  return {heads, product.dtype(), product.ptr(), tables.cos.ptr(), tables.sin.ptr()};
}

}  // namespace

void split_heads(Torch&, const HeadColumns& heads, const Tensor& product, const RopeTables& tables,
                 const Tensor& q, const Tensor& k, const Tensor& v) {
  const Call call("rope", {.name = "rope"}, {product, tables.cos, tables.sin});
  const HeadLaunch launch = launch_of(heads, product, tables);
  const ProductReader reader(product);
  const std::int64_t of_k = heads.h_q * heads.d, of_v = of_k + heads.h_kv * heads.d;
  call.launch(all_holders({q, k, v}), {q, k, v}, [&](tl::Context& tl) {
    for (const HeadResult& result : {HeadResult{q, 0, heads.h_q, true}, HeadResult{k, of_k, heads.h_kv, true},
                                     HeadResult{v, of_v, heads.h_kv, false}})
      fill_rows(tl, launch, reader, result);
  });
}

void append_heads(Torch& torch, const HeadColumns& heads, const Tensor& product, const RopeTables& tables,
                  const Tensor& q, const Tensor& k_cache, const Tensor& v_cache, std::int64_t position) {
  const Call call("rope", {.name = "rope"}, {product, tables.cos, tables.sin});
  const HeadLaunch launch = launch_of(heads, product, tables);
  const auto& machine = torch.machine();
  const AttentionGeometry g{heads.batch,     heads.h_q,     heads.h_kv,        1, k_cache.shape()[2], heads.d,
                            machine.cubes(), machine.pes(), product.itemsize()};
  const std::int64_t width = product.shape()[1], size = product.itemsize();
  const auto columns = [&](tl::Context& tl, std::int64_t row, std::int64_t col, std::int64_t n) {
    return tl.load(product.ptr() + (row * width + col) * size, {n, heads.d}, product.dtype());
  };
  call.launch(Placed(q).pes(), {q, k_cache, v_cache}, [&](tl::Context& tl) {
    const int me = tl.program_id(1) * g.pes + tl.program_id(0);
    for (std::int64_t pair = 0; pair < g.pairs(); ++pair) {
      const int member = me - g.first_pe(pair);
      if (member < 0 || member >= g.split()) continue;
      const std::int64_t row = pair / g.h_kv, head = pair % g.h_kv, d = heads.d;
      launch.put(tl, columns(tl, row, head * g.group() * d, g.group()),
                 {q.ptr() + pair * g.group() * d * size, 0, true});
      if (member != position / g.dealt_keys() % g.split()) continue;
      const std::int64_t at = shared_key_row(g, pair, position) * d * size;
      launch.put(tl, columns(tl, row, (heads.h_q + head) * d, 1), {k_cache.ptr() + at, 0, true});
      launch.put(tl, columns(tl, row, (heads.h_q + heads.h_kv + head) * d, 1),
                 {v_cache.ptr() + at, {}, false});
    }
  });
}

namespace {

/// Rows of heads as columns of tokens. One token's heads that follow each other stay together.
std::vector<SourceTile> as_columns(const Tensor& o) {
  const std::int64_t h = o.shape()[1], s = o.shape()[2], d = o.shape()[3];
  std::vector<SourceTile> tiles;
  for (const SourceTile& tile : source_tiles(o))
    for (std::int64_t done = 0, n = 0; done < tile.rect.rows; done += n) {
      const std::int64_t row = tile.rect.row + done, batch = row / (h * s), head = row / s % h,
                         token = row % s;
      n = std::min(tile.rect.rows - done, s == 1 ? h - head : s - token);
      const std::int64_t rows = s == 1 ? 1 : n, cols = s == 1 ? n * d : d;
      tiles.push_back(
          {{batch * s + token, head * d, rows, cols}, tile.offset + done * d * o.itemsize(), cols, tile.at});
    }
  return tiles;
}

}  // namespace

Tensor merge_heads(const Tensor& o, const DPPolicy& dp, const std::string& name) {
  const Call call("redistribute", {.name = name}, {o});
  const Shape& s = o.shape();
  Tensor merged = call.empty({s[0] * s[2], s[1] * s[3]}, o.dtype(), dp);
  move_into(call, o, merged, as_columns(o));
  return merged;
}

Tensor silu_mul(const Tensor& gate_up, const std::string& name) {
  const Call call("mul", {.name = name}, {gate_up});
  const Shape& shape = gate_up.shape();
  Tensor y = call.empty({shape[0], shape[1] / 2}, gate_up.dtype(), gate_up.dp());
  call.launch(Placed(y).pes(), {y}, [&](tl::Context& tl) {
    const Matrix in = Matrix::of(own(tl, gate_up)), out = Matrix::of(own(tl, y));
    const std::int64_t most = tl.environment().scratch.count() / 64;
    for (const Rect& b : blocks_of({0, 0, out.rows, out.cols}, most)) {
      const auto gate = in.block(b.row, b.col, b.rows, b.cols).load(tl);
      const auto up = in.block(b.row, out.cols + b.col, b.rows, b.cols).load(tl);
      out.block(b.row, b.col, b.rows, b.cols).store(tl, gate * tl.sigmoid(gate) * up);
    }
  });
  return y;
}

}  // namespace kernbench::nn
