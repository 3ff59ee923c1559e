// The whole command line as one call. A program with components of its own is
//
//   int main(int argc, char** argv) {
//     auto registry = kernbench::topology::builtin_registry();
//     registry.add_impl("pe_gemm", {"acme.systolic", "a weight-stationary array", {}});
//     return kernbench::cli_main(argc, argv, registry);
//   }
#pragma once

#include "kernbench/registry.hpp"

namespace kernbench {

/// Runs the command in `argv` and returns the exit code: 0 success; 1 a check or the simulated program
/// failed; 2 bad usage or input; 3 a defect of our own. Results go to standard output, errors to standard
/// error, and a command that fails prints no result. Throws nothing.
int cli_main(int argc, char** argv, topology::Registry& registry) noexcept;

}  // namespace kernbench
