// The bench `memory`: the figures of a DRAM simulator, and what its options mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/run.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench::memory_test {
namespace {

std::string validation_machine() {
  return std::filesystem::path(KERNBENCH_GOLDEN).parent_path().parent_path().parent_path() / "topologies" /
         "validation" / "hbm3-6400.yaml";
}

RunResult run_memory(const std::string& machine, std::vector<std::string> overrides,
                     const std::vector<std::string>& words, const RunOptions& how = {}) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("memory");
  return run(bench, bench.read_options(words),
             topology::load_machine(machine, overrides, registry.components), how);
}

double result(const RunResult& run, const std::string& name) {
  for (const auto& [key, value] : run.report.results())
    if (key == name) return std::get<double>(value);
  ADD_FAILURE() << name;
  return 0;
}

// Ramulator 2.1, tests/validation/data/dram_hbm3_6400.csv: share of the peak without and with refresh.
TEST(MemoryBench, GivesTheFiguresOfACycleSteppingSimulator) {
  struct Row {
    std::vector<std::string> words;
    double alone, refreshed;
  };
  const std::vector<Row> rows = {{{"pattern=sequential"}, 0.999, 0.8976},
                                 {{"pattern=random"}, 0.6607, 0.5902},
                                 {{"pattern=one_bank", "count=1000"}, 0.0556, 0.0502},
                                 {{"pattern=sequential", "writes=50"}, 0.7011, 0.6271},
                                 {{"pattern=random", "writes=50"}, 0.4543, 0.4072}};
  for (const Row& row : rows) {
    const auto share = [&](const char* refresh) {
      return result(run_memory(validation_machine(), {std::string("cube.hbm.refresh=") + refresh}, row.words),
                    "share_of_peak");
    };
    EXPECT_NEAR(share("none") / row.alone, 1, 0.05) << ::testing::PrintToString(row.words);
    EXPECT_NEAR(share("all_bank") / row.refreshed, 1, 0.05) << ::testing::PrintToString(row.words);
  }
}

// Ramulator 2.1 gives a stream 0.8204 of the peak when single banks are refreshed (the same file). A lone random read takes 53.5 ns of the
// memory (tests/models/hbm_scheduled_test.cpp) and 2.5 of the bus between memory and PE.
TEST(MemoryBench, RefreshesOfSingleBanksDelayOnlyWhoWantsTheBank) {
  const auto run_with = [](const std::vector<std::string>& words) {
    return run_memory(validation_machine(), {"cube.hbm.refresh=per_bank"}, words);
  };
  EXPECT_NEAR(result(run_with({"pattern=random", "in_flight=1"}), "ns_per_access"), 53.5 + 2.5, 1);
  EXPECT_NEAR(result(run_with({"pattern=sequential"}), "share_of_peak"), 0.8204, 0.04);
}

// A plain slice of 256 GB/s: accesses of 16 KiB keep it busy. One after the other, 64 bytes take 8 ns for the burst of 256, 0.25 on the link
// and two routers of 2.5 ns each way, and wires.
TEST(MemoryBench, OneInFlightPaysTheLatencyEachTime) {
  const RunResult stream = run_memory("default", {}, {"bytes=16384", "count=500"});
  EXPECT_NEAR(result(stream, "gbs"), 256, 0.02 * 256);
  const RunResult one = run_memory("default", {}, {"in_flight=1", "count=500"});
  EXPECT_GT(result(one, "ns_per_access"), 8 + 0.25 + 4 * 1.25);
  EXPECT_LT(result(one, "ns_per_access"), 40);
}

TEST(MemoryBench, PesShareASliceOrHaveOneEach) {
  const auto gbs = [](const char* slice) {
    return result(
        run_memory("default", {}, {"pes=4", std::string("slice=") + slice, "bytes=4096", "count=300"}),
        "gbs");
  };
  EXPECT_NEAR(gbs("one"), 256, 0.04 * 256);
  EXPECT_NEAR(gbs("own"), 4 * 256, 0.04 * 4 * 256);
}

/// Of all slices.
models::MemoryActivity activity(const RunResult& run) {
  models::MemoryActivity all{.channels = 0};
  for (const auto& slice : run.slices) all += slice.activity;
  return all;
}

// 1000 accesses of 64 bytes, 64 a command and 40 in the last: a burst each, as if each had a command of its own.
TEST(MemoryBench, ACommandCarriesManyAccesses) {
  for (const char* rows : {"rows=1", "rows=64"}) {
    const RunResult run = run_memory("realistic", {}, {"pattern=random", "count=1000", rows});
    EXPECT_EQ(activity(run).reads, 1000) << rows;
    EXPECT_LT(activity(run).hits, 100) << rows;  // anywhere in 64 MiB
  }
  const RunResult run = run_memory("realistic", {}, {"pattern=random", "count=1000", "rows=64"});
  EXPECT_EQ(run.summary.total.dma_read.count, 16u);
}

// Random rows of one command lie at equal distances, and still fall on channels and banks as random ones do: the same share of the peak
// within 10 %.
TEST(MemoryBench, RandomRowsOfACommandAreAsGoodAsRandom) {
  const auto share = [](const char* rows) {
    return result(run_memory(validation_machine(), {}, {"pattern=random", "in_flight=256", rows}),
                  "share_of_peak");
  };
  EXPECT_NEAR(share("rows=64") / share("rows=1"), 1, 0.1);
}

TEST(MemoryBench, RowsThatAreStoredAreThere) {
  const RunResult run = run_memory(
      "small", {}, {"pattern=random", "writes=40", "count=200", "rows=7", "space_mb=1"}, {.verify = true});
  EXPECT_EQ(run.report.outcome(), true);
}

TEST(MemoryBench, WhatItStoresIsThere) {
  const RunResult run = run_memory(
      "small", {}, {"pattern=random", "writes=40", "count=200", "pes=2", "space_mb=1"}, {.verify = true});
  EXPECT_EQ(run.report.outcome(), true);
}

TEST(MemoryBench, RefusesMorePesThanACubeHas) {
  EXPECT_THROW(run_memory("default", {}, {"pes=9"}), InputError);
}

}  // namespace
}  // namespace kernbench::bench::memory_test
