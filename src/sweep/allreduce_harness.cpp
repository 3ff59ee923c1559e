#include <map>
#include <nlohmann/json.hpp>

#include "kernbench/machine.hpp"
#include "sweep/csv.hpp"
#include "sweep/harness.hpp"

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

std::string allreduce_csv(const Plan& plan, const std::vector<Json>& records, const Registry& registry) {
  std::string csv =
      "algorithm,sip_topology,n_sips,n_elem,bytes_per_pe,bytes_per_sip,latency_ns,time_ns,algbw_gbs,busbw_"
      "gbs,"
      "lower_bound_ns,messages,buffer_kind,verified\n";
  std::map<std::vector<std::string>, Arrangement> arrangements;
  for (const Json& record : records) {
    if (record.at("run").is_null()) continue;
    Point point;
    for (const auto& [name, value] : record.at("values").items())
      point.values.emplace_back(name, value.get<std::string>());
    const auto words = words_of(plan, point, Reach::machine);
    auto found = arrangements.find(words);
    if (found == arrangements.end()) {
      const auto machine = topology::load_machine(plan.machine, words, registry.components);
      found = arrangements.emplace(words, Arrangement{arrangement_name(machine), machine.sips()}).first;
    }
    csv += allreduce_row(record, found->second);
  }
  return csv;
}

}  // namespace kernbench::sweep
