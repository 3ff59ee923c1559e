#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Reduce-scatter, then all-gather: each rank combines its share of the pieces and hands it round. A link
/// carries 2 (ws − 1) / ws of the tensor, which is the least that is possible.
void ring_allreduce_rs(tl::Context& tl, const Call& call) {
  const auto ring = ring_of(call);
  const auto all = even_pieces(tl, held(tl, call.input), ring.size);
  for (const auto batch : batches(all, ring.size * tiles_at_once(tl, all))) {
    auto sums =
        ring_reduce_scatter(tl, ring, batch, call.op, [&](std::size_t p) { return load(tl, batch[p]); });
    for (auto p = static_cast<std::size_t>(ring.rank); p < batch.size();
         p += static_cast<std::size_t>(ring.size)) {
      sums[p] = finished(tl, call.op, sums[p], call.world_size);
      store(tl, batch[p], sums[p]);
    }
    ring_all_gather(tl, ring, batch, sums,
                    [&](std::size_t p, const tl::Tile& tile) { store(tl, batch[p], tile); });
  }
}

std::int64_t even_tiles(const Load& w, std::int64_t n) {
  if (w.elements == 0) return 0;
  const auto rounds = (w.elements + n * w.tile_elements - 1) / (n * w.tile_elements);
  const auto size = (w.elements + n * rounds - 1) / (n * rounds);
  return (w.elements + size - 1) / size;
}

Algorithm describe_ring_allreduce_rs() {
  return {
      .name = "ring_allreduce_rs",
      .description =
          "Reduce-scatter and all-gather round the ring: 2 (ws − 1) / ws of the data per link, the least "
          "possible.",
      .topology = "ring_1d",
      .also_right_on = {"ring_1d_unidir"},
      .validator = "single_shard_per_rank",
      .identical_bits = true,
      .kernel = ring_allreduce_rs,
      .messages = {"2 · (ws − 1) · tiles, tiles being a multiple of ws where elements allow",
                   [](const Load& w) { return w.lanes() * 2 * (w.ranks() - 1) * even_tiles(w, w.ranks()); }},
      .rounds = {"2 · (ws − 1)", [](const Load& w) { return 2 * (w.ranks() - 1); }}};
}

}  // namespace kernbench::ccl
