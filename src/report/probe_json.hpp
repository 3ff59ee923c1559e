// Results of probes for programs: `kernbench probe --json`, and the page of `kernbench web`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "device/probe_catalogue.hpp"

namespace kernbench::report {

/// "read", "write" or, between nodes that are no memories, "message".
const char* op_name(const device::ProbeResult& result);

nlohmann::ordered_json probe_json(const topology::Graph& graph, const device::ProbeResult& result);
nlohmann::ordered_json catalogue_json(const topology::Machine& machine, const topology::Graph& graph,
                                      const device::Catalogue& catalogue);

}  // namespace kernbench::report
