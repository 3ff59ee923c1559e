// The figures of a PE, read once from the machine file.
#pragma once

#include <array>

#include "kernbench/isa.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

struct PeSpec {
  Time cycle;
  Time launch_overhead;  // pe_cpu, once per program
  Time dispatch;         // pe_cpu, per command
  bool in_order = false;
  std::size_t queue_depth = 16;
  std::int64_t scratch_granules = 0;
  Time composite_overhead;  // pe_scheduler, once per composite
  int pipeline_depth = 3;
  std::int64_t tile_m = 32, tile_k = 64, tile_n = 32;
  Time tile_time;
  std::int64_t vector_bytes = 256;
  std::array<double, 3> math_cycles = {1, 4, 8};  // by MathCost
  Bandwidth tcm_read, tcm_write;
  Time mmu;

  static PeSpec of(const topology::Machine& machine);

  std::int64_t tiles(std::int64_t extent, std::int64_t tile) const {
    return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
  }
  /// Mt · Nt · Kt tile times; an edge tile costs a full one.
  Time gemm_time(std::int64_t m, std::int64_t k, std::int64_t n) const {
    return tile_time * (tiles(m, tile_m) * tiles(k, tile_k) * tiles(n, tile_n));
  }
  /// ⌈elements / lanes⌉ cycles × class; a reduction adds log2(lanes) cycles once.
  Time math_time(MathOp op, std::int64_t elements, int itemsize) const;
};

}  // namespace kernbench::device
