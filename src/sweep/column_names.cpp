#include "sweep/column_names.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "bench/run.hpp"
#include "bench/run_json.hpp"

namespace kernbench::sweep {

ColumnNames::ColumnNames(const Bench& bench, const Machine& machine) : bench_(bench) {
  bench::RunResult run;
  run.machine = machine;
  run.launches.resize(1);
  outline_ = bench::to_json(run);
  launch_ = outline_.at("launches").at(0);
  for (const char* left_out : {"machine", "wall"}) outline_.erase(left_out);  // as `run_point` does
  for (const Param& option : bench.options) outline_["options"][option.name] = nullptr;
}

bool ColumnNames::is_result(const std::string& name) const {
  if (bench_.results.empty()) return true;
  return std::ranges::any_of(bench_.results, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

bool ColumnNames::may_be(const std::string& path) const {
  const std::size_t dot = path.find('.');
  const std::string first = path.substr(0, dot);
  if (dot == path.npos)
    return outline_.contains(path) || outline_["sim"].contains(path) || launch_.contains(path);
  const std::string rest = path.substr(dot + 1);
  if (first == "results") return is_result(rest);
  if (!outline_.contains(first)) return false;
  const auto& part = outline_[first];
  if (part.is_null()) return true;
  return part.is_object() && (part.contains(rest.substr(0, rest.find('.'))));
}

std::vector<std::string> ColumnNames::all() const {
  std::vector<std::string> names;
  for (const std::string& result : bench_.results)
    if (result.find('*') == result.npos) names.push_back("results." + result);
  for (const auto& [name, value] : launch_.items()) names.push_back(name);
  for (const char* part : {"utilization", "op_log_summary", "sim"})
    for (const auto& [name, value] : outline_[part].items()) names.push_back(std::string(part) + "." + name);
  return names;
}

}  // namespace kernbench::sweep
