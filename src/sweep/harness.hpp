// What the shipped sweeps make of their points beside the table: `harness:` in a sweep's file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sweep/plan.hpp"

namespace kernbench::sweep {

/// `gemm_sweep.json`: of each product its stages, windows and utilisation, and what an ideal pipeline would reach; the
/// constants of that with the machine's keys that they come from. `records` are points that ran, in the plan's order.
nlohmann::ordered_json gemm_sweep(const Plan& plan, const std::vector<nlohmann::ordered_json>& records,
                                  const Registry& registry);

/// `allreduce.csv`: a row for each all-reduce that ran, with columns that other programs know.
std::string allreduce_csv(const Plan& plan, const std::vector<nlohmann::ordered_json>& records,
                          const Registry& registry);

}  // namespace kernbench::sweep
