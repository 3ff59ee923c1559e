#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// From both sides of the ring to rank `root`, which alone ends with the result.
void reduce(tl::Context& tl, const Call& call) {
  const auto line = line_around(ring_of(call), call.root);
  for (const auto& piece : pieces(tl, held(tl, call.input))) {
    const auto sum = reduce_to_root(tl, line, piece, load(tl, piece), call.op);
    if (line.at_root()) store(tl, piece, finished(tl, call.op, sum, call.world_size));
  }
}

Algorithm describe_reduce() {
  return {.name = "reduce",
          .description = "Reduces from both sides of the ring to the root, which alone ends with the result.",
          .collective = Collective::reduce,
          .topology = "ring_1d",
          .mapper = "all_pes",
          .validator = "multi_pe_sip_local",
          .kernel = reduce,
          .messages = {"lanes · (ws − 1) · tiles",
                       [](const Load& w) { return w.lanes() * (w.ranks() - 1) * w.tiles(); }},
          .rounds = {"⌈(ws − 1) / 2⌉", [](const Load& w) { return w.ranks() / 2; }}};
}

}  // namespace kernbench::ccl
