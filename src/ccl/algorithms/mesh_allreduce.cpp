#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// The ring of every row, then the ring of every column.
void mesh_allreduce(tl::Context& tl, const Call& call) {
  const auto [x, y] = MeshCoord::of(call.rank, call.grid.x);
  const Ring row{x, call.grid.x, call.slots, "E", "W"};
  const Ring column{y, call.grid.y, call.slots, "S", "N"};
  const auto all = pieces(tl, held(tl, call.input));
  for (const auto batch : batches(all, std::min(kept_at_once(call.slots), tiles_at_once(tl, all)))) {
    Tiles sums;
    for (const auto& piece : batch) sums.push_back(load(tl, piece));
    ring_accumulate(tl, row, batch, sums, call.op);
    ring_accumulate(tl, column, batch, sums, call.op);
    for (std::size_t i = 0; i < batch.size(); ++i)
      store(tl, batch[i], finished(tl, call.op, sums[i], call.world_size));
  }
}

Algorithm describe_mesh_allreduce() {
  const auto rounds = [](const Load& w) { return w.members.grid.x + w.members.grid.y - 2; };
  return {.name = "mesh_allreduce",
          .description = "Ranks in a w × h grid: the ring of every row, then the ring of every column.",
          .topology = "torus_2d",
          .also_right_on = {"mesh_2d"},
          .validator = "single_shard_per_rank",
          .identical_bits = false,
          .kernel = mesh_allreduce,
          .messages = {"ws · (w + h − 2) · tiles",
                       [rounds](const Load& w) { return w.lanes() * w.ranks() * rounds(w) * w.tiles(); }},
          .rounds = {"w + h − 2", rounds}};
}

}  // namespace kernbench::ccl
