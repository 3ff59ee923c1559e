// The result of a run for programs: the keys of `kernbench run --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/run.hpp"

namespace kernbench::bench {

/// Everything but `wall` is the same, byte for byte, whenever the run is repeated.
nlohmann::ordered_json to_json(const RunResult& result);

}  // namespace kernbench::bench
