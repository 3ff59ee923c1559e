// The standard catalogue of probes: distances every architect asks for, and what must hold between them.
#pragma once

#include <string>
#include <vector>

#include "device/probe.hpp"

namespace kernbench::device {

/// A destination of the catalogue. Cases that a machine lacks (another SIP, a second cube) are left out.
struct ProbeDistance {
  std::string name;  // `PE to its own slice`
  topology::NodeId from, to;
};
std::vector<ProbeDistance> probe_distances(const topology::Machine& machine, const topology::Graph& graph);

struct CatalogueCase {
  ProbeDistance distance;
  ProbeResult write, read;           // of 32 KiB
  std::vector<ProbeResult> growing;  // reads of 4 K, 16 K, 64 K, 256 K, 1 M
};

struct Invariant {
  std::string name;
  std::vector<std::string> broken;  // where it does not hold, and by what
  bool holds() const { return broken.empty(); }
};

struct Catalogue {
  std::vector<CatalogueCase> cases;
  std::vector<Invariant> invariants;
  bool holds() const;
};

/// Runs all of it.
Catalogue run_catalogue(Prober& prober);
/// What must hold of measured cases; `run_catalogue` has done this.
std::vector<Invariant> check_invariants(const topology::Graph& graph,
                                        const std::vector<CatalogueCase>& cases);

}  // namespace kernbench::device
