// What a page about a saved run knows: everything its charts and tables show, and no more.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// How much a page may carry of one run.
struct PageLimits {
  std::size_t bars = 40'000;     // of the timeline
  std::size_t load = 1'200'000;  // levels of load over time: one letter each
};

nlohmann::ordered_json page_data(const SavedRun& run, const topology::Machine& machine,
                                 const topology::Graph& graph, const PageLimits& limits);

}  // namespace kernbench::report
