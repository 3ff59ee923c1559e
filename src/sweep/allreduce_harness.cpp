#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ccl/wiring_drawing.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"
#include "runtime/memory_layout.hpp"
#include "sweep/csv.hpp"
#include "sweep/harness.hpp"
#include "sweep/point_run.hpp"

namespace kernbench::sweep {
namespace {

using Json = nlohmann::ordered_json;

/// `torus_2d`, and where the grid is no square `torus_2d_3x2`.
std::string arrangement_name(const topology::Machine& machine) {
  const std::string& name = machine.at("system.sips").text("topology");
  const MeshCoord grid = machine.sip_grid();
  if (name == "ring_1d" || grid.x == grid.y) return name;
  return name + "_" + std::to_string(grid.x) + "x" + std::to_string(grid.y);
}

struct Arrangement {
  std::string topology;
  int sips = 0;
};

/// The wiring that the bench installs for a point.
std::string wiring_of(const Plan& plan, const Json& record, const topology::Machine& machine,
                      const Registry& registry) {
  const std::string algorithm = record.at("run").at("results").at("algorithm").get<std::string>();
  std::vector<std::string> overrides = words_of(plan, point_of(record), Reach::ccl);
  for (const char* option : {"buffer_kind", "world_size"})
    if (const Json value = record.at("run").at("options").value(option, Json()); !value.is_null())
      overrides.push_back(fmt::format("algorithms.{}.{}={}", algorithm, option, csv_text(value)));
  const auto settings = ccl::load_config(plan.ccl, overrides, registry.collectives).settings(algorithm);
  address::MemoryPools pools(runtime::memory_layout(machine));
  const auto made = ccl::make_plan(registry.collectives, settings, machine, pools,
                                   {.group = ccl::benched_group(registry.collectives, settings)});
  return ccl::draw_wiring(made, machine, topology::Graph(machine));
}

std::string allreduce_row(const Json& record, const Arrangement& of_sips) {
  const Json &run = record.at("run"), &results = run.at("results"), &options = run.at("options");
  const std::int64_t size = results.at("bytes_per_pe");
  std::string row =
      csv_text(results.at("algorithm")) + "," + of_sips.topology + "," + std::to_string(of_sips.sips);
  row += "," + csv_text(options.at("n_elem")) + "," + std::to_string(size);
  for (const char* name :
       {"bytes_per_sip", "latency_ns", "time_ns", "algbw_gbs", "busbw_gbs", "lower_bound_ns"})
    row += "," + csv_text(results.at(name));
  row += "," + csv_text(run.at("op_log_summary").at("ipcq_send_count"));
  row += "," + csv_text(options.at("buffer_kind")) + "," + csv_text(run.at("verified"));
  return row + "\n";
}

}  // namespace

std::string allreduce_csv(const Plan& plan, const std::vector<Json>& records) {
  std::string csv =
      "algorithm,sip_topology,n_sips,n_elem,bytes_per_pe,bytes_per_sip,latency_ns,time_ns,algbw_gbs,busbw_"
      "gbs,"
      "lower_bound_ns,messages,buffer_kind,verified\n";
  for (const Json& record : records) {
    if (record.at("run").is_null()) continue;
    const Machines::Pointer machine = machine_of(plan, point_of(record));
    csv += allreduce_row(record, {arrangement_name(*machine), machine->sips()});
  }
  return csv;
}

std::vector<Drawing> wiring_drawings(const Plan& plan, const std::vector<Json>& records,
                                     const Registry& registry) {
  std::vector<Drawing> drawings;
  for (const Json& record : records) {
    if (record.at("run").is_null()) continue;
    const Machines::Pointer machine = machine_of(plan, point_of(record));
    std::string name =
        fmt::format("{}-{}-{}", record.at("run").at("results").at("algorithm").get<std::string>(),
                    arrangement_name(*machine), machine->sips());
    if (std::ranges::find(drawings, name, &Drawing::name) == drawings.end())
      drawings.push_back({std::move(name), wiring_of(plan, record, *machine, registry)});
  }
  return drawings;
}

}  // namespace kernbench::sweep
