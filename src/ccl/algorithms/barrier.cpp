#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Nobody ends before all have begun: a byte comes from everybody to rank 0 and goes back.
void barrier(tl::Context& tl, const Call& call) {
  const auto line = line_around(ring_of(call), 0);
  const Piece byte{.ptr = {}, .elements = 1, .dtype = DType::i8};
  const auto all = reduce_to_root(tl, line, byte, tl.zeros({1}, DType::i8), ReduceOp::MAX);
  broadcast_from_root(tl, line, byte, all);
}

Algorithm describe_barrier() {
  return {.name = "barrier",
          .description = "Nobody ends before all have begun: a byte from everybody to rank 0 and back.",
          .collective = Collective::barrier,
          .topology = "ring_1d",
          .kernel = barrier,
          .messages = {"2 · (ws − 1)", [](const Load& w) { return w.lanes() * 2 * (w.ranks() - 1); }},
          .rounds = {"2 · ⌈(ws − 1) / 2⌉", [](const Load& w) { return 2 * (w.ranks() / 2); }}};
}

}  // namespace kernbench::ccl
