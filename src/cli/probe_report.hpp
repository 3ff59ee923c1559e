// Results of probes for people.
#pragma once

#include <string>

#include "device/probe_catalogue.hpp"

namespace kernbench::cli {

/// One probe: time, breakdown, every hop.
std::string probe_text(const topology::Graph& graph, const device::ProbeResult& result);
/// The catalogue: a table of times, breakdowns, hops, the saturation table, the invariants.
std::string catalogue_text(const topology::Machine& machine, const topology::Graph& graph,
                           const device::Catalogue& catalogue);

}  // namespace kernbench::cli
