// Load over time for the floor plan and the chart of utilisation: links, memories and engines of PEs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernbench/graph.hpp"
#include "report/engine_load.hpp"

namespace kernbench::report {

/// {frames, frame_ps, left_out, rows: [{link | node, what, name, load}]}: `load` has a letter for each frame, A … Z a … z
/// 0 … 9 - _ for 0 … 63 of 63. Beyond `most` letters, frames are joined and then rows of little load left out.
nlohmann::ordered_json load_json(const SavedRun& run, const std::vector<EngineLoad>& engines,
                                 const topology::Graph& graph, std::size_t most);

/// {bucket_ps, series: [{name, values}]}: engines on average over the PEs that ran, memories over those that were used, the
/// busiest link.
nlohmann::ordered_json utilization_json(const SavedRun& run, const std::vector<EngineLoad>& engines);

}  // namespace kernbench::report
