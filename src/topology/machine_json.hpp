// The machine for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::topology {

/// `source`, `machine` (every group as in the file, components with kind, impl and attrs), `derived` (counts,
/// peaks and capacities per PE, cube, SIP and machine) and `idealised`. Keys keep the order of the file.
nlohmann::ordered_json to_json(const Machine& machine, const Graph& graph);

}  // namespace kernbench::topology
