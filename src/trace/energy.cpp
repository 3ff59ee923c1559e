#include "kernbench/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernbench/error.hpp"

namespace kernbench::trace {
namespace {

/// `value` in the unit that leaves between one and three digits before the point; `units` are 1000 apart.
std::string scaled(double value, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < units.size()) value /= 1000, ++unit;
  return fmt::format("{:.{}f} {}", value, unit == 0 && value == std::floor(value) ? 0 : 3, units[unit]);
}

}  // namespace

std::string to_string(Energy energy) {
  static constexpr std::array kUnits = {"fJ", "pJ", "nJ", "uJ", "mJ", "J", "kJ", "MJ", "GJ"};
  return scaled(static_cast<double>(energy.fj()), kUnits);
}

std::string fj_text(Energy energy) { return fmt::format("{}", energy.fj()); }

std::string watts_text(double watts) {
  static constexpr std::array kUnits = {"uW", "mW", "W", "kW", "MW", "GW"};
  return scaled(watts * 1e6, kUnits);
}

double watts(Energy energy, Time over) {
  return over == Time() ? 0 : static_cast<double>(energy.fj()) / static_cast<double>(over.ps()) / 1e3;
}

std::string_view to_string(EnergyPart part) {
  switch (part) {
    case EnergyPart::hbm:
      return "hbm";
    case EnergyPart::sram:
      return "sram";
    case EnergyPart::tcm:
      return "tcm";
    case EnergyPart::routers:
      return "routers";
    case EnergyPart::ucie:
      return "ucie";
    case EnergyPart::pcie:
      return "pcie";
    case EnergyPart::matrix:
      return "matrix";
    case EnergyPart::vector:
      return "vector";
    case EnergyPart::launch:
      return "launch";
    case EnergyPart::static_:
      return "static";
  }
  KB_ASSERT(false, "an unknown part of the energy");
}

Energy sum(const EnergyByPart& parts) {
  Energy total;
  for (const Energy part : parts) total += part;
  return total;
}

Time EnergyReport::length_of(std::size_t index) const {
  return index + 1 == windows.size() ? time - window * static_cast<std::int64_t>(index) : window;
}

double EnergyReport::peak_w() const {
  double peak = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) peak = std::max(peak, window_w(i));
  return peak;
}

Time EnergyReport::peak_at() const {
  const double peak = peak_w();
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (window_w(i) == peak) return window * static_cast<std::int64_t>(i);
  return {};
}

double EnergyReport::pj_per_flop() const {
  return macs == 0 ? 0 : total().pj() / (2 * static_cast<double>(macs));
}

double EnergyReport::dynamic_pj_per_flop() const {
  return macs == 0 ? 0 : dynamic().pj() / (2 * static_cast<double>(macs));
}

EnergyReport::OverTime EnergyReport::over_time(std::size_t most) const {
  const std::size_t each = std::max<std::size_t>(1, (windows.size() + most - 1) / most);
  OverTime out{.stretch = window * static_cast<std::int64_t>(each), .watts = {}};
  for (std::size_t i = 0; i < windows.size(); i += each) {
    Energy energy;
    Time length;
    for (std::size_t j = i; j < std::min(i + each, windows.size()); ++j)
      energy += windows[j], length += length_of(j);
    out.watts.push_back(watts(energy, length));
  }
  return out;
}

}  // namespace kernbench::trace
