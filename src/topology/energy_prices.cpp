#include "topology/energy_prices.hpp"

#include <cmath>

#include "topology/ejection.hpp"

namespace kernbench::topology {
namespace {

Price price(const Machine& machine, const std::string& group, const std::string& name) {
  Price out{.key = group + "." + name};
  if (!machine.has(group) || !machine.at(group).has(name)) return out;
  out.fj = std::llround(1000 * machine.at(group).number(name));
  out.given = true;
  return out;
}

bool is_ucie(NodeKind kind) { return kind == NodeKind::ucie || kind == NodeKind::io_ucie; }

}  // namespace

std::optional<EnergyPrices> EnergyPrices::of(const Machine& machine) {
  if (!machine.has("energy")) return std::nullopt;
  const auto per_byte = [&](const char* what) {
    return price(machine, "energy", std::string(what) + "_pj_per_byte");
  };
  EnergyPrices all;
  all.hbm_read = per_byte("hbm_read"), all.hbm_write = per_byte("hbm_write");
  all.sram_read = per_byte("sram_read"), all.sram_write = per_byte("sram_write");
  all.tcm_read = per_byte("tcm_read"), all.tcm_write = per_byte("tcm_write");
  all.router = per_byte("router"), all.ucie = per_byte("ucie"), all.pcie = per_byte("pcie");
  for (const DType dtype : kAllDTypes)
    all.mac[static_cast<std::size_t>(dtype)] =
        price(machine, "energy.mac", std::string(to_string(dtype)) + "_pj");
  all.vector = {price(machine, "energy.vector", "simple_pj"), price(machine, "energy.vector", "divide_pj"),
                price(machine, "energy.vector", "transcendental_pj")};
  all.launch = price(machine, "energy", "launch_pj");
  const auto mw = [&](const char* name) { return price(machine, "energy.static", name).fj; };
  all.sip_mw = mw("sip_w") + machine.cubes() * (mw("cube_w") + machine.pes() * mw("pe_w"));
  all.machine_mw = machine.sips() * all.sip_mw;
  return all;
}

LinkClass class_of(const Graph& graph, const Link& link) {
  if (is_ejection_port(link)) return LinkClass::free;
  const NodeKind from = graph.node(link.from).kind, to = graph.node(link.to).kind;
  if (to == NodeKind::router || to == NodeKind::io_noc) return LinkClass::router;
  if (is_ucie(from) && is_ucie(to)) return LinkClass::ucie;
  if (from == NodeKind::switch_ || to == NodeKind::switch_) return LinkClass::pcie;
  return LinkClass::free;
}

}  // namespace kernbench::topology
