// How fast a PE could stream a product at best: an ideal pipeline of DMA-in, fetch, matrix unit and DMA-out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernbench/machine.hpp"

namespace kernbench::sweep {

/// What the theory takes from the machine.
struct GemmConstants {
  std::int64_t tile_m = 0, tile_k = 0, tile_n = 0;
  double tile_ns = 0;                          // a tile in the matrix unit
  double hbm_gbs = 0, dma_gbs = 0;             // the PE's slice; its port
  double tcm_read_gbs = 0, tcm_write_gbs = 0;  // its memory's ports

  /// `type`: of the operands.
  explicit GemmConstants(const topology::Machine& machine, DType type = DType::f16);
};

/// A constant as people read it, and where it comes from.
struct NamedConstant {
  std::string name;
  double value = 0;
  std::string unit;
  std::vector<std::string> keys;  // of the machine file
};
std::vector<NamedConstant> named(const GemmConstants& constants);

struct GemmShape {
  std::int64_t m = 0, k = 0, n = 0;
  int itemsize = 2;
  bool a_streamed = true, b_streamed = true;  // from HBM, tile by tile; else loaded into the TCM first
  std::int64_t macs() const { return m * k * n; }
};

/// Nothing that runs on this machine is faster: every stage works without a pause once its first tile is there, and what
/// follows the last tile's stage comes after it.
struct GemmTheory {
  double load_ns = 0;  // operands that are loaded first
  double dma_in_ns = 0, fetch_ns = 0, gemm_ns = 0,
         dma_out_ns = 0;  // all tiles through a stage, one after the other
  double ns = 0;
  std::string limited_by;  // the stage that sets it
};
GemmTheory gemm_theory(const GemmShape& shape, const GemmConstants& constants);

/// Multiply-adds ÷ what the matrix unit could do in that time.
double mac_utilization(const GemmShape& shape, const GemmConstants& constants, double ns);

/// Whether a dimension is smaller than its tile: the rest of the tile is wasted.
bool is_under_a_tile(const GemmShape& shape, const GemmConstants& constants);

}  // namespace kernbench::sweep
