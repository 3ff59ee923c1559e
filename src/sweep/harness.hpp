// What the shipped sweeps make of their points beside the table: `harness:` in a sweep's file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sweep/plan.hpp"

namespace kernbench::sweep {

/// `gemm_sweep.json`: of each product its stages, windows and utilisation, and what an ideal pipeline would reach; the
/// constants of that with the machine's keys that they come from. `records` are points that ran, in the plan's order.
nlohmann::ordered_json gemm_sweep(const Plan& plan, const std::vector<nlohmann::ordered_json>& records);

/// `allreduce.csv`: a row for each all-reduce that ran, with columns that other programs know.
std::string allreduce_csv(const Plan& plan, const std::vector<nlohmann::ordered_json>& records);

/// Floor plans with the wiring of each algorithm on each arrangement of SIPs, the first of several kinds of buffers.
struct Drawing {
  std::string name;  // `ring_allreduce-torus_2d_3x2-6`
  std::string svg;
};
std::vector<Drawing> wiring_drawings(const Plan& plan, const std::vector<nlohmann::ordered_json>& records,
                                     const Registry& registry);

}  // namespace kernbench::sweep
