// The mappers and validators that ship.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ccl/builtin.hpp"

namespace kernbench::ccl {
namespace {

using Picks = std::vector<Mapper::Pick>;
using Shards = std::span<const HeldShard>;

int cubes_of(Group group, const Arrangement& machine) { return group == Group::sip ? machine.cubes : 1; }

Picks all_pes(Group group, const Arrangement& machine) {
  Picks out;
  for (int cube = 0; cube < cubes_of(group, machine); ++cube)
    for (int pe = 0; pe < machine.pes; ++pe) out.push_back({cube, pe});
  return out;
}

Picks pe0_per_cube(Group group, const Arrangement& machine) {
  Picks out;
  for (int cube = 0; cube < cubes_of(group, machine); ++cube) out.push_back({cube, 0});
  return out;
}

std::string sizes_differ(Shards shards) {
  for (const auto& shard : shards)
    if (shard.elements != shards.front().elements)
      return fmt::format("{} holds {} elements and {} {}", to_string(shards.front().pe),
                         shards.front().elements, to_string(shard.pe), shard.elements);
  return {};
}

/// Exactly the PEs that take part hold a shard, all of one size.
std::string exactly_members(Shards shards, const Members& members) {
  std::vector<PeCoord> holders;
  for (const auto& shard : shards) holders.push_back(shard.pe);
  std::ranges::sort(holders);
  const auto pes = members.pes();
  for (const auto pe : pes)
    if (!std::ranges::binary_search(holders, pe)) return fmt::format("{} holds no shard", to_string(pe));
  for (const auto pe : holders)
    if (!std::ranges::binary_search(pes, pe))
      return fmt::format("{} holds a shard but takes no part", to_string(pe));
  if (const auto twice = std::ranges::adjacent_find(holders); twice != holders.end())
    return fmt::format("{} holds several shards", to_string(*twice));
  return sizes_differ(shards);
}

/// Every PE with a shard takes part, and those it exchanges with hold as much.
std::string members_alike(Shards shards, const Members& members) {
  std::map<PeCoord, std::int64_t> held;
  for (const auto& shard : shards) held[shard.pe] += shard.elements;
  for (const auto& lane : members.lanes) {
    for (const auto pe : lane)
      if (held[pe] != held[lane.front()])
        return fmt::format("{} holds {} elements and {} {}", to_string(lane.front()), held[lane.front()],
                           to_string(pe), held[pe]);
    for (const auto pe : lane) held.erase(pe);
  }
  if (held.empty()) return {};
  return fmt::format("{} holds a shard but takes no part", to_string(held.begin()->first));
}

}  // namespace

void register_mappers(Registry& registry) {
  registry.add(Mapper{"leader_only", "the first PE of every member: of a SIP cube 0 PE 0",
                      [](Group, const Arrangement&) {
                        return Picks{{0, 0}};
                      }});
  registry.add(Mapper{"all_pes", "every PE of every member", all_pes});
  registry.add(Mapper{"pe0_per_cube", "PE 0 of every cube", pe0_per_cube});
}

void register_validators(Registry& registry) {
  registry.add(
      Validator{"any", "whatever its PEs hold", [](Shards, const Members&) { return std::string(); }});
  registry.add(Validator{"single_shard_per_rank", "every rank holds one shard, on its PE, all of one size",
                         exactly_members});
  registry.add(Validator{"multi_pe_sip_local", "any PEs hold shards, the same ones and as much on every SIP",
                         members_alike});
  registry.add(Validator{"one_shard_per_cube", "PE 0 of every cube holds one shard, all of one size",
                         exactly_members});
  registry.add(
      Validator{"shard_per_pe", "every PE of every cube holds one shard, all of one size", exactly_members});
}

}  // namespace kernbench::ccl
