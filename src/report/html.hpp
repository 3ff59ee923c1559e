// The page about saved runs: one HTML file that works without a network, for people who did not run them.
#pragma once

#include <string>
#include <vector>

#include "kernbench/registry.hpp"
#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// Runs are shown side by side, with differences to the first. `registry` knows the components of their machines; `names`
/// are what runs are called, else their files' names.
std::string html_page(const std::vector<SavedRun>& runs, const topology::Registry& registry,
                      const std::vector<std::string>& names = {});

/// Whether a folder is that of a sweep.
bool is_sweep(const std::string& folder);
/// The page about a sweep: its figures and its table, from the files in its folder. InputError (`sweep.folder`) if there is
/// no sweep.
std::string sweep_page(const std::string& folder);

/// The page of `kernbench web`. It asks the server that it came from for everything it shows.
std::string app_page();

}  // namespace kernbench::report
