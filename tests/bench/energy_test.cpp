// Energy of the shipped benches: every way to add it up gives the same, however the run was carried out.
#include "kernbench/energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/run.hpp"
#include "bench/run_json.hpp"

namespace kernbench::bench::energy_test {
namespace {

using Json = nlohmann::ordered_json;

/// The prices of `realistic`, on a small machine of two SIPs whose links carry nothing but what operations move.
topology::Machine priced() {
  std::vector<std::string> overrides = {
      "system.sips.count=2",   "sip.cube_mesh.w=2",      "sip.cube_mesh.h=2", "energy.launch_pj=1000",
      "fabric.header_bytes=0", "fabric.request_bytes=0", "fabric.ack_bytes=0"};
  return topology::load_machine("realistic", overrides, topology::builtin_registry());
}

RunResult run_priced(const std::string& name, const std::vector<std::string>& words,
                     const RunOptions& how = {}) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at(name);
  return run(bench, bench.read_options(words), priced(), how);
}

struct Case {
  std::string bench;
  std::vector<std::string> words;
};

std::vector<Case> cases() {
  return {{"matmul-composite", {"M=70", "K=150", "N=50"}},
          {"matmul-composite", {"M=64", "K=64", "N=64", "variant=load_ref", "dtype=bf16"}},
          {"gpt3-qkv", {"tokens=5", "d_model=320"}},
          {"va-offset-verify", {"n_elem=17", "dtype=f32"}},
          {"ccl-allreduce", {"n_elem=64"}},
          {"ccl-allreduce", {"algorithm=ring_allreduce", "n_elem=64", "buffer_kind=hbm"}},
          {"ccl-allreduce", {"algorithm=ring_allreduce_rs", "world_size=8", "n_elem=64", "buffer_kind=sram"}},
          {"tp-mlp", {"hidden=64", "ffn=128", "tokens=8"}},
          {"milestone-gqa-llama70b", {"scale=validation"}},
          {"llama", {"model=custom", "context=16"}}};
}

Json energy_of(const RunResult& result) { return to_json(result).at("energy"); }

std::int64_t sum_of(const Json& values) {
  std::int64_t sum = 0;
  for (const auto& [name, value] : values.items()) sum += value.at("fj").get<std::int64_t>();
  return sum;
}

TEST(EnergyOfABench, AddsUpByPartOperationAndLaunch) {
  for (const Case& c : cases()) {
    const RunResult result = run_priced(c.bench, c.words);
    const Json energy = energy_of(result);
    const auto total = energy.at("total_fj").get<std::int64_t>();
    EXPECT_GT(total, 0) << c.bench;
    EXPECT_EQ(sum_of(energy.at("parts")), total) << c.bench;
    EXPECT_EQ(sum_of(energy.at("operations")), total) << c.bench;
    EXPECT_EQ(result.energy->time, result.total) << c.bench;
    Energy requests, windows;
    for (const auto& request : result.energy->requests) requests += request.total();
    for (const Energy window : result.energy->windows) windows += window;
    EXPECT_EQ(requests, result.energy->dynamic()) << c.bench;  // links carried nothing else: no `other`
    EXPECT_EQ(windows, result.energy->total()) << c.bench;
    EXPECT_FALSE(energy.at("operations").contains("other")) << c.bench << " " << energy.at("operations");
    EXPECT_GE(energy.at("peak_w"), energy.at("average_w")) << c.bench;
    EXPECT_TRUE(energy.at("unpriced").empty()) << energy.at("unpriced");
  }
}

// Headers, requests and acknowledgements belong to no operation: they are `other`, of routers, crossings and PCIe alone.
TEST(EnergyOfABench, CountsWhatPacketsTakeBesideTheirBytes) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("va-offset-verify");
  const auto energy = [&](const char* header) {
    const auto machine = topology::load_machine(
        "realistic", {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1", header}, topology::builtin_registry());
    return energy_of(run(bench, bench.read_options(std::vector<std::string>{"n_elem=64"}), machine));
  };
  const Json with = energy("fabric.header_bytes=16"), more = energy("fabric.header_bytes=32");
  EXPECT_EQ(sum_of(with.at("operations")), with.at("total_fj").get<std::int64_t>());
  EXPECT_GT(with.at("operations").at("other").at("fj"), 0);
  EXPECT_GT(more.at("operations").at("other").at("fj"), with.at("operations").at("other").at("fj"));
  for (const char* part : {"hbm", "tcm", "matrix"})
    EXPECT_EQ(more.at("parts").at(part).at("fj"), with.at("parts").at(part).at("fj"));
}

TEST(EnergyOfABench, IsTheSameHoweverItRuns) {
  for (const Case& c : cases()) {
    const Json plain = energy_of(run_priced(c.bench, c.words, {.threads = 1}));
    EXPECT_EQ(energy_of(run_priced(c.bench, c.words, {.threads = 2})), plain) << c.bench;
    EXPECT_EQ(energy_of(run_priced(c.bench, c.words, {.threads = 1, .packets = true})), plain) << c.bench;
    EXPECT_EQ(energy_of(run_priced(c.bench, c.words, {.threads = 1, .log = runtime::LogStorage::none})),
              plain)
        << c.bench;
  }
}

TEST(EnergyOfABench, IsNullWithoutPricesAndInEachLaunchWithThem) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("matmul-composite");
  const Json none = to_json(run(bench, bench.read_options(std::vector<std::string>{"M=32"}),
                                topology::load_machine("small", {}, topology::builtin_registry())));
  EXPECT_TRUE(none.at("energy").is_null());
  EXPECT_TRUE(none.at("launches").at(0).at("energy").is_null());
  const RunResult result = run_priced("matmul-composite", {"M=32", "K=64", "N=32"});
  const Json launch = to_json(result).at("launches").at(0).at("energy");
  EXPECT_EQ(launch.at("parts").at("matrix"), 32 * 64 * 32 * 720);
  EXPECT_EQ(launch.at("parts").at("launch"), 1'000'000);
  EXPECT_EQ(launch.at("parts").at("static"), 0);
  // Its own energy while its PEs were at work, and what its SIP takes anyway: 8 W, 4 cubes of 2 W, 32 PEs of 0.313 W.
  const double own = launch.at("pj").get<double>() / result.launches[0].trace.pe_exec_ns() / 1000;
  EXPECT_NEAR(launch.at("average_w").get<double>(), own + 8 + 4 * 2 + 32 * 0.313, 1e-9);
}

// What a machine takes in energy says nothing of its times.
TEST(EnergyOfABench, ChangesNoTime) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl-allreduce");
  const auto times = [&](const std::vector<std::string>& overrides) {
    const auto machine = topology::load_machine("small", overrides, topology::builtin_registry());
    Json json = to_json(run(bench, bench.read_options(std::vector<std::string>{"n_elem=64"}), machine));
    for (Json& launch : json["launches"]) launch.erase("energy");
    return std::pair(json["sim"]["total_ns"], json["launches"]);
  };
  EXPECT_EQ(times({}), times({"energy.hbm_read_pj_per_byte=3", "energy.static.pe_w=1"}));
}

}  // namespace
}  // namespace kernbench::bench::energy_test
