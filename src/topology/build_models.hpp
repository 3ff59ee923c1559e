// Making the models of a machine's components, to see whether they can be made.
#pragma once

#include "kernbench/machine.hpp"

namespace kernbench::topology {

/// What a model refuses when it is made becomes an InputError with the place of its component. Components without an open
/// behaviour have nothing to make.
void build_models(const Machine& machine);

}  // namespace kernbench::topology
