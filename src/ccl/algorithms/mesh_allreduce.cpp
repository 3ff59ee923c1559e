#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Reduce-scatter and all-gather along the rings of rows and columns, a quarter of the tensor in each direction.
void mesh_allreduce(tl::Context& tl, const Call& call) {
  const auto [x, y] = MeshCoord::of(call.rank, call.grid.x);
  const Ring row{x, call.grid.x, call.slots, "E", "W"};
  const Ring column{y, call.grid.y, call.slots, "S", "N"};
  const auto all = torus_pieces(tl, held(tl, call.input), call.grid);
  for (const auto batch : batches(all, torus_pieces_at_once(tl, call.grid, all))) {
    const auto mine = [&](std::size_t p) { return load(tl, batch[p]); };
    const auto take = [&](std::size_t p, const tl::Tile& sum) {
      store(tl, batch[p], finished(tl, call.op, sum, call.world_size));
    };
    torus_all_reduce(tl, row, column, batch, call.op, mine, take);
  }
}

Algorithm describe_mesh_allreduce() {
  return {.name = "mesh_allreduce",
          .description =
              "Ranks in a w × h grid: reduce-scatter and all-gather along the rings of rows and columns, 2 "
              "(ws − 1) "
              "/ ws of the data per rank, the least possible.",
          .topology = "torus_2d",
          .also_right_on = {"mesh_2d"},
          .validator = "single_shard_per_rank",
          .identical_bits = true,
          .kernel = mesh_allreduce,
          .messages = {"2 · (ws − 1) · tiles, tiles being a multiple of 4 ws where they have 128 elements",
                       [](const Load& w) {
                         return w.lanes() * 2 * (w.ranks() - 1) *
                                even_tiles(w, torus_cuts(w.elements, w.members.grid));
                       }},
          .rounds = {"2 · (w + h − 2)",
                     [](const Load& w) { return 2 * (w.members.grid.x + w.members.grid.y - 2); }}};
}

}  // namespace kernbench::ccl
