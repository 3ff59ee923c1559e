// Why a run took as long as it did, for a terminal: from its file alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/limits.hpp"
#include "report/rerun.hpp"

namespace kernbench::report {

/// Where the time went, what it waited for, what limits it and each launch, and what to do about it.
std::string explanation(const SavedRun& run);
/// The same for programs: `limits`, `critical_path`, `launches`.
std::string explanation_json(const SavedRun& run);

/// Variants that were run again, with what became of the time. `by_gain`: largest gain first.
std::string variants_text(const SavedRun& run, const std::vector<Variant>& variants,
                          const std::vector<VariantResult>& results, bool by_gain);
std::string variants_json(const SavedRun& run, const std::vector<Variant>& variants,
                          const std::vector<VariantResult>& results);

/// Changes one by one and, if there are several, together.
std::vector<Variant> what_if(const std::vector<std::string>& changes);
/// Every part of the run's machine twice as fast, one at a time.
std::vector<Variant> sensitivity(const Rerun& rerun);

}  // namespace kernbench::report
