// The energy of a saved run.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// The key `energy` of its document; null if its machine had no prices, or the file is from before there were any.
nlohmann::ordered_json saved_energy(const SavedRun& run);

}  // namespace kernbench::report
