#include "ccl/wiring_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "topology/floor_plan.hpp"

namespace kernbench::ccl {
namespace {

using topology::Graph;
using topology::LinkId;
using topology::NodeId;
using topology::NodeKind;

/// From light to dark: 1 queue, 2, up to 4, 8, 16, more. Nothing else on a floor plan is pink.
constexpr std::array kShades = {"#f768a1", "#dd3497", "#ae017e", "#7a0177", "#49006a", "#1d0024"};
constexpr const char *kTakesPart = "#3a78cf", *kIdle = "#b9c4ce";

std::size_t shade_of(int queues) {
  const auto doublings = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(queues - 1)));
  return std::min(doublings, kShades.size() - 1);
}

std::string shade_text(std::size_t shade) {
  const int most = 1 << shade, least = most / 2 + 1;
  if (shade == 0) return "1 queue";
  if (shade + 1 == kShades.size()) return fmt::format("{} queues and more", least);
  return least == most ? fmt::format("{} queues", most) : fmt::format("{} to {} queues", least, most);
}

using Meanings = std::vector<topology::FloorPlanColours::Meaning>;

Meanings meanings(const std::vector<int>& queues) {
  std::set<std::size_t> seen;
  for (const int n : queues)
    if (n > 0) seen.insert(shade_of(n));
  Meanings out;
  for (const std::size_t shade : seen) out.push_back({kShades[shade], shade_text(shade)});
  if (!out.empty()) out.front().text += " sending over a link, each way by itself";
  out.push_back({kTakesPart, "PE that takes part"});
  out.push_back({kIdle, "other PE"});
  return out;
}

}  // namespace

std::vector<int> queues_on_links(const Plan& plan, const Graph& graph) {
  std::vector<int> queues(graph.link_count());
  for (const auto& pe : plan.wiring.pes) {
    const auto used = directions_used(plan, pe.pe);
    for (const auto& end : pe.ends) {
      if (!end.sends || std::ranges::find(used, end.direction) == used.end()) continue;
      const NodeId slot = slot_node(graph, plan.wiring.rules.memory, end.peer);
      for (const LinkId link : graph.route(graph.pe(pe.pe, NodeKind::pe_tcm), slot)) ++queues[link.index];
    }
  }
  return queues;
}

std::string draw_wiring(const Plan& plan, const topology::Machine& machine, const Graph& graph) {
  const std::vector<int> queues = queues_on_links(plan, graph);
  std::set<NodeId> members;
  for (const auto& pe : plan.wiring.pes) members.insert(graph.pe(pe.pe, NodeKind::pe_dma));
  return topology::draw_floor_plan(machine, graph,
                                   {.node = [&](NodeId id) -> std::string {
                                      if (graph.node(id).kind != NodeKind::pe_dma) return "";
                                      return members.contains(id) ? kTakesPart : kIdle;
                                    },
                                    .link = [&](LinkId id) -> std::string {
                                      return queues[id.index] == 0 ? "" : kShades[shade_of(queues[id.index])];
                                    },
                                    .is_rest_plain = true,
                                    .legend = meanings(queues),
                                    .title = fmt::format("wiring of {}", plan.settings.name)});
}

}  // namespace kernbench::ccl
