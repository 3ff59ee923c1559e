#include "report/page_load.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

struct LoadRow {
  const char* key;  // `link` or `node`
  std::uint32_t id;
  std::string what, name;
  std::vector<double> load;
  double total = 0;
};

char letter(double load) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const double level = std::clamp(load, 0.0, 1.0) * 63;
  return kLetters[static_cast<std::size_t>(level > 0 ? std::max(1.0, std::round(level)) : 0)];
}

/// Averages of so many buckets each.
std::vector<double> coarser(const std::vector<double>& load, std::size_t factor) {
  std::vector<double> out((load.size() + factor - 1) / factor);
  for (std::size_t i = 0; i < load.size(); ++i) out[i / factor] += load[i] / static_cast<double>(factor);
  return out;
}

bool is_memory_path(std::string_view path) {
  return path.find(".hbm_ctrl.") != path.npos || path.ends_with(".sram");
}

void add_to(std::vector<double>& sum, const std::vector<double>& load) {
  sum.resize(std::max(sum.size(), load.size()));
  for (std::size_t i = 0; i < load.size(); ++i) sum[i] += load[i];
}

/// What went in and out of each HBM slice and SRAM, by path.
std::map<std::string, std::vector<double>> memory_loads(const std::vector<SavedLink>& links,
                                                        const std::vector<SavedLoad>& loads) {
  std::map<std::int64_t, const SavedLink*> by_id;
  for (const SavedLink& link : links) by_id[link.id] = &link;
  std::map<std::string, std::vector<double>> sums;
  for (const SavedLoad& load : loads)
    for (const std::string* end : {&by_id.at(load.link)->source, &by_id.at(load.link)->target})
      if (is_memory_path(*end)) add_to(sums[*end], load.utilization);
  return sums;
}

std::vector<LoadRow> all_rows(const SavedRun& run, const std::vector<EngineLoad>& engines,
                              const topology::Graph& graph) {
  std::vector<LoadRow> rows;
  const auto links = run.links();
  const auto loads = run.loads();
  std::map<std::int64_t, std::string> names;
  for (const SavedLink& link : links) names[link.id] = link.name;
  for (const SavedLoad& load : loads)
    rows.push_back(
        {"link", static_cast<std::uint32_t>(load.link), "link", names[load.link], load.utilization});
  for (const auto& [path, load] : memory_loads(links, loads))
    rows.push_back({"node", graph.find(path).index, "memory", path, load});
  for (const EngineLoad& load : engines) {
    const std::string pe = to_string(load.pe);  // the file's: there may be none such in the machine
    rows.push_back({"node", graph.find(pe + ".pe_dma").index, load.engine, pe, load.busy});
  }
  for (LoadRow& row : rows)
    for (const double load : row.load) row.total += load;
  return rows;
}

Json row_json(const LoadRow& row, std::size_t factor) {
  std::string letters;
  for (const double load : coarser(row.load, factor)) letters += letter(load);
  while (letters.ends_with('A')) letters.pop_back();
  return {{row.key, row.id}, {"what", row.what}, {"name", row.name}, {"load", letters}};
}

Json rounded(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double v : values) out.push_back(std::round(v * 1000) / 1000);
  return out;
}

Json series_json(const std::string& name, std::vector<double> sum, double divisor) {
  for (double& v : sum) v /= std::max(1.0, divisor);
  return {{"name", name}, {"values", rounded(sum)}};
}

}  // namespace

Json load_json(const SavedRun& run, const std::vector<EngineLoad>& engines, const topology::Graph& graph,
               std::size_t most) {
  std::vector<LoadRow> rows = all_rows(run, engines, graph);
  std::size_t buckets = 0;
  for (const LoadRow& row : rows) buckets = std::max(buckets, row.load.size());
  std::size_t factor = 1;
  while (buckets / factor > 16 && rows.size() * (buckets / factor) > most) factor *= 2;
  const std::size_t frames = (buckets + factor - 1) / factor;
  const std::size_t kept = frames == 0 ? rows.size() : std::min(rows.size(), most / frames);
  std::ranges::stable_sort(rows, std::greater(), &LoadRow::total);
  Json list = Json::array();
  for (std::size_t i = 0; i < kept; ++i) list.push_back(row_json(rows[i], factor));
  return {{"frames", frames},
          {"frame_ps", run.bucket().ps() * static_cast<std::int64_t>(factor)},
          {"left_out", rows.size() - kept},
          {"rows", std::move(list)}};
}

Json utilization_json(const SavedRun& run, const std::vector<EngineLoad>& engines) {
  std::map<std::string, std::vector<double>> sums;
  for (const EngineLoad& load : engines) add_to(sums[load.engine], load.busy);
  std::set<PeCoord> pes;
  for (const SavedProgram& program : run.programs())
    if (program.pe.pe >= 0) pes.insert(program.pe);
  Json list = Json::array();
  for (const auto& [engine, sum] : sums)
    list.push_back(series_json(engine, sum, static_cast<double>(pes.size())));
  const auto loads = run.loads();
  std::vector<double> hbm, busiest;
  double slices = 0;
  for (const auto& [path, load] : memory_loads(run.links(), loads)) {
    if (path.ends_with(".sram")) continue;
    add_to(hbm, load);
    ++slices;
  }
  for (const SavedLoad& load : loads) {
    busiest.resize(std::max(busiest.size(), load.utilization.size()));
    for (std::size_t i = 0; i < load.utilization.size(); ++i)
      busiest[i] = std::max(busiest[i], load.utilization[i]);
  }
  if (slices > 0) list.push_back(series_json("HBM", hbm, slices));
  if (!busiest.empty()) list.push_back(series_json("busiest link", busiest, 1));
  return {{"bucket_ps", run.bucket().ps()}, {"series", std::move(list)}};
}

}  // namespace kernbench::report
