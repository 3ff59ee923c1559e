// What attention is compared with: softmax(Q·Kᵀ·scale)·V in f64, one row after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernbench/ndarray.hpp"

namespace kernbench::nn {

struct AttentionCase {
  bool causal = false;
  std::optional<double> scale;          // not given: 1/√d
  std::vector<std::int64_t> kv_length;  // keys of each sequence that count; not given: all
  int threads = 0;                      // that compute; 0: one per core
};

/// q (batch, h_q, S_q, d), k and v (batch, h_kv, S_kv, d), float types; the result is f32 of the shape of q. Causal: the last
/// query sees all keys that count, each earlier one a key less. A query that sees none is 0.
NdArray plain_attention(const NdArray& q, const NdArray& k, const NdArray& v,
                        const AttentionCase& options = {});

/// The elements of a float array.
std::vector<double> as_doubles(const NdArray& array);

}  // namespace kernbench::nn
