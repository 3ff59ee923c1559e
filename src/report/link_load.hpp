// How busy links were over time, from the transfers of the op log: the bytes of each are spread evenly over the time
// from its start to its end, along its route. Who waited where within a transfer is not known, so a stretch is right on
// average over the transfers that overlap it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/graph.hpp"
#include "runtime/engine.hpp"

namespace kernbench::report {

inline constexpr int kBuckets = 256;

struct LinkSeries {
  topology::LinkId link;
  std::vector<double> bytes;  // kBuckets of them
};

struct LinkLoads {
  Time bucket;  // how long each is; the first begins at 0
  std::vector<LinkSeries>
      series;  // by link, those that carried something; of very many those that carried most
};

/// `end`: of the run.
LinkLoads link_loads(runtime::Engine& engine, const trace::RunLog& log, Time end);

}  // namespace kernbench::report
