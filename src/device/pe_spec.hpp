// The figures of a PE, read once from the machine file.
#pragma once

#include <memory>

#include "kernbench/compute_model.hpp"
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
  std::shared_ptr<const models::MatrixModel> matrix;
  std::shared_ptr<const models::VectorModel> vector;
  models::TileShape tile;  // the matrix unit's
  Bandwidth tcm_read, tcm_write;
  Time mmu;

  static PeSpec of(const topology::Machine& machine);

  std::int64_t tiles(std::int64_t extent, std::int64_t size) const {
    return std::max<std::int64_t>(1, (extent + size - 1) / size);
  }
  Time time_of(const models::Product& product) const {
    return models::cycles_time(matrix->cycles(product), cycle);
  }
  Time time_of(const models::VectorWork& work) const {
    return models::cycles_time(vector->cycles(work), cycle);
  }
};

}  // namespace kernbench::device
