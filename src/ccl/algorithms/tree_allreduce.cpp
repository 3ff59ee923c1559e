#include <bit>

#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Up a binary tree to rank 0, then down again.
void tree_allreduce(tl::Context& tl, const Call& call) {
  const bool has_left = 2 * call.rank + 1 < call.world_size, has_right = 2 * call.rank + 2 < call.world_size;
  for (const auto& piece : pieces(tl, held(tl, call.input))) {
    auto sum = load(tl, piece);
    if (has_left) sum = combine(tl, call.op, sum, recv(tl, "child_left", piece));
    if (has_right) sum = combine(tl, call.op, sum, recv(tl, "child_right", piece));
    if (call.rank == 0) {
      sum = finished(tl, call.op, sum, call.world_size);
    } else {
      tl.send("parent", sum);
      sum = recv(tl, "parent", piece);
    }
    if (has_left) tl.send("child_left", sum);
    if (has_right) tl.send("child_right", sum);
    store(tl, piece, sum);
  }
}

Algorithm describe_tree_allreduce() {
  const auto rounds = [](const Load& w) {
    return 2 * (std::bit_width(static_cast<unsigned>(w.ranks())) - 1);
  };
  return {.name = "tree_allreduce",
          .description = "Reduces up a binary tree and broadcasts down.",
          .topology = "tree_binary",
          .validator = "single_shard_per_rank",
          .identical_bits = true,
          .kernel = tree_allreduce,
          .messages = {"2 · (ws − 1) · tiles",
                       [](const Load& w) { return w.lanes() * 2 * (w.ranks() - 1) * w.tiles(); }},
          .rounds = {"2 · ⌊log2 ws⌋", rounds}};
}

}  // namespace kernbench::ccl
