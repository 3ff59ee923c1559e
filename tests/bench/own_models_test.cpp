// The shipped benches on machines with the models of docs/own-models.md: right numbers, and the same times packet by packet.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/run.hpp"
#include "own_models.hpp"

namespace kernbench::bench::own_models_test {
namespace {

struct Case {
  const char* bench;
  const char* machine;
  std::vector<std::string> words;
};

/// Every bench that ships; small ones.
std::vector<Case> cases() {
  return {{"matmul-composite", "small", {"M=128"}},
          {"gpt3-qkv", "small", {"tokens=8", "d_model=256"}},
          {"va-offset-verify", "small", {"n_elem=5000"}},
          {"ccl-allreduce", "default", {"n_elem=256"}},
          {"tp-mlp", "small", {"hidden=256", "ffn=512", "tokens=16"}},
          {"milestone-gqa-llama70b", "default", {"scale=validation"}},
          {"llama", "small", {"model=custom", "batch=3", "context=40"}},
          {"traffic", "small", {"load=0.3", "messages=10"}},
          {"ccl-neighbour", "small", {"rounds=2"}},
          {"memory", "small", {"count=100", "pes=2", "writes=30", "space_mb=1"}}};
}

RunResult run_on(const Case& what, const std::vector<std::string>& set, bool packets) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at(what.bench);
  const auto machine =
      topology::load_machine(what.machine, set, kernbench::testing::registry_with_own_models());
  return run(bench, bench.read_options(what.words), machine, {.verify = true, .packets = packets});
}

TEST(OwnModels, WhoWaitedPaysAFeeAndEveryBenchIsRightAndTheSamePacketByPacket) {
  for (const Case& what : cases()) {
    SCOPED_TRACE(what.bench);
    const std::vector<std::string> set = {"cube.routers.impl=acme.late_fee"};
    const RunResult trains = run_on(what, set, false), packets = run_on(what, set, true);
    EXPECT_TRUE(trains.ok());
    EXPECT_EQ(trains.report.outcome(), true);
    EXPECT_EQ(trains.total, packets.total);
    EXPECT_EQ(trains.hash, packets.hash);
  }
}

TEST(OwnModels, AMachineOfTheirsIsRightAndTheSamePacketByPacket) {
  for (const Case& what : cases()) {
    SCOPED_TRACE(what.bench);
    const std::vector<std::string> set = {"cube.routers.impl=acme.small_first",
                                          "cube.hbm.impl=acme.first_ready", "pe.pe_gemm.impl=acme.systolic",
                                          "pe.pe_dma.impl=acme.windowed_dma"};
    const RunResult trains = run_on(what, set, false), packets = run_on(what, set, true);
    EXPECT_TRUE(trains.ok());
    EXPECT_EQ(trains.report.outcome(), true);
    EXPECT_EQ(trains.hash, packets.hash);
  }
}

TEST(OwnModels, EveryBenchThatShipsIsTried) {
  const Registry registry = builtin_registry();
  for (const Bench& bench : registry.benches.all()) {
    const auto all = cases();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& c) { return bench.name == c.bench; }))
        << bench.name;
  }
}

}  // namespace
}  // namespace kernbench::bench::own_models_test
