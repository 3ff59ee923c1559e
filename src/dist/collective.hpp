// One call of a collective by a rank: checked, joined, launched.
#pragma once

#include "dist/choice.hpp"

namespace kernbench::dist {

Work invoke(State& state, const Invocation& call, const GroupKey& group, bool async_op);
/// The group of what one rank sends to another. InputError (`dist.rank`) if there are no such two.
GroupKey pair_of(const State& state, int src, int dst);

}  // namespace kernbench::dist
