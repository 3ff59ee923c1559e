#include "ccl/algorithms/algorithms.hpp"

namespace kernbench::ccl {

/// Cubes of each row toward the root's column, that column toward the root cube, root cubes between SIPs, and
/// the same way back.
void intercube_allreduce(tl::Context& tl, const Call& call) {
  const auto mesh = call.machine.cube_mesh;
  const auto [x, y] = MeshCoord::of(tl.program_id(1), mesh.x);
  const auto root = MeshCoord::of(call.machine.root_cube, mesh.x);
  const Line row{.position = x, .length = mesh.x, .root = root.x, .low = "W", .high = "E"};
  const Line column{.position = y, .length = mesh.y, .root = root.y, .low = "N", .high = "S"};
  all_reduce_through_roots(tl, call, {row, column});
}

namespace {

/// Cubes from the one that is farthest from the root to the root.
std::int64_t hops_to_root(const Arrangement& machine) {
  const auto mesh = machine.cube_mesh;
  const auto root = MeshCoord::of(machine.root_cube, mesh.x);
  return std::max(root.x, mesh.x - 1 - root.x) + std::max(root.y, mesh.y - 1 - root.y);
}

Algorithm described(std::string name, std::string description) {
  return {
      .name = std::move(name),
      .description = std::move(description),
      .topology = "intercube_intersip",
      .serves = {Group::cube},
      .identical_bits = true,
      .kernel = intercube_allreduce,
      .has_root_cube = true,
      .messages = {"lanes · (SIPs · 2 (cubes − 1) + exchange) · tiles, exchange as in intersip_allreduce",
                   [](const Load& w) {
                     const auto& m = w.members.machine;
                     return w.lanes() * (m.sips() * 2 * (m.cubes - 1) + exchange_messages(m)) * w.tiles();
                   }},
      .rounds = {
          "2 · hops from the farthest cube to the root + rounds of the exchange, as in intersip_allreduce",
          [](const Load& w) {
            return 2 * hops_to_root(w.members.machine) + exchange_rounds(w.members.machine);
          }}};
}

}  // namespace

Algorithm describe_intercube_allreduce() {
  auto algorithm =
      described("intercube_allreduce",
                "PE 0 of every cube: rows and columns of cubes reduce to the root cube of each SIP, root "
                "cubes exchange between SIPs, then back the same way.");
  algorithm.mapper = "pe0_per_cube";
  algorithm.validator = "one_shard_per_cube";
  return algorithm;
}

Algorithm describe_intercube_allreduce_allpe() {
  auto algorithm =
      described("intercube_allreduce_allpe",
                "As intercube_allreduce, with every PE of a cube carrying its share: the lanes reduce "
                "disjoint slices side by side.");
  algorithm.mapper = "all_pes";
  algorithm.validator = "shard_per_pe";
  return algorithm;
}

}  // namespace kernbench::ccl
