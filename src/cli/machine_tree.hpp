// A machine as people read it in a terminal.
#pragma once

#include <string>

#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::cli {

/// "2 SIPs × 16 cubes × 8 PEs = 256 PEs"
std::string machine_headline(const topology::Machine& machine);

/// What `topology show` prints: the tree of parts, the peaks of each level, what is idealised.
std::string machine_tree(const topology::Machine& machine, const topology::Graph& graph);

}  // namespace kernbench::cli
