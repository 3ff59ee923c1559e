// Attention as one PE records it: running softmax over blocks of keys, for any number of query tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernbench/tl.hpp"

namespace kernbench::nn {

/// Keys that are multiplied at once.
struct KeyBlock {
  std::int64_t first = 0, keys = 0;
};

/// Queries that are worked on together: `positions` of them in a row, of all query heads of one K/V head.
struct QueryTile {
  std::int64_t pair = 0;  // of sequence and K/V head
  std::int64_t first = 0, positions = 1;
  std::int64_t keys = 0;  // that the last of them sees; each earlier one sees one less if `causal`
  bool causal = false;
  std::vector<KeyBlock> blocks;  // that are to be looked at here, in this order
};

/// What remains of a query tile when all its blocks have been looked at, one row for each query.
struct TileResult {
  tl::Tile reference;  // −max · scale
  tl::Tile l, o;       // Σ 2^(s·scale + reference), and the same times v
};

/// What a PE has to do, and how.
struct AttentionWork {
  std::vector<QueryTile> tiles;
  std::int64_t group = 1;  // query heads of a K/V head
  std::int64_t d = 128;
  DType dtype = DType::f16;
  double scale = 1;                // of scores, in powers of two
  DType scores = DType::f16;       // in which they are kept
  std::int64_t block = 128;        // the most keys of a block
  int blocks = 4;                  // that share one update of the result
  bool sums_by_matrix = true;      // row sums as a product with ones: where the vector unit is what limits
  std::size_t loads_ahead = 1;     // blocks that are loaded before they are needed
  std::size_t products_ahead = 2;  // blocks by which products of the next step are ahead
  bool one_by_one = false;         // few blocks, of few queries: each is settled by itself
  std::function<tl::Ptr(std::int64_t pair, std::int64_t position)> q_at;  // of the first head of the group
  std::int64_t head_stride = 0;                                           // elements from head to head
  std::function<tl::Ptr(std::int64_t pair, std::int64_t key)> k_at, v_at;
  std::function<void(const QueryTile&, const TileResult&)> finish;
};

void record_attention(tl::Context& tl, const AttentionWork& work);

}  // namespace kernbench::nn
