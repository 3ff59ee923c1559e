#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernbench/dtype.hpp"
#include "sweep/gemm_theory.hpp"
#include "sweep/harness.hpp"

namespace kernbench::sweep {
namespace {

using Json = nlohmann::ordered_json;

GemmShape shape_of(const Json& options) {
  const std::string variant = options.at("variant");
  return {.m = options.at("M"),
          .k = options.at("K"),
          .n = options.at("N"),
          .itemsize = static_cast<int>(itemsize(parse_dtype(options.at("dtype").get<std::string>()))),
          .a_streamed = variant == "ref_ref",
          .b_streamed = variant != "load_load"};
}

Json stages_of(const Json& stages) {
  Json out = Json::object();
  const double window = stages.at("window_ns");
  for (const char* name : {"dma_in", "fetch", "gemm", "dma_out"}) {
    out[name] = stages.at(name);
    out[name]["occupancy"] = window > 0 ? stages.at(name).at("busy_ns").get<double>() / window : 0;
  }
  return out;
}

Json theory_json(const GemmTheory& t, double utilization) {
  return {{"ns", t.ns},           {"mac_utilization", utilization}, {"limited_by", t.limited_by},
          {"load_ns", t.load_ns}, {"dma_in_ns", t.dma_in_ns},       {"fetch_ns", t.fetch_ns},
          {"gemm_ns", t.gemm_ns}, {"dma_out_ns", t.dma_out_ns}};
}

Json point_json(const Json& record, const GemmConstants& constants) {
  const Json& run = record.at("run");
  const GemmShape shape = shape_of(run.at("options"));
  const double ns = run.at("launches").front().at("pe_exec_ns");
  const GemmTheory theory = gemm_theory(shape, constants);
  Json point = run.at("options");
  point["values"] = record.at("values");
  point["under_a_tile"] = is_under_a_tile(shape, constants);
  point["sim_ns"] = run.at("sim").at("total_ns");
  point["pe_window_ns"] = ns;
  point["composite_window_ns"] = run.at("stages").at("window_ns");
  point["stages"] = stages_of(run.at("stages"));
  point["unit_utilization"] = run.at("utilization").at("gemm");
  point["mac_utilization"] = mac_utilization(shape, constants, ns);
  point["theory"] = theory_json(theory, mac_utilization(shape, constants, theory.ns));
  point["within_theory"] = ns >= theory.ns;
  return point;
}

Json constants_json(const GemmConstants& constants) {
  Json list = Json::array();
  for (const NamedConstant& c : named(constants))
    list.push_back({{"name", c.name}, {"value", c.value}, {"unit", c.unit}, {"keys", c.keys}});
  return list;
}

}  // namespace

Json gemm_sweep(const Plan& plan, const std::vector<Json>& records) {
  const GemmConstants base(*machine_of(plan, {}));
  Json out = {
      {"version", 1},
      {"machine", plan.machine},
      {"tile_sizes", {{"m", base.tile_m}, {"k", base.tile_k}, {"n", base.tile_n}}},
      {"theory",
       "an ideal pipeline: loads, then the slowest stage without a pause from its first tile on, then what "
       "follows the last tile's"},
      {"constants", constants_json(base)},
      {"points", Json::array()}};
  for (const Json& record : records) {
    if (record.at("run").is_null() || record.at("run").at("stages").is_null()) continue;
    const DType type = parse_dtype(record.at("run").at("options").at("dtype").get<std::string>());
    const GemmConstants constants(*machine_of(plan, point_of(record)), type);
    Json point = point_json(record, constants);
    if (constants_json(constants) != out["constants"]) point["constants"] = constants_json(constants);
    out["points"].push_back(std::move(point));
  }
  return out;
}

}  // namespace kernbench::sweep
