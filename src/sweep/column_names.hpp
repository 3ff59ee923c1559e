// Which columns a sweep may have: paths of what `run --json` writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernbench/bench.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::sweep {

class ColumnNames {
 public:
  ColumnNames(const Bench& bench, const Machine& machine);

  /// Whether a run of the bench may have a value there. Of parts that only some runs have, such as energy, and of a bench that
  /// does not say what it reports, every name may be one.
  bool may_be(const std::string& path) const;
  /// Those that are known, for hints.
  std::vector<std::string> all() const;

 private:
  bool is_result(const std::string& name) const;

  const Bench& bench_;
  nlohmann::ordered_json outline_;  // a run of no launches
  nlohmann::ordered_json launch_;   // a launch
};

}  // namespace kernbench::sweep
