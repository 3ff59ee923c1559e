// What ships, put into a registry.
#pragma once

#include "kernbench/ccl.hpp"

namespace kernbench::ccl {

void register_topologies(Registry& registry);
void register_mappers(Registry& registry);
void register_validators(Registry& registry);
void register_algorithms(Registry& registry);

}  // namespace kernbench::ccl
