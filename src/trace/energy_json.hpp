// Energy as JSON values: parts of `kernbench run --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernbench/energy.hpp"

namespace kernbench::trace {

/// Whole femtojoules; beyond 64 bits the digits as a text.
nlohmann::ordered_json fj_json(Energy energy);
/// {`hbm`: fJ, …}
nlohmann::ordered_json json_of(const EnergyByPart& parts);
/// The key `energy`.
nlohmann::ordered_json json_of(const EnergyReport& report);
/// A launch's own: power is over the time its PEs were at work, with the static power of its SIP.
nlohmann::ordered_json json_of(const RequestEnergy& request, Time pe_exec, std::int64_t sip_static_mw);

}  // namespace kernbench::trace
