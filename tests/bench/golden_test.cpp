// The shipped benches' times and counts, in one reviewed file. A change shows up as a difference in it; the reason
// belongs in the commit. To write it anew: KERNBENCH_UPDATE_GOLDEN=1 build/release/tests/bench/bench_test
// --gtest_filter='Golden*'
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/run_json.hpp"

namespace kernbench::bench::golden_test {
namespace {

using Json = nlohmann::ordered_json;

/// What of a run is held: no source lines, so that a comment in a kernel changes nothing.
Json essence(const Json& run) {
  Json summary = Json::object();
  for (const auto& [key, value] : run["op_log_summary"].items())
    if (key.ends_with("_count")) summary[key] = value;
  Json launches = Json::array();
  for (const Json& launch : run["launches"]) {
    launches.push_back(Json::object());
    for (const char* key : {"name", "total_ns", "pe_exec_ns", "queued_ns", "lower_bound_ns", "bound_by"})
      launches.back()[key] = launch[key];
  }
  return {{"total_ns", run["sim"]["total_ns"]},
          {"launches", launches},
          {"op_log_summary", summary},
          {"utilization", run["utilization"]},
          {"critical_path", run["critical_path"]},
          {"results", run["results"]}};
}

Json run_case(const Json& what) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at(what["bench"].get<std::string>());
  const auto machine = topology::load_machine(what["machine"].get<std::string>(), {}, registry.components);
  const auto words = what["options"].get<std::vector<std::string>>();
  Json result = what;
  result["result"] = essence(to_json(run(bench, bench.read_options(words), machine)));
  for (const auto& [name, value] : result["result"]["results"].items())
    EXPECT_TRUE(std::ranges::any_of(
        bench.results,
        [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; }))
        << bench.name << " reports " << name << ", which its list of results does not have";
  return result;
}

TEST(Golden, TimesAndCountsOfTheShippedBenchesAreAsReviewed) {
  Json golden = Json::parse(std::ifstream(KERNBENCH_GOLDEN));
  Json now = Json::array();
  for (const Json& what : golden) now.push_back(run_case(what));
  if (std::getenv("KERNBENCH_UPDATE_GOLDEN") != nullptr)
    std::ofstream(KERNBENCH_GOLDEN) << now.dump(1) << "\n";
  ASSERT_FALSE(golden.empty());
  for (std::size_t i = 0; i < golden.size(); ++i)
    EXPECT_EQ(now[i], golden[i]) << Json::diff(golden[i], now[i]).dump(1);
}

}  // namespace
}  // namespace kernbench::bench::golden_test
