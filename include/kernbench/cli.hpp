// The whole command line as one call. A program with components, benches or collectives of its own is
//
//   void extend(kernbench::Registry& registry) {
//     registry.components.add_impl("pe_gemm", {"acme.systolic", "a weight-stationary array", {}});
//     registry.collectives.add({.name = "acme_allreduce", .description = "ours", .topology = "ring_1d", .kernel = acme_allreduce});
//     registry.benches.add({"scale", "multiplies a vector", {}, run_scale});
//   }
//   int main(int argc, char** argv) { return kernbench::cli_main(argc, argv, extend); }
#pragma once

#include <functional>

#include "kernbench/bench.hpp"

namespace kernbench {

/// Runs the command in `argv` and returns the exit code: 0 success; 1 a check or the simulated program
/// failed; 2 bad usage or input; 3 a defect of our own; 130 interrupted. Results go to standard output, errors to standard
/// error, and a command that fails prints no result. Throws nothing.
int cli_main(int argc, char** argv, Registry& registry) noexcept;
/// The same with everything that ships and what `extend` adds. What it adds wrongly is an error like any other.
int cli_main(int argc, char** argv, const std::function<void(Registry&)>& extend) noexcept;
/// The same with components of your own, and the benches that ship.
int cli_main(int argc, char** argv, topology::Registry& components) noexcept;

}  // namespace kernbench
