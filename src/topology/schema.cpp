#include "topology/schema.hpp"

#include <algorithm>

#include "kernbench/dtype.hpp"

namespace kernbench::topology {
namespace {

/// What something costs in energy. Without a value it costs nothing, and a run that does it says so.
Param price(std::string name, std::string doc) {
  return Param::number(std::move(name), 0, {0, 1e6}, std::move(doc)).optional();
}

/// For which size a price is. A larger memory is charged as banks of this size, without the wires between them.
Param bank(std::string name, std::string doc) {
  return Param::integer(
             std::move(name), 1, {1, 1 << 20},
             std::move(doc) + "; a larger one is charged as such banks, without the wires between them")
      .optional();
}

std::vector<Param> mac_prices() {
  std::vector<Param> params;
  for (const DType dtype : kAllDTypes)
    params.push_back(
        price(std::string(to_string(dtype)) + "_pj",
              "a multiply-add of the matrix unit whose wider operand is " + std::string(to_string(dtype))));
  return params;
}

std::vector<SchemaEntry> energy_schema() {
  constexpr bool kOptional = true;
  return {
      {"energy",
       "",
       {price("hbm_read_pj_per_byte", "bytes read from HBM"),
        price("hbm_write_pj_per_byte", "bytes written to HBM"),
        price("sram_read_pj_per_byte", "bytes read from a cube's SRAM"),
        price("sram_write_pj_per_byte", "bytes written to a cube's SRAM"),
        price("tcm_read_pj_per_byte", "bytes read from a TCM, by transfers and by the units"),
        price("tcm_write_pj_per_byte", "bytes written to a TCM, by transfers and by the units"),
        price("router_pj_per_byte", "bytes through a router, or through the IO chiplet's network: one hop"),
        price("ucie_pj_per_byte", "bytes over a UCIe crossing, from die to die"),
        price("pcie_pj_per_byte", "bytes over one PCIe link: from SIP to switch, or from switch to host"),
        price("launch_pj", "a program started on a PE"),
        bank("tcm_bank_kb", "size of the memory that the TCM's prices are of"),
        bank("sram_bank_kb", "size of the memory that the SRAM's prices are of")},
       kOptional},
      {"energy.mac", "", mac_prices(), kOptional},
      {"energy.vector",
       "",
       {price("simple_pj", "an element of an operation that takes pe_math.simple_cycles"),
        price("divide_pj", "an element of an operation that takes pe_math.divide_cycles"),
        price("transcendental_pj", "an element of an operation that takes pe_math.transcendental_cycles")},
       kOptional},
      {"energy.static",
       "",
       {price("pe_w", "always, each PE"), price("cube_w", "always, each cube beside its PEs"),
        price("sip_w", "always, each SIP beside its cubes")},
       kOptional},
  };
}

std::vector<SchemaEntry> make_schema() {
  std::vector<SchemaEntry> all = {
      {"system", "", {Param::number("ns_per_mm", 0.01, {0, 100}, "delay of every wire per length")}},
      {"system.sips",
       "",
       {Param::integer("count", 2, {1, 256}, "packages in the system").must_be_given(),
        Param::choice("topology", "ring_1d", {"ring_1d", "torus_2d", "mesh_2d_no_wrap", "mesh_2d"},
                      "neighbours that collectives use; the wires are the switch's"),
        Param::integer("w", 1, {1, 256}, "columns of the grid of SIPs, with w · h = count; a ring has none")
            .optional(),
        Param::integer("h", 1, {1, 256}, "rows of the grid of SIPs; given with w").optional()}},
      {"system.host", "host", {}},
      {"system.switch", "switch", {}},
      {"system.pcie",
       "",
       {Param::number("bw_gbs", 128, {1e-3, 1e6}, "each link of the switch, per direction")}},
      {"sip", "", {}},
      {"sip.cube_mesh",
       "",
       {Param::integer("w", 4, {1, 32}, "cubes from west to east; at most 32 in all").must_be_given(),
        Param::integer("h", 4, {1, 32}, "cubes from north to south; at most 32 in all").must_be_given()}},
      {"sip.io", "", {}},
      {"sip.io.pcie_ep", "pcie_ep", {}},
      {"sip.io.io_cpu", "io_cpu", {}},
      {"sip.io.io_noc", "io_noc", {}},
      {"cube", "", {Param::numbers("size_mm", {18, 14}, {0.1, 1000}, "width and height of a cube")}},
      {"cube.pe_layout",
       "",
       {Param::words("corners", {"NW", "NE", "SW", "SE"}, {"NW", "NE", "SW", "SE"}, "corners that hold PEs"),
        Param::integer("pe_per_corner", 2, {1, 16},
                       "PEs of each corner, in turn on its two routers; at most 16 PEs in all")
            .must_be_given()}},
      {"cube.routers", "router", {}},
      {"cube.m_cpu", "m_cpu", {}},
      {"cube.sram", "sram", {}},
      {"cube.ucie", "ucie", {}},
      {"cube.hbm", "hbm", {}},
      {"pe", "", {Param::number("clock_ghz", 1, {1e-3, 100}, "clock of the PEs' engines")}},
      {"pe.pe_cpu", "pe_cpu", {}},
      {"pe.pe_scheduler", "pe_scheduler", {}},
      {"pe.pe_dma", "pe_dma", {}},
      {"pe.pe_fetch_store", "pe_fetch_store", {}},
      {"pe.pe_gemm", "pe_gemm", {}},
      {"pe.pe_math", "pe_math", {}},
      {"pe.pe_tcm", "pe_tcm", {}},
      {"pe.pe_mmu", "pe_mmu", {}},
      {"pe.pe_ipcq", "pe_ipcq", {}},
      {"fabric",
       "",
       {Param::integer("packet_bytes", 256, {16, 65536}, "largest packet of a message, without its header"),
        Param::integer("header_bytes", 0, {0, 4096}, "what every packet carries beside its bytes"),
        Param::integer("request_bytes", 0, {0, 65536},
                       "size of the request of a read; 0: it pays latency only and waits for nobody"),
        Param::integer("ack_bytes", 0, {0, 65536},
                       "size of the acknowledgement of a write, and of what announces a message in a queue; "
                       "0: it pays latency only")}},
      {"launch",
       "",
       {Param::choice("start", "barrier", {"barrier", "free"},
                      "barrier: all PEs start when the farthest could; free: each on arrival"),
        Param::integer("control_bytes", 0, {0, 65536},
                       "size of a control message; 0: it pays latency only")}},
  };
  for (SchemaEntry& entry : energy_schema()) all.push_back(std::move(entry));
  return all;
}

}  // namespace

const std::vector<SchemaEntry>& schema() {
  static const std::vector<SchemaEntry> entries = make_schema();
  return entries;
}

const SchemaEntry* find_entry(const std::string& path) {
  const auto& all = schema();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const SchemaEntry& e) { return e.path == path; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> known_keys(const SchemaEntry& section) {
  std::vector<std::string> names;
  for (const Param& param : section.params) names.push_back(param.name);
  const std::string prefix = section.path.empty() ? "" : section.path + ".";
  for (const SchemaEntry& entry : schema()) {
    const bool below = entry.path.size() > prefix.size() && entry.path.starts_with(prefix);
    if (below && entry.path.find('.', prefix.size()) == std::string::npos)
      names.push_back(entry.path.substr(prefix.size()));
  }
  return names;
}

}  // namespace kernbench::topology
