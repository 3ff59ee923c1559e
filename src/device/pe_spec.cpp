#include "device/pe_spec.hpp"

#include <bit>
#include <cmath>

namespace kernbench::device {

PeSpec PeSpec::of(const topology::Machine& machine) {
  const ParamSet& cpu = machine.at("pe.pe_cpu");
  const ParamSet& gemm = machine.at("pe.pe_gemm");
  const ParamSet& math = machine.at("pe.pe_math");
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
  spec.tile_m = gemm.integer("tile_m");
  spec.tile_k = gemm.integer("tile_k");
  spec.tile_n = gemm.integer("tile_n");
  spec.tile_time = spec.cycle * gemm.integer("tile_cycles");
  spec.vector_bytes = math.integer("vector_bytes");
  spec.math_cycles = {math.number("simple_cycles"), math.number("divide_cycles"),
                      math.number("transcendental_cycles")};
  spec.tcm_read = tcm.bandwidth("read_bw_gbs");
  spec.tcm_write = tcm.bandwidth("write_bw_gbs");
  spec.mmu = machine.at("pe.pe_mmu").time("overhead_ns");
  return spec;
}

Time PeSpec::math_time(MathOp op, std::int64_t elements, int itemsize) const {
  const std::int64_t lanes = std::max<std::int64_t>(1, vector_bytes / itemsize);
  const std::int64_t vectors = (elements + lanes - 1) / lanes;
  const MathOpInfo& what = info(op);
  double cycles = static_cast<double>(vectors) * math_cycles[static_cast<std::size_t>(what.cost)];
  if (what.kind == MathKind::reduction)
    cycles += static_cast<double>(std::bit_width(static_cast<std::uint64_t>(lanes)) - 1);
  return Time::from_ps(std::llround(cycles * static_cast<double>(cycle.ps())));
}

}  // namespace kernbench::device
