// Collectives whose result is longer or shorter than what goes in.
#pragma once

#include "dist/choice.hpp"

namespace kernbench::dist {

/// A PE works on what it holds alone. So what it holds of the longer tensor must be the parts of all members of what it
/// holds of the shorter one, one after the other; of all_to_all both have parts. InputError (`dist.layout`) otherwise,
/// also for sizes and dtypes that do not fit.
void check_parts(const State& state, const Invocation& call, const GroupKey& group);

}  // namespace kernbench::dist
