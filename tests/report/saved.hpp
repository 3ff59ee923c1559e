// Runs of benches, saved for tests to look at.
#pragma once

#include <string>
#include <vector>

#include "bench/run.hpp"
#include "report/save.hpp"

namespace kernbench::report {

inline topology::Machine machine(const std::string& name = "small",
                                 const std::vector<std::string>& overrides = {}) {
  return topology::load_machine(name, overrides, topology::builtin_registry());
}

/// Runs a bench and saves it, though it may fail; what it throws is thrown.
inline bench::RunResult save_bench(const Bench& bench, const std::vector<std::string>& words,
                                   const std::string& path, const topology::Machine& on = machine(),
                                   const SaveOptions& options = {}) {
  bench::RunOptions how;
  how.finished = [&](Torch& torch, const bench::RunResult& result) {
    save(result, torch, {.command = "kernbench run --bench " + bench.name}, path, options);
  };
  return bench::run(bench, bench.read_options(words), on, how);
}

inline bench::RunResult save_shipped(const std::string& name, const std::vector<std::string>& words,
                                     const std::string& path, const topology::Machine& on = machine(),
                                     const SaveOptions& options = {}) {
  const Registry registry = builtin_registry();
  return save_bench(registry.benches.at(name), words, path, on, options);
}

inline Bench bench_of(bench::HostFunction host) { return {"mine", "a bench of a test", {}, std::move(host)}; }

}  // namespace kernbench::report
