#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// `output` becomes the `input` of all ranks, one after the other: each goes round the ring.
void all_gather(tl::Context& tl, const Call& call) {
  const auto ring = ring_of(call);
  const auto mine = held(tl, call.input), result = held(tl, call.output);
  const auto all = pieces(tl, mine);
  for (const auto batch : batches(all, std::min(kept_at_once(call.slots), tiles_at_once(tl, all)))) {
    const auto places = in_every_part(tl, result, ring.size, mine, batch);
    Tiles tiles(places.size());
    for (std::size_t k = 0; k < batch.size(); ++k) {
      const auto own = k * static_cast<std::size_t>(ring.size) + static_cast<std::size_t>(ring.rank);
      tiles[own] = load(tl, batch[k]);
      store(tl, places[own], tiles[own]);
    }
    ring_all_gather(tl, ring, places, tiles,
                    [&](std::size_t p, const tl::Tile& tile) { store(tl, places[p], tile); });
  }
}

Algorithm describe_all_gather() {
  return {
      .name = "all_gather",
      .description = "Everybody's tensor goes round the ring; all end with all of them, one after the other.",
      .collective = Collective::all_gather,
      .topology = "ring_1d",
      .also_right_on = {"ring_1d_unidir"},
      .mapper = "all_pes",
      .validator = "multi_pe_sip_local",
      .kernel = all_gather,
      .messages = {"lanes · ws · (ws − 1) · tiles",
                   [](const Load& w) { return w.lanes() * w.ranks() * (w.ranks() - 1) * w.tiles(); }},
      .rounds = {"ws − 1", [](const Load& w) { return w.ranks() - 1; }}};
}

}  // namespace kernbench::ccl
