// Between products and attention: columns of heads to rows of heads with rotary positions, and back.
#pragma once

#include <string>

#include "nn/operation.hpp"

namespace kernbench::nn {

/// Columns of a product with the query heads, then the K heads, then the V heads; rows are tokens, sequence by sequence.
struct HeadColumns {
  std::int64_t batch = 1, tokens = 1;  // of a sequence
  std::int64_t h_q = 1, h_kv = 1, d = 128;

  Shape queries() const { return {batch, h_q, tokens, d}; }
  Shape keys() const { return {batch, h_kv, tokens, d}; }
};

/// q, k and v (batch, heads, tokens, d) from the product, wherever that lies; q and k turned by the positions of the tables
/// (tokens, d / 2), whose addresses are row-major. One launch on all PEs that hold any of the results.
void split_heads(Torch& torch, const HeadColumns& heads, const Tensor& product, const RopeTables& tables,
                 const Tensor& q, const Tensor& k, const Tensor& v);

/// The same for one token of each sequence: its key and value go to row `position` of caches that the PEs of a pair share. The
/// product has a copy on every PE.
void append_heads(Torch& torch, const HeadColumns& heads, const Tensor& product, const RopeTables& tables,
                  const Tensor& q, const Tensor& k_cache, const Tensor& v_cache, std::int64_t position);

/// o (batch, heads, tokens, d) as (batch · tokens, heads · d).
Tensor merge_heads(const Tensor& o, const DPPolicy& dp, const std::string& name);

/// silu(gate) · up of a product of which every PE has columns of gate, then as many of up.
Tensor silu_mul(const Tensor& gate_up, const std::string& name);

}  // namespace kernbench::nn
