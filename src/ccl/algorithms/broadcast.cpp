#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// The tensor of rank `root` goes both ways round the ring.
void broadcast(tl::Context& tl, const Call& call) {
  const auto line = line_around(ring_of(call), call.root);
  for (const auto& piece : pieces(tl, held(tl, call.input))) {
    const auto mine = line.at_root() ? load(tl, piece) : tl::Tile();
    const auto tile = broadcast_from_root(tl, line, piece, mine);
    if (!line.at_root()) store(tl, piece, tile);
  }
}

Algorithm describe_broadcast() {
  return {.name = "broadcast",
          .description = "The root's tensor goes both ways round the ring, each rank passing it on.",
          .collective = Collective::broadcast,
          .topology = "ring_1d",
          .mapper = "all_pes",
          .validator = "multi_pe_sip_local",
          .identical_bits = true,
          .kernel = broadcast,
          .messages = {"lanes · (ws − 1) · tiles",
                       [](const Load& w) { return w.lanes() * (w.ranks() - 1) * w.tiles(); }},
          .rounds = {"⌈(ws − 1) / 2⌉", [](const Load& w) { return w.ranks() / 2; }}};
}

}  // namespace kernbench::ccl
