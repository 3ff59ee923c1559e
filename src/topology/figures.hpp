// What follows from a machine's parameters: counts, peaks, capacities, at each level of the machine.
#pragma once

#include <string>

#include "kernbench/machine.hpp"

namespace kernbench::topology {

/// The figures of everything inside one PE, cube, SIP or the machine.
struct LevelFigures {
  std::int64_t pes = 0;
  double gemm_tflops = 0;  // matrix units; a multiply-add is 2 operations
  double math_gops = 0;    // vector units, simple operations on f16 elements, in 10⁹ per second
  Bytes tcm, sram, hbm;
  double hbm_gbs = 0;  // reads and writes together
};

struct Figures {
  LevelFigures pe, cube, sip, machine;
  double ucie_port_gbs = 0;  // per direction, all connections of a port
  double pcie_gbs = 0;       // per direction, one link of the switch
};

Figures figures(const Machine& machine);

/// Three digits and the unit that fits: `8.19 TFLOP/s`, `1.05 PFLOP/s`; `128 GOP/s`; `2.05 TB/s`.
std::string flops_text(double tflops);
std::string ops_text(double gops);
std::string rate_text(double gbs);
/// `1 cube`, `16 cubes`, `131,072 PEs`.
std::string count_text(std::int64_t n, const char* one, const char* many);
/// `2 SIPs × 16 cubes × 8 PEs = 256 PEs`
std::string headline(const Machine& machine);

}  // namespace kernbench::topology
