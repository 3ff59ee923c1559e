// The neighbour topologies that ship.
#include "ccl/builtin.hpp"

#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

using topology::SipTopology;

void append(Links& to, Links more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// A list of links for each lane.
template <class Fn>
auto per_lane(Fn links) {
  return [links](const Members& members) {
    Links out;
    for (const auto& lane : members.lanes) append(out, links(lane, members.grid));
    return out;
  };
}

Links sip_links(const Arrangement& machine, std::span<const PeCoord> ranks) {
  switch (machine.sip_topology) {
    case SipTopology::ring_1d:
      return ring_1d(ranks, "global_");
    case SipTopology::torus_2d:
      return torus_2d(ranks, machine.sip_grid, "global_");
    case SipTopology::mesh_2d_no_wrap:
      return mesh_2d_no_wrap(ranks, machine.sip_grid, "global_");
  }
  return {};
}

/// One PE of every SIP.
Links between_sips(const Members& members, int cube, int pe) {
  std::vector<PeCoord> ranks;
  for (const int sip : members.sips) ranks.push_back({sip, cube, pe});
  return sip_links(members.machine, ranks);
}

/// One PE of every cube of a SIP, as far as they take part.
Links between_cubes(const Members& members, int sip, int pe, std::string_view prefix) {
  const auto mesh = members.machine.cube_mesh;
  std::vector<PeCoord> ranks;
  for (int cube = 0; cube < mesh.x * mesh.y; ++cube) ranks.push_back({sip, cube, pe});
  auto links = mesh_2d_no_wrap(ranks, mesh, prefix);
  const auto absent = [&](PeCoord p) { return p.cube >= members.machine.cubes; };
  std::erase_if(links, [&](const Link& link) { return absent(link.pe) || absent(link.peer); });
  return links;
}

Links one_way(std::span<const PeCoord> ranks) {
  Links out;
  for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
    out.push_back({ranks[i], "to " + to_string(ranks[i + 1]), ranks[i + 1], true, false});
    out.push_back({ranks[i + 1], "from " + to_string(ranks[i]), ranks[i], false, true});
  }
  return out;
}

Links pe_ring(const Members& members, int sip, int cube) {
  std::vector<PeCoord> ranks;
  for (int pe = 0; pe < members.machine.pes; ++pe) ranks.push_back({sip, cube, pe});
  return ring_1d(ranks);
}

void require_regular(const Members& members, const char* topology) {
  if (members.regular) return;
  throw InputError(
      {"ccl.world-size", "",
       fmt::format("{} ranks are no whole cubes or SIPs, which {} joins", members.world_size(), topology),
       "choose world_size at most the PEs of a cube, or a multiple of the PEs of a cube or SIP"});
}

Links intersip(const Members& members) {
  require_regular(members, "intersip");
  Links out;
  for (const auto pe : members.pes())
    if (pe.sip == members.sips.front()) append(out, between_sips(members, pe.cube, pe.pe));
  return out;
}

Links intercube_intersip(const Members& members) {
  require_regular(members, "intercube_intersip");
  Links out;
  for (const auto& lane : members.lanes) {
    const int pe = lane.front().pe;
    for (const int sip : members.sips) append(out, between_cubes(members, sip, pe, ""));
    for (int cube = 0; cube < members.machine.cubes; ++cube) append(out, between_sips(members, cube, pe));
  }
  return out;
}

Links intracube_ring(const Members& members) {
  require_regular(members, "intracube_ring");
  Links out;
  for (const int sip : members.sips)
    for (int cube = 0; cube < members.machine.cubes; ++cube) append(out, pe_ring(members, sip, cube));
  return out;
}

/// The cubes of a SIP row by row, every other row backwards: neighbours in the line are neighbours in the mesh.
std::vector<PeCoord> snake(const Members& members, int sip, int pe) {
  const auto mesh = members.machine.cube_mesh;
  std::vector<PeCoord> ranks;
  for (int i = 0; i < mesh.x * mesh.y; ++i) {
    const auto [x, y] = MeshCoord::of(i, mesh.x);
    const int cube = MeshCoord{y % 2 == 0 ? x : mesh.x - 1 - x, y}.id(mesh.x);
    if (cube < members.machine.cubes) ranks.push_back({sip, cube, pe});
  }
  return ranks;
}

Links cube_line(const Members& members) {
  require_regular(members, "cube_line");
  Links out;
  for (const auto& lane : members.lanes)
    for (const int sip : members.sips) append(out, line_1d(snake(members, sip, lane.front().pe)));
  return out;
}

Links cube_line_intersip(const Members& members) {
  require_regular(members, "cube_line_intersip");
  Links out;
  for (const auto& lane : members.lanes) {
    std::vector<PeCoord> ranks;
    for (const int sip : members.sips)
      for (const PeCoord pe : snake(members, sip, lane.front().pe)) ranks.push_back(pe);
    append(out, line_1d(ranks));
  }
  return out;
}

/// PEs in order; level s joins those whose numbers differ in digit s to the base 4. So every aligned group of a power of two
/// can exchange among itself, level by level.
Links pe_digits(const Members& members) {
  require_regular(members, "pe_digits_4");
  Links out;
  const int pes = members.machine.pes, all = members.machine.cubes * pes;
  for (const int sip : members.sips)
    for (int level = 0; (1 << 2 * level) < all; ++level)
      for (int i = 0; i < all; ++i)
        for (int c = 1; c < 4; ++c)
          if (const int peer = i ^ (c << 2 * level); peer < all)
            out.push_back({{sip, i / pes, i % pes},
                           fmt::format("digit{}_{}", level, c),
                           {sip, peer / pes, peer % pes}});
  return out;
}

Links hierarchical_3level(const Members& members) {
  require_regular(members, "hierarchical_3level");
  Links out = intracube_ring(members);
  for (const int sip : members.sips) append(out, between_cubes(members, sip, 0, "cube_"));
  append(out, between_sips(members, 0, 0));
  return out;
}

/// Lanes are PEs of a cube, ranks of a lane cubes in the order of a ring.
Links sip_exchange(const Members& members) {
  Links out;
  const std::size_t cubes = members.lanes.front().size();
  for (std::size_t cube = 0; cube < cubes; ++cube)
    for (std::size_t pe = 0; pe < members.lanes.size(); ++pe) {
      const PeCoord at = members.lanes[pe][cube];
      for (std::size_t mate = 0; mate < members.lanes.size(); ++mate)
        if (mate != pe) out.push_back({at, fmt::format("pe{}", mate), members.lanes[mate][cube]});
      if (cubes == 1) continue;
      out.push_back({at, "next", members.lanes[pe][(cube + 1) % cubes], true, false});
      out.push_back({at, "previous", members.lanes[pe][(cube + cubes - 1) % cubes], false, true});
    }
  return out;
}

}  // namespace

void register_topologies(Registry& registry) {
  const auto ring = per_lane([](auto& ranks, MeshCoord) { return ring_1d(ranks); });
  const auto unidir = per_lane([](auto& ranks, MeshCoord) { return ring_1d_unidir(ranks); });
  const auto line = per_lane([](auto& ranks, MeshCoord) { return line_1d(ranks); });
  const auto torus = per_lane([](auto& ranks, MeshCoord grid) { return torus_2d(ranks, grid); });
  const auto mesh = per_lane([](auto& ranks, MeshCoord grid) { return mesh_2d_no_wrap(ranks, grid); });
  const auto tree = per_lane([](auto& ranks, MeshCoord) { return tree_binary(ranks); });
  const auto pairs = per_lane([](auto& ranks, MeshCoord) { return all_pairs(ranks); });
  registry.add(Topology{"ring_1d", "E the next rank, W the one before, closed to a ring", ring});
  registry.add(Topology{"ring_1d_unidir", "as ring_1d, one way: E only sends, W only receives", unidir});
  registry.add(Topology{"line_1d", "as ring_1d, with ends: the first rank has no W, the last no E", line});
  registry.add(Topology{"torus_2d", "ranks in a grid: E W S N, rows and columns closed to rings", torus});
  registry.add(Topology{"mesh_2d", "another name of torus_2d", torus});
  registry.add(Topology{"mesh_2d_no_wrap", "ranks in a grid: E W S N, with ends", mesh});
  registry.add(Topology{"tree_binary", "parent, child_left, child_right", tree});
  registry.add(Topology{"all_pairs", "every rank with every other; the direction to rank 3 is rank3", pairs});
  registry.add(Topology{
      "one_way", "each rank to the next, one way: `to PE` sends, `from PE` receives, by the peer's name",
      per_lane([](auto& ranks, MeshCoord) { return one_way(ranks); })});
  registry.add(Topology{"none", "no neighbours but those the algorithm supplies",
                        [](const Members&) { return Links(); }});
  registry.add(
      Topology{"intersip", "each PE with the same PE of the neighbouring SIPs: global_E W S N", intersip});
  registry.add(
      Topology{"intercube_intersip",
               "each cube with its neighbours in the mesh (E W S N, with ends) and with the same cube of "
               "the neighbouring SIPs (global_E W S N)",
               intercube_intersip});
  registry.add(
      Topology{"intracube_ring", "the PEs of each cube: E the next, W the one before", intracube_ring});
  registry.add(Topology{"cube_line",
                        "the cubes of each SIP in a line with ends, row by row, every other row backwards: E "
                        "the next, W the one before",
                        cube_line});
  registry.add(Topology{"cube_line_intersip",
                        "as cube_line, one line through all SIPs: the last cube of one is followed by the "
                        "first of the next",
                        cube_line_intersip});
  registry.add(Topology{
      "pe_digits_4",
      "the PEs of each SIP by the digits of their number to the base 4: digit<s>_<c> leads to the PE "
      "whose digit s is this one's exclusive-or c, for c 1 to 3",
      pe_digits});
  registry.add(
      Topology{"hierarchical_3level",
               "the PEs of each cube in a ring (E W); PE 0 of each cube with those of the neighbouring cubes "
               "(cube_E W S N); PE 0 of cube 0 with that of the neighbouring SIPs (global_E W S N)",
               hierarchical_3level});
  registry.add(Topology{
      "sip_exchange",
      "the PEs of each cube with all others of it (pe0, pe1 …) and with the same PE of the next cube "
      "(next, previous; one way round): what operations of nn use inside a SIP",
      sip_exchange});
}

}  // namespace kernbench::ccl
