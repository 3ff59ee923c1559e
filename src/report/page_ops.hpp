// The operations of a saved run, as small as the charts of a page need them.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "kernbench/saved_run.hpp"

namespace kernbench::report {

struct PageOp {
  std::int64_t id = 0;
  int track = 0, kind = 0, reason = 0;  // indices of PageOps
  std::int64_t line = -1, cause = -1;   // −1: none
  Time start, end;
  Time busy_begin, busy_end;  // what counts as work of the engine; empty: nothing does
};

/// A row of the timeline.
struct PageTrack {
  PeCoord pe;             // cube and pe are −1 for the host
  std::string component;  // `pe_dma`, `host`
};

struct PageOps {
  std::vector<PageOp> ops;
  std::vector<PageTrack> tracks;
  std::vector<std::string> kinds, reasons;
  std::vector<std::array<Time, 4>> phase_sums;  // by kind
};

PageOps read_ops(const SavedRun& run);

/// The engine an operation of this kind keeps busy: `gemm`, `math`, `dma_read`, `dma_write`, `queue`. Empty: none.
std::string_view busy_engine(std::string_view kind);

}  // namespace kernbench::report
