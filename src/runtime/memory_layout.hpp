// The memories of a machine in the words of the allocators.
#pragma once

#include "address/memory_pools.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::runtime {

address::MemoryLayout memory_layout(const topology::Machine& machine);

}  // namespace kernbench::runtime
