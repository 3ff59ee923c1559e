#include "topology/figures.hpp"

#include <algorithm>

namespace kernbench::topology {
namespace {

constexpr double kBytesOfF16 = 2;

LevelFigures one_pe(const Machine& machine) {
  const ParamSet& math = machine.at("pe.pe_math");
  // A unit that takes no cycles is a model without a cost; its peak is what one cycle would give.
  const double cycles = std::max(1.0, math.number("simple_cycles"));
  LevelFigures pe;
  pe.pes = 1;
  pe.gemm_tflops = machine.pe_peak_tflops();
  pe.math_gops = static_cast<double>(math.integer("vector_bytes")) / kBytesOfF16 / cycles *
                 machine.at("pe").number("clock_ghz");
  pe.tcm = machine.at("pe.pe_tcm").bytes("capacity_mb");
  pe.hbm = machine.hbm_slice();
  pe.hbm_gbs = machine.at("cube.hbm").number("hbm_to_router_bw_gbs");
  return pe;
}

LevelFigures times(const LevelFigures& inner, int count) {
  return {inner.pes * count,  inner.gemm_tflops * count, inner.math_gops * count, inner.tcm * count,
          inner.sram * count, inner.hbm * count,         inner.hbm_gbs * count};
}

}  // namespace

Figures figures(const Machine& machine) {
  Figures all;
  all.pe = one_pe(machine);
  all.cube = times(all.pe, machine.pes());
  all.cube.sram = machine.at("cube.sram").bytes("capacity_mb");
  all.sip = times(all.cube, machine.cubes());
  all.machine = times(all.sip, machine.sips());
  const ParamSet& ucie = machine.at("cube.ucie");
  all.ucie_port_gbs = ucie.number("bw_gbs") * static_cast<double>(ucie.integer("connections"));
  all.pcie_gbs = machine.at("system.pcie").number("bw_gbs");
  return all;
}

}  // namespace kernbench::topology
