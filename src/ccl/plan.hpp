// A collective made ready for a machine: who takes part, the queues between them, and the kernel.
//
//   const auto settings = config.settings(config.algorithm());
//   const Plan plan = make_plan(registry, settings, machine, pools, {.group = Group::cube});
//   plan.wiring             // to be installed
//   for (const auto pe : plan.pes)
//     plan.algorithm.kernel(tl, call);  // call: plan.call(pe), with tensors and operation filled in
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "address/memory_pools.hpp"
#include "ccl/config.hpp"
#include "device/queue_wiring.hpp"
#include "kernbench/ccl.hpp"
#include "kernbench/graph.hpp"

namespace kernbench::ccl {

struct Plan {
  Settings settings;
  Algorithm algorithm;  // without a kernel if it is a wiring alone
  Members members;
  device::QueueWiring wiring;

  /// What the kernel on this PE is told; tensors, operation and root are the caller's.
  Call call(PeCoord pe) const;
};

/// Who the members are. Settings with a `world_size` are about the first PEs, whatever the group.
struct PlanRequest {
  Group group = Group::sip;
  std::vector<int> sips = {};          // these only; empty: all
  std::vector<Mapper::Pick> pes = {};  // of Group::pe, in every SIP; empty: those of the mapper
  /// Not by a mapper but these; each lane is one PE of every member.
  std::vector<std::vector<PeCoord>> lanes = {};
  /// With `lanes`: neighbours that are no topology's.
  std::optional<Links> links = {};
};

/// Who takes part in a plan.
Members members_for(const Registry& registry, const Settings& settings, const topology::Machine& machine,
                    const PlanRequest& request);

/// Allocates the rings from `pools`. InputError if the algorithm does not fit the members, AllocationError if there
/// is no room; nothing is left allocated then.
Plan make_plan(const Registry& registry, const Settings& settings, const topology::Machine& machine,
               address::MemoryPools& pools, const PlanRequest& request = {});
/// Gives the rings back.
void release(const Plan& plan, address::MemoryPools& pools);

/// What the members are where nobody says it: `wanted` if the algorithm serves it, else what it serves first.
Group usual_group(const Registry& registry, const Settings& settings, Group wanted = Group::sip);
/// The same for the bench ccl-allreduce, which prefers cubes. Other collectives than all-reduces have no bench.
Group benched_group(const Registry& registry, const Settings& settings);

/// What may be under way on a link, and what would keep it busy. A slot is taken from the start of its send until
/// its credit is back.
struct LinkWindow {
  PeCoord from, to;
  std::string direction;
  Bandwidth bandwidth;  // the slowest on the way
  Time round_trip;      // a full slot there, its announcement, and the credit back, on an idle machine
  Time held;            // by the receiver: the tile is added to another (tcm) or moved to scratch (hbm, sram)
  Bytes window;         // slots · slot_size
  bool used = true;     // the algorithm sends there

  /// bandwidth × the time a slot is taken: round trip and `held`.
  Bytes needed() const;
  /// The most that gets through, in GB/s: the window, once while a slot is taken.
  double reachable_gbs() const;
  bool limits() const { return reachable_gbs() < bandwidth.gbs(); }
};
/// A direction that sends.
struct QueueWay {
  PeCoord from, to;
  std::string direction;
  friend auto operator<=>(const QueueWay&, const QueueWay&) = default;
};
/// The windows of queues with these rules.
std::vector<LinkWindow> link_windows(const device::QueueRules& rules, const std::vector<QueueWay>& ways,
                                     const topology::Machine& machine, const topology::Graph& graph);
/// The memory in which the slots of a PE's queues lie.
topology::NodeId slot_node(const topology::Graph& graph, address::MemorySpace space, PeCoord pe);
/// The directions that the algorithm sends to on a PE: its kernel is recorded once, for a tensor of its `n_elem`, or of
/// some. All of them if it cannot be.
std::vector<std::string> directions_used(const Plan& plan, PeCoord pe);
/// The window of every direction that sends, in the order of the wiring.
std::vector<LinkWindow> link_windows(const Plan& plan, const topology::Machine& machine,
                                     const topology::Graph& graph);
/// Links that are used and whose window limits them, alike ones together, and what to do.
std::vector<std::string> warnings(Bytes slot_size, const std::vector<LinkWindow>& windows);
inline std::vector<std::string> warnings(const Plan& plan, const std::vector<LinkWindow>& windows) {
  return warnings(plan.wiring.rules.slot_size, windows);
}

/// For people: members, rings, links with their windows, who talks to whom.
std::string to_text(const Plan& plan, const std::vector<LinkWindow>& windows);
/// Everything, for programs.
nlohmann::ordered_json to_json(const Plan& plan, const std::vector<LinkWindow>& windows);

}  // namespace kernbench::ccl
