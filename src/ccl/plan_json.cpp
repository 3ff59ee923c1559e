#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ccl/plan.hpp"

namespace kernbench::ccl {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(address::PhysAddr a) { return fmt::format("{:#x}", a.raw()); }

Json rules_json(const device::QueueRules& rules) {
  return {{"buffer_kind", address::to_string(rules.memory)},
          {"n_slots", rules.slots},
          {"slot_size", rules.slot_size.count()},
          {"credit_policy", rules.credit == device::CreditPolicy::on_last_use ? "on_last_use" : "on_recv"},
          {"backpressure", rules.backpressure == device::Backpressure::sleep ? "sleep" : "poll"},
          {"poll_ns", rules.poll.ns()},
          {"ipcq_credit_size_bytes", rules.credit_bytes.count()}};
}

Json window_json(const LinkWindow& w) {
  return {{"bandwidth_gbs", w.bandwidth.gbs()},
          {"round_trip_ns", w.round_trip.ns()},
          {"held_ns", w.held.ns()},
          {"needed_bytes", w.needed().count()},
          {"window_bytes", w.window.count()},
          {"reachable_gbs", w.reachable_gbs()}};
}

Json members_json(const Members& m) {
  return {{"group", to_string(m.group)},      {"world_size", m.world_size()},
          {"lanes", m.lanes.size()},          {"sips", m.sips},
          {"cubes_per_sip", m.machine.cubes}, {"pes_per_cube", m.machine.pes},
          {"root_cube", m.machine.root_cube}};
}

}  // namespace

Json to_json(const Plan& plan, const std::vector<LinkWindow>& windows) {
  Json pes = Json::array();
  std::size_t next = 0;
  for (const auto& pe : plan.wiring.pes) {
    Json ends = Json::array();
    for (const auto& end : pe.ends) {
      Json& json = ends.emplace_back(Json{{"direction", end.direction}, {"peer", to_string(end.peer)}});
      if (end.receives) json["receives_from"] = hex(end.receives_from);
      if (end.sends) json["sends_to"] = hex(end.sends_to);
      if (end.sends) json["window"] = window_json(windows[next++]);
    }
    pes.push_back(
        {{"pe", to_string(pe.pe)}, {"rank", plan.members.call(pe.pe).rank}, {"ends", std::move(ends)}});
  }
  return {{"name", plan.settings.name},
          {"algorithm", plan.algorithm.name},
          {"topology", plan.settings.topology},
          {"members", members_json(plan.members)},
          {"rules", rules_json(plan.wiring.rules)},
          {"pes", std::move(pes)},
          {"warnings", warnings(plan, windows)}};
}

}  // namespace kernbench::ccl
