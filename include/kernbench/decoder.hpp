// A decoder layer as in Llama, tensor parallel over SIPs, made of the operations of nn.
//
//   spawn(torch, [&](int rank) {
//     torch.ahbm.set_device(rank);
//     dist::init_process_group(torch);
//     nn::tp::initialize_model_parallel(torch, dist::get_world_size(torch));
//     nn::DecoderLayer layer(torch, {.hidden = 8192, .ffn = 28672, .heads = 64, .kv_heads = 8, .head_dim = 128},
//                            {.batch = 8, .context = 8192});
//     Tensor y = layer.forward(x);          // x and y (tokens, hidden) lie as layer.input() says, alike on all ranks
//   }, dist::get_world_size(torch));
//
// rms_norm, QKV, rope, attention with the K/V cache, output projection, all-reduce, rms_norm, gate and up as one product,
// silu · mul, down, all-reduce, and both residual sums. A rank has heads / ranks query heads and kv_heads / ranks K/V heads.
//
// Inside a SIP few tokens lie column-wise over the PEs, as the weights do; they are gathered before each product. Many
// tokens (a multiple of the cubes, 32 or more for each) lie row-wise over the cubes and column-wise over the PEs of a cube,
// and every cube has a copy of the weights: then nothing but columns of a cube's own tokens is gathered.
#pragma once

#include <cstdint>

#include "kernbench/ndarray.hpp"
#include "kernbench/tp.hpp"

namespace kernbench::nn {

struct DecoderShape {
  std::int64_t hidden = 4096, ffn = 14336, heads = 32, kv_heads = 8, head_dim = 128;
  double norm_eps = 1e-5, rope_base = 500000;
};

/// Prefill: `context` tokens of each sequence at once, causal. Decode: one token each, the last of `context`.
struct DecoderRun {
  bool prefill = false;
  std::int64_t batch = 1, context = 1;
  DType dtype = DType::bf16;
  bool weights_once = false;  // never a copy for each cube

  std::int64_t tokens() const { return prefill ? batch * context : batch; }
};

/// All of a layer's weights, whole, in f32: q (hidden, heads · head_dim), k and v (hidden, kv_heads · head_dim), o (heads ·
/// head_dim, hidden), gate and up (hidden, ffn), down (ffn, hidden), norms (hidden).
struct DecoderWeights {
  NdArray q, k, v, o, gate, up, down, attention_norm, ffn_norm;
};

class DecoderLayer {
 public:
  /// For the calling rank. InputError (`decoder.…`) if heads, kv_heads or ffn do not divide by the ranks.
  DecoderLayer(Torch& torch, const DecoderShape& shape, const DecoderRun& run);

  /// Where x lies, and the result.
  DPPolicy input() const;
  /// Whether every cube has a copy of the weights.
  bool copies_weights() const { return grid_; }
  /// This rank's part of the weights, as the layer has them.
  void load(const DecoderWeights& whole);
  /// This rank's heads of a cache (batch, kv_heads, context, head_dim) in f32. The last key of decode is the layer's to write.
  void load_cache(const NdArray& keys, const NdArray& values);
  /// x (tokens, hidden), the same on all ranks; the result too.
  Tensor forward(const Tensor& x);

  const DecoderShape shape;
  const DecoderRun run;
  const std::int64_t q_heads, kv_heads, ffn;  // of this rank
  Tensor attention_norm, qkv, o, ffn_norm, gate_up, down;
  Tensor k_cache, v_cache;  // decode alone

 private:
  DPPolicy columns(std::int64_t extent) const;
  DPPolicy everywhere(const Tensor& like) const;
  Tensor gathered(const Tensor& x, const Tensor& weight) const;
  Tensor normed(const Tensor& x, const Tensor& weight, const char* name) const;
  Tensor attended(const Tensor& qkv);
  Tensor times_summed(const Tensor& x, const Tensor& weight, const char* name) const;

  Torch& torch_;
  const bool grid_;
  RopeTables rope_;
};

/// What a layer computes, in f32 from whole weights: x (batch, tokens of a sequence, hidden). Decode: `keys` and `values` are
/// those of all tokens but the last.
NdArray plain_decoder_layer(const DecoderShape& shape, const DecoderRun& run, const DecoderWeights& weights,
                            const NdArray& x, const NdArray& keys, const NdArray& values);

}  // namespace kernbench::nn
