// Checks that concern several values together, after each value alone was found good.
#pragma once

#include "kernbench/machine.hpp"

namespace kernbench::topology {

/// Throws InputError at the place of the value to change.
void validate(const Machine& machine);

}  // namespace kernbench::topology
