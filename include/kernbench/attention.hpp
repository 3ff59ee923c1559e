// Attention, softmax(Q·Kᵀ/√d)·V: at real sizes on a whole SIP, and over ranks in a line.
//
//   const Shape q_shape{batch, 64, S, 128}, kv_shape{batch, 8, S, 128};
//   Tensor q = torch.from_numpy(…, nn::attention_queries(machine, q_shape, 8));
//   Tensor k = torch.from_numpy(…, nn::attention_keys(machine, kv_shape, KeyPlacement::copied)), v = …;
//   Tensor o = nn::attention(torch, q, k, v, {.causal = true});
//
// A SIP: a pair of a sequence and a K/V head has a group of PEs of its own. With many queries these share the queries and
// stream all keys (prefill); with few, up to 128 rows of stacked query heads, they share the keys, and their partial results
// are combined over queues, each PE some rows (decode).
//
// A line of ranks:
//
//   dist::launch(torch, {.name = "prefill", .topology = "intracube_ring"}, nn::attention_mesh_kv_kernel,
//                q, k, v, o, S_q, S_kv_per_rank, h_q, h_kv, d_head, n_ranks, 0, 0);
//
// Each rank holds a block (heads, S, d) of each tensor, row-major in one piece: S_q rows of Q and O, S_kv_per_rank of K
// and V. Grouped queries: h_q = g · h_kv, and query head i uses K/V head i / g; the g query heads of a K/V head are stacked
// into one product. Tiles larger than a slot of the queues are cut for sending.
//
// The line leads E to the next rank and W to the one before; rank 0 never sends W, the last never E, so a ring serves too.
// `rank_axis` says what a rank is:
//   0   a PE of a cube; rank = program_id(0). Topology `intracube_ring`, or `line_1d`.
//   1   a cube; PE 0 works, the other PEs issue no command. With `mesh_width` 0 rank = program_id(1): a row of the mesh,
//       topology `intercube_intersip`. With the width of the mesh the line goes row by row through the cubes, every other row
//       backwards: `cube_line`; more ranks than the launch has cubes in a SIP go on in the next SIP: `cube_line_intersip`.
//   2   a SIP; PE 0 of cube 0 works; rank = program_id(2). Topology `line_1d`, mapper `leader_only`.
// A PE whose rank is n_ranks or more issues no command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernbench/machine.hpp"
#include "kernbench/placement.hpp"
#include "kernbench/tl.hpp"
#include "kernbench/torch.hpp"

namespace kernbench::nn {

/// Positions begin … end − 1.
struct QueryRange {
  std::int64_t begin = 0, end = 0;
};

struct AttentionOptions {
  bool causal = false;          // the last query sees all keys, each earlier one a key less
  std::optional<double> scale;  // of scores; not given: 1/√d
  std::vector<std::int64_t>
      kv_length;  // keys that count, for each sequence or one for all; not given: all there are
  /// In which scores are kept: the tensors' dtype (twice as fast) or f32. Not given: the tensors' dtype, but f32 for few
  /// queries in bf16.
  std::optional<DType> scores;
  /// Only these positions of many queries, for long contexts in several launches; not given: all.
  std::optional<QueryRange> queries;
  std::string name = "attention";
};

enum class KeyPlacement {
  shared,  // the PEs of a pair have parts of its keys, in turn: the K/V cache of decode
  copied,  // each PE of a pair has all its keys: all reads of a prefill are local
};

/// Where q (batch, h_q, S, d) lies best: with few queries a copy on every PE of a pair.
DPPolicy attention_queries(const topology::Machine& machine, const Shape& q, std::int64_t h_kv,
                           DType dtype = DType::f16);
/// Where the result lies that `attention` makes: as q with many queries, with few some rows on each PE of a pair.
DPPolicy attention_results(const topology::Machine& machine, const Shape& q, std::int64_t h_kv,
                           DType dtype = DType::f16);
/// Where k and v (batch, h_kv, S, d) have to lie. S may be the capacity of a cache: `kv_length` says how much counts.
DPPolicy attention_keys(const topology::Machine& machine, const Shape& k, KeyPlacement placement,
                        DType dtype = DType::f16);

/// q (batch, h_q, S_q, d), k and v (batch, h_kv, S, d), all f16 or all bf16, h_q a multiple of h_kv; the result is like q.
/// InputError (`attention.…`) for shapes, dtypes, lengths and placements that it is not for.
Tensor attention(Torch& torch, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});
/// The same into a tensor of the shape of q; returns its launch.
runtime::Handle attention_into(Torch& torch, const Tensor& o, const Tensor& q, const Tensor& k,
                               const Tensor& v, const AttentionOptions& options = {});

/// Prefill: each rank keeps its block of Q; blocks of K and V travel both ways to all ranks, and every arrival is folded
/// into a running softmax. Exactly 2 · h_kv · n_ranks² products in all.
void attention_mesh_kv_kernel(tl::Context& tl, tl::Ptr q, tl::Ptr k, tl::Ptr v, tl::Ptr o, int S_q,
                              int S_kv_per_rank, int h_q, int h_kv, int d_head, int n_ranks,
                              int rank_axis = 0, int mesh_width = 0);

/// Decode: every rank has the same Q. It computes the partial result (m, l, O) over its own K and V; these travel both ways
/// and are merged, so that every rank ends with the result, equal but for the order of rounding. Exactly 2 · h_kv · n_ranks
/// products in all.
void attention_mesh_mlo_kernel(tl::Context& tl, tl::Ptr q, tl::Ptr k, tl::Ptr v, tl::Ptr o, int S_q,
                               int S_kv_per_rank, int h_q, int h_kv, int d_head, int n_ranks,
                               int rank_axis = 0, int mesh_width = 0);

}  // namespace kernbench::nn
