#include "cli/machine_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.hpp"
#include "topology/figures.hpp"

namespace kernbench::cli {
namespace {

using topology::count_text;
using topology::Figures;
using topology::flops_text;
using topology::Group;
using topology::LevelFigures;
using topology::Machine;
using topology::ops_text;
using topology::rate_text;

/// A part, what there is to say of it, and the parts inside it.
struct Branch {
  std::string name;
  std::string text;
  std::vector<Branch> inside = {};
};

std::string gbs(const ParamSet& params, const char* name = "bw_gbs") {
  return fmt::format("{} GB/s", params.number(name));
}

std::string ns(const ParamSet& params, const char* name = "overhead_ns") {
  return fmt::format("{} ns", params.number(name));
}

std::string mib(const ParamSet& params, const char* name) {
  return fmt::format("{} MiB", params.number(name));
}

/// What an impl says of itself, and its name if it is not the default of its kind.
std::string impl_text(const Group& group) {
  std::string text = group.how.summary ? "; " + group.how.summary(group.params) : "";
  if (!group.is_default) text += fmt::format("; impl {}", group.impl);
  return text;
}

Branch component(const Machine& machine, const char* path, std::string name, const std::string& text) {
  return {std::move(name), text + impl_text(machine.group(path))};
}

Branch io_chiplet(const Machine& machine) {
  const auto part = [&](const char* path, const char* name, const std::string& more = "") {
    return component(machine, path, name, ns(machine.at(path)) + more);
  };
  return {
      "IO chiplet",
      fmt::format("{} to the top row of cubes", count_text(machine.cube_mesh().x, "UCIe port", "UCIe ports")),
      {part("sip.io.pcie_ep", "pcie_ep"), part("sip.io.io_cpu", "io_cpu"),
       part("sip.io.io_noc", "io_noc",
            fmt::format(", links {} each way", gbs(machine.at("sip.io.io_noc"))))}};
}

Branch routers(const Machine& machine) {
  const ParamSet& params = machine.at("cube.routers");
  const std::int64_t rows = params.integer("rows");
  const std::int64_t cols = params.integer("cols");
  const auto& hole = params.numbers("hole");
  const auto count = rows * cols - static_cast<std::int64_t>(hole[0] * hole[1]);
  const std::string around =
      hole[0] > 0 ? fmt::format(" around the HBM stack ({} × {} left out)", hole[0], hole[1]) : "";
  return component(
      machine, "cube.routers", fmt::format("{} routers", count),
      fmt::format("{} × {} grid{}; {}, links {} each way", rows, cols, around, ns(params), gbs(params)));
}

Branch ucie(const Machine& machine, const Figures& all) {
  const ParamSet& params = machine.at("cube.ucie");
  return component(
      machine, "cube.ucie", "4 UCIe ports",
      fmt::format("N E S W, each {} of {} = {} each way; {}, {} ns a crossing",
                  count_text(params.integer("connections"), "connection", "connections"), gbs(params),
                  rate_text(all.ucie_port_gbs), ns(params), 2 * params.number("overhead_ns")));
}

Branch hbm(const Machine& machine) {
  const ParamSet& params = machine.at("cube.hbm");
  return component(
      machine, "cube.hbm", fmt::format("HBM {} GiB", params.number("hbm_total_gb_per_cube")),
      fmt::format("{} of {} at {}, each {} of {} B", count_text(machine.pes(), "slice", "slices"),
                  to_string(machine.hbm_slice()), gbs(params, "hbm_to_router_bw_gbs"),
                  count_text(params.integer("num_pcs"), "pseudo-channel", "pseudo-channels"),
                  params.integer("burst_bytes")));
}

std::vector<Branch> pe_control(const Machine& machine) {
  const ParamSet& cpu = machine.at("pe.pe_cpu");
  const ParamSet& scheduler = machine.at("pe.pe_scheduler");
  return {
      component(machine, "pe.pe_cpu", "pe_cpu",
                fmt::format("{} a launch, {} a command; {}, queues of {}", ns(cpu),
                            count_text(cpu.integer("dispatch_cycles"), "cycle", "cycles"), cpu.text("issue"),
                            cpu.integer("queue_depth"))),
      component(machine, "pe.pe_scheduler", "pe_scheduler",
                fmt::format("{} a composite; {}", ns(scheduler),
                            count_text(scheduler.integer("pipeline_depth"), "tile buffer", "tile buffers"))),
      component(machine, "pe.pe_mmu", "pe_mmu", ns(machine.at("pe.pe_mmu")) + " a look-up"),
      component(machine, "pe.pe_ipcq", "pe_ipcq", ns(machine.at("pe.pe_ipcq")) + " an operation"),
  };
}

/// Types whose peak is not that of f16, by peak: `f8e4m3, i8 16.4 TFLOP/s`.
std::string other_peaks(const Machine& machine) {
  const double usual = machine.pe_peak_tflops();
  std::map<double, std::vector<std::string>, std::greater<>> types;
  for (const DType type : kAllDTypes)
    if (const double peak = machine.pe_peak_tflops(type); peak != usual)
      types[peak].emplace_back(to_string(type));
  std::string text;
  for (const auto& [peak, names] : types) text += fmt::format("; {} {}", join(names), flops_text(peak));
  return text;
}

std::string matrix_peak(const Machine& machine, const Figures& all) {
  if (all.pe.gemm_tflops == 0) return "no behaviour to tell its peak";
  const std::string others = other_peaks(machine);
  return flops_text(all.pe.gemm_tflops) + (others.empty() ? "" : " in f16" + others);
}

std::string vector_peak(const Figures& all) {
  return all.pe.math_gops == 0 ? "no behaviour to tell its peak" : ops_text(all.pe.math_gops) + " in f16";
}

std::vector<Branch> pe_engines(const Machine& machine, const Figures& all) {
  const ParamSet& dma = machine.at("pe.pe_dma");
  const ParamSet& tcm = machine.at("pe.pe_tcm");
  return {
      component(machine, "pe.pe_dma", "pe_dma",
                fmt::format("{}, {} each way to its router; {} in flight a channel", ns(dma), gbs(dma),
                            count_text(dma.integer("outstanding"), "transfer", "transfers"))),
      component(machine, "pe.pe_fetch_store", "pe_fetch_store", "between TCM and registers"),
      component(machine, "pe.pe_gemm", "pe_gemm", matrix_peak(machine, all)),
      component(machine, "pe.pe_math", "pe_math", vector_peak(all)),
      component(
          machine, "pe.pe_tcm", fmt::format("pe_tcm {}", mib(tcm, "capacity_mb")),
          fmt::format("read {}, write {}; {} for the scheduler, {} kernel scratch", gbs(tcm, "read_bw_gbs"),
                      gbs(tcm, "write_bw_gbs"), mib(tcm, "scheduler_mb"), mib(tcm, "kernel_scratch_mb"))),
  };
}

Branch pes(const Machine& machine, const Figures& all) {
  const ParamSet& layout = machine.at("cube.pe_layout");
  std::vector<Branch> parts = pe_control(machine);
  for (Branch& engine : pe_engines(machine, all)) parts.push_back(std::move(engine));
  return {count_text(machine.pes(), "PE", "PEs"),
          fmt::format("{} GHz; {} in each corner {}", machine.at("pe").number("clock_ghz"),
                      layout.integer("pe_per_corner"), join(layout.words("corners"), " ")),
          std::move(parts)};
}

Branch cubes(const Machine& machine, const Figures& all) {
  const auto& size = machine.at("cube").numbers("size_mm");
  const ParamSet& sram = machine.at("cube.sram");
  return {count_text(machine.cubes(), "cube", "cubes"),
          fmt::format("{} × {} mesh, {} × {} mm each", machine.cube_mesh().x, machine.cube_mesh().y, size[0],
                      size[1]),
          {routers(machine), ucie(machine, all), hbm(machine),
           component(machine, "cube.sram", fmt::format("SRAM {}", mib(sram, "capacity_mb")),
                     fmt::format("{}, {} each way", ns(sram), gbs(sram))),
           component(machine, "cube.m_cpu", "M CPU", ns(machine.at("cube.m_cpu"))), pes(machine, all)}};
}

std::string host_text(const ParamSet& host) {
  return fmt::format("{}; {} to submit a request, {} to complete it", ns(host), ns(host, "submit_ns"),
                     ns(host, "complete_ns"));
}

std::string header_text(const Machine& machine) {
  const std::int64_t header = machine.at("fabric").integer("header_bytes");
  return header > 0 ? fmt::format(" and {} B of header", header) : "";
}

Branch system(const Machine& machine, const Figures& all) {
  const std::string& topology = machine.at("system.sips").text("topology");
  const MeshCoord grid = machine.sip_grid();
  const bool is_ring = machine.sip_topology() == topology::SipTopology::ring_1d;
  return {"system",
          fmt::format("wires {} ns/mm, packets of {} B{}", machine.at("system").number("ns_per_mm"),
                      machine.at("fabric").integer("packet_bytes"), header_text(machine)),
          {component(machine, "system.host", "host", host_text(machine.at("system.host"))),
           component(machine, "system.switch", "switch",
                     fmt::format("{}, links {} each way", ns(machine.at("system.switch")),
                                 rate_text(all.pcie_gbs))),
           {count_text(machine.sips(), "SIP", "SIPs"),
            is_ring ? topology : fmt::format("{}, {} × {}", topology, grid.x, grid.y),
            {io_chiplet(machine), cubes(machine, all)}}}};
}

struct Row {
  std::string name, text;
};

void flatten(const Branch& branch, const std::string& before_name, const std::string& before_inside,
             std::vector<Row>& rows) {
  rows.push_back({before_name + branch.name, branch.text});
  for (std::size_t i = 0; i < branch.inside.size(); ++i) {
    const bool last = i + 1 == branch.inside.size();
    flatten(branch.inside[i], before_inside + (last ? "└─ " : "├─ "), before_inside + (last ? "   " : "│  "),
            rows);
  }
}

std::string tree_text(const Branch& root) {
  std::vector<Row> rows;
  flatten(root, "", "", rows);
  std::string text;
  constexpr std::size_t kNameWidth = 28;
  for (const Row& row : rows) text += fmt::format("{:<{}}{}\n", row.name, kNameWidth, row.text);
  return text;
}

std::string peaks_table(const Figures& all) {
  const std::array<const LevelFigures*, 4> levels = {&all.pe, &all.cube, &all.sip, &all.machine};
  std::string text = fmt::format("{:<14}{:>14}{:>14}{:>14}{:>14}\n", "peak", "PE", "cube", "SIP", "machine");
  const auto row = [&](const char* name, auto value) {
    text += fmt::format("{:<14}", name);
    for (const LevelFigures* level : levels) text += fmt::format("{:>14}", value(*level));
    text += "\n";
  };
  const auto size = [](Bytes bytes) { return bytes == 0_B ? std::string("–") : to_string(bytes); };
  row("matrix", [](const LevelFigures& l) { return flops_text(l.gemm_tflops); });
  row("vector, f16", [](const LevelFigures& l) { return ops_text(l.math_gops); });
  row("HBM rate", [](const LevelFigures& l) { return rate_text(l.hbm_gbs); });
  row("HBM", [&](const LevelFigures& l) { return size(l.hbm); });
  row("SRAM", [&](const LevelFigures& l) { return size(l.sram); });
  row("TCM", [&](const LevelFigures& l) { return size(l.tcm); });
  return text;
}

}  // namespace

std::string machine_tree(const Machine& machine, const topology::Graph& graph) {
  const Figures all = topology::figures(machine);
  const std::vector<std::string> ideal = machine.idealised();
  return fmt::format(
      "{}: {}; a graph of {} and {}\n\n{}\n{}\nns: what a message pays on arrival\nidealised: "
      "{}\nleft out of the models:\n  {}\n",
      machine.source(), topology::headline(machine), count_text(graph.node_count(), "node", "nodes"),
      count_text(graph.link_count(), "link", "links"), tree_text(system(machine, all)), peaks_table(all),
      ideal.empty() ? "no figure of this file" : join(ideal), join(machine.left_out(), "\n  "));
}

}  // namespace kernbench::cli
