#include "device/pe_spec.hpp"

namespace kernbench::device {

PeSpec PeSpec::of(const topology::Machine& machine) {
  const ParamSet& cpu = machine.at("pe.pe_cpu");
  const ParamSet& tcm = machine.at("pe.pe_tcm");
  PeSpec spec;
  spec.cycle = Time::from_ns(1 / machine.at("pe").number("clock_ghz"));
  spec.launch_overhead = cpu.time("overhead_ns");
  spec.dispatch = spec.cycle * cpu.integer("dispatch_cycles");
  spec.in_order = cpu.text("issue") == "in_order";
  spec.queue_depth = static_cast<std::size_t>(cpu.integer("queue_depth"));
  spec.scratch_granules = tcm.bytes("kernel_scratch_mb").count() / isa::kGranuleBytes;
  spec.composite_overhead = machine.at("pe.pe_scheduler").time("overhead_ns");
  spec.pipeline_depth = static_cast<int>(machine.at("pe.pe_scheduler").integer("pipeline_depth"));
  spec.matrix = machine.behaviour<models::MatrixFactory>("pe.pe_gemm")(machine.at("pe.pe_gemm"));
  spec.vector = machine.behaviour<models::VectorFactory>("pe.pe_math")(machine.at("pe.pe_math"));
  spec.tile = spec.matrix->tile();
  spec.tcm_read = tcm.bandwidth("read_bw_gbs");
  spec.tcm_write = tcm.bandwidth("write_bw_gbs");
  spec.mmu = machine.at("pe.pe_mmu").time("overhead_ns");
  return spec;
}

}  // namespace kernbench::device
