#include "ccl/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

using address::PhysAddr;

/// The rings of a wiring, allocated one by one; given back unless they are kept.
class Rings {
 public:
  Rings(address::MemoryPools& pools, const Settings& settings) : pools_(pools), settings_(settings) {}
  ~Rings() {
    if (!kept_)
      for (const auto& [end, ring] : rings_) pools_.free(ring);
  }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  void add(PeCoord pe, const std::string& direction) {
    const auto& rules = settings_.rules;
    rings_[{pe, direction}] = pools_.allocate(
        rules.memory, pe,
        {.size = rules.slot_size * rules.slots,
         .owner = fmt::format("{}: the ring {} of {}", settings_.name, direction, to_string(pe))});
  }
  PhysAddr at(PeCoord pe, const std::string& direction) const { return rings_.at({pe, direction}); }
  void keep() { kept_ = true; }

 private:
  address::MemoryPools& pools_;
  const Settings& settings_;
  std::map<std::pair<PeCoord, std::string>, PhysAddr> rings_;
  bool kept_ = false;
};

device::QueueWiring wiring_of(const Settings& settings, const Links& links, address::MemoryPools& pools) {
  const auto all = paired(links);
  Rings rings(pools, settings);
  for (const auto& link : all)
    if (link.receives) rings.add(link.pe, link.direction);
  std::map<PeCoord, std::vector<device::QueueEnd>> ends;
  for (const auto& link : all)
    ends[link.pe].push_back(
        {link.direction, link.peer, link.receives ? rings.at(link.pe, link.direction) : PhysAddr(),
         link.sends ? rings.at(link.peer, link.peer_direction) : PhysAddr(), link.sends, link.receives});
  rings.keep();
  device::QueueWiring wiring{.name = settings.name, .rules = settings.rules, .pes = {}};
  for (auto& [pe, of_pe] : ends) wiring.pes.push_back({pe, std::move(of_pe)});
  return wiring;
}

}  // namespace

Call Plan::call(PeCoord pe) const {
  Call call = members.call(pe);
  call.slots = settings.rules.slots;
  call.config = settings.kernel_config;
  return call;
}

Group usual_group(const Registry& registry, const Settings& settings, Group wanted) {
  if (settings.world_size) return Group::pe;
  const auto& serves = registry.algorithm(settings.algorithm).serves;
  return std::ranges::find(serves, wanted) != serves.end() ? wanted : serves.front();
}

Group benched_group(const Registry& registry, const Settings& settings) {
  const bool benched = registry.algorithm(settings.algorithm).collective == Collective::all_reduce;
  return usual_group(registry, settings, benched ? Group::cube : Group::sip);
}

Members members_for(const Registry& registry, const Settings& settings, const topology::Machine& machine,
                    const PlanRequest& request) {
  if (!request.lanes.empty()) return members_of_lanes(request.group, request.lanes);
  return members_of(machine, registry.mapper(settings.mapper),
                    {.group = settings.world_size ? Group::pe : request.group,
                     .sips = request.sips,
                     .world_size = settings.world_size,
                     .pes = request.pes,
                     .root_cube = settings.root_cube});
}

Plan make_plan(const Registry& registry, const Settings& settings, const topology::Machine& machine,
               address::MemoryPools& pools, const PlanRequest& request) {
  Plan plan{.settings = settings, .algorithm = {}, .members = {}, .wiring = {}};
  if (!settings.algorithm.empty()) plan.algorithm = registry.algorithm(settings.algorithm);
  plan.members = members_for(registry, settings, machine, request);
  plan.wiring = wiring_of(
      settings,
      request.links ? *request.links : links_of(registry, plan.algorithm, settings.topology, plan.members),
      pools);
  return plan;
}

void release(const Plan& plan, address::MemoryPools& pools) {
  for (const auto& pe : plan.wiring.pes)
    for (const auto& end : pe.ends)
      if (end.receives) pools.free(end.receives_from);
}

}  // namespace kernbench::ccl
