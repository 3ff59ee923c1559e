#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Every PE with the same PE of the other SIPs; nothing is combined inside a SIP.
void intersip_allreduce(tl::Context& tl, const Call& call) {
  const auto all = pieces(tl, held(tl, call.input));
  for (const auto batch : batches(all, exchanged_at_once(tl, call, all))) {
    const auto mine = [&](std::size_t p) { return load(tl, batch[p]); };
    const auto take = [&](std::size_t p, const tl::Tile& sum) {
      store(tl, batch[p], finished(tl, call.op, sum, call.world_size));
    };
    exchange_between_sips(tl, call, batch, mine, take);
  }
}

// On a ring each tile goes along the chain of all SIPs and round again; on lines up and down.
std::int64_t exchange_messages(const Arrangement& machine) {
  const auto [w, h] = machine.sip_grid;
  const bool lines = machine.sip_topology == topology::SipTopology::mesh_2d_no_wrap;
  return 2 * (w - 1) * h + 2 * (h - 1) * (lines ? 1 : w);
}

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
      .messages =
          {"lanes · exchange · tiles, exchange being 2 (ws − 1) in a ring, 2 h (w − 1) + 2 w (h − 1) in a "
           "torus, 2 h (w − 1) + 2 (h − 1) in a mesh",
           [](const Load& w) { return w.lanes() * exchange_messages(w.members.machine) * w.tiles(); }},
      .rounds = {"2 (ws − 1) in a ring, 2 (w + h − 2) in a torus, 2 (⌊w/2⌋ + ⌊h/2⌋) in a mesh",
                 [](const Load& w) { return exchange_rounds(w.members.machine); }}};
}

}  // namespace kernbench::ccl
