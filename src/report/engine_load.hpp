// How busy the engines of each PE were over time, from the operations of a saved run.
#pragma once

#include "report/page_ops.hpp"

namespace kernbench::report {

struct EngineLoad {
  PeCoord pe;
  std::string engine;        // `gemm`, `dma_read`
  std::vector<double> busy;  // share of each bucket, 0 … 1
};

/// Overlapping operations of an engine count once. The last bucket may be longer than the run.
std::vector<EngineLoad> engine_loads(const PageOps& ops, Time bucket, std::size_t buckets);

}  // namespace kernbench::report
