#include "topology/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace kernbench::topology {
namespace {

LevelFigures one_pe(const Machine& machine) {
  LevelFigures pe;
  pe.pes = 1;
  pe.gemm_tflops = machine.pe_peak_tflops();
  pe.math_gops = machine.pe_peak_gops();
  pe.tcm = machine.at("pe.pe_tcm").bytes("capacity_mb");
  pe.hbm = machine.hbm_slice();
  pe.hbm_gbs = machine.at("cube.hbm").number("hbm_to_router_bw_gbs");
  return pe;
}

LevelFigures times(const LevelFigures& inner, int count) {
  return {inner.pes * count,  inner.gemm_tflops * count, inner.math_gops * count, inner.tcm * count,
          inner.sram * count, inner.hbm * count,         inner.hbm_gbs * count};
}

/// `value` is in `units[0]`.
std::string scaled(double value, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) value /= 1000, ++unit;
  return fmt::format("{:.{}f} {}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2, units[unit]);
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

std::string flops_text(double tflops) {
  constexpr std::array kUnits = {"TFLOP/s", "PFLOP/s", "EFLOP/s"};
  return scaled(tflops, kUnits);
}

std::string ops_text(double gops) {
  constexpr std::array kUnits = {"GOP/s", "TOP/s", "POP/s"};
  return scaled(gops, kUnits);
}

std::string rate_text(double gbs) {
  constexpr std::array kUnits = {"GB/s", "TB/s", "PB/s"};
  return scaled(gbs, kUnits);
}

std::string count_text(std::int64_t n, const char* one, const char* many) {
  std::string digits = fmt::format("{}", n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return fmt::format("{} {}", digits, n == 1 ? one : many);
}

std::string headline(const Machine& machine) {
  return fmt::format("{} × {} × {} = {}", count_text(machine.sips(), "SIP", "SIPs"),
                     count_text(machine.cubes(), "cube", "cubes"), count_text(machine.pes(), "PE", "PEs"),
                     count_text(machine.total_pes(), "PE", "PEs"));
}

}  // namespace kernbench::topology
