#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Every PE with the same PE of the other SIPs; nothing is combined inside a SIP.
void intersip_allreduce(tl::Context& tl, const Call& call) {
  const auto all = exchange_pieces(tl, call, held(tl, call.input));
  for (const auto batch : batches(all, exchanged_at_once(tl, call, all))) {
    const auto mine = [&](std::size_t p) { return load(tl, batch[p]); };
    const auto take = [&](std::size_t p, const tl::Tile& sum) {
      store(tl, batch[p], finished(tl, call.op, sum, call.world_size));
    };
    exchange_between_sips(tl, call, batch, mine, take);
  }
}

// Each tile visits every SIP once to be combined and once more as the result: round a ring, along the rings of a torus, or
// up and down lines.
std::int64_t exchange_messages(const Arrangement& machine) { return 2 * (machine.sips() - 1); }

// The root of a line of n is number n / 2, and that many are below it.
std::int64_t exchange_rounds(const Arrangement& machine) {
  const auto [w, h] = machine.sip_grid;
  const bool lines = machine.sip_topology == topology::SipTopology::mesh_2d_no_wrap;
  return lines ? 2 * (w / 2 + h / 2) : 2 * (w - 1) + 2 * (h - 1);
}

Algorithm describe_intersip_allreduce() {
  return {
      .name = "intersip_allreduce",
      .description =
          "Every PE that holds a shard, with the same PE of the other SIPs; nothing is summed inside a SIP.",
      .topology = "intersip",
      .mapper = "all_pes",
      .validator = "multi_pe_sip_local",
      .serves = {Group::sip},
      .identical_bits = true,
      .kernel = intersip_allreduce,
      .messages = {"lanes · 2 (ws − 1) · tiles, in a torus with tiles being a multiple of 4 ws where they "
                   "have 128 elements",
                   [](const Load& w) {
                     const auto& m = w.members.machine;
                     const bool torus =
                         m.sip_grid.y > 1 && m.sip_topology != topology::SipTopology::mesh_2d_no_wrap;
                     return w.lanes() * exchange_messages(m) *
                            (torus ? even_tiles(w, torus_cuts(w.elements, m.sip_grid)) : w.tiles());
                   }},
      .rounds = {"2 (ws − 1) in a ring, 2 (w + h − 2) in a torus, 2 (⌊w/2⌋ + ⌊h/2⌋) in a mesh",
                 [](const Load& w) { return exchange_rounds(w.members.machine); }}};
}

}  // namespace kernbench::ccl
