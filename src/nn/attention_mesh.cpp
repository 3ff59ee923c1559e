// Attention over ranks in a line.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernbench/attention.hpp"
#include "kernbench/ccl_steps.hpp"

namespace kernbench::nn {
namespace {

using ccl::Tiles;
using tl::At;

/// Extents of a rank's blocks.
struct MeshSizes {
  int S_q, S_kv, h_q, h_kv, d;

  int group() const { return h_q / h_kv; }
  std::int64_t q_rows() const { return std::int64_t{group()} * S_q; }
  double scale() const {
    return std::numbers::log2e / std::sqrt(static_cast<double>(d));
  }  // softmax in powers of two
};

struct MeshTensors {
  tl::Ptr q, k, v, o;
};

/// A rank's place on its line.
struct LinePlace {
  int rank = 0, ranks = 1;

  // Step t moves blocks one rank on: what goes east now began t − 1 ranks to the west, if there is such a rank.
  bool sends_east(int t) const { return rank + 1 < ranks && rank - (t - 1) >= 0; }
  bool sends_west(int t) const { return rank > 0 && rank + (t - 1) < ranks; }
  bool from_west(int t) const { return rank - t >= 0; }
  bool from_east(int t) const { return rank + t < ranks; }
};

/// A line that goes back in every other row of a mesh.
int snake_position(int cube, int width) {
  if (width <= 0) return cube;
  const int x = cube % width, y = cube / width;
  return y * width + (y % 2 == 0 ? x : width - 1 - x);
}

int rank_of_cube(const tl::Context& tl, int n_ranks, int mesh_width) {
  const int cubes = tl.num_programs(1), position = snake_position(tl.program_id(1), mesh_width);
  return n_ranks > cubes ? tl.program_id(2) * cubes + position : position;
}

/// Nothing for a PE that takes no part.
std::optional<LinePlace> place_of(const tl::Context& tl, int n_ranks, int rank_axis, int mesh_width) {
  const bool first_pe = tl.program_id(0) == 0, first_cube = tl.program_id(1) == 0;
  if ((rank_axis >= 1 && !first_pe) || (rank_axis == 2 && !first_cube)) return {};
  const int rank = rank_axis == 1 ? rank_of_cube(tl, n_ranks, mesh_width) : tl.program_id(rank_axis);
  if (rank >= n_ranks) return {};
  return LinePlace{rank, n_ranks};
}

void check_sizes(const tl::Context& tl, const MeshSizes& sizes, int n_ranks, int rank_axis, At at) {
  const int least = std::min({sizes.S_q, sizes.S_kv, sizes.h_q, sizes.h_kv, sizes.d, n_ranks});
  if (least < 1)
    ccl::fail_kernel(tl, "shape", fmt::format("attention with an extent of {}", least),
                     "S_q, S_kv_per_rank, h_q, h_kv, d_head and n_ranks are at least 1", at);
  if (sizes.h_q % sizes.h_kv != 0)
    ccl::fail_kernel(tl, "shape", fmt::format("{} query heads for {} K/V heads", sizes.h_q, sizes.h_kv),
                     "h_q must be a multiple of h_kv", at);
  if (rank_axis < 0 || rank_axis > 2)
    ccl::fail_kernel(tl, "axis", fmt::format("rank_axis {}", rank_axis),
                     "0: ranks are PEs, 1: cubes, 2: SIPs", at);
}

/// Rows [first, first + rows) of a block of rows of `d`.
tl::Tile load_rows(tl::Context& tl, tl::Ptr tensor, std::int64_t first, std::int64_t rows, int d,
                   At at = At::current()) {
  const auto& shard = tl.shard(tensor, at);
  return tl.load(shard.ptr + first * d * itemsize(shard.dtype), {rows, d}, shard.dtype, {}, at);
}

// ── running softmax ──

/// What is known of the scores seen so far: their largest m, l = Σ 2^(s − m), o = Σ 2^(s − m) · v. Each row of queries has its own.
struct RunningSoftmax {
  tl::Tile m, l, o;
};

/// The scores of `q` against `k`, in powers of two.
tl::Tile scores(tl::Context& tl, const tl::Tile& q, const tl::Tile& k, double scale) {
  return tl.dot(q, tl.trans(k)) * scale;
}

RunningSoftmax begun(tl::Context& tl, const tl::Tile& s, const tl::Tile& v) {
  const auto m = tl.max(s, 1, true);
  const auto p = tl.exp2(s - m);
  const auto l = tl.sum(p, 1, true);
  return {m, l, tl.dot(tl.cast(p, v.dtype()), v)};
}

RunningSoftmax folded(tl::Context& tl, const RunningSoftmax& old, const tl::Tile& s, const tl::Tile& v) {
  const auto m = tl.maximum(old.m, tl.max(s, 1, true));
  const auto p = tl.exp2(s - m);
  const auto keep = tl.exp2(old.m - m);
  const auto l = old.l * keep + tl.sum(p, 1, true);
  return {m, l, tl.dot(tl.cast(p, v.dtype()), v, {.acc = old.o * keep})};
}

RunningSoftmax merged(tl::Context& tl, const RunningSoftmax& a, const RunningSoftmax& b) {
  const auto m = tl.maximum(a.m, b.m);
  const auto of_a = tl.exp2(a.m - m), of_b = tl.exp2(b.m - m);
  const auto l = a.l * of_a + b.l * of_b;
  const auto o = a.o * of_a + b.o * of_b;
  return {m, l, o};
}

void store_result(tl::Context& tl, const RunningSoftmax& softmax, tl::Ptr o, std::int64_t first, int d) {
  const auto& shard = tl.shard(o);
  tl.store(shard.ptr + first * d * itemsize(shard.dtype), tl.cast(softmax.o / softmax.l, shard.dtype));
}

// ── travelling ──

/// The fewest equal pieces of which each fits into a slot.
std::int64_t piece_count(const tl::Context& tl, const tl::Tile& tile) {
  const auto n = tile.shape().elements();
  auto count = tl.cdiv(n, ccl::tile_elements(tl, tile.dtype()));
  while (n % count != 0) ++count;
  return count;
}

/// Tiles one after the other, each cut into pieces that fit a slot.
Tiles cut(tl::Context& tl, const Tiles& tiles) {
  Tiles pieces;
  for (const auto& tile : tiles) {
    const auto n = tile.shape().elements(), size = n / piece_count(tl, tile);
    const auto flat = tl.reshape(tile, {n});
    for (std::int64_t first = 0; first < n; first += size)
      pieces.push_back(flat.slice({{first, first + size}}));
  }
  return pieces;
}

/// The other way round: pieces as tiles of the shapes of `like`.
Tiles joined(tl::Context& tl, const Tiles& pieces, const Tiles& like) {
  Tiles tiles;
  std::span<const tl::Tile> rest(pieces);
  for (const auto& tile : like) {
    const auto count = static_cast<std::size_t>(piece_count(tl, tile));
    const auto all = count == 1 ? rest.front() : tl.cat(rest.first(count), 0);
    tiles.push_back(tl.reshape(all, tile.shape()));
    rest = rest.subspan(count);
  }
  return tiles;
}

/// Pieces on their way east and west. They leave their slots as they come: a step may have more of them than there are slots.
struct Travellers {
  Tiles eastward, westward;
};

tl::Tile receive_like(tl::Context& tl, std::string_view direction, const tl::Tile& like) {
  return ccl::out_of_slot(tl, tl.recv(direction, like.shape(), like.dtype()));
}

/// Sends and receives take turns piece by piece, in one order on all ranks, so that nobody waits in a circle.
void step(tl::Context& tl, const LinePlace& place, int t, Travellers& on) {
  for (std::size_t i = 0; i < on.eastward.size(); ++i) {
    if (place.sends_east(t)) tl.send("E", on.eastward[i]);
    if (place.sends_west(t)) tl.send("W", on.westward[i]);
    if (place.from_west(t)) on.eastward[i] = receive_like(tl, "W", on.eastward[i]);
    if (place.from_east(t)) on.westward[i] = receive_like(tl, "E", on.westward[i]);
  }
}

/// Everybody's tiles travel to everybody else; `take` gets those of each other rank as they come.
template <class Take>
void fan_out(tl::Context& tl, const LinePlace& place, const Tiles& mine, Take take) {
  const auto pieces = cut(tl, mine);
  Travellers on{pieces, pieces};
  for (int t = 1; t < place.ranks; ++t) {
    step(tl, place, t, on);
    if (place.from_west(t)) take(joined(tl, on.eastward, mine));
    if (place.from_east(t)) take(joined(tl, on.westward, mine));
  }
}

/// For each K/V head: the partial result over this rank's own K and V, what `travel` makes of it, and its store.
template <class Travel>
void for_each_head(tl::Context& tl, const MeshTensors& x, const MeshSizes& sizes, Travel travel) {
  for (std::int64_t head = 0; head < sizes.h_kv; ++head) {
    const auto q = load_rows(tl, x.q, head * sizes.q_rows(), sizes.q_rows(), sizes.d);
    const auto k = load_rows(tl, x.k, head * sizes.S_kv, sizes.S_kv, sizes.d);
    const auto v = load_rows(tl, x.v, head * sizes.S_kv, sizes.S_kv, sizes.d);
    const auto own = begun(tl, scores(tl, q, k, sizes.scale()), v);
    store_result(tl, travel(q, k, v, own), x.o, head * sizes.q_rows(), sizes.d);
  }
}

}  // namespace

void attention_mesh_kv_kernel(tl::Context& tl, tl::Ptr q, tl::Ptr k, tl::Ptr v, tl::Ptr o, int S_q,
                              int S_kv_per_rank, int h_q, int h_kv, int d_head, int n_ranks, int rank_axis,
                              int mesh_width) {
  const MeshSizes sizes{S_q, S_kv_per_rank, h_q, h_kv, d_head};
  check_sizes(tl, sizes, n_ranks, rank_axis, At::current());
  const auto place = place_of(tl, n_ranks, rank_axis, mesh_width);
  if (!place) return;
  for_each_head(tl, {q, k, v, o}, sizes,
                [&](const auto& queries, const auto& keys, const auto& values, auto softmax) {
                  fan_out(tl, *place, {keys, values}, [&](const Tiles& kv) {
                    softmax = folded(tl, softmax, scores(tl, queries, kv[0], sizes.scale()), kv[1]);
                  });
                  return softmax;
                });
}

void attention_mesh_mlo_kernel(tl::Context& tl, tl::Ptr q, tl::Ptr k, tl::Ptr v, tl::Ptr o, int S_q,
                               int S_kv_per_rank, int h_q, int h_kv, int d_head, int n_ranks, int rank_axis,
                               int mesh_width) {
  const MeshSizes sizes{S_q, S_kv_per_rank, h_q, h_kv, d_head};
  check_sizes(tl, sizes, n_ranks, rank_axis, At::current());
  const auto place = place_of(tl, n_ranks, rank_axis, mesh_width);
  if (!place) return;
  for_each_head(tl, {q, k, v, o}, sizes,
                [&](const auto&, const auto&, const auto&, const RunningSoftmax& own) {
                  auto softmax = own;
                  fan_out(tl, *place, {own.m, own.l, own.o}, [&](const Tiles& mlo) {
                    softmax = merged(tl, softmax, {mlo[0], mlo[1], mlo[2]});
                  });
                  return softmax;
                });
}

}  // namespace kernbench::nn
