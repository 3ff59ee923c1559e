#include "web/machine_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "device/probe.hpp"
#include "kernbench/error.hpp"
#include "report/probe_json.hpp"
#include "topology/figures.hpp"
#include "topology/floor_plan.hpp"

namespace kernbench::web {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostBytes = 64 << 20;  // of a probe

Json param_json(const topology::Group& group, const Param& param) {
  const ParamValue& value = group.params.value(param.name);
  const bool given = !std::holds_alternative<std::monostate>(value);
  return {{"key", group.path + "." + param.name},
          {"value", given ? to_yaml(value) : ""},
          {"doc", param.doc},
          {"expects", param.expectation()},
          {"choices", param.type == Param::Type::choice ? Json(param.choices) : Json::array()}};
}

Json groups_json(const topology::Machine& machine) {
  Json groups = Json::array();
  for (const topology::Group& group : machine.groups()) {
    Json params = Json::array();
    for (const Param& param : group.params.params()) params.push_back(param_json(group, param));
    if (!params.empty())
      groups.push_back({{"path", group.path}, {"impl", group.impl}, {"params", std::move(params)}});
  }
  return groups;
}

Json level_json(const char* name, const topology::LevelFigures& level) {
  return {{"name", name},
          {"pes", level.pes},
          {"matrix", topology::flops_text(level.gemm_tflops)},
          {"vector", topology::ops_text(level.math_gops)},
          {"hbm", topology::rate_text(level.hbm_gbs)},
          {"hbm_bytes", level.hbm.count()},
          {"sram_bytes", level.sram.count()},
          {"tcm_bytes", level.tcm.count()}};
}

}  // namespace

Json machine_json(const topology::Machine& machine) {
  const topology::Graph graph(machine);
  const topology::Figures figures = topology::figures(machine);
  return {{"source", machine.source()},
          {"headline", topology::headline(machine)},
          {"idealised", machine.idealised()},
          {"figures",
           {level_json("PE", figures.pe), level_json("cube", figures.cube), level_json("SIP", figures.sip),
            level_json("machine", figures.machine)}},
          {"groups", groups_json(machine)},
          {"plan", topology::draw_floor_plan(machine, graph)}};
}

Json probe_of(const topology::Machine& machine, const ProbeRequest& request) {
  if (request.bytes < 0 || request.bytes > kMostBytes)
    throw InputError({"web.bytes", fmt::format("{} B", request.bytes), "a probe here takes up to 64 MiB",
                      "'kernbench probe' in a terminal takes more"});
  device::Prober prober(machine);
  const topology::NodeId from = prober.graph().find(request.from), to = prober.graph().find(request.to);
  const bool memory = device::is_memory(prober.graph().node(to).kind);
  const auto direction = request.op == "write" ? device::Direction::write : device::Direction::read;
  const Bytes bytes(request.bytes > 0 ? request.bytes : memory ? 64 : 0);
  return report::probe_json(prober.graph(), prober.measure(prober.make_case(from, to, direction, bytes)));
}

}  // namespace kernbench::web
