// Benches run on machines: results, bounds, utilisation, what fails.
#include "bench/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/run_json.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/reference.hpp"

namespace kernbench::bench::run_test {
namespace {

using namespace kernbench::dtypes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

topology::Machine machine(const std::string& name = "small", std::vector<std::string> overrides = {}) {
  return topology::load_machine(name, overrides, topology::builtin_registry());
}

RunResult run_shipped(const std::string& name, std::vector<std::string> words, const RunOptions& how = {},
                      const topology::Machine& on = machine()) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at(name);
  return run(bench, bench.read_options(words), on, how);
}

Bench bench_of(HostFunction host) { return {"mine", "a bench of a test", {}, std::move(host)}; }

RunResult run_mine(HostFunction host, const RunOptions& how = {}) {
  return run(bench_of(std::move(host)), {}, machine(), how);
}

TEST(Run, EveryShippedBenchIsRightToTheBit) {
  const RunOptions verify{.verify = true};
  for (const char* variant : {"ref_ref", "load_ref", "load_load"}) {
    for (const char* dtype : {"f16", "bf16", "f32"}) {
      const RunResult result = run_shipped(
          "matmul-composite",
          {"M=70", "K=150", "N=50", std::string("variant=") + variant, std::string("dtype=") + dtype},
          verify);
      EXPECT_EQ(result.report.outcome(), true) << variant << " " << dtype;
      EXPECT_TRUE(result.ok());
    }
  }
  EXPECT_EQ(run_shipped("gpt3-qkv", {"tokens=5", "d_model=320"}, verify).report.outcome(), true);
  EXPECT_EQ(run_shipped("va-offset-verify", {"n_elem=17", "dtype=f32"}, verify).report.outcome(), true);
  EXPECT_EQ(run_shipped("ccl-allreduce", {"n_elem=64"}, verify).report.outcome(), true);
}

TEST(Run, ASecondSipGivesTheSameTimes) {
  const auto two = machine("small", {"system.sips.count=2"});
  const RunResult first =
      run_shipped("gpt3-qkv", {"tokens=8", "d_model=64"}, {.device = DeviceSelector::sip(0)}, two);
  const RunResult second =
      run_shipped("gpt3-qkv", {"tokens=8", "d_model=64"}, {.device = DeviceSelector::sip(1)}, two);
  ASSERT_EQ(first.launches.size(), 3u);
  EXPECT_EQ(second.launches[2].trace.sip, 1);
  EXPECT_EQ(first.launches[2].trace.pe_exec, second.launches[2].trace.pe_exec);
  EXPECT_EQ(first.lower_bound.time, second.lower_bound.time);
}

// 128 · 128 · 128 in f16 from HBM: 4 · 4 · 2 = 32 steps of 8192 B and 32 KiB out, at 256 GB/s: 1152 ns.
TEST(Run, ALaunchCarriesItsBoundAndWhatSetsIt) {
  const RunResult result = run_shipped("matmul-composite", {"M=128", "K=128", "N=128"});
  ASSERT_EQ(result.launches.size(), 1u);
  EXPECT_EQ(result.launches[0].bound.time, 1152_ns);
  EXPECT_EQ(result.launches[0].bound.resource, "sip0.cube0.hbm_ctrl.pe0");
  EXPECT_EQ(result.lower_bound.time, 1152_ns);
  EXPECT_GE(result.launches[0].trace.pe_exec, 1152_ns);
  EXPECT_TRUE(result.beaten_bounds().empty());
}

// The slice moved 294,912 B of the 256 GB/s it could in the launch's time; the busiest link is the slice's, on which the
// 262,144 B that were read came. The matrix unit computed 32 tile times of 16 ns.
TEST(Run, UtilisationIsWorkOverWhatCouldHaveBeenDone) {
  const RunResult result = run_shipped("matmul-composite", {"M=128", "K=128", "N=128"});
  const double exec = result.launches[0].trace.pe_exec_ns();
  EXPECT_DOUBLE_EQ(result.utilization.hbm, 294912 / 256.0 / exec);
  EXPECT_DOUBLE_EQ(result.utilization.link_max, 262144 / 256.0 / exec);
  EXPECT_EQ(result.utilization.busiest_link, "sip0.cube0.hbm_ctrl.pe0 → sip0.cube0.r0c0");
  EXPECT_DOUBLE_EQ(result.utilization.engines.gemm, 32 * 16 / exec);
}

// Two launches, one after the other, on each of two SIPs.
TEST(Run, TheBoundOfARunIsThatOfTheStreamWithMostToDo) {
  const auto two = machine("small", {"system.sips.count=2"});
  const auto fences = [](tl::Context& tl, tl::Ptr, int n) {
    for (int i = 0; i < n; ++i) tl.fence();
  };
  const RunResult result = run(bench_of([&](Torch& torch, const Options&, BenchReport&) {
                                 for (const int sip : {0, 1}) {
                                   torch.ahbm.set_device(sip);
                                   const Tensor x = torch.empty({1}, f16);
                                   torch.launch("a", fences, x, 100 * (sip + 1));
                                   torch.launch("b", fences, x, 10);
                                 }
                               }),
                               {}, two);
  // 2 ns of launch, then 1 ns a command.
  EXPECT_EQ(result.lower_bound.time, 202_ns + 12_ns);
}

// 256 ranks, each a PE with a stream of its own: their launches run side by side, two of them one after the other. Were
// those of a SIP added up, the bound would be 128 · 513 ns.
TEST(Run, LaunchesSideBySideDoNotAddUpToABound) {
  const auto fences = [](tl::Context& tl, tl::Ptr, int n) {
    for (int i = 0; i < n; ++i) tl.fence();
  };
  const auto host = [&](Torch& torch, const Options&, BenchReport&) {
    dist::configure_further(
        torch, {"defaults.algorithm=ring_allreduce_tcm", "algorithms.ring_allreduce_tcm.world_size=256"});
    const auto rank = [&](int r) {
      torch.ahbm.set_device(r);
      const Tensor x = torch.empty({1}, f16);
      torch.launch("a", fences, x, r == 77 ? 500 : 400);
      torch.launch("b", fences, x, 9);
    };
    dist::spawn(torch, rank, 256);
  };
  const RunResult result = run(bench_of(host), {}, machine("default"));
  ASSERT_EQ(result.launches.size(), 512u);
  EXPECT_EQ(result.lower_bound.time, 502_ns + 11_ns);  // 2 ns of launch, then 1 ns a command
  EXPECT_EQ(result.lower_bound.resource, "sip0.cube9.pe5.pe_cpu");
  EXPECT_LE(result.lower_bound.time, result.total);
}

TEST(Run, WrongNumbersFailIt) {
  const auto host = [](Torch& torch, const Options&, BenchReport& report) {
    const Tensor x = torch.full({4}, 1, f16);
    if (report.verify()) report.compare("x", x.numpy(), NdArray(f16, {4}));
  };
  const RunResult wrong = run_mine(host, {.verify = true});
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.report.complaints(),
              ElementsAre(HasSubstr("x differs from its reference in 4 of 4 elements")));
  EXPECT_TRUE(run_mine(host).ok());
}

TEST(Run, ABenchThatWasToVerifyAndComparedNothingFails) {
  const RunResult result =
      run_mine([](Torch& torch, const Options&, BenchReport&) { torch.full({4}, 1, f16); }, {.verify = true});
  EXPECT_EQ(result.report.outcome(), false);
  EXPECT_THAT(result.report.complaints(), ElementsAre(HasSubstr("compared nothing")));
}

TEST(Run, HazardsFailItOnlyIfStrict) {
  const auto all_to_one_place = [](tl::Context& tl, tl::Ptr x) { tl.store(x, tl.full({8}, 1, f16)); };
  const auto host = [&](Torch& torch, const Options&, BenchReport&) {
    const Tensor x = torch.empty({16}, f16, DPPolicy{.pe = Split::column_wise, .num_cubes = 1, .num_pes = 2});
    torch.launch("race", all_to_one_place, x);
  };
  const RunResult lenient = run_mine(host, {.hazards = true});
  ASSERT_TRUE(lenient.hazards);
  EXPECT_EQ(lenient.hazards->size(), 1u);
  EXPECT_TRUE(lenient.ok());
  const RunResult quick = run_mine(host);
  EXPECT_FALSE(quick.hazards);
  EXPECT_TRUE(to_json(quick)["hazards"].is_null());
  EXPECT_FALSE(run_mine(host, {.strict = true}).ok());
}

TEST(Run, WhatAHostFunctionThrowsIsNoDefectOfOurs) {
  try {
    run_mine([](Torch&, const Options&, BenchReport&) { throw std::runtime_error("no more tea"); });
    FAIL();
  } catch (const SimulationError& error) {
    EXPECT_THAT(error.what(), HasSubstr("bench 'mine': its host function failed: no more tea"));
  }
  EXPECT_THROW(run_mine([](Torch&, const Options&, BenchReport&) {}), InputError);  // submits nothing
}

TEST(Run, CanBeInterrupted) {
  const std::atomic<bool> now = true;
  EXPECT_THROW(run_shipped("va-offset-verify", {}, {.interrupt = &now}), runtime::Interrupted);
}

// Rows of a large tensor are made when its numbers are computed: the machine is at rest then, and a rank at work.
TEST(Run, CanBeInterruptedWhileARankComputesNumbers) {
  std::atomic<bool> stop = false;
  const auto host = [&](Torch& torch, const Options&, BenchReport&) {
    const auto fill = [&](std::int64_t, std::span<float> out) {
      std::ranges::fill(out, 1.f);
      stop = true;
    };
    const auto rank = [&](int) { torch.from_rows<float>({1024, 512}, fill).numpy(); };
    dist::spawn(torch, rank, 1);
  };
  EXPECT_THROW(run_mine(host, {.verify = true, .interrupt = &stop}), runtime::Interrupted);
}

// The kernel is recorded for one PE after the other, which may take long.
TEST(Run, CanBeInterruptedWhileAKernelIsRecorded) {
  std::atomic<bool> stop = false;
  int recorded = 0;
  const auto host = [&](Torch& torch, const Options&, BenchReport&) {
    const Tensor x = torch.zeros({8}, f32, DPPolicy{.pe = Split::column_wise, .num_cubes = 1});
    torch.launch(
        "kernel",
        [&](tl::Context& tl, tl::Ptr p) {
          tl.load(tl.shard(p).ptr, {1}, f32);
          ++recorded;
          stop = true;
        },
        x);
  };
  EXPECT_THROW(run_mine(host, {.interrupt = &stop}), runtime::Interrupted);
  EXPECT_EQ(recorded, 1);
}

TEST(RunJson, TwoRunsDifferInTheirWallTimeAlone) {
  const auto text = [] {
    nlohmann::ordered_json json = to_json(run_shipped("matmul-composite", {"M=64"}, {.verify = true}));
    json.erase("wall");
    return json.dump();
  };
  EXPECT_EQ(text(), text());
}

TEST(RunJson, HasEveryKey) {
  const auto json = to_json(run_shipped("matmul-composite", {"M=64"}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("kernbench", "bench", "options", "device", "machine", "ccl", "ok", "verified",
                                "complaints", "failure", "sim", "launches", "op_log_summary", "stages",
                                "utilization", "links", "push_back", "dram", "energy", "lower_bound_ns",
                                "critical_path", "hazards", "warnings", "results", "wall"));
  EXPECT_EQ(json["options"]["M"], 64);
  EXPECT_EQ(json["options"]["variant"], "ref_ref");
  EXPECT_TRUE(json["verified"].is_null());
  EXPECT_EQ(json["ok"], true);
  EXPECT_GT(json["results"]["tflops"], 0.0);
  for (const char* key :
       {"name", "request", "sip", "total_ns", "pe_exec_ns", "network_ns", "queued_ns", "lower_bound_ns"})
    EXPECT_TRUE(json["launches"][0].contains(key)) << key;
  for (const char* key : {"gemm", "math", "dma_read", "dma_write", "hbm", "link_max"})
    EXPECT_TRUE(json["utilization"][key].is_number()) << key;
  for (const char* key : {"seconds", "events", "events_per_s", "peak_rss_mb"})
    EXPECT_TRUE(json["wall"][key].is_number()) << key;
  EXPECT_EQ(json["sim"]["op_log_hash"].get<std::string>().size(), 16u);
  EXPECT_TRUE(json["machine"]["derived"].contains("per_pe"));
  EXPECT_EQ(json["critical_path"][0].size(), 3u);  // resource, ns, share
}

std::vector<std::string> keys_of(const nlohmann::ordered_json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(RunJson, OfEveryBenchHasWhatProgramsRelyOn) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> benches = {
      {"gpt3-qkv", {"tokens=8", "d_model=256"}},
      {"va-offset-verify", {"n_elem=64"}},
      {"ccl-allreduce", {"n_elem=64"}},
      {"ccl-allreduce", {"n_elem=8", "algorithm=ring_allreduce_tcm", "world_size=4"}},
  };
  for (const auto& [bench, words] : benches) {
    SCOPED_TRACE(bench);
    const auto json = to_json(run_shipped(bench, words, {.verify = true}));
    EXPECT_THAT(keys_of(json),
                ::testing::IsSupersetOf({"kernbench", "bench", "options", "machine", "ok", "verified", "sim",
                                         "launches", "op_log_summary", "utilization", "lower_bound_ns",
                                         "critical_path", "hazards", "results", "wall"}));
    EXPECT_EQ(json["bench"], bench);
    EXPECT_EQ(json["verified"], true);
    EXPECT_GT(json["sim"]["total_ns"], json["lower_bound_ns"]);
    EXPECT_GT(json["lower_bound_ns"], 0.0);
    ASSERT_FALSE(json["launches"].empty());
    for (const auto& launch : json["launches"]) {
      EXPECT_THAT(keys_of(launch), ::testing::IsSupersetOf({"name", "sip", "total_ns", "pe_exec_ns",
                                                            "network_ns", "queued_ns", "lower_bound_ns"}));
      EXPECT_DOUBLE_EQ(launch["total_ns"].get<double>(),
                       launch["pe_exec_ns"].get<double>() + launch["network_ns"].get<double>());
    }
    double share = 0;
    for (const auto& part : json["critical_path"]) share += part["share"].get<double>();
    EXPECT_NEAR(share, 1, 1e-9);  // it covers the whole run
    EXPECT_FALSE(json["results"].empty());
  }
}

}  // namespace
}  // namespace kernbench::bench::run_test
