#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Each rank sends what it holds to the next one and stores what comes from the one before.
void hello_send(tl::Context& tl, const Call& call) {
  if (call.world_size == 1) return;
  for (const auto& piece : pieces(tl, held(tl, call.input))) {
    tl.send("E", load(tl, piece));
    store(tl, piece, recv(tl, "W", piece));
  }
}

Algorithm describe_hello_send() {
  return {.name = "hello_send",
          .description = "Each rank sends its tensor E and stores what comes from W: the tutorial kernel.",
          .collective = Collective::other,
          .topology = "ring_1d",
          .also_right_on = {"ring_1d_unidir"},
          .validator = "single_shard_per_rank",
          .kernel = hello_send,
          .messages = {"ws · tiles (none if ws = 1)",
                       [](const Load& w) { return w.ranks() == 1 ? 0 : w.lanes() * w.ranks() * w.tiles(); }},
          .rounds = {"1", [](const Load& w) { return w.ranks() == 1 ? 0 : 1; }}};
}

}  // namespace kernbench::ccl
