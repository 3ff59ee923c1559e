// One point of a sweep: its key, and its run.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sweep/plan.hpp"

namespace kernbench::sweep {

/// Gives points their keys: a hash of bench, options, machine, collectives and the program that runs them. A point whose
/// key is known need not run again.
class Keys {
 public:
  explicit Keys(const Plan& plan);
  std::string of(const Point& point);

 private:
  const std::string& machine_text(const std::vector<std::string>& overrides);

  const Plan& plan_;
  std::string program_, ccl_;                                 // their content, hashed
  std::map<std::vector<std::string>, std::string> machines_;  // by overrides
};

/// The point that a record is about.
Point point_of(const nlohmann::ordered_json& record);

/// Runs a point as `kernbench run` does, on one thread. One line of JSON: `key`, `values`, `ok`, `error`, `seconds` and
/// `run`, which is what `run --json` writes without machine and wall time. What the point throws is its `error`.
std::string run_point(const Plan& plan, const Point& point, const std::string& key, const Registry& registry);
/// The same for a point whose worker died.
std::string died(const Point& point, const std::string& key, const std::string& how);

/// A value of a run: `results.tflops`, `utilization.gemm`. A bare name is looked for in the run, then in its `sim`; of one
/// that launches have the sum is taken. Null if there is none.
nlohmann::ordered_json value_at(const nlohmann::ordered_json& run, const std::string& path);

}  // namespace kernbench::sweep
