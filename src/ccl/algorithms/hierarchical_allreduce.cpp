#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// PEs of a cube from both sides to PE 0, cubes by rows and column 0 to cube 0, the leaders of the SIPs among
/// themselves, and back the same way.
void hierarchical_allreduce(tl::Context& tl, const Call& call) {
  const auto& machine = call.machine;
  const int width = machine.cube_mesh.x;
  const auto [x, y] = MeshCoord::of(tl.program_id(1), width);
  const Line pes = line_around({.rank = tl.program_id(0), .size = machine.pes}, 0);
  const Line row{x, std::min(width, machine.cubes - y * width), 0, "cube_W", "cube_E"};
  const Line column{y, tl.cdiv(machine.cubes, width), 0, "cube_N", "cube_S"};
  all_reduce_through_roots(tl, call, {pes, row, column});
}

namespace {

/// Messages from the PE that is farthest from the leader of its SIP to the leader.
std::int64_t hops_to_leader(const Arrangement& machine) {
  const int width = machine.cube_mesh.x;
  int cubes = 0;
  for (int y = 0; y * width < machine.cubes; ++y)
    cubes = std::max(cubes, y + std::min(width, machine.cubes - y * width) - 1);
  return machine.pes / 2 + cubes;
}

}  // namespace

Algorithm describe_hierarchical_allreduce() {
  return {
      .name = "hierarchical_allreduce",
      .description =
          "PEs of a cube reduce from both sides to PE 0, cubes to the leader of the SIP, leaders exchange, "
          "and back: all PEs take part.",
      .topology = "hierarchical_3level",
      .mapper = "all_pes",
      .mappers = {"all_pes", "pe0_per_cube", "leader_only"},
      .validator = "single_shard_per_rank",
      .serves = {Group::pe},
      .identical_bits = true,
      .kernel = hierarchical_allreduce,
      .messages = {"(SIPs · 2 (PEs − 1) + exchange) · tiles, PEs being those of a SIP, exchange as in "
                   "intersip_allreduce",
                   [](const Load& w) {
                     const auto& m = w.members.machine;
                     return (m.sips() * 2 * (m.cubes * m.pes - 1) + exchange_messages(m)) * w.tiles();
                   }},
      .rounds = {
          "2 · (⌈(PEs of a cube − 1) / 2⌉ + hops from the farthest cube to cube 0) + rounds of the exchange",
          [](const Load& w) {
            return 2 * hops_to_leader(w.members.machine) + exchange_rounds(w.members.machine);
          }}};
}

}  // namespace kernbench::ccl
