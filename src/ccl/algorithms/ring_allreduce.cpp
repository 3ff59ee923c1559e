#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

// Rounds outside, tiles inside: while the tiles of one round travel, those of the next get ready.
void ring_accumulate(tl::Context& tl, const Ring& ring, Pieces pieces, Tiles& tiles, ReduceOp op, At at) {
  auto passing = tiles;
  for (int round = 1; round < ring.size; ++round) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      tl.send(ring.next, passing[i], at);
      passing[i] = recv(tl, ring.previous, pieces[i], at);
      tiles[i] = combine(tl, op, tiles[i], passing[i], at);
    }
  }
}

/// Everybody's tensor goes round the ring once; each rank adds up what passes, in the order in which it
/// comes.
void ring_allreduce(tl::Context& tl, const Call& call) {
  const auto all = pieces(tl, held(tl, call.input));
  for (const auto batch : batches(all, std::min(kept_at_once(call.slots), tiles_at_once(tl, all)))) {
    Tiles sums;
    for (const auto& piece : batch) sums.push_back(load(tl, piece));
    ring_accumulate(tl, ring_of(call), batch, sums, call.op);
    for (std::size_t i = 0; i < batch.size(); ++i)
      store(tl, batch[i], finished(tl, call.op, sums[i], call.world_size));
  }
}

Algorithm describe_ring_allreduce() {
  return {.name = "ring_allreduce",
          .description =
              "Everybody's tensor goes round the ring; each rank forwards what it received and adds it up.",
          .topology = "ring_1d",
          .also_right_on = {"ring_1d_unidir"},
          .validator = "single_shard_per_rank",
          .identical_bits = false,
          .kernel = ring_allreduce,
          .messages = {"ws · (ws − 1) · tiles",
                       [](const Load& w) { return w.lanes() * w.ranks() * (w.ranks() - 1) * w.tiles(); }},
          .rounds = {"ws − 1", [](const Load& w) { return w.ranks() - 1; }}};
}

}  // namespace kernbench::ccl
