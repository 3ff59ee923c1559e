// The collectives that ship, one file each. All may be called from a kernel of one's own.
#pragma once

#include "kernbench/ccl_steps.hpp"

namespace kernbench::ccl {

void hello_send(tl::Context& tl, const Call& call);
void ring_allreduce(tl::Context& tl, const Call& call);

}  // namespace kernbench::ccl
