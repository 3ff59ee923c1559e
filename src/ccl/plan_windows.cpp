// How much may be under way on each link of a plan, against what would keep it busy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ccl/plan.hpp"
#include "device/pe_spec.hpp"
#include "device/probe_formula.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

using topology::Graph;
using topology::Machine;
using topology::NodeId;
using topology::NodeKind;

/// A tile that fills a slot, added to another.
Time time_to_add(const Machine& machine, Bytes slot) {
  const auto pe = device::PeSpec::of(machine);
  constexpr int kItemsize = itemsize(DType::f16);
  return pe.tcm_read.time_for(slot * 2) +
         pe.time_of(models::VectorWork{MathOp::add, slot.count() / kItemsize, DType::f16}) +
         pe.tcm_write.time_for(slot);
}

Time time_held(const Machine& machine, const Graph& graph, const device::QueueRules& rules, NodeId slot,
               PeCoord pe) {
  if (rules.memory == address::MemorySpace::Tcm) return time_to_add(machine, rules.slot_size);
  return device::probe_formula(
             machine, graph, {graph.pe(pe, NodeKind::pe_tcm), slot, device::Direction::read, rules.slot_size})
      .parts.total();
}

LinkWindow window_of(const Machine& machine, const Graph& graph, const device::QueueRules& rules,
                     const QueueWay& way) {
  const auto& [from, to, direction] = way;
  const auto slot = slot_node(graph, rules.memory, to);
  const auto queue = graph.pe(to, NodeKind::pe_ipcq);
  const auto there = device::probe_formula(
      machine, graph, {graph.pe(from, NodeKind::pe_tcm), slot, device::Direction::write, rules.slot_size});
  const auto announced = graph.latency(graph.route(slot, queue));
  const auto back = device::probe_formula(
      machine, graph, {queue, graph.pe(from, NodeKind::pe_ipcq), std::nullopt, rules.credit_bytes});
  return {.from = from,
          .to = to,
          .direction = direction,
          .bandwidth = there.bottleneck,
          .round_trip = there.parts.total() - there.parts.ack + announced + back.parts.total(),
          .held = time_held(machine, graph, rules, slot, to),
          .window = rules.slot_size * rules.slots};
}

}  // namespace

NodeId slot_node(const Graph& graph, address::MemorySpace space, PeCoord pe) {
  if (space == address::MemorySpace::Hbm) return graph.hbm_ctrl(pe);
  if (space == address::MemorySpace::Sram) return graph.sram(pe.in_cube());
  return graph.pe(pe, NodeKind::pe_tcm);
}

Bytes LinkWindow::needed() const {
  // GB/s × ps is bytes / 1000.
  return Bytes(std::llround(bandwidth.gbs() * static_cast<double>((round_trip + held).ps()) / 1e3));
}

double LinkWindow::reachable_gbs() const {
  const double once =
      static_cast<double>(window.count()) * 1e3 / static_cast<double>((round_trip + held).ps());
  return std::min(bandwidth.gbs(), once);
}

std::vector<LinkWindow> link_windows(const device::QueueRules& rules, const std::vector<QueueWay>& ways,
                                     const Machine& machine, const Graph& graph) {
  std::vector<LinkWindow> out;
  for (const QueueWay& way : ways) out.push_back(window_of(machine, graph, rules, way));
  return out;
}

std::vector<LinkWindow> link_windows(const Plan& plan, const Machine& machine, const Graph& graph) {
  std::vector<LinkWindow> out;
  for (const auto& pe : plan.wiring.pes) {
    const auto used = directions_used(plan, pe.pe);
    for (const auto& end : pe.ends) {
      if (!end.sends) continue;
      out.push_back(window_of(machine, graph, plan.wiring.rules, {pe.pe, end.peer, end.direction}));
      out.back().used = std::ranges::find(used, end.direction) != used.end();
    }
  }
  return out;
}

std::vector<std::string> warnings(Bytes slot_size, const std::vector<LinkWindow>& windows) {
  std::map<std::string, std::vector<const LinkWindow*>> by_direction;
  for (const auto& w : windows)
    if (w.used && w.limits()) by_direction[w.direction].push_back(&w);
  std::vector<std::string> out;
  for (const auto& [direction, links] : by_direction) {
    const auto& w =
        **std::ranges::min_element(links, {}, [](const LinkWindow* l) { return l->reachable_gbs(); });
    const auto slots =
        w.bandwidth.gbs() * (w.round_trip + w.held).ns() / static_cast<double>(slot_size.count());
    out.push_back(
        fmt::format("{} {}: {} → {} reaches {:.1f} of {:g} GB/s, as a slot is taken for {} and {} are all "
                    "there is; n_slots: {:.0f} would do",
                    links.size() == 1 ? "a window limits" : fmt::format("{} windows limit", links.size()),
                    direction, to_string(w.from), to_string(w.to), w.reachable_gbs(), w.bandwidth.gbs(),
                    to_string(w.round_trip + w.held), to_string(w.window), std::ceil(slots)));
  }
  return out;
}

}  // namespace kernbench::ccl
