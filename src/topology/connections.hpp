// Which connection of a UCIe port a message between two PEs takes.
#pragma once

#include "kernbench/graph.hpp"

namespace kernbench::topology {

/// The connection, 0 … connections − 1, by which a message of PE `from` to PE `to` of other cubes crosses a port on that
/// side. docs/model.md has the formula and what it promises. Numbers are those of PEs in a cube of `pes`.
int connection_between(int from, int to, Side side, int pes, int connections);

}  // namespace kernbench::topology
