// The wiring of a collective as a picture: the machine's floor plan with the links that its queues send over.
#pragma once

#include <string>
#include <vector>

#include "ccl/plan.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::ccl {

/// How many queues send over each link, by the link's index: those that the algorithm uses, along the way of their data from
/// the sender's TCM to the slot. Announcements and credits are not counted.
std::vector<int> queues_on_links(const Plan& plan, const topology::Graph& graph);

/// An SVG floor plan: links by how many queues send over them, and the PEs that take part.
std::string draw_wiring(const Plan& plan, const topology::Machine& machine, const topology::Graph& graph);

}  // namespace kernbench::ccl
