#include "report/knobs.hpp"

#include <fmt/format.h>

#include <optional>
#include <variant>

namespace kernbench::report {
namespace {

using Change = Knob::Change;

/// `cube.hbm` and `access_ns` of `cube.hbm.access_ns`.
std::pair<std::string, std::string> split(const std::string& key) {
  const auto dot = key.rfind('.');
  return {key.substr(0, dot), key.substr(dot + 1)};
}

/// The value twice as fast, as an override has it; nothing if there is no such value.
std::optional<std::string> faster(const topology::Machine& machine, const std::string& key, Change change) {
  const auto [group, name] = split(key);
  const ParamSet& params = machine.at(group);
  if (params.find(name) == nullptr || !params.has(name)) return std::nullopt;
  const ParamValue& value = params.value(name);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if (*whole == 0) return std::nullopt;  // nothing to change: it costs nothing, or it is not bounded
    if (change == Change::doubled) return fmt::format("{}", 2 * *whole);
    return *whole > 0 && *whole % 2 == 0 ? std::optional(fmt::format("{}", *whole / 2)) : std::nullopt;
  }
  if (const auto* number = std::get_if<double>(&value); number && *number > 0)
    return fmt::format("{}", change == Change::doubled ? 2 * *number : *number / 2);
  return std::nullopt;
}

Variant variant_of(const topology::Machine& machine, const Knob& knob) {
  Variant variant{knob.name, {}};
  for (const std::string& key : knob.keys)
    if (const auto value = faster(machine, key, knob.change))
      variant.overrides.push_back(fmt::format("{}={}", key, *value));
  return variant;
}

}  // namespace

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all = {
      {"HBM bandwidth", {"cube.hbm.hbm_to_router_bw_gbs"}, Change::doubled, "each PE's slice"},
      {"HBM access", {"cube.hbm.access_ns"}, Change::halved, "the latency of a burst"},
      {"HBM rows",
       {"cube.hbm.row_hit_ns", "cube.hbm.row_closed_ns", "cube.hbm.row_conflict_ns"},
       Change::halved,
       "of builtin.hbm_rows"},
      {"SRAM bandwidth", {"cube.sram.bw_gbs"}, Change::doubled, "a cube's shared memory"},
      {"SRAM access", {"cube.sram.overhead_ns"}, Change::halved, "its latency"},
      {"TCM read",
       {"pe.pe_tcm.read_bw_gbs"},
       Change::doubled,
       "fetches of operands, and transfers out of TCM"},
      {"TCM write", {"pe.pe_tcm.write_bw_gbs"}, Change::doubled, "stores of results, and transfers into TCM"},
      {"matrix unit", {"pe.pe_gemm.tile_cycles"}, Change::halved, "cycles of a tile"},
      {"matrix fill", {"pe.pe_gemm.fill_cycles"}, Change::halved, "cycles before a product's first tile"},
      {"vector unit", {"pe.pe_math.vector_bytes"}, Change::doubled, "bytes a cycle"},
      {"PE port", {"pe.pe_dma.bw_gbs"}, Change::doubled, "between a PE and its router"},
      {"router links", {"cube.routers.bw_gbs"}, Change::doubled, "inside a cube"},
      {"router hops", {"cube.routers.overhead_ns"}, Change::halved, "latency of each router"},
      {"UCIe bandwidth", {"cube.ucie.bw_gbs"}, Change::doubled, "between cubes"},
      {"UCIe hops", {"cube.ucie.overhead_ns"}, Change::halved, "latency of each port"},
      {"IO chiplet links", {"sip.io.io_noc.bw_gbs"}, Change::doubled, "between the endpoint and the cubes"},
      {"PCIe bandwidth", {"system.pcie.bw_gbs"}, Change::doubled, "host, switch and SIPs"},
      {"PCIe hops",
       {"sip.io.pcie_ep.overhead_ns", "system.switch.overhead_ns"},
       Change::halved,
       "endpoints and the switch"},
      {"control path",
       {"sip.io.io_cpu.overhead_ns", "cube.m_cpu.overhead_ns", "pe.pe_cpu.overhead_ns"},
       Change::halved,
       "a launch's way to the PEs and back"},
      {"command issue",
       {"pe.pe_cpu.dispatch_cycles"},
       Change::halved,
       "cycles of the PE's CPU for a command"},
      {"scheduler", {"pe.pe_scheduler.overhead_ns"}, Change::halved, "the start of a composite command"},
      {"address look-up", {"pe.pe_mmu.overhead_ns"}, Change::halved, "the PE's MMU"},
      {"queue engine", {"pe.pe_ipcq.overhead_ns"}, Change::halved, "a send or receive"},
      {"DMA start", {"pe.pe_dma.overhead_ns"}, Change::halved, "a transfer's own overhead"},
      {"DMA window", {"pe.pe_dma.window_bytes"}, Change::doubled, "bytes of a channel in flight"},
      {"launch cost",
       {"system.host.submit_ns", "system.host.complete_ns"},
       Change::halved,
       "the host's own part of every request"},
      {"wires", {"system.ns_per_mm"}, Change::halved, "every wire of the machine"},
      {"DMA in flight", {"pe.pe_dma.outstanding"}, Change::doubled, "transfers of a channel; kernel side"},
      {"tile buffers",
       {"pe.pe_scheduler.pipeline_depth"},
       Change::doubled,
       "of a composite command; kernel side"},
      {"command queues",
       {"pe.pe_cpu.queue_depth"},
       Change::doubled,
       "commands that wait at an engine; kernel side"},
      {"queue slots",
       {"ccl.defaults.n_slots"},
       Change::doubled,
       "messages under way in a queue; kernel side"},
  };
  return all;
}

std::vector<Variant> twice_as_fast(const topology::Machine& machine, std::int64_t slots) {
  std::vector<Variant> variants;
  for (const Knob& knob : knobs()) {
    const bool of_queues = knob.keys.front().starts_with("ccl.");
    Variant variant = of_queues ? Variant{knob.name, {}} : variant_of(machine, knob);
    if (of_queues && slots > 0) variant.overrides = {fmt::format("{}={}", knob.keys.front(), 2 * slots)};
    if (!variant.overrides.empty()) variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace kernbench::report
