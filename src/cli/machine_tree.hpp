// A machine as people read it in a terminal.
#pragma once

#include <string>

#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::cli {

/// What `topology show` prints: the tree of parts, the peaks of each level, what is idealised.
std::string machine_tree(const topology::Machine& machine, const topology::Graph& graph);

}  // namespace kernbench::cli
