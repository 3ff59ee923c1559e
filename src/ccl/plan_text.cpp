#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ccl/plan.hpp"

namespace kernbench::ccl {
namespace {

constexpr std::size_t kShownPes = 64;

std::string plural(std::int64_t n, std::string_view thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

std::string members_text(const Plan& plan) {
  const auto& m = plan.members;
  std::set<int> cubes, pes;
  for (const PeCoord pe : m.pes()) {
    cubes.insert(pe.cube);
    pes.insert(pe.pe);
  }
  const auto all = static_cast<std::int64_t>(m.pes().size());
  const auto count = [](const auto& set) { return static_cast<std::int64_t>(set.size()); };
  const bool whole = count(m.sips) * count(cubes) * count(pes) == all;
  const auto arrangement = whole ? fmt::format("{} × {} × {}", plural(count(m.sips), "SIP"),
                                               plural(count(cubes), "cube"), plural(count(pes), "PE"))
                                 : plural(all, "PE");
  return fmt::format("{}, each a {}: {}; {}", plural(m.world_size(), "rank"), to_string(m.group), arrangement,
                     plural(static_cast<std::int64_t>(m.lanes.size()), "lane"));
}

std::string rings_text(const Plan& plan) {
  std::int64_t rings = 0, most = 0;
  for (const auto& pe : plan.wiring.pes) {
    const std::int64_t here = std::ranges::count(pe.ends, true, &device::QueueEnd::receives);
    rings += here;
    most = std::max(most, here);
  }
  const auto& rules = plan.wiring.rules;
  const Bytes ring = rules.slot_size * rules.slots;
  return fmt::format("{} of {} of {} in {}; {} in all, at most {} of a PE", rings,
                     plural(rules.slots, "slot"), to_string(rules.slot_size), to_string(rules.memory),
                     to_string(ring * rings), to_string(ring * most));
}

std::string rules_text(const device::QueueRules& rules) {
  return fmt::format("{} by messages of {}; a sender without one {}",
                     rules.credit == device::CreditPolicy::on_last_use ? "on_last_use" : "on_recv",
                     to_string(rules.credit_bytes),
                     rules.backpressure == device::Backpressure::sleep
                         ? "sleeps"
                         : fmt::format("polls every {}", to_string(rules.poll)));
}

/// Links whose figures agree to a nanosecond, in one line.
std::string windows_text(const std::vector<LinkWindow>& windows) {
  if (windows.empty()) return {};
  std::map<std::tuple<double, std::int64_t>, std::vector<const LinkWindow*>> alike;
  for (const auto& w : windows) alike[{w.bandwidth.gbs(), w.round_trip.ps() / 1000}].push_back(&w);
  std::string text = fmt::format("\n{:<6} {:>10} {:>12} {:>9} {:>10} {:>10} {:>11}  e.g.\n", "links",
                                 "bandwidth", "round trip", "held", "needed", "window", "reachable");
  for (const auto& [figures, links] : alike) {
    const auto& w = *links.front();
    text +=
        fmt::format("{:<6} {:>10} {:>12} {:>9} {:>10} {:>10} {:>11}  {} {} → {}\n", links.size(),
                    fmt::format("{:g} GB/s", w.bandwidth.gbs()), fmt::format("{:.1f} ns", w.round_trip.ns()),
                    fmt::format("{:.1f} ns", w.held.ns()), fmt::format("{} B", w.needed().count()),
                    fmt::format("{} B", w.window.count()), fmt::format("{:.1f} GB/s", w.reachable_gbs()),
                    to_string(w.from), w.direction, to_string(w.to));
  }
  return text;
}

const char* way_text(const device::QueueEnd& end) {
  if (end.sends && end.receives) return "";
  return end.sends ? " (to)" : " (from)";
}

std::string neighbours_text(const Plan& plan) {
  std::string text = plan.wiring.pes.empty() ? "" : "\nneighbours\n";
  for (std::size_t i = 0; i < std::min(kShownPes, plan.wiring.pes.size()); ++i) {
    const auto& pe = plan.wiring.pes[i];
    text += fmt::format("  {}", to_string(pe.pe));
    for (const auto& end : pe.ends)
      text += fmt::format("  {}{} {}", end.direction, way_text(end), to_string(end.peer));
    text += "\n";
  }
  if (plan.wiring.pes.size() > kShownPes)
    text += fmt::format("  and {} more PEs; -o plan.json has them all\n", plan.wiring.pes.size() - kShownPes);
  return text;
}

}  // namespace

std::string to_text(const Plan& plan, const std::vector<LinkWindow>& windows) {
  std::string text = fmt::format("{}: {}\n", plan.settings.name, plan.algorithm.description);
  text += fmt::format("members   {}\n", members_text(plan));
  text += fmt::format("rings     {}\n", rings_text(plan));
  text += fmt::format("credits   {}\n", rules_text(plan.wiring.rules));
  if (const auto n = plan.settings.n_elem) {
    const Load work{plan.members, *n, std::max<std::int64_t>(1, plan.wiring.rules.slot_size.count() / 2)};
    text += fmt::format("work      {} elements of f16 on each PE: {} in {}\n", *n,
                        plural(plan.algorithm.messages.value(work), "message"),
                        plural(plan.algorithm.rounds.value(work), "round"));
  }
  text += windows_text(windows) + neighbours_text(plan);
  const auto found = warnings(plan, windows);
  if (!found.empty()) text += "\n";
  for (const auto& warning : found) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace kernbench::ccl
