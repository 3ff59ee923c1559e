// How attention is spread over the PEs of a SIP, and where its tensors lie.
//
// A pair is a sequence with one of its K/V heads. Each pair has a group of PEs of its own, a power of two and as many as there
// are; if there are more pairs than PEs, a PE has several pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/attention.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/placement.hpp"
#include "kernbench/shape.hpp"
#include "nn/attention_program.hpp"

namespace kernbench::nn {

struct AttentionGeometry {
  std::int64_t batch = 1, h_q = 1, h_kv = 1, S_q = 1, S_kv = 1, d = 128;
  int cubes = 1, pes = 1;  // of the SIP, of a cube
  int itemsize = 2;

  std::int64_t pairs() const { return batch * h_kv; }
  std::int64_t group() const { return h_q / h_kv; }  // query heads of a pair
  int all_pes() const { return cubes * pes; }
  /// PEs of a pair.
  int split() const;
  /// The first of them, counted cube by cube.
  int first_pe(std::int64_t pair) const;
  runtime::PePlace place(int pe) const { return {pe / pes, pe % pes}; }

  /// Few queries: then the PEs of a pair share its keys; else they share its queries.
  bool shares_keys() const { return S_q * group() <= kTileRows; }

  static constexpr std::int64_t kTileRows = 128;  // queries of a tile
  static constexpr std::int64_t kBlock = 128;     // keys of a block
  /// Keys that follow each other on one PE, where the PEs of a pair share them.
  std::int64_t dealt_keys() const;
  /// Queries in a row of a tile.
  std::int64_t tile_positions() const { return std::max<std::int64_t>(1, kTileRows / group()); }
};

/// Row of the K/V tensor's storage where key `key` of a pair lies.
std::int64_t shared_key_row(const AttentionGeometry& g, std::int64_t pair, std::int64_t key);
/// Blocks of keys below `length` that PE `member` of a pair has to look at.
std::vector<KeyBlock> keys_of_member(const AttentionGeometry& g, int member, std::int64_t length);
/// How many of a pair's PEs have any.
int members_with_keys(const AttentionGeometry& g, std::int64_t length);

/// Where the PEs of a pair share its keys, each ends with some rows of the result: those left to it when all of them are dealt
/// at each level of the exchange, digit by digit to the base 4.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  RowRange part(int i, int n) const {
    const auto rows = end - begin;
    return {begin + rows * i / n, begin + rows * (i + 1) / n};
  }
};
RowRange rows_of_member(const AttentionGeometry& g, int member);

/// Tiles of the queries `range` of PE `member`, dealt forwards and backwards because later ones see more keys. These come in
/// blocks of `block`.
std::vector<QueryTile> tiles_of_member(const AttentionGeometry& g, std::int64_t pair, int member,
                                       std::int64_t length, bool causal, QueryRange range,
                                       std::int64_t block);

// ── placements ── all row-major in their addresses but `keys_shared`

DPPolicy queries_placed(const AttentionGeometry& g);
DPPolicy results_placed(const AttentionGeometry& g);
DPPolicy keys_shared(const AttentionGeometry& g);
DPPolicy keys_copied(const AttentionGeometry& g);

}  // namespace kernbench::nn
