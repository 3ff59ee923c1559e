// Attention at real sizes: one launch on all PEs of a SIP.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>

#include "kernbench/attention.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/distributed.hpp"
#include "nn/attention_plan.hpp"

namespace kernbench::nn {
namespace {

/// A launch: what all its PEs know.
struct AttentionLaunch {
  AttentionGeometry g;
  std::vector<std::int64_t> lengths;  // keys of each sequence
  bool causal = false, copied = false;
  double scale = 1;
  QueryRange queries;
  DType scores = DType::f16, dtype = DType::f16;
  tl::Ptr q, k, v, o;

  std::int64_t length(std::int64_t pair) const { return lengths[static_cast<std::size_t>(pair / g.h_kv)]; }
  tl::Ptr row(tl::Ptr base, std::int64_t n) const { return base + n * g.d * g.itemsize; }
  std::int64_t query_row(std::int64_t pair, std::int64_t position) const {
    return pair * g.group() * g.S_q + position;
  }
  std::int64_t key_row(std::int64_t pair, std::int64_t key) const {
    return copied ? pair * g.S_kv + key : shared_key_row(g, pair, key);
  }
};

AttentionGeometry geometry_of(const topology::Machine& machine, const Shape& q, const Shape& k, DType dtype) {
  return {q[0], q[1], k[1], q[2], k[2], q[3], machine.cubes(), machine.pes(), itemsize(dtype)};
}

[[noreturn]] void refuse(const char* id, std::string what, std::string hint) {
  throw InputError({fmt::format("attention.{}", id), "", std::move(what), std::move(hint)});
}

void check_shapes(const Shape& q, const Shape& k, const Shape& v) {
  const bool fits = q.rank() == 4 && k.rank() == 4 && k == v && q[0] == k[0] && q[3] == k[3] && k[1] > 0 &&
                    q[1] % k[1] == 0 && q.elements() > 0 && k.elements() > 0;
  if (!fits)
    refuse("shape", fmt::format("attention of q {}, k {}, v {}", to_string(q), to_string(k), to_string(v)),
           "it takes q (batch, h_q, S, d), k and v (batch, h_kv, S, d), h_q a multiple of h_kv");
}

/// The keys that queries of that shape belong to, one position of them.
Shape keys_of(const Shape& q, std::int64_t h_kv) {
  const Shape k = q.rank() == 4 ? Shape{q[0], h_kv, 1, q[3]} : Shape{};
  check_shapes(q, k, k);
  return k;
}

void check_dtypes(const Tensor& q, const Tensor& k, const Tensor& v, DType scores) {
  const DType dtype = q.dtype();
  if ((dtype != DType::f16 && dtype != DType::bf16) || k.dtype() != dtype || v.dtype() != dtype)
    refuse("dtype",
           fmt::format("attention of {}, {} and {}", to_string(dtype), to_string(k.dtype()),
                       to_string(v.dtype())),
           "q, k and v are all f16 or all bf16");
  if (scores != DType::f32 && scores != dtype)
    refuse("dtype", fmt::format("scores in {} of tensors in {}", to_string(scores), to_string(dtype)),
           "they are in the tensors' dtype or in f32");
}

std::vector<std::int64_t> lengths_of(const AttentionGeometry& g, const AttentionOptions& options) {
  auto lengths = options.kv_length;
  if (lengths.empty()) lengths = {g.S_kv};
  if (lengths.size() == 1) lengths.resize(static_cast<std::size_t>(g.batch), lengths.front());
  if (static_cast<std::int64_t>(lengths.size()) != g.batch)
    refuse("kv-length", fmt::format("{} K/V lengths for {} sequences", lengths.size(), g.batch),
           "give one for each, or one for all");
  for (const auto length : lengths) {
    if (length < 1 || length > g.S_kv)
      refuse("kv-length", fmt::format("a K/V length of {}", length),
             fmt::format("1 to {}, which k has", g.S_kv));
    if (options.causal && length < g.S_q)
      refuse("kv-length", fmt::format("{} causal queries of {} keys", g.S_q, length),
             "the last query sees all keys and each earlier one a key less, but at least one");
  }
  return lengths;
}

QueryRange range_of(const AttentionGeometry& g, const AttentionOptions& options) {
  const QueryRange range = options.queries.value_or(QueryRange{0, g.S_q});
  if (range.begin < 0 || range.end > g.S_q || range.begin >= range.end)
    refuse("queries", fmt::format("queries {} to {} of {}", range.begin, range.end, g.S_q),
           "give begin and end within them");
  if (options.queries && g.shares_keys())
    refuse("queries", fmt::format("a part of {} queries", g.S_q), "so few are attended to at once");
  return range;
}

/// With few queries the vector unit has time for the scores of bf16 tensors in f32, which bf16 would make coarse.
DType default_scores(const AttentionGeometry& g, DType dtype) {
  return g.shares_keys() && dtype == DType::bf16 ? DType::f32 : dtype;
}

/// Addresses are found by formula, so placements are those that the formula is for.
bool row_major(const Tensor& t, const AttentionGeometry& g) {
  const DPPolicy& dp = t.dp();
  const bool rows = !dp.own && dp.cube == Split::row_wise && dp.pe == Split::row_wise;
  return rows || dp == DPPolicy::whole() || dp == queries_placed(g) || dp == results_placed(g);
}

bool is_copied(const Tensor& k, const Tensor& v, const AttentionGeometry& g) {
  if (k.dp() == keys_copied(g) && v.dp() == keys_copied(g)) return true;
  if (k.dp() == keys_shared(g) && v.dp() == keys_shared(g)) return false;
  refuse("placement", fmt::format("k is placed {} and v {}", to_string(k.dp()), to_string(v.dp())),
         "place both with attention_keys(machine, shape, h_q …), or redistribute them");
}

// ── combining over the PEs of a pair ──

/// Rows that fit into a slot as f32.
std::int64_t rows_at_once(const tl::Context& tl, std::int64_t d) {
  return std::max<std::int64_t>(1, ccl::tile_elements(tl, DType::f32) / d);
}

/// `fn(first, last)` for rows that are sent together.
template <class Fn>
void in_slots(const tl::Context& tl, std::int64_t rows, std::int64_t d, Fn fn) {
  const auto most = rows_at_once(tl, d);
  for (std::int64_t first = 0; first < rows; first += most) fn(first, std::min(rows, first + most));
}

/// Rows of a partial result.
TileResult rows_of(const TileResult& all, std::int64_t first, std::int64_t last) {
  const auto rows = [&](const tl::Tile& t) { return t.slice({{first, last}}); };
  return {rows(all.reference), rows(all.l), rows(all.o)};
}

/// What a PE has of the partial results of its pair: some rows, or no keys at all.
struct PartialRows {
  RowRange rows;
  std::optional<TileResult> value;
};

void send_rows(tl::Context& tl, const std::string& direction, const PartialRows& mine, const RowRange& part) {
  in_slots(tl, part.end - part.begin, mine.value->o.shape()[1], [&](std::int64_t first, std::int64_t last) {
    const auto begin = part.begin - mine.rows.begin;
    const auto rows = rows_of(*mine.value, begin + first, begin + last);
    tl.send(direction, rows.reference);
    tl.send(direction, rows.l);
    tl.send(direction, rows.o);
  });
}

TileResult receive_rows(tl::Context& tl, const std::string& direction, std::int64_t rows, std::int64_t d) {
  std::vector<tl::Tile> reference, l, o;
  in_slots(tl, rows, d, [&](std::int64_t first, std::int64_t last) {
    reference.push_back(tl.recv(direction, {last - first, 1}, DType::f32));
    l.push_back(tl.recv(direction, {last - first, 1}, DType::f32));
    o.push_back(tl.recv(direction, {last - first, d}, DType::f32));
  });
  const auto joined = [&](const std::vector<tl::Tile>& tiles) {
    return tiles.size() == 1 ? tiles.front() : tl.cat(tiles, 0);
  };
  return {joined(reference), joined(l), joined(o)};
}

/// All at once: one reference, then sums.
TileResult merged(tl::Context& tl, const std::vector<TileResult>& parts) {
  if (parts.size() == 1) return parts.front();
  TileResult sum;
  sum.reference = parts.front().reference;
  for (std::size_t i = 1; i < parts.size(); ++i)
    sum.reference = tl.minimum(sum.reference, parts[i].reference);
  for (const auto& part : parts) {
    const auto weight = tl.exp2(sum.reference - part.reference);
    sum.l = sum.l ? tl.fma(part.l, weight, sum.l) : part.l * weight;
    sum.o = sum.o ? tl.fma(part.o, weight, sum.o) : part.o * weight;
  }
  return sum;
}

/// Level by level everybody gives others their rows and merges what comes for its own, so that the work is shared.
class RowExchange {
 public:
  RowExchange(tl::Context& tl, const AttentionGeometry& g, int member, int members)
      : tl_(tl), g_(g), member_(member), members_(members) {}

  /// The highest digit first, so that rows lie in the order of PEs.
  void run(PartialRows& mine) {
    int level = 0;
    while (4 << 2 * level < g_.split()) ++level;
    for (int sharing = g_.split(); sharing > 1; --level) {
      exchange(mine, level, sharing);
      sharing = 1 << 2 * level;
    }
  }

 private:
  /// Whether a PE, or one it has merged with, had keys: those whose numbers differ by a multiple of `sharing`.
  bool has_value(int member, int sharing) const { return member % sharing < members_; }

  void exchange(PartialRows& mine, int level, int sharing) {
    const int stride = 1 << 2 * level, radix = sharing / stride, digit = member_ / stride % 4;
    const auto direction = [&](int other) { return fmt::format("digit{}_{}", level, digit ^ other); };
    for (int c = 1; c < radix && mine.value; ++c)
      if (const auto part = mine.rows.part(digit ^ c, radix); !part.empty())
        send_rows(tl_, direction(digit ^ c), mine, part);
    const auto rows = mine.rows.part(digit, radix);
    std::vector<TileResult> parts;
    for (int other = 0; other < radix && !rows.empty(); ++other) {
      if (!has_value(member_ + (other - digit) * stride, sharing)) continue;
      if (other == digit)
        parts.push_back(rows_of(*mine.value, rows.begin - mine.rows.begin, rows.end - mine.rows.begin));
      else
        parts.push_back(receive_rows(tl_, direction(other), rows.end - rows.begin, g_.d));
    }
    mine = {rows, {}};
    if (!parts.empty()) mine.value = merged(tl_, parts);
  }

  tl::Context& tl_;
  const AttentionGeometry& g_;
  const int member_, members_;
};

// ── the kernel ──

void store_result(tl::Context& tl, const AttentionLaunch& a, const QueryTile& tile,
                  const TileResult& result) {
  const auto o = tl.mul(result.o, 1.0f / result.l, {.out_dtype = a.dtype});
  tl.store(a.row(a.o, a.query_row(tile.pair, tile.first)),
           tl.reshape(o, {a.g.group(), tile.positions, a.g.d}), {.strides = {a.g.S_q * a.g.d, a.g.d, 1}});
}

/// Some rows of a pair; they follow each other.
void store_rows(tl::Context& tl, const AttentionLaunch& a, std::int64_t pair, const PartialRows& mine) {
  if (mine.rows.empty()) return;
  const auto row = a.query_row(pair, 0) + mine.rows.begin;
  tl.store(a.row(a.o, row), tl.mul(mine.value->o, 1.0f / mine.value->l, {.out_dtype = a.dtype}));
}

AttentionWork work_of(tl::Context& tl, const AttentionLaunch& a) {
  AttentionWork work;
  work.group = a.g.group(), work.d = a.g.d, work.dtype = a.dtype;
  work.scale = a.scale, work.scores = a.scores;
  work.head_stride = a.g.S_q * a.g.d;
  work.q_at = [&a](std::int64_t pair, std::int64_t position) {
    return a.row(a.q, a.query_row(pair, position));
  };
  work.k_at = [&a](std::int64_t pair, std::int64_t key) { return a.row(a.k, a.key_row(pair, key)); };
  work.v_at = [&a](std::int64_t pair, std::int64_t key) { return a.row(a.v, a.key_row(pair, key)); };
  work.finish = [&tl, &a](const QueryTile& tile, const TileResult& result) {
    store_result(tl, a, tile, result);
  };
  return work;
}

/// The pairs that PE `me` works on, and its place among the PEs of each.
std::vector<std::pair<std::int64_t, int>> pairs_of(const AttentionGeometry& g, int me) {
  std::vector<std::pair<std::int64_t, int>> mine;
  for (std::int64_t pair = 0; pair < g.pairs(); ++pair)
    if (const int member = me - g.first_pe(pair); member >= 0 && member < g.split())
      mine.push_back({pair, member});
  return mine;
}

/// What a step takes of the scratch at most: scores of two steps and of two blocks that are shifted, what is added to those of
/// one, the weights of a block, K and V of it and of those that are loaded ahead; queries and results of two tiles.
std::int64_t scratch_for(const AttentionWork& work, const AttentionGeometry& g) {
  const auto rows = g.group() * g.tile_positions(), loads = static_cast<std::int64_t>(work.loads_ahead) + 1;
  const auto scores = rows * work.block * itemsize(work.scores) * (2 * work.blocks + 3);
  const auto operands = (rows + 2 * loads * g.d) * work.block * g.itemsize;
  return scores + operands + 2 * rows * g.d * (g.itemsize + itemsize(DType::f32));
}

constexpr std::int64_t kManyKeys = 8192;

/// Large blocks are fewer commands, and the vector unit begins anew less often. With few keys the beginning and the end of a tile
/// count, too.
void choose_blocks(AttentionWork& work, const AttentionGeometry& g, Bytes scratch) {
  AttentionWork large = work;
  large.blocks = 3, large.block = 192;
  if (g.S_kv >= kManyKeys) large.block = 256, large.loads_ahead = 0, large.products_ahead = 1;
  if (scratch_for(large, g) <= scratch.count())
    work = std::move(large);
  else if (work.scores == DType::f32)
    work.blocks = 2;  // they take twice the scratch
}

/// PEs of a pair share its queries.
void attend_many(tl::Context& tl, const AttentionLaunch& a, int me) {
  auto work = work_of(tl, a);
  choose_blocks(work, a.g, tl.environment().scratch);
  for (const auto& [pair, member] : pairs_of(a.g, me)) {
    auto tiles = tiles_of_member(a.g, pair, member, a.length(pair), a.causal, a.queries, work.block);
    for (auto& tile : tiles) {  // PEs begin at different keys, and so read from different memories
      const auto turn = a.copied ? 0 : member % static_cast<std::ptrdiff_t>(tile.blocks.size());
      std::ranges::rotate(tile.blocks, tile.blocks.begin() + turn);
    }
    std::ranges::move(tiles, std::back_inserter(work.tiles));
  }
  record_attention(tl, work);
}

/// With so few blocks of keys it is the way from the last one to the result that counts.
constexpr std::size_t kFewBlocks = 8;

/// PEs of a pair share its keys and combine what they have. A PE that has none takes part all the same.
void attend_few(tl::Context& tl, const AttentionLaunch& a, int me) {
  auto work = work_of(tl, a);
  work.sums_by_matrix = false;                 // here the vector unit has time
  work.blocks = 8;                             // and tiles of scores are small
  work.loads_ahead = work.products_ahead = 0;  // K and V are read in the order in which they are used
  const auto combine = [&](std::int64_t pair, std::optional<TileResult> value) {
    if (value && value->reference.dtype() != DType::f32)
      value->reference = tl.cast(value->reference, DType::f32);
    PartialRows mine{{0, a.g.group() * a.g.S_q}, std::move(value)};
    RowExchange(tl, a.g, me - a.g.first_pe(pair), members_with_keys(a.g, a.length(pair))).run(mine);
    store_rows(tl, a, pair, mine);
  };
  std::optional<std::int64_t> without_keys;
  for (const auto& [pair, member] : pairs_of(a.g, me)) {
    const auto length = a.length(pair);
    QueryTile tile{pair, 0, a.g.S_q, length, a.causal, keys_of_member(a.g, member, length)};
    if (tile.blocks.empty())
      without_keys = pair;
    else
      work.tiles.push_back(std::move(tile));
  }
  if (a.g.split() > 1)
    work.finish = [&](const QueryTile& tile, const TileResult& whole) { combine(tile.pair, whole); };
  std::size_t blocks = 0;
  for (const auto& tile : work.tiles) blocks += tile.blocks.size();
  work.one_by_one = blocks <= kFewBlocks;
  record_attention(tl, work);
  if (without_keys) combine(*without_keys, {});
}

}  // namespace

DPPolicy attention_queries(const topology::Machine& machine, const Shape& q, std::int64_t h_kv, DType dtype) {
  return queries_placed(geometry_of(machine, q, keys_of(q, h_kv), dtype));
}

DPPolicy attention_results(const topology::Machine& machine, const Shape& q, std::int64_t h_kv, DType dtype) {
  return results_placed(geometry_of(machine, q, keys_of(q, h_kv), dtype));
}

DPPolicy attention_keys(const topology::Machine& machine, const Shape& k, KeyPlacement placement,
                        DType dtype) {
  check_shapes(k, k, k);
  const auto g = geometry_of(machine, k, k, dtype);
  return placement == KeyPlacement::copied ? keys_copied(g) : keys_shared(g);
}

Handle attention_into(Torch& torch, const Tensor& o, const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) {
  check_shapes(q.shape(), k.shape(), v.shape());
  AttentionLaunch a;
  a.g = geometry_of(torch.machine(), q.shape(), k.shape(), q.dtype());
  const DType scores = options.scores.value_or(default_scores(a.g, q.dtype()));
  check_dtypes(q, k, v, scores);
  a.lengths = lengths_of(a.g, options);
  a.causal = options.causal, a.copied = is_copied(k, v, a.g);
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(a.g.d))) * std::numbers::log2e;
  a.scores = scores, a.dtype = q.dtype();
  a.queries = range_of(a.g, options);
  for (const Tensor* t : {&q, &o})
    if (!row_major(*t, a.g))
      refuse("placement", fmt::format("{} is placed {}", t->name(), to_string(t->dp())),
             "place it with attention_queries, row_wise over cubes and PEs, or whole on a PE");
  a.q = q.ptr(), a.k = k.ptr(), a.v = v.ptr(), a.o = o.ptr();
  const auto kernel = [&](tl::Context& tl) {
    const int me = tl.program_id(1) * a.g.pes + tl.program_id(0);
    a.g.shares_keys() ? attend_few(tl, a, me) : attend_many(tl, a, me);
  };
  const Grid grid{a.g.pes, a.g.cubes};
  const std::vector<Tensor> tensors{q, k, v, o};
  if (a.g.shares_keys() && a.g.split() > 1)
    return dist::launch_body(torch, {.name = options.name, .topology = "pe_digits_4", .grid = grid}, tensors,
                             kernel);
  return torch.launch_body({.name = options.name, .grid = grid}, tensors, kernel);
}

Tensor attention(Torch& torch, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  check_shapes(q.shape(), k.shape(), v.shape());
  const auto g = geometry_of(torch.machine(), q.shape(), k.shape(), q.dtype());
  const Tensor o = torch.empty(q.shape(), q.dtype(), results_placed(g), options.name);
  attention_into(torch, o, q, k, v, options);
  return o;
}

}  // namespace kernbench::nn
