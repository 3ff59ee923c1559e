// The parts of a machine, and what makes each twice as fast: the architect's shopping list.
#pragma once

#include <string>
#include <vector>

#include "kernbench/machine.hpp"
#include "report/rerun.hpp"

namespace kernbench::report {

/// A part that can be made faster, and the keys that do it.
struct Knob {
  std::string name;               // `HBM bandwidth`
  std::vector<std::string> keys;  // of the machine, or of ccl.yaml
  enum class Change { doubled, halved } change;
  std::string doc;  // what it stands for
};
const std::vector<Knob>& knobs();

/// Each knob as a variant of this machine. A value that is 0 already, or an integer that cannot be halved, is left out.
/// `slots`: of queues, as the collectives' file has it; 0: unknown.
std::vector<Variant> twice_as_fast(const topology::Machine& machine, std::int64_t slots);

}  // namespace kernbench::report
