// How fast an all-reduce could be at best, whatever the algorithm: what must come to a PE or a SIP must cross what leads
// there.
//
// Every member ends with a value that depends on all others, and numbers cannot be made fewer: as many bytes as a member
// holds must come to it, and to every SIP from outside. The first of them needs the latency of the shortest way, the
// others follow at the bandwidth of the links that all ways share. Nobody can be sure of the result before word from the
// farthest member has come. Nothing here knows of queues, programs or models.
#pragma once

#include <string>
#include <vector>

#include "kernbench/graph.hpp"
#include "kernbench/units.hpp"

namespace kernbench::ccl {

struct AllReduceBound {
  Time time;
  std::string why;  // `2 MiB to sip1 at 128 GB/s`; empty: there is nothing to do
};

/// The bound for PEs that each hold `bytes`; PEs of one lane combine with each other, lanes share the machine. Holds for the longest
/// launch of those on the SIPs, which may start at different instants: where SIPs have different bounds, the least.
AllReduceBound all_reduce_bound(const topology::Graph& graph, const std::vector<std::vector<PeCoord>>& lanes,
                                Bytes bytes);

}  // namespace kernbench::ccl
