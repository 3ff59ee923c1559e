// The result of a run for people.
#pragma once

#include <string>

#include "bench/run.hpp"

namespace kernbench::cli {

/// The bench's line and what is wrong, if anything: what `--quiet` leaves.
std::string run_headline(const bench::RunResult& result);
/// Times of launches, utilisation, bounds, the top of the critical path, hazards, what the machine idealises.
std::string run_summary(const bench::RunResult& result);

}  // namespace kernbench::cli
