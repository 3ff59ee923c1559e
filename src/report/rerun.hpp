// Runs a saved bench again on a machine that differs: the same options, the same collectives.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/run.hpp"
#include "ccl/config.hpp"
#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// One change, or several at once: `pe.pe_tcm.read_bw_gbs=1024`, `ccl.defaults.n_slots=8`.
using Overrides = std::vector<std::string>;

struct Variant {
  std::string name;  // what is said of it
  Overrides overrides;
};

struct VariantResult {
  Time total;
  std::uint64_t hash = 0;
  Time lower_bound;
  std::string limit;  // what takes most of its critical path: a resource, or a wait
  double limit_share = 0;
  std::string failure;  // it could not be run
};

class Rerun {
 public:
  /// InputError (`explain.no-bench`) if the run is not of a bench that the registry has.
  Rerun(const SavedRun& run, const Registry& registry);

  /// Refuses overrides that the machine or the collectives do not know.
  void check(const Variant& variant) const;
  VariantResult one(const Variant& variant, const std::atomic<bool>* interrupt) const;
  /// Side by side, as many as there are cores. `done` is told how many are.
  std::vector<VariantResult> all(const std::vector<Variant>& variants, const std::atomic<bool>* interrupt,
                                 const std::function<void(std::size_t)>& done = {}) const;
  const topology::Machine& machine() const { return machine_; }
  /// Its collectives as they were configured.
  ccl::Config collectives(const Overrides& overrides = {}) const;

 private:
  void read(const SavedRun& run);
  topology::Machine machine_with(const Overrides& overrides) const;
  bench::RunOptions options_with(const Overrides& overrides) const;

  const Registry& registry_;
  const std::string yaml_, path_;
  const Bench* bench_ = nullptr;
  Options options_;
  topology::Machine machine_;
  std::string device_, ccl_;
  std::optional<std::string> ccl_text_;
  std::vector<std::string> ccl_overrides_;
};

}  // namespace kernbench::report
