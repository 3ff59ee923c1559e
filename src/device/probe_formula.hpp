// What a lone transfer must take: the formula of the unloaded machine, computed from the graph and the
// machine file alone. It shares nothing with the models that it is held against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/memory.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::device {

/// A transfer to be probed: an access of `from` to the memory `to`, or, without `op`, a plain message.
struct ProbeCase {
  topology::NodeId from, to;
  std::optional<Direction> op;
  Bytes bytes;              // an access has at least one
  std::int64_t offset = 0;  // in the memory
};

/// Whether a node is a memory, which is read and written rather than sent to.
bool is_memory(topology::NodeKind kind);

/// Where the time goes. Wires and overheads of a read are those of request and data; of a write those of the
/// data alone: its acknowledgement is a part of its own. `window`: the DMA engine waits with enough in flight.
struct ProbeParts {
  Time wire, overhead, serialization, memory, ack, window = {};
  Time total() const { return wire + overhead + serialization + memory + ack + window; }
  bool operator==(const ProbeParts&) const = default;
};

/// The ways a probe travels, in this order.
enum class ProbeLeg : std::uint8_t { request, data, ack };

/// The head of what travels leaves the leg's first node, or is through the overhead of a later one.
struct ProbeHop {
  topology::NodeId node;
  ProbeLeg leg = ProbeLeg::data;
  Time head;  // since the start of the probe
  bool operator==(const ProbeHop&) const = default;
};

/// What an engine's window lets through: so many bytes in flight in the time of one request, there and back.
struct WindowLimit {
  Bytes in_flight;
  Time round_trip;
  double gbs() const { return static_cast<double>(in_flight.count()) / round_trip.ns(); }
};

struct ProbeFormula {
  ProbeParts parts;
  std::vector<ProbeHop> hops;
  std::optional<WindowLimit> window = {};  // of a transfer that is cut into requests
  Bandwidth bottleneck;                    // the slowest link of the data's way
  bool exact = true;                       // else the formula is a lower bound
  std::string without;  // an impl on the way that has no formula: its part is measured, not foretold
};

ProbeFormula probe_formula(const topology::Machine& machine, const topology::Graph& graph,
                           const ProbeCase& what);

}  // namespace kernbench::device
