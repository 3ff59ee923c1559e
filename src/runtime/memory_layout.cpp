#include "runtime/memory_layout.hpp"

namespace kernbench::runtime {

address::MemoryLayout memory_layout(const topology::Machine& machine) {
  const ParamSet& tcm = machine.at("pe.pe_tcm");
  return {.sips = machine.sips(),
          .cubes = machine.cubes(),
          .pes = machine.pes(),
          .hbm_slice = machine.hbm_slice(),
          .tcm = tcm.bytes("capacity_mb"),
          .tcm_scheduler = tcm.bytes("scheduler_mb"),
          .tcm_scratch = tcm.bytes("kernel_scratch_mb"),
          .sram = machine.at("cube.sram").bytes("capacity_mb"),
          .granule = machine.at("cube.hbm").bytes("burst_bytes")};
}

}  // namespace kernbench::runtime
