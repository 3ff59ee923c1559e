// Writes a run's result, and what its context knows, as a saved run.
#pragma once

#include <string>
#include <vector>

#include "bench/run.hpp"
#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// How to run it again: what is not in the result.
struct RunRecipe {
  std::string command;          // for people to copy; empty: not a bench
  std::string ccl = "default";  // the collectives' file
  std::vector<std::string> ccl_overrides;
  bool verify = false;
};

/// InputError (`file.unwritable`) if no saved run can be written there.
void check_place(const std::string& path);

void save(const bench::RunResult& result, Torch& torch, const RunRecipe& recipe, const std::string& path,
          const SaveOptions& options);

}  // namespace kernbench::report
