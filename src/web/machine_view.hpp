// A machine as a browser shows it: its values with what they may be, its figures, its floor plan.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernbench/machine.hpp"

namespace kernbench::web {

/// {source, headline, idealised, figures, groups: [{path, kind, params: [{key, value, doc, expects, choices}]}], plan}
nlohmann::ordered_json machine_json(const topology::Machine& machine);

struct ProbeRequest {
  std::string from, to, op = "read";
  std::int64_t bytes = 0;  // 0: what a probe takes by itself
};

/// What `kernbench probe latency` says. InputError for nodes and sizes that are not there.
nlohmann::ordered_json probe_of(const topology::Machine& machine, const ProbeRequest& request);

}  // namespace kernbench::web
