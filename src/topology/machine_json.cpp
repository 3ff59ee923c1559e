#include "topology/machine_json.hpp"

#include <nlohmann/json.hpp>

#include "topology/figures.hpp"

namespace kernbench::topology {
namespace {

using Json = nlohmann::ordered_json;

struct ValueToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const NumberTable& table) const {
    Json out = Json::object();
    for (const auto& [name, number] : table) out[name] = number;
    return out;
  }
  template <class T>
  Json operator()(const T& v) const {
    return v;
  }
};

Json params_json(const ParamSet& params) {
  Json out = Json::object();
  for (const Param& param : params.params())
    if (params.has(param.name)) out[param.name] = std::visit(ValueToJson{}, params.value(param.name));
  return out;
}

Json groups_json(const Machine& machine) {
  Json root = Json::object();
  for (const Group& group : machine.groups()) {
    std::string pointer = "/" + group.path;
    for (char& c : pointer) c = c == '.' ? '/' : c;
    Json params = params_json(group.params);
    root[Json::json_pointer(pointer)] =
        group.is_component() ? Json{{"kind", group.kind}, {"impl", group.impl}, {"attrs", std::move(params)}}
                             : std::move(params);
  }
  return root;
}

Json level_json(const LevelFigures& level) {
  return {{"pes", level.pes},
          {"gemm_tflops", level.gemm_tflops},
          {"math_gops_f16", level.math_gops},
          {"tcm_bytes", level.tcm.count()},
          {"sram_bytes", level.sram.count()},
          {"hbm_bytes", level.hbm.count()},
          {"hbm_gbs", level.hbm_gbs}};
}

}  // namespace

nlohmann::ordered_json to_json(const Machine& machine, const Graph& graph) {
  const Figures all = figures(machine);
  Json derived = {{"sips", machine.sips()},
                  {"cubes_per_sip", machine.cubes()},
                  {"pes_per_cube", machine.pes()},
                  {"total_pes", machine.total_pes()},
                  {"nodes", graph.node_count()},
                  {"links", graph.link_count()},
                  {"ucie_port_gbs", all.ucie_port_gbs},
                  {"per_pe", level_json(all.pe)},
                  {"per_cube", level_json(all.cube)},
                  {"per_sip", level_json(all.sip)},
                  {"total", level_json(all.machine)}};
  return {{"source", machine.source()},
          {"machine", groups_json(machine)},
          {"derived", std::move(derived)},
          {"idealised", machine.idealised()},
          {"left_out", machine.left_out()}};
}

}  // namespace kernbench::topology
