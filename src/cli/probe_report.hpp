// Results of probes for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "device/probe_catalogue.hpp"

namespace kernbench::cli {

/// "read", "write" or, between nodes that are no memories, "message".
const char* op_name(const device::ProbeResult& result);

/// One probe: time, breakdown, every hop.
std::string probe_text(const topology::Graph& graph, const device::ProbeResult& result);
/// The catalogue: a table of times, breakdowns, hops, the saturation table, the invariants.
std::string catalogue_text(const topology::Machine& machine, const topology::Graph& graph,
                           const device::Catalogue& catalogue);

nlohmann::ordered_json probe_json(const topology::Graph& graph, const device::ProbeResult& result);
nlohmann::ordered_json catalogue_json(const topology::Machine& machine, const topology::Graph& graph,
                                      const device::Catalogue& catalogue);

}  // namespace kernbench::cli
