// Probes: one transfer at a time through an otherwise idle machine, measured and taken apart.
#pragma once

#include <memory>
#include <vector>

#include "device/device.hpp"
#include "device/probe_formula.hpp"

namespace kernbench::device {

struct ProbeResult {
  ProbeCase what;
  Time total;
  /// Adds up to `total`. Where the formula is but a lower bound, `memory` is what the other parts leave.
  ProbeParts parts;
  ProbeFormula formula;
  std::vector<ProbeHop> hops;  // as simulated
  Time packet_by_packet;       // the total without the shortcut of messages in one piece

  double effective_gbs() const;
  /// Of the slowest link, or of the window where that lets less through.
  double bottleneck_gbs() const;
  double utilization() const { return effective_gbs() / bottleneck_gbs(); }
  /// Equal to the formula, or not below it where it is a lower bound; and the same packet by packet.
  bool agrees() const;
};

class Prober {
 public:
  explicit Prober(const topology::Machine& machine);
  ~Prober();

  const topology::Machine& machine() const { return machine_; }
  const topology::Graph& graph() const { return graph_; }

  /// A case from A to B: an access if B is a memory, else a message. InputError if they are the same node or
  /// the bytes do not fit.
  ProbeCase make_case(topology::NodeId from, topology::NodeId to, Direction op, Bytes bytes,
                      std::int64_t offset = 0) const;
  /// The total time alone.
  Time time(const ProbeCase& what);
  ProbeResult measure(const ProbeCase& what);

 private:
  class Travel;
  Device& device(std::unique_ptr<Device>& slot, FabricOptions options);
  Bytes capacity(topology::NodeKind kind) const;

  const topology::Machine machine_;
  const topology::Graph graph_;
  const bool has_state_;  // memories remember what was read before: every probe gets a fresh machine
  std::unique_ptr<Device> fast_, watched_;
};

}  // namespace kernbench::device
