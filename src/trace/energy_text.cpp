// What a run cost in energy, as JSON and as a table.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/append.hpp"
#include "base/json.hpp"
#include "kernbench/energy.hpp"
#include "trace/energy_json.hpp"

namespace kernbench::trace {
namespace {

using Json = nlohmann::ordered_json;

double share_of(Energy part, Energy whole) {
  return whole == Energy() ? 0 : static_cast<double>(part.fj()) / static_cast<double>(whole.fj());
}

Json amount_of(Energy energy, Energy whole) {
  return {{"fj", fj_json(energy)}, {"pj", energy.pj()}, {"share", share_of(energy, whole)}};
}

std::string percent_of(Energy part, Energy whole) {
  return fmt::format("{:.1f} %", 100 * share_of(part, whole));
}

}  // namespace

/// JSON numbers of most readers have 64 bits.
Json fj_json(Energy energy) {
  if (energy.fj() >= INT64_MIN && energy.fj() <= INT64_MAX) return static_cast<std::int64_t>(energy.fj());
  return fj_text(energy);
}

Json json_of(const EnergyByPart& parts) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kEnergyParts; ++i)
    out[std::string(to_string(static_cast<EnergyPart>(i)))] = fj_json(parts[i]);
  return out;
}

Json json_of(const EnergyReport& report) {
  const Energy total = report.total();
  Json parts = Json::object(), operations = Json::object();
  for (std::size_t i = 0; i < kEnergyParts; ++i)
    parts[std::string(to_string(static_cast<EnergyPart>(i)))] = amount_of(report.parts[i], total);
  for (const OperationEnergy& one : report.operations)
    operations[std::string(one.kind)] = amount_of(one.total(), total);
  const EnergyReport::OverTime power = report.over_time();
  return {{"total_fj", fj_json(total)},
          {"total_pj", total.pj()},
          {"dynamic_pj", report.dynamic().pj()},
          {"static_pj", report.part(EnergyPart::static_).pj()},
          {"average_w", report.average_w()},
          {"peak_w", report.peak_w()},
          {"peak_at_ns", report.peak_at().ns()},
          {"window_ns", report.window.ns()},
          {"pj_per_flop", report.macs == 0 ? Json() : Json(report.pj_per_flop())},
          {"dynamic_pj_per_flop", report.macs == 0 ? Json() : Json(report.dynamic_pj_per_flop())},
          {"parts", std::move(parts)},
          {"operations", std::move(operations)},
          {"unpriced", report.unpriced},
          {"power", {{"stretch_ns", power.stretch.ns()}, {"w", power.watts}}}};
}

Json json_of(const RequestEnergy& request, Time pe_exec, std::int64_t sip_static_mw) {
  const Energy total = request.total();
  const Json per_flop =
      request.macs == 0 ? Json() : Json(total.pj() / (2 * static_cast<double>(request.macs)));
  return {{"fj", fj_json(total)},
          {"pj", total.pj()},
          {"average_w", watts(total, pe_exec) + static_cast<double>(sip_static_mw) / 1e3},
          {"pj_per_flop", per_flop},
          {"parts", json_of(request.parts)}};
}

std::string to_json(const EnergyReport& report) { return dump_json(json_of(report), 2); }

std::string to_text(const EnergyReport& report) {
  std::string out;
  const Energy total = report.total();
  append(out, "{:<12} {:>14} {:>8}\n", "energy", "", "share");
  for (std::size_t i = 0; i < kEnergyParts; ++i)
    if (report.parts[i] != Energy())
      append(out, "{:<12} {:>14} {:>8}\n", to_string(static_cast<EnergyPart>(i)), to_string(report.parts[i]),
             percent_of(report.parts[i], total));
  append(out, "{:<12} {:>14}\n", "total", to_string(total));
  append(out, "power        {} on average, {} at most (over {}, at {})\n", watts_text(report.average_w()),
         watts_text(report.peak_w()), to_string(report.window), to_string(report.peak_at()));
  if (report.macs > 0)
    append(out, "per FLOP     {:.3f} pJ, {:.3f} pJ without static\n", report.pj_per_flop(),
           report.dynamic_pj_per_flop());
  for (const std::string& key : report.unpriced) append(out, "no price     {}\n", key);
  return out;
}

}  // namespace kernbench::trace
