// How fast a launch could be at best, whatever the models say: the larger of work ÷ rate over all resources and the
// unloaded latency of its longest message. Holds for the time from the first PE's start to the last PE's end.
#pragma once

#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace kernbench::bench {

struct LowerBound {
  Time time;
  std::string
      resource;  // what sets it: `sip0.cube0.pe0.pe_gemm`, a link `a → b`; empty: nothing was asked for
  std::vector<std::string> without = {};  // components that give no least time: `cube.hbm (acme.fair_hbm)`
};

LowerBound lower_bound(const Workload& work);

}  // namespace kernbench::bench
