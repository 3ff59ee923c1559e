#include <fmt/format.h>

#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Part i of `input` goes to rank i, which stores it as part `rank` of its `output`. In round d everybody sends to
/// the rank d after it and receives from the one d before.
void all_to_all(tl::Context& tl, const Call& call) {
  const auto from = held(tl, call.input), to = held(tl, call.output);
  const auto n = from.elements / call.world_size;
  const auto part_of = [&](const Piece& whole, int rank) { return pieces(tl, whole.part(rank * n, n)); };
  if (from.elements != to.elements || from.elements % call.world_size != 0)
    fail_kernel(tl, "shape", fmt::format("{} elements go in and {} come out", from.elements, to.elements),
                fmt::format("both must be the same multiple of {}", call.world_size), At::current());
  for (int distance = 0; distance < call.world_size; ++distance) {
    const int next = (call.rank + distance) % call.world_size;
    const int previous = (call.rank - distance + call.world_size) % call.world_size;
    const auto out = part_of(from, next), in = part_of(to, previous);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto mine = load(tl, out[k]);
      if (distance > 0) tl.send(fmt::format("rank{}", next), mine);
      store(tl, in[k], distance > 0 ? recv(tl, fmt::format("rank{}", previous), in[k]) : mine);
    }
  }
}

Algorithm describe_all_to_all() {
  const auto pairs = [](const Members& members) {
    Links links;
    for (const auto& lane : members.lanes)
      for (auto& link : all_pairs(lane)) links.push_back(std::move(link));
    return links;
  };
  return {.name = "all_to_all",
          .description =
              "Every rank sends every other its part, each round to another one: ws − 1 independent rounds.",
          .collective = Collective::all_to_all,
          .topology = "none",
          .also_right_on = {"all_pairs"},
          .mapper = "all_pes",
          .validator = "multi_pe_sip_local",
          .kernel = all_to_all,
          .links = pairs,
          .messages = {"lanes · ws · (ws − 1) · tiles of a part",
                       [](const Load& w) {
                         return w.lanes() * w.ranks() * (w.ranks() - 1) * w.tiles(w.elements / w.ranks());
                       }},
          .rounds = {"1: no message carries anything of another",
                     [](const Load& w) { return w.ranks() == 1 ? 0 : 1; }}};
}

}  // namespace kernbench::ccl
