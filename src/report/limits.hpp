// What a run was limited by: parts of the machine that were busy, and waits that were on its critical path, the one that
// explains most of the time first.
#pragma once

#include <string>
#include <vector>

#include "kernbench/saved_run.hpp"

namespace kernbench::report {

enum class LimitKind {
  hbm,        // a slice delivers or takes as fast as it can
  link,       // a link of the fabric
  tcm,        // a port of a PE's TCM
  sram,       // a cube's SRAM
  gemm,       // a PE's matrix unit
  math,       // a PE's vector unit
  credits,    // sends wait for a free slot of a queue
  window,     // a DMA engine has as much in flight as it may
  launches,   // the host's requests, their way to the PEs and back
  issue,      // the PE's CPU
  transfers,  // the host writes and reads tensors
  latency,    // operations wait for each other, while nothing is busy
};

/// `HBM`, `link`, `TCM port` …
std::string_view to_string(LimitKind kind);

struct Limit {
  LimitKind kind = LimitKind::latency;
  std::string where;   // the part: `sip0.cube0.hbm_ctrl.pe0`; empty: everywhere
  double share = 0;    // of the run's time: busy, or on the critical path
  std::string why;     // one sentence
  std::string advice;  // another
};

/// Largest share first; those below 1 % are left out.
std::vector<Limit> find_limits(const SavedRun& run);

}  // namespace kernbench::report
