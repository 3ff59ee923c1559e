#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "kernbench/ccl.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

using topology::Machine;
using topology::SipTopology;

[[noreturn]] void refuse(const char* id, std::string what, std::string hint) {
  throw InputError({fmt::format("ccl.{}", id), "", std::move(what), std::move(hint)});
}

std::vector<int> first(int n) {
  std::vector<int> out(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = i;
  return out;
}

std::vector<int> chosen_sips(const Machine& machine, const std::vector<int>& wanted) {
  if (wanted.empty()) return first(machine.sips());
  std::set<int> seen;
  for (const int sip : wanted)
    if (sip < 0 || sip >= machine.sips() || !seen.insert(sip).second)
      refuse("members", fmt::format("SIPs {} of a machine with {}", join(wanted), machine.sips()),
             "name each SIP once; they count from 0");
  return wanted;
}

/// As the machine joins them if it is all of them, in their order, else in a ring.
void arrange_sips(const Machine& machine, Members& members) {
  if (members.sips == first(machine.sips())) {
    members.machine.sip_grid = machine.sip_grid();
    members.machine.sip_topology = machine.sip_topology();
  } else {
    members.machine.sip_grid = {static_cast<int>(members.sips.size()), 1};
  }
}

int chosen_root(const Machine& machine, std::optional<int> wanted) {
  const auto mesh = machine.cube_mesh();
  if (!wanted) return MeshCoord{mesh.x / 2, mesh.y / 2}.id(mesh.x);
  if (*wanted < 0 || *wanted >= machine.cubes())
    refuse("root-cube", fmt::format("root_cube is {}, but a SIP has {} cubes", *wanted, machine.cubes()),
           fmt::format("give a cube from 0 to {}, or leave it out for the one in the middle",
                       machine.cubes() - 1));
  return *wanted;
}

void set_lanes_of_sips(Members& members, const std::vector<Mapper::Pick>& picks) {
  for (const auto& pick : picks) {
    auto& lane = members.lanes.emplace_back();
    for (const int sip : members.sips) lane.push_back({sip, pick.cube, pick.pe});
  }
}

void set_lanes_of_cubes(Members& members, const std::vector<Mapper::Pick>& picks) {
  for (const auto& pick : picks) {
    auto& lane = members.lanes.emplace_back();
    for (const int sip : members.sips)
      for (int cube = 0; cube < members.machine.cubes; ++cube) lane.push_back({sip, cube, pick.pe});
  }
}

Members members_by_pick(const Machine& machine, const Mapper& mapper, const MemberRequest& request) {
  Members members{
      .group = request.group, .sips = chosen_sips(machine, request.sips), .machine = {}, .lanes = {}};
  arrange_sips(machine, members);
  auto& shape = members.machine;
  shape.cube_mesh = machine.cube_mesh();
  shape.cubes = machine.cubes();
  shape.pes = machine.pes();
  shape.root_cube = chosen_root(machine, request.root_cube);
  const auto picks = mapper.picks(request.group, shape);
  if (picks.empty())
    refuse("mapper", fmt::format("mapper '{}' picks no PE", mapper.name), "pick at least one");
  request.group == Group::sip ? set_lanes_of_sips(members, picks) : set_lanes_of_cubes(members, picks);
  shape.pes = 1 + std::ranges::max(picks, {}, &Mapper::Pick::pe).pe;
  const bool grid = request.group == Group::sip && shape.sip_topology != SipTopology::ring_1d;
  members.grid = grid ? shape.sip_grid : nearest_grid(members.world_size());
  return members;
}

/// Every PE of these SIPs that holds something is a member.
Members members_by_pe(const Machine& machine, const Mapper& mapper, const MemberRequest& request) {
  Members members{
      .group = Group::pe, .sips = chosen_sips(machine, request.sips), .machine = {}, .lanes = {{}}};
  arrange_sips(machine, members);
  auto& shape = members.machine;
  shape.cube_mesh = machine.cube_mesh();
  shape.cubes = machine.cubes();
  shape.pes = machine.pes();
  const auto picks = request.pes.empty() ? mapper.picks(Group::sip, shape) : request.pes;
  if (picks.empty())
    refuse("mapper", fmt::format("mapper '{}' picks no PE", mapper.name), "pick at least one");
  shape.cubes = 1 + std::ranges::max(picks, {}, &Mapper::Pick::cube).cube;
  shape.pes = 1 + std::ranges::max(picks, {}, &Mapper::Pick::pe).pe;
  members.regular = static_cast<int>(picks.size()) == shape.cubes * shape.pes;
  for (const int sip : members.sips)
    for (const auto& pick : picks) members.lanes[0].push_back({sip, pick.cube, pick.pe});
  members.grid = nearest_grid(members.world_size());
  return members;
}

/// The shape that the first `n` PEs of a machine have, if it is one.
void arrange_pes(const Machine& machine, int n, Members& members) {
  auto& shape = members.machine;
  const int in_cube = machine.pes(), in_sip = in_cube * machine.cubes();
  members.sips = first((n + in_sip - 1) / in_sip);
  arrange_sips(machine, members);
  shape.cube_mesh = machine.cube_mesh();
  shape.cubes = n > in_sip ? machine.cubes() : (n + in_cube - 1) / in_cube;
  shape.pes = std::min(n, in_cube);
  members.regular = shape.sips() * shape.cubes * shape.pes == n;
}

Members members_by_rank(const Machine& machine, const MemberRequest& request) {
  const int n = *request.world_size;
  if (n < 1 || n > machine.total_pes()) {
    const int in_sip = machine.cubes() * machine.pes();
    refuse("world-size", fmt::format("world_size {} on a machine of {} PEs", n, machine.total_pes()),
           n < 1 ? "at least 1"
                 : fmt::format("at most {}, or a larger machine: --set system.sips.count={}",
                               machine.total_pes(), (n - 1) / in_sip + 1));
  }
  Members members{.group = Group::pe, .sips = {}, .machine = {}, .lanes = {{}}};
  arrange_pes(machine, n, members);
  for (int i = 0; i < n; ++i) {
    const int cube = i / machine.pes();
    members.lanes[0].push_back({cube / machine.cubes(), cube % machine.cubes(), i % machine.pes()});
  }
  members.grid = nearest_grid(n);
  return members;
}

[[noreturn]] void refuse_group(const Registry& registry, const Algorithm& algorithm, Group group) {
  std::vector<std::string_view> served, others;
  for (const auto own : algorithm.serves) served.push_back(to_string(own));
  for (const auto& other : registry.algorithms())
    if (other.collective == algorithm.collective &&
        std::ranges::find(other.serves, group) != other.serves.end())
      others.push_back(other.name);
  refuse("group", fmt::format("{} does not serve members that are {}s", algorithm.name, to_string(group)),
         fmt::format(
             "it serves members that are {}s{}", join(served, "s and "),
             others.empty() ? "" : fmt::format("; {}s are served by {}", to_string(group), join(others))));
}

void check_topology(const Algorithm& algorithm, std::string_view topology) {
  const auto right = right_topologies(algorithm);
  if (algorithm.name.empty() || algorithm.any_topology || std::ranges::find(right, topology) != right.end())
    return;
  refuse("topology", fmt::format("{} would give wrong results on {}", algorithm.name, topology),
         fmt::format("it is right on {}", join(right)));
}

}  // namespace

std::vector<std::string> right_topologies(const Algorithm& algorithm) {
  std::vector<std::string> right = {algorithm.topology};
  right.insert(right.end(), algorithm.also_right_on.begin(), algorithm.also_right_on.end());
  if (std::ranges::find(right, "none") == right.end()) right.emplace_back("none");
  return right;
}

std::string_view to_string(Group group) {
  return group == Group::sip ? "sip" : group == Group::cube ? "cube" : "pe";
}

std::vector<PeCoord> Members::pes() const {
  std::vector<PeCoord> out;
  for (const auto& lane : lanes) out.insert(out.end(), lane.begin(), lane.end());
  std::ranges::sort(out);
  return out;
}

Call Members::call(PeCoord pe) const {
  for (const auto& lane : lanes) {
    const auto found = std::ranges::find(lane, pe);
    if (found == lane.end()) continue;
    Call call;
    call.rank = static_cast<int>(found - lane.begin());
    call.world_size = world_size();
    call.grid = grid;
    call.sip = static_cast<int>(std::ranges::find(sips, pe.sip) - sips.begin());
    call.machine = machine;
    return call;
  }
  refuse("members", fmt::format("{} takes no part", to_string(pe)), "ask for one of `pes()`");
}

Members members_of(const Machine& machine, const Mapper& mapper, const MemberRequest& request) {
  if (request.group != Group::pe) return members_by_pick(machine, mapper, request);
  return request.world_size ? members_by_rank(machine, request) : members_by_pe(machine, mapper, request);
}

Members members_of_lanes(Group group, std::vector<std::vector<PeCoord>> lanes) {
  Members members{.group = group, .sips = {}, .machine = {}, .lanes = std::move(lanes)};
  for (const PeCoord pe : members.pes())
    if (std::ranges::find(members.sips, pe.sip) == members.sips.end()) members.sips.push_back(pe.sip);
  members.regular = false;
  members.grid = nearest_grid(members.world_size());
  return members;
}

Links links_of(const Registry& registry, const Algorithm& algorithm, std::string_view topology,
               const Members& members) {
  if (std::ranges::find(algorithm.serves, members.group) == algorithm.serves.end())
    refuse_group(registry, algorithm, members.group);
  check_topology(algorithm, topology);
  const auto of_topology = [&] {
    if (topology != "none") return registry.topology(topology).links(members);
    if (algorithm.links) return algorithm.links(members);
    return registry.topology(algorithm.topology.empty() ? topology : algorithm.topology).links(members);
  };
  return algorithm.rewire ? algorithm.rewire(members, of_topology()) : of_topology();
}

}  // namespace kernbench::ccl
