#include "kernbench/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr std::string_view kSides = "EWNS", kOpposites = "WESN";

std::string side(std::string_view prefix, char name) { return fmt::format("{}{}", prefix, name); }

PeCoord at(std::span<const PeCoord> ranks, int i) { return ranks[static_cast<std::size_t>(i)]; }

int count(std::span<const PeCoord> ranks) { return static_cast<int>(ranks.size()); }

void check_grid(std::span<const PeCoord> ranks, MeshCoord grid) {
  KB_ASSERT(grid.x * grid.y == count(ranks), "a grid of {} × {} for {} ranks", grid.x, grid.y, count(ranks));
}

/// The neighbour `step` away on an axis of `length` ranks, or −1 if there is none.
int neighbour(int position, int step, int length, bool wraps) {
  if (length == 1) return -1;
  const int next = position + step;
  if (wraps) return (next + length) % length;
  return next >= 0 && next < length ? next : -1;
}

Links grid_links(std::span<const PeCoord> ranks, MeshCoord grid, std::string_view prefix, bool wraps) {
  check_grid(ranks, grid);
  Links links;
  for (int i = 0; i < count(ranks); ++i) {
    const auto [x, y] = MeshCoord::of(i, grid.x);
    const auto join = [&](char name, int to_x, int to_y) {
      if (to_x >= 0 && to_y >= 0)
        links.push_back({at(ranks, i), side(prefix, name), at(ranks, MeshCoord{to_x, to_y}.id(grid.x))});
    };
    join('E', neighbour(x, 1, grid.x, wraps), y);
    join('W', neighbour(x, -1, grid.x, wraps), y);
    join('S', x, neighbour(y, 1, grid.y, wraps));
    join('N', x, neighbour(y, -1, grid.y, wraps));
  }
  return links;
}

std::string text_of(const Link& link) {
  const auto* way = link.sends && link.receives ? "" : link.sends ? " (sends only)" : " (receives only)";
  return fmt::format("{} {} → {}{}", to_string(link.pe), link.direction, to_string(link.peer), way);
}

[[noreturn]] void refuse(const char* id, const Link& link, std::string what, std::string hint) {
  throw InputError({fmt::format("ccl.{}", id), text_of(link), std::move(what), std::move(hint)});
}

void check_names(const Links& links) {
  std::set<std::pair<PeCoord, std::string_view>> seen;
  for (const auto& link : links) {
    if (link.direction.empty()) refuse("direction", link, "a direction without a name", "name it");
    if (link.pe == link.peer)
      refuse("self", link, "a PE that is its own neighbour", "leave the link out: nothing is sent there");
    if (!link.sends && !link.receives)
      refuse("direction", link, "a direction that neither sends nor receives", "leave the link out");
    if (!seen.emplace(link.pe, link.direction).second)
      refuse("direction", link, fmt::format("this PE has two directions '{}'", link.direction),
             "directions of one PE have names of their own");
  }
}

/// Links by the two PEs they join, in the order given.
using ByEnds = std::map<std::pair<PeCoord, PeCoord>, std::vector<const Link*>>;

using WayBack = std::map<const Link*, const Link*>;

bool leads_back(const Link& back, const Link& there) {
  return back.sends == there.receives && back.receives == there.sends;
}

[[noreturn]] void refuse_one_way(const Link& link) {
  refuse("one-way", link, fmt::format("nothing leads back from {}", to_string(link.peer)),
         "every direction needs one at the peer that leads back: it receives what this one sends, and sends "
         "what this one receives");
}

void pair_up(const std::vector<const Link*>& there, std::vector<const Link*> back, WayBack& found) {
  const auto take = [&](const Link* link, auto which) {
    found[link] = *which, found[*which] = link;
    back.erase(which);
  };
  std::vector<const Link*> rest;
  for (const auto* link : there) {
    const auto same = std::ranges::find_if(back, [&, name = opposite(link->direction)](const Link* other) {
      return other->direction == name && leads_back(*other, *link);
    });
    same == back.end() ? rest.push_back(link) : take(link, same);
  }
  for (const auto* link : rest) {
    const auto any = std::ranges::find_if(back, [&](const Link* other) { return leads_back(*other, *link); });
    if (any == back.end()) refuse_one_way(*link);
    take(link, any);
  }
  if (!back.empty()) refuse_one_way(*back.front());
}

}  // namespace

std::string opposite(std::string_view direction) {
  const std::size_t start = direction.rfind('_') == std::string_view::npos ? 0 : direction.rfind('_') + 1;
  if (direction.size() != start + 1) return {};
  const std::size_t i = kSides.find(direction[start]);
  return i == std::string_view::npos ? "" : side(direction.substr(0, start), kOpposites[i]);
}

std::vector<PairedLink> paired(const Links& links) {
  check_names(links);
  ByEnds by_ends;
  for (const auto& link : links) by_ends[{link.pe, link.peer}].push_back(&link);
  WayBack way_back;
  for (const auto& [ends, there] : by_ends) {
    const auto back = by_ends.find({ends.second, ends.first});
    if (back == by_ends.end())
      pair_up(there, {}, way_back);
    else if (ends.first < ends.second)
      pair_up(there, back->second, way_back);
  }
  std::vector<PairedLink> out;
  for (const auto& link : links)
    out.push_back(
        {link.pe, link.direction, link.peer, way_back.at(&link)->direction, link.sends, link.receives});
  return out;
}

Links ring_1d(std::span<const PeCoord> ranks, std::string_view prefix) {
  return torus_2d(ranks, {count(ranks), 1}, prefix);
}

Links ring_1d_unidir(std::span<const PeCoord> ranks) {
  Links links = ring_1d(ranks);
  for (Link& link : links) (link.direction == "E" ? link.receives : link.sends) = false;
  return links;
}

Links line_1d(std::span<const PeCoord> ranks, std::string_view prefix) {
  return mesh_2d_no_wrap(ranks, {count(ranks), 1}, prefix);
}

Links torus_2d(std::span<const PeCoord> ranks, MeshCoord grid, std::string_view prefix) {
  return grid_links(ranks, grid, prefix, true);
}

Links mesh_2d_no_wrap(std::span<const PeCoord> ranks, MeshCoord grid, std::string_view prefix) {
  return grid_links(ranks, grid, prefix, false);
}

Links tree_binary(std::span<const PeCoord> ranks) {
  Links links;
  const auto join = [&](int from, const char* direction, int to) {
    if (to < count(ranks)) links.push_back({at(ranks, from), direction, at(ranks, to)});
  };
  for (int i = 0; i < count(ranks); ++i) {
    if (i > 0) join(i, "parent", (i - 1) / 2);
    join(i, "child_left", 2 * i + 1);
    join(i, "child_right", 2 * i + 2);
  }
  return links;
}

Links all_pairs(std::span<const PeCoord> ranks) {
  Links links;
  for (int i = 0; i < count(ranks); ++i)
    for (int k = 0; k < count(ranks); ++k)
      if (i != k) links.push_back({at(ranks, i), fmt::format("rank{}", k), at(ranks, k)});
  return links;
}

Links neighbours(std::string_view topology, std::span<const PeCoord> ranks) {
  const auto grid = nearest_grid(count(ranks));
  if (topology == "ring_1d") return ring_1d(ranks);
  if (topology == "ring_1d_unidir") return ring_1d_unidir(ranks);
  if (topology == "line_1d") return line_1d(ranks);
  if (topology == "torus_2d" || topology == "mesh_2d") return torus_2d(ranks, grid);
  if (topology == "mesh_2d_no_wrap") return mesh_2d_no_wrap(ranks, grid);
  if (topology == "tree_binary") return tree_binary(ranks);
  if (topology == "all_pairs") return all_pairs(ranks);
  if (topology == "none") return {};
  static const std::vector<std::string> names = {"ring_1d",     "ring_1d_unidir", "line_1d",
                                                 "torus_2d",    "mesh_2d",        "mesh_2d_no_wrap",
                                                 "tree_binary", "all_pairs",      "none"};
  throw InputError({"ccl.unknown-topology", "", fmt::format("no topology is called {}", quote(topology)),
                    suggest(topology, names, "topologies")});
}

MeshCoord nearest_grid(int n) {
  KB_ASSERT(n >= 1, "a grid of {} ranks", n);
  int h = 1;
  for (int i = 1; i * i <= n; ++i)
    if (n % i == 0) h = i;
  return {n / h, h};
}

}  // namespace kernbench::ccl
