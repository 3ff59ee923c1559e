#include "nn/attention_plan.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace kernbench::nn {
namespace {

constexpr std::int64_t kDealsMost = 16;  // parts of a pair's keys on one PE, so that tensors have few shards

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Rows [first, first + rows) of a tensor with rows of d, on one PE.
ShardSpec rows_on(const AttentionGeometry& g, int pe, std::int64_t first, std::int64_t rows) {
  const auto at = g.place(pe);
  const auto width = g.d * g.itemsize;
  return {0, at.cube, at.pe, Bytes(first * width), Bytes(rows * width)};
}

/// Every pair's `rows` rows whole on the first `copies` PEs of its group.
DPPolicy pairs_placed(const AttentionGeometry& g, std::int64_t rows, int copies) {
  std::vector<ShardSpec> shards;
  for (std::int64_t pair = 0; pair < g.pairs(); ++pair)
    for (int i = 0; i < copies; ++i) shards.push_back(rows_on(g, g.first_pe(pair) + i, pair * rows, rows));
  return DPPolicy::given(std::move(shards));
}

/// Rows of a pair that members before this one hold.
std::int64_t rows_before(const AttentionGeometry& g, std::int64_t member) {
  const auto deal = g.dealt_keys(), deals = ceil_div(g.S_kv, deal), split = std::int64_t{g.split()};
  const auto full = deals / split * member + std::min(member, deals % split);
  const bool has_last = (deals - 1) % split < member;  // the last deal may be smaller
  return full * deal - (has_last ? deals * deal - g.S_kv : 0);
}

}  // namespace

int AttentionGeometry::split() const {
  const auto share = std::max<std::int64_t>(1, all_pes() / pairs());
  return static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(share)));
}

int AttentionGeometry::first_pe(std::int64_t pair) const {
  return static_cast<int>(pairs() <= all_pes() ? pair * split() : pair * all_pes() / pairs());
}

std::int64_t AttentionGeometry::dealt_keys() const {
  return kBlock * std::max<std::int64_t>(1, ceil_div(S_kv, kBlock * kDealsMost * split()));
}

std::int64_t shared_key_row(const AttentionGeometry& g, std::int64_t pair, std::int64_t key) {
  const auto deal = key / g.dealt_keys(), split = std::int64_t{g.split()};
  return pair * g.S_kv + rows_before(g, deal % split) + deal / split * g.dealt_keys() + key % g.dealt_keys();
}

std::vector<KeyBlock> keys_of_member(const AttentionGeometry& g, int member, std::int64_t length) {
  std::vector<KeyBlock> blocks;
  for (auto deal = member * g.dealt_keys(); deal < length; deal += g.dealt_keys() * g.split())
    for (auto first = deal; first < std::min(length, deal + g.dealt_keys());
         first += AttentionGeometry::kBlock)
      blocks.push_back({first, std::min(AttentionGeometry::kBlock, length - first)});
  return blocks;
}

int members_with_keys(const AttentionGeometry& g, std::int64_t length) {
  return static_cast<int>(std::min<std::int64_t>(g.split(), ceil_div(length, g.dealt_keys())));
}

RowRange rows_of_member(const AttentionGeometry& g, int member) {
  RowRange rows{0, g.group() * g.S_q};
  int stride = 1;
  while (stride * 4 < g.split()) stride *= 4;
  for (int sharing = g.split(); sharing > 1; sharing = std::exchange(stride, stride / 4))
    rows = rows.part(member / stride % 4, sharing / stride);
  return rows;
}

std::vector<QueryTile> tiles_of_member(const AttentionGeometry& g, std::int64_t pair, int member,
                                       std::int64_t length, bool causal, QueryRange range,
                                       std::int64_t block) {
  std::vector<QueryTile> tiles;
  const auto positions = g.tile_positions(), split = std::int64_t{g.split()};
  for (std::int64_t u = 0; range.begin + u * positions < range.end; ++u) {
    const auto first = range.begin + u * positions;
    const auto turn = u / split, seat = turn % 2 == 0 ? u % split : split - 1 - u % split;
    if (seat != member) continue;
    QueryTile tile{pair, first, std::min(positions, range.end - first), length, causal, {}};
    if (causal) tile.keys = tile.first + tile.positions + length - g.S_q;
    for (std::int64_t key = 0; key < tile.keys; key += block)
      tile.blocks.push_back({key, std::min(block, tile.keys - key)});
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

DPPolicy queries_placed(const AttentionGeometry& g) {
  const auto rows = g.group() * g.S_q;
  if (g.shares_keys()) return pairs_placed(g, rows, g.split());
  std::vector<ShardSpec> shards;
  const auto each = ceil_div(rows, g.split());
  for (std::int64_t pair = 0; pair < g.pairs(); ++pair)
    for (std::int64_t first = 0; first < rows; first += each)
      shards.push_back(rows_on(g, g.first_pe(pair) + static_cast<int>(first / each), pair * rows + first,
                               std::min(each, rows - first)));
  return DPPolicy::given(std::move(shards));
}

DPPolicy results_placed(const AttentionGeometry& g) {
  if (!g.shares_keys()) return queries_placed(g);
  std::vector<ShardSpec> shards;
  const auto rows = g.group() * g.S_q;
  for (std::int64_t pair = 0; pair < g.pairs(); ++pair)
    for (int member = 0; member < g.split(); ++member)
      if (const auto mine = rows_of_member(g, member); !mine.empty())
        shards.push_back(
            rows_on(g, g.first_pe(pair) + member, pair * rows + mine.begin, mine.end - mine.begin));
  return DPPolicy::given(std::move(shards));
}

DPPolicy keys_shared(const AttentionGeometry& g) {
  std::vector<ShardSpec> shards;
  const auto deal = g.dealt_keys();
  for (std::int64_t pair = 0; pair < g.pairs(); ++pair)
    for (std::int64_t first = 0; first < g.S_kv; first += deal)
      shards.push_back(rows_on(g, g.first_pe(pair) + static_cast<int>(first / deal % g.split()),
                               pair * g.S_kv + first, std::min(deal, g.S_kv - first)));
  return DPPolicy::given(std::move(shards));
}

DPPolicy keys_copied(const AttentionGeometry& g) { return pairs_placed(g, g.S_kv, g.split()); }

}  // namespace kernbench::nn
