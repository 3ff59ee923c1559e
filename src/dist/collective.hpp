// One call of a collective by a rank: checked, joined, launched.
#pragma once

#include "dist/choice.hpp"

namespace kernbench::dist {

/// Checks a call, joins it, and returns its number in the group with the algorithm that carries it out.
struct Joined {
  std::size_t number = 0;
  ccl::Settings settings;
};
Joined check_and_join(State& state, const Invocation& call, const GroupKey& group);
Work invoke(State& state, const Invocation& call, const GroupKey& group, bool async_op);
/// The group of what one rank sends to another. InputError (`dist.rank`) if there are no such two.
GroupKey pair_of(const State& state, int src, int dst);

}  // namespace kernbench::dist
