// One call of a collective by a rank: checked, joined, launched.
#pragma once

#include "dist/choice.hpp"

namespace kernbench::dist {

Work invoke(State& state, const Invocation& call, const Group& group, bool async_op);

}  // namespace kernbench::dist
