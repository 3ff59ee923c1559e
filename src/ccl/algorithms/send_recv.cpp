#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Rank 0 sends its tensor to rank 1.
void send_recv(tl::Context& tl, const Call& call) {
  for (const auto& piece : pieces(tl, held(tl, call.input))) {
    if (call.rank == 0)
      tl.send("rank1", load(tl, piece));
    else
      store(tl, piece, recv(tl, "rank0", piece));
  }
}

Algorithm describe_send_recv() {
  return {.name = "send_recv",
          .description = "One member sends its tensor to another: rank 0 of the two to rank 1.",
          .collective = Collective::send_recv,
          .topology = "all_pairs",
          .mapper = "all_pes",
          .validator = "multi_pe_sip_local",
          .kernel = send_recv,
          .messages = {"lanes · tiles", [](const Load& w) { return w.lanes() * w.tiles(); }},
          .rounds = {"1", [](const Load&) { return 1; }}};
}

}  // namespace kernbench::ccl
