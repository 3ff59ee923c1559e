#include "kernbench/decoder.hpp"

#include <fmt/format.h>

#include "kernbench/attention.hpp"
#include "nn/heads.hpp"
#include "nn/reshard.hpp"

namespace kernbench::nn {
namespace {

constexpr std::int64_t kRowsOfCube = 32;  // so many tokens for each cube are worth a copy of the weights

std::int64_t of_rank(const Torch& torch, const char* what, std::int64_t all) {
  const int ranks = tp::get_tensor_model_parallel_world_size(torch);
  if (all < 1 || all % ranks != 0)
    throw InputError({"decoder.divisible", "",
                      fmt::format("{} ({}) must be divisible by TP world size ({})", what, all, ranks), ""});
  return all / ranks;
}

/// Whether tokens and columns divide by cubes and PEs, and there are enough.
bool fits_grid(const topology::Machine& machine, const DecoderShape& s, const DecoderRun& run, int ranks) {
  const std::int64_t cubes = machine.cubes(), pes = machine.pes();
  const std::int64_t qkv = (s.heads + 2 * s.kv_heads) * s.head_dim / ranks;
  return !run.weights_once && run.tokens() % cubes == 0 && run.tokens() / cubes >= kRowsOfCube &&
         s.hidden % pes == 0 && qkv % pes == 0 && s.ffn / ranks % pes == 0;
}

// ── weights from whole ones ──

/// Numbers of a matrix in f32, rounded to a dtype.
class Rounding {
 public:
  Rounding(const Shape& shape, DType dtype) : array_(dtype, shape) {}
  void put(std::int64_t row, std::int64_t col, float value) {
    const std::int64_t i = row * array_.shape()[array_.shape().rank() - 1] + col;
    if (array_.dtype() == DType::bf16)
      array_.view<BF16>()[static_cast<std::size_t>(i)] = BF16(value);
    else if (array_.dtype() == DType::f16)
      array_.view<F16>()[static_cast<std::size_t>(i)] = F16(value);
    else
      array_.view<float>()[static_cast<std::size_t>(i)] = value;
  }
  const NdArray& array() const { return array_; }

 private:
  NdArray array_;
};

/// Part of a whole matrix to a place in another.
void copy_part(Rounding& to, std::int64_t to_col, const NdArray& whole, std::int64_t row, std::int64_t col,
               std::int64_t rows, std::int64_t cols) {
  const auto numbers = whole.view<float>();
  const std::int64_t width = whole.shape()[whole.shape().rank() - 1];
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      to.put(r, to_col + c, numbers[static_cast<std::size_t>((row + r) * width + col + c)]);
}

NdArray part(const NdArray& whole, DType dtype, std::int64_t row, std::int64_t col, std::int64_t rows,
             std::int64_t cols) {
  Rounding to({rows, cols}, dtype);
  copy_part(to, 0, whole, row, col, rows, cols);
  return to.array();
}

}  // namespace

DecoderLayer::DecoderLayer(Torch& torch, const DecoderShape& s, const DecoderRun& r)
    : shape(s),
      run(r),
      q_heads(of_rank(torch, "heads", s.heads)),
      kv_heads(of_rank(torch, "kv_heads", s.kv_heads)),
      ffn(of_rank(torch, "ffn", s.ffn)),
      torch_(torch),
      grid_(fits_grid(torch.machine(), s, r, tp::get_tensor_model_parallel_world_size(torch))) {
  const std::int64_t heads = q_heads + 2 * kv_heads, d = s.head_dim;
  const auto make = [&](std::int64_t rows, std::int64_t cols, const DPPolicy& dp, const char* name) {
    return torch.empty({rows, cols}, r.dtype, dp, name);
  };
  attention_norm = torch.empty({s.hidden}, r.dtype, columns(s.hidden), "attention_norm");
  ffn_norm = torch.empty({s.hidden}, r.dtype, columns(s.hidden), "ffn_norm");
  qkv = make(s.hidden, heads * d, columns(heads * d), "w_qkv");
  o = make(q_heads * d, s.hidden, columns(s.hidden), "w_o");
  gate_up = make(s.hidden, 2 * ffn, columns(ffn), "w_gate_up");
  down = make(ffn, s.hidden, columns(s.hidden), "w_down");
  if (!r.prefill) {
    const Shape cache{r.batch, kv_heads, r.context, d};
    const DPPolicy shared = attention_keys(torch.machine(), cache, KeyPlacement::shared, r.dtype);
    k_cache = torch.empty(cache, r.dtype, shared, "k_cache");
    v_cache = torch.empty(cache, r.dtype, shared, "v_cache");
  }
  const std::int64_t positions = r.prefill ? r.context : 1;
  rope_ = rope_tables(torch, positions, d, r.prefill ? spread(torch, Split::row_wise, positions) : DPPolicy(),
                      s.rope_base, r.prefill ? 0 : r.context - 1);
}

DPPolicy DecoderLayer::columns(std::int64_t extent) const {
  if (grid_) return {.cube = Split::replicate, .pe = Split::column_wise};
  return spread(torch_, Split::column_wise, extent);
}

DPPolicy DecoderLayer::input() const {
  if (grid_) return {.cube = Split::row_wise, .pe = Split::column_wise};
  return columns(shape.hidden);
}

void DecoderLayer::load(const DecoderWeights& w) {
  const std::int64_t rank = tp::get_tensor_model_parallel_rank(torch_), d = shape.head_dim;
  const std::int64_t q = q_heads * d, kv = kv_heads * d, hidden = shape.hidden;
  attention_norm.copy_(part(w.attention_norm, run.dtype, 0, 0, 1, hidden).reshaped({hidden}));
  ffn_norm.copy_(part(w.ffn_norm, run.dtype, 0, 0, 1, hidden).reshaped({hidden}));
  Rounding all(qkv.shape(), run.dtype);
  copy_part(all, 0, w.q, 0, rank * q, hidden, q);
  copy_part(all, q, w.k, 0, rank * kv, hidden, kv);
  copy_part(all, q + kv, w.v, 0, rank * kv, hidden, kv);
  qkv.copy_(all.array());
  o.copy_(part(w.o, run.dtype, rank * q, 0, q, hidden));
  // Each PE has columns of gate, then as many of up.
  const Placed placed(gate_up);
  const std::int64_t each = placed.at(placed.pes().front()).front().cols / 2;
  Rounding both(gate_up.shape(), run.dtype);
  for (std::int64_t col = 0; col < ffn; col += each) {
    copy_part(both, 2 * col, w.gate, 0, rank * ffn + col, hidden, each);
    copy_part(both, 2 * col + each, w.up, 0, rank * ffn + col, hidden, each);
  }
  gate_up.copy_(both.array());
  down.copy_(part(w.down, run.dtype, rank * ffn, 0, ffn, hidden));
}

void DecoderLayer::load_cache(const NdArray& keys, const NdArray& values) {
  const std::int64_t rank = tp::get_tensor_model_parallel_rank(torch_), d = shape.head_dim;
  const auto mine = [&](const NdArray& whole) {
    Rounding rows({run.batch * kv_heads * run.context, d}, run.dtype);
    const auto numbers = whole.view<float>();
    for (std::int64_t r = 0; r < run.batch * kv_heads * run.context; ++r) {
      const std::int64_t b = r / (kv_heads * run.context), h = r / run.context % kv_heads;
      const std::int64_t from = (b * shape.kv_heads + rank * kv_heads + h) * run.context + r % run.context;
      for (std::int64_t c = 0; c < d; ++c) rows.put(r, c, numbers[static_cast<std::size_t>(from * d + c)]);
    }
    return rows.array().reshaped(k_cache.shape());
  };
  k_cache.copy_(mine(keys));
  v_cache.copy_(mine(values));
}

/// x where a product with this weight wants it.
Tensor DecoderLayer::gathered(const Tensor& x, const Tensor& weight) const {
  if (!grid_) return copied_to(x, Placed(weight));
  return redistribute(x, everywhere(weight), {.name = x.name() + ".copies"});
}

DPPolicy DecoderLayer::everywhere(const Tensor& like) const {
  if (grid_) return {.cube = Split::row_wise, .pe = Split::replicate};
  const auto where = Placed(like).rectangle();
  return where ? everywhere_in(*where) : DPPolicy();
}

Tensor DecoderLayer::normed(const Tensor& x, const Tensor& weight, const char* name) const {
  return rms_norm(x, weight, shape.norm_eps, {.name = name});
}

/// The product, added up over the ranks.
Tensor DecoderLayer::times_summed(const Tensor& x, const Tensor& weight, const char* name) const {
  return tp::mappings::reduce_from_tp_region(matmul(x, weight, {.name = name}), torch_);
}

Tensor DecoderLayer::attended(const Tensor& product) {
  const auto& machine = torch_.machine();
  const HeadColumns heads{run.batch, run.prefill ? run.context : 1, q_heads, kv_heads, shape.head_dim};
  const Tensor q = torch_.empty(heads.queries(), run.dtype,
                                attention_queries(machine, heads.queries(), kv_heads, run.dtype), "q");
  if (!run.prefill) {
    const Tensor here = redistribute(product, DPPolicy(), {.name = "qkv.copies"});
    append_heads(torch_, heads, here, rope_, q, k_cache, v_cache, run.context - 1);
    return attention(torch_, q, k_cache, v_cache, {});
  }
  const std::int64_t rows = run.batch * kv_heads * run.context;
  const auto make = [&](const char* name) {
    return torch_.empty(heads.keys(), run.dtype, spread(torch_, Split::row_wise, rows), name);
  };
  const Tensor k = make("k"), v = make("v");
  split_heads(torch_, heads, product, rope_, q, k, v);
  const DPPolicy copied = attention_keys(machine, heads.keys(), KeyPlacement::copied, run.dtype);
  const Tensor all_k = redistribute(k, copied, {.name = "k.copies"});
  const Tensor all_v = redistribute(v, copied, {.name = "v.copies"});
  return attention(torch_, q, all_k, all_v, {.causal = true});
}

Tensor DecoderLayer::forward(const Tensor& x) {
  Tensor h = gathered(normed(x, attention_norm, "attention_norm"), qkv);
  const Tensor a = attended(matmul(h, qkv, {.name = "qkv"}));
  Tensor y = add(x, times_summed(merge_heads(a, everywhere(o), "merge_heads"), o, "o"), {.name = "add"});
  h = gathered(normed(y, ffn_norm, "ffn_norm"), gate_up);
  h = silu_mul(matmul(h, gate_up, {.name = "gate_up"}), "silu_mul");
  return add(y, times_summed(gathered(h, down), down, "down"), {.name = "add"});
}

}  // namespace kernbench::nn
