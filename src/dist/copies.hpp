// Copies of replicated tensors, made alike again after one of them was worked on.
#pragma once

#include "dist/choice.hpp"

namespace kernbench::dist {

/// Sends what the workers hold of the tensor to the other PEs of their member that hold copies of it. Null if there are
/// none.
std::shared_ptr<runtime::Request> copy_inside(State& state, const Tensor& tensor, const GroupKey& group);

}  // namespace kernbench::dist
