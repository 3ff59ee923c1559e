// What the parts of a machine take in energy: the `energy` section of its file, in whole femtojoules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernbench/dtype.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::topology {

/// A value of the `energy` section.
struct Price {
  std::int64_t fj = 0;
  bool given = false;  // by the file; else it is 0
  std::string key;     // `energy.mac.f16_pj`
};

struct EnergyPrices {
  // Per byte.
  Price hbm_read, hbm_write, sram_read, sram_write, tcm_read, tcm_write;
  Price router, ucie, pcie;
  // Each.
  std::array<Price, kAllDTypes.size()> mac;  // by DType
  std::array<Price, 3> vector;               // an element, by MathCost
  Price launch;
  // In milliwatts, which are femtojoules per picosecond.
  std::int64_t machine_mw = 0;  // all SIPs
  std::int64_t sip_mw = 0;      // one, with its cubes and PEs

  /// Nothing if the machine has no `energy` section.
  static std::optional<EnergyPrices> of(const Machine& machine);
};

/// What a byte on a link is charged for: the router that it comes into, a crossing between dies, a PCIe link.
enum class LinkClass : std::uint8_t { free, router, ucie, pcie };
LinkClass class_of(const Graph& graph, const Link& link);

}  // namespace kernbench::topology
