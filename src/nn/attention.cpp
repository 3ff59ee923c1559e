// Attention at real sizes: one launch on all PEs of a SIP.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "kernbench/attention.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/distributed.hpp"
#include "nn/attention_plan.hpp"

namespace kernbench::nn {
namespace {

constexpr int kArity = 4;  // of the tree in which PEs combine what they have

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

using Results = std::vector<TileResult>;

/// A result as parts that fit into a slot.
Results in_parts(const tl::Context& tl, const TileResult& whole, std::int64_t d) {
  Results parts;
  in_slots(tl, whole.o.shape()[0], d, [&](std::int64_t first, std::int64_t last) {
    const auto rows = [&](const tl::Tile& t) { return t.slice({{first, last}}); };
    parts.push_back({rows(whole.reference), rows(whole.l), rows(whole.o)});
  });
  return parts;
}

void send_up(tl::Context& tl, const std::string& direction, const Results& parts) {
  for (const auto& part : parts) {
    tl.send(direction, part.reference);
    tl.send(direction, part.l);
    tl.send(direction, part.o);
  }
}

TileResult receive_like(tl::Context& tl, const std::string& direction, const TileResult& like) {
  const auto take = [&](const tl::Tile& t) { return tl.recv(direction, t.shape(), t.dtype()); };
  const auto reference = take(like.reference), l = take(like.l), o = take(like.o);
  return {reference, l, o};
}

TileResult merged(tl::Context& tl, const TileResult& a, const TileResult& b) {
  const auto reference = tl.minimum(a.reference, b.reference);
  const auto of_a = tl.exp2(reference - a.reference), of_b = tl.exp2(reference - b.reference);
  const auto o = tl.fma(b.o, of_b, a.o * of_a);
  const auto l = tl.fma(b.l, of_b, a.l * of_a);
  return {reference, l, o};
}

/// Up a tree of four. True on the first PE, which then has the whole.
bool combine(tl::Context& tl, int member, int members, Results& parts) {
  int level = 0;
  for (int stride = 1; stride < members; stride *= kArity, ++level) {
    const int digit = member / stride % kArity;
    if (digit != 0) {
      send_up(tl, fmt::format("up{}_{}", level, digit), parts);
      return false;
    }
    for (int c = 1; c < kArity && member + c * stride < members; ++c)
      for (auto& part : parts)
        part = merged(tl, part, receive_like(tl, fmt::format("down{}_{}", level, c), part));
  }
  return true;
}

// ── the kernel ──

void store_result(tl::Context& tl, const AttentionLaunch& a, const QueryTile& tile,
                  const TileResult& result) {
  const auto o = tl.cast(result.o * (1.0f / result.l), a.dtype);
  tl.store(a.row(a.o, a.query_row(tile.pair, tile.first)),
           tl.reshape(o, {a.g.group(), tile.positions, a.g.d}), {.strides = {a.g.S_q * a.g.d, a.g.d, 1}});
}

/// All queries of a pair: their rows follow each other.
void store_parts(tl::Context& tl, const AttentionLaunch& a, const QueryTile& tile, const Results& parts) {
  auto row = a.query_row(tile.pair, 0);
  for (const auto& part : parts) {
    tl.store(a.row(a.o, row), tl.cast(part.o * (1.0f / part.l), a.dtype));
    row += part.o.shape()[0];
  }
}

AttentionWork work_of(tl::Context& tl, const AttentionLaunch& a) {
  AttentionWork work;
  work.group = a.g.group(), work.d = a.g.d, work.dtype = a.dtype;
  work.scale = a.scale, work.scores = a.scores;
  work.head_stride = a.g.S_q * a.g.d;
  if (a.scores == DType::f32) work.blocks = 2;  // they take twice the scratch
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

/// PEs of a pair share its queries.
void attend_many(tl::Context& tl, const AttentionLaunch& a, int me) {
  auto work = work_of(tl, a);
  for (const auto& [pair, member] : pairs_of(a.g, me)) {
    auto tiles = tiles_of_member(a.g, pair, member, a.length(pair), a.causal, a.queries);
    for (auto& tile : tiles) {  // PEs begin at different keys, and so read from different memories
      const auto turn = a.copied ? 0 : member % static_cast<std::ptrdiff_t>(tile.blocks.size());
      std::ranges::rotate(tile.blocks, tile.blocks.begin() + turn);
    }
    std::ranges::move(tiles, std::back_inserter(work.tiles));
  }
  record_attention(tl, work);
}

/// PEs of a pair share its keys and combine what they have.
void attend_few(tl::Context& tl, const AttentionLaunch& a, int me) {
  auto work = work_of(tl, a);
  work.scores = DType::f32, work.blocks = 4, work.sums_by_matrix = false;  // here the vector unit has time
  for (const auto& [pair, member] : pairs_of(a.g, me)) {
    const auto length = a.length(pair);
    QueryTile tile{pair, 0, a.g.S_q, length, a.causal, keys_of_member(a.g, member, length)};
    if (!tile.blocks.empty()) work.tiles.push_back(std::move(tile));
  }
  if (a.g.split() > 1)
    work.finish = [&tl, &a, me](const QueryTile& tile, const TileResult& whole) {
      auto parts = in_parts(tl, whole, a.g.d);
      const int member = me - a.g.first_pe(tile.pair);
      if (!combine(tl, member, members_with_keys(a.g, a.length(tile.pair)), parts)) return;
      store_parts(tl, a, tile, parts);
    };
  record_attention(tl, work);
}

}  // namespace

DPPolicy attention_queries(const topology::Machine& machine, const Shape& q, std::int64_t h_kv, DType dtype) {
  const Shape k{q[0], h_kv, 1, q[3]};
  return queries_placed(geometry_of(machine, q, k, dtype));
}

DPPolicy attention_results(const topology::Machine& machine, const Shape& q, std::int64_t h_kv, DType dtype) {
  const Shape k{q[0], h_kv, 1, q[3]};
  return results_placed(geometry_of(machine, q, k, dtype));
}

DPPolicy attention_keys(const topology::Machine& machine, const Shape& k, KeyPlacement placement,
                        DType dtype) {
  const auto g = geometry_of(machine, k, k, dtype);
  return placement == KeyPlacement::copied ? keys_copied(g) : keys_shared(g);
}

Handle attention_into(Torch& torch, const Tensor& o, const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) {
  check_shapes(q.shape(), k.shape(), v.shape());
  const DType scores = options.scores.value_or(q.dtype());
  check_dtypes(q, k, v, scores);
  AttentionLaunch a;
  a.g = geometry_of(torch.machine(), q.shape(), k.shape(), q.dtype());
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
    return dist::launch_body(torch, {.name = options.name, .topology = "pe_tree_4", .grid = grid}, tensors,
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
