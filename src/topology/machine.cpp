#include "kernbench/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernbench/error.hpp"
#include "topology/build_models.hpp"

namespace kernbench::topology {

const Group& Machine::group(std::string_view path) const {
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.path == path; });
  KB_ASSERT(found != groups_.end(), "the machine has no '{}'", path);
  return *found;
}

bool Machine::has(std::string_view path) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& g) { return g.path == path; });
}

const ParamSet& Machine::at(std::string_view path) const { return group(path).params; }

std::string Machine::where(std::string_view path) const {
  for (std::string_view at = path; !at.empty();
       at = at.substr(0, at.rfind('.') == at.npos ? 0 : at.rfind('.')))
    if (const auto found = places_.find(at); found != places_.end()) return found->second;
  return source_;
}

int Machine::sips() const { return static_cast<int>(at("system.sips").integer("count")); }

MeshCoord Machine::cube_mesh() const {
  const ParamSet& mesh = at("sip.cube_mesh");
  return {static_cast<int>(mesh.integer("w")), static_cast<int>(mesh.integer("h"))};
}

int Machine::pes() const {
  const ParamSet& layout = at("cube.pe_layout");
  return static_cast<int>(layout.words("corners").size()) * static_cast<int>(layout.integer("pe_per_corner"));
}

SipTopology Machine::sip_topology() const {
  const std::string& name = at("system.sips").text("topology");
  if (name == "ring_1d") return SipTopology::ring_1d;
  return name == "mesh_2d_no_wrap" ? SipTopology::mesh_2d_no_wrap : SipTopology::torus_2d;
}

MeshCoord Machine::sip_grid() const {
  const ParamSet& sips_params = at("system.sips");
  if (sip_topology() == SipTopology::ring_1d) return {sips(), 1};
  if (sips_params.has("w"))
    return {static_cast<int>(sips_params.integer("w")), static_cast<int>(sips_params.integer("h"))};
  const int side = static_cast<int>(std::lround(std::sqrt(sips())));
  return {side, side};
}

Bytes Machine::hbm_slice() const {
  return Bytes(at("cube.hbm").bytes("hbm_total_gb_per_cube").count() / pes());
}

double Machine::pe_peak_tflops(DType type) const {
  const auto* make = std::get_if<models::MatrixFactory>(&group("pe.pe_gemm").how.behaviour);
  const double clock_ghz = at("pe").number("clock_ghz");
  return make ? 2 * (*make)(at("pe.pe_gemm"))->peak_macs(type) * clock_ghz / 1e3 : 0;
}

double Machine::pe_peak_gops(DType type) const {
  const auto* make = std::get_if<models::VectorFactory>(&group("pe.pe_math").how.behaviour);
  const double clock_ghz = at("pe").number("clock_ghz");
  return make ? (*make)(at("pe.pe_math"))->peak_elements(type) * clock_ghz : 0;
}

/// An impl that nobody gave a behaviour must not run as if it were the one that ships.
void Machine::require_behaviour(const Group& component) const {
  if (!component.is_component() || !std::holds_alternative<std::monostate>(component.how.behaviour)) return;
  throw InputError(
      {"topology.no-behaviour", where(component.path + ".impl"),
       fmt::format("'{}' of {} is registered with its parameters, but has no behaviour to simulate",
                   component.impl, component.path),
       fmt::format("register it with one (kernbench/registry.hpp), or use builtin.{}; `topology show` and "
                   "`draw` work as it is",
                   component.kind)});
}

void Machine::require_behaviours() const {
  for (const Group& group : groups_) require_behaviour(group);
  build_models(*this);
}

std::vector<std::string> Machine::idealised() const {
  std::vector<std::string> notes;
  const auto note = [&](const char* what, const char* path, const char* param, double below) {
    const double ns = at(path).number(param);
    if (ns < below) notes.push_back(fmt::format("{} {} ns", what, ns));
  };
  const auto note_own = [&](const Group& component) {
    if (!component.how.idealised) return;
    for (std::string& text : component.how.idealised(component.params)) notes.push_back(std::move(text));
  };
  // A figure below the last number is better than any machine we know of.
  note("routers", "cube.routers", "overhead_ns", 0.5);
  note_own(group("cube.hbm"));
  note("PCIe", "sip.io.pcie_ep", "overhead_ns", 50);
  note("switch", "system.switch", "overhead_ns", 50);
  note("MMU", "pe.pe_mmu", "overhead_ns", 0.5);
  if (const double wire = at("system").number("ns_per_mm"); wire < 0.05)
    notes.push_back(fmt::format("wires {} ns/mm", wire));
  if (!has("energy")) notes.emplace_back("energy 0 pJ");
  if (at("fabric").integer("header_bytes") == 0) notes.emplace_back("packet headers 0 B");
  if (at("fabric").integer("request_bytes") == 0) notes.emplace_back("requests 0 B");
  if (at("fabric").integer("ack_bytes") == 0) notes.emplace_back("acknowledgements 0 B");
  if (at("cube.routers").integer("buffer_packets") == 0) notes.emplace_back("router buffers unbounded");
  for (const Group& component : groups_)
    if (component.path != "cube.hbm") note_own(component);
  return notes;
}

bool Machine::gathers() const {
  const std::string& strided = at("pe.pe_dma").text("strided");
  const auto* hbm = std::get_if<models::MemoryBehaviour>(&group("cube.hbm").how.behaviour);
  return strided == "gather" || (strided == "auto" && (!hbm || hbm->gathers));
}

std::vector<std::string> Machine::left_out() const {
  const bool credits = at("cube.routers").text("flow") == "credits";
  std::vector<std::string> notes = {
      credits
          ? "buffers in ports, PEs, memories and the IO chiplet are unbounded (a run says which queue was "
            "deepest)"
          : "buffers in routers and ports are unbounded (a run says which queue was deepest, and how often a "
            "router's was fuller than cube.routers.buffer_packets)",
      "host code between two requests costs nothing",
      "no packet is lost or sent again; clocks never slow down for heat or power"};
  if (at("system.host").number("submit_ns") == 0)
    notes.emplace_back("launches and drivers cost nothing beyond their messages (system.host.submit_ns)");
  const auto is_zero = [&](const char* param) { return at("fabric").integer(param) == 0; };
  if (is_zero("request_bytes") || is_zero("ack_bytes"))
    notes.emplace_back(
        "requests, acknowledgements and announcements carry 0 bytes and wait for nobody "
        "(fabric.request_bytes, "
        "fabric.ack_bytes)");
  if (at("launch").integer("control_bytes") == 0)
    notes.emplace_back("control messages carry 0 bytes (launch.control_bytes)");
  if (!gathers()) notes.emplace_back("strided rows are read as if stored side by side (pe.pe_dma.strided)");
  return notes;
}

}  // namespace kernbench::topology
