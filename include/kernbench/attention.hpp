// Attention, softmax(Q·Kᵀ/√d)·V, over ranks in a line.
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

#include "kernbench/tl.hpp"

namespace kernbench::nn {

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
