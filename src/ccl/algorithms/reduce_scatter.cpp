#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// `output` becomes this rank's part of the combined `input`s: each part along the ring to its rank.
void reduce_scatter(tl::Context& tl, const Call& call) {
  const auto ring = ring_of(call);
  const auto whole = held(tl, call.input), result = held(tl, call.output);
  const auto all = pieces(tl, result);
  for (const auto batch : batches(all, tiles_at_once(tl, all))) {
    const auto places = in_every_part(tl, whole, ring.size, result, batch);
    const auto sums =
        ring_reduce_scatter(tl, ring, places, call.op, [&](std::size_t p) { return load(tl, places[p]); });
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const auto own = k * static_cast<std::size_t>(ring.size) + static_cast<std::size_t>(ring.rank);
      store(tl, batch[k], finished(tl, call.op, sums[own], call.world_size));
    }
  }
}

Algorithm describe_reduce_scatter() {
  return {.name = "reduce_scatter",
          .description = "Each part of the tensor is combined along the ring and ends at its rank.",
          .collective = Collective::reduce_scatter,
          .topology = "ring_1d",
          .also_right_on = {"ring_1d_unidir"},
          .mapper = "all_pes",
          .validator = "multi_pe_sip_local",
          .kernel = reduce_scatter,
          .messages = {"lanes · ws · (ws − 1) · tiles of a part",
                       [](const Load& w) {
                         return w.lanes() * w.ranks() * (w.ranks() - 1) * w.tiles(w.elements / w.ranks());
                       }},
          .rounds = {"ws − 1", [](const Load& w) { return w.ranks() - 1; }}};
}

}  // namespace kernbench::ccl
