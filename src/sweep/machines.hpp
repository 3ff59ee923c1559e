// The machines of a sweep: its machine file with the values of points.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernbench/machine.hpp"

namespace kernbench::sweep {

/// Loads each machine once. Points often share one, and its file is looked at when a plan is checked, when keys are made and
/// when points run. Only so many are kept; the last to come is always among them.
class Machines {
 public:
  Machines(std::string file, const topology::Registry& registry)
      : file_(std::move(file)), registry_(registry) {}

  using Pointer = std::shared_ptr<const topology::Machine>;
  /// InputError as `load_machine` has it; that is tried again the next time.
  Pointer with(const std::vector<std::string>& overrides);

 private:
  static constexpr std::size_t kKept = 1000;

  const std::string file_;
  const topology::Registry& registry_;
  std::map<std::vector<std::string>, Pointer> known_;
};

}  // namespace kernbench::sweep
