// A sweep: the points of a plan, run by workers, kept in a folder.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sweep/csv.hpp"
#include "sweep/folder.hpp"
#include "sweep/plan.hpp"
#include "sweep/workers.hpp"

namespace kernbench::sweep {

struct SweepOptions {
  int jobs = 1;
  bool fail_fast = false;  // no further points after one that failed
  const std::atomic<bool>* interrupt = nullptr;
  /// Measured curves to stand beside the points of an all-reduce harness.
  std::vector<Curve> compare = {};
  /// Who runs the points; null: as many processes of this machine as there are jobs.
  Workers* workers = nullptr;
  /// Called after each point: how many of those to run are done, of how many.
  std::function<void(std::size_t done, std::size_t all, bool ok)> progress;
};

struct SweepOutcome {
  std::size_t points = 0;  // of the plan
  std::size_t known = 0;   // that had run before
  std::size_t run = 0;
  std::size_t failed = 0;  // of all that are known now
  bool interrupted = false;
};

/// Runs what the folder does not have yet, and writes `results.csv` and `sweep.json` there, and what the plan's harness
/// makes of the points. Also after an interrupt: then with the points that are done.
SweepOutcome run_sweep(const Plan& plan, const std::string& folder, const Registry& registry,
                       const SweepOptions& options);

/// What a worker of this sweep does with the number of a point.
Work work_of(const Plan& plan, const Registry& registry);

/// A row for each record of a point that ran; the same whoever ran them.
std::string csv_of(const Plan& plan, const std::vector<nlohmann::ordered_json>& records);

}  // namespace kernbench::sweep
