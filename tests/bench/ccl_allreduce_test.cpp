// The bench ccl-allreduce: what it prints, on many machines, and that it can fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/run_json.hpp"
#include "ccl/config.hpp"
#include "kernbench/distributed.hpp"

namespace kernbench::bench::ccl_allreduce_test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

RunResult all_reduce(const Words& words, const Words& machine = {}, const Words& ccl = {}) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl_allreduce");
  return run(bench, bench.read_options(words),
             topology::load_machine("default", machine, topology::builtin_registry()),
             {.ccl_overrides = ccl, .verify = true});
}

std::string headline(const Words& words, const Words& machine = {}, const Words& ccl = {}) {
  const RunResult result = all_reduce(words, machine, ccl);
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.hazards && result.hazards->empty());
  return result.report.text().substr(0, result.report.text().find('\n'));
}

TEST(CclAllreduce, PrintsHowManyShardsAreRight) {
  EXPECT_EQ(headline({}), "intercube_allreduce (ws=2): 32 OK");
}

TEST(CclAllreduce, AnyMeshOfSipsAndCubesIsRight) {
  EXPECT_EQ(headline({}, {"system.sips.count=4", "system.sips.topology=torus_2d"}),
            "intercube_allreduce (ws=4): 64 OK");
  EXPECT_EQ(headline({}, {"system.sips.count=4", "system.sips.topology=mesh_2d_no_wrap"}),
            "intercube_allreduce (ws=4): 64 OK");
  EXPECT_EQ(headline({}, {"system.sips.count=6", "system.sips.topology=torus_2d", "system.sips.w=3",
                          "system.sips.h=2"}),
            "intercube_allreduce (ws=6): 96 OK");
  for (const auto& [w, h] : {std::pair("3", "2"), {"2", "3"}})
    EXPECT_EQ(
        headline({"n_elem=100"}, {"system.sips.count=6", "system.sips.topology=mesh_2d_no_wrap",
                                  std::string("system.sips.w=") + w, std::string("system.sips.h=") + h}),
        "intercube_allreduce (ws=6): 96 OK");
  for (const auto& [w, h] : {std::pair(2, 2), {5, 3}, {8, 4}, {1, 1}})
    EXPECT_EQ(headline({"n_elem=100"},
                       {fmt::format("sip.cube_mesh.w={}", w), fmt::format("sip.cube_mesh.h={}", h)}),
              fmt::format("intercube_allreduce (ws=2): {} OK", 2 * w * h));
}

// A file for a grid, taken as a ring: w and h are of no account.
TEST(CclAllreduce, ARingOfSipsWithAShapeIsARing) {
  EXPECT_EQ(headline({"n_elem=16"}, {"system.sips.count=4", "system.sips.w=2", "system.sips.h=2"}),
            "intercube_allreduce (ws=4): 64 OK");
}

/// Every PE contributes rank + 1: 128 · (1 + 2) = 384, also where the entry says another validator.
TEST(CclAllreduce, OfAHierarchyIsOverAllPes) {
  const std::string entry = "algorithms.hierarchical_allreduce.";
  for (const Words& ccl : {Words{}, Words{entry + "mapper=all_pes", entry + "validator=multi_pe_sip_local"}})
    EXPECT_EQ(headline({"algorithm=hierarchical_allreduce", "n_elem=64"}, {}, ccl),
              "hierarchical_allreduce (ws=2): 256 OK");
  EXPECT_EQ(headline({"algorithm=hierarchical_allreduce", "n_elem=64"}, {}, {entry + "mapper=pe0_per_cube"}),
            "hierarchical_allreduce (ws=2): 32 OK");
}

/// 1 MiB in 8 parts, each 14 times over the link of every SIP at 50 GB/s: 36.7 us of 38.0.
TEST(CclAllreduce, MessagesAreTrafficOfTheLinksTheyCross) {
  const Registry registry = builtin_registry();
  const Bench& bench = registry.benches.at("ccl_allreduce");
  const Words machine = {"system.sips.count=8", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1",
                         "system.pcie.bw_gbs=50", "system.switch.overhead_ns=458"};
  const RunResult result =
      run(bench, bench.read_options(Words{"algorithm=ring_allreduce_rs", "n_elem=524288"}),
          topology::load_machine("default", machine, topology::builtin_registry()),
          {.ccl_overrides = {"ccl.defaults.slot_size=131072"}});
  EXPECT_NEAR(result.utilization.link_max, 0.966, 0.01);
  EXPECT_THAT(result.utilization.busiest_link, HasSubstr("switch"));
  ASSERT_EQ(result.launches.size(), 8u);
  for (const LaunchResult& launch : result.launches) {  // all but the 4 slots of 128 KiB that a queue holds
    EXPECT_EQ(launch.bound.time, Bandwidth::from_gbs(50).time_for(Bytes(14 * 131072 - 4 * 131072)));
    EXPECT_THAT(launch.bound.resource, HasSubstr("switch"));
  }
}

/// A ring that sends more than a queue of two slots holds is told so; one tile is no reason to.
TEST(CclAllreduce, SaysWhereAQueueIsTooShort) {
  const Words few = {"algorithm=ring_allreduce", "n_elem=8192", "dtype=f32"};
  const RunResult result = all_reduce(few, {}, {"defaults.n_slots=2"});
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings.front(), HasSubstr("ring_allreduce: "));
  EXPECT_THAT(result.warnings.front(), HasSubstr(" E: sip"));
  EXPECT_TRUE(all_reduce({"n_elem=64"}).warnings.empty());
}

/// A member is a SIP with its 16 rows; 2 (2 − 1) / 2 = 1, so that both bandwidths are the same.
TEST(CclAllreduce, BandwidthsAreThoseOfTheMembersOfTheGroup) {
  const RunResult result = all_reduce({"algorithm=intersip_allreduce", "n_elem=1024"});
  const auto results = to_json(result)["results"];
  const auto value = [&](const char* name) { return results[name].get<double>(); };
  EXPECT_EQ(value("size_bytes"), 16 * 1024 * 2);
  EXPECT_EQ(value("members"), 2);
  EXPECT_DOUBLE_EQ(value("algbw_gbs"), value("size_bytes") / value("time_ns"));
  EXPECT_DOUBLE_EQ(value("busbw_gbs"), value("algbw_gbs"));
}

TEST(CclAllreduce, SaysWhatItCounts) {
  const auto second_line = [](const Words& words, const Words& machine = {}) {
    const std::string text = all_reduce(words, machine).report.text();
    const auto begin = text.find('\n') + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(second_line({}), "# 32 shards compared: 2 SIPs × 16 cubes, 1024 elements each");
  EXPECT_EQ(second_line({"algorithm=intercube_allreduce_allpe", "n_elem=80"}),
            "# 256 shards compared: 2 SIPs × 16 cubes × 8 PEs, 10 elements each");
  EXPECT_EQ(second_line({"algorithm=hierarchical_allreduce", "n_elem=80"}),
            "# 256 shards compared: 2 SIPs × 16 cubes × 8 PEs, 80 elements each");
  EXPECT_EQ(second_line({"algorithm=ring_allreduce", "world_size=3", "n_elem=1"}),
            "# 3 shards compared: 3 PEs, 1 element each");
  EXPECT_EQ(second_line({"n_elem=7"}, {"system.sips.count=1", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1"}),
            "# 1 shard compared: 1 SIP × 1 cube, 7 elements each");
}

// Rows of cubes, their column, and the rest are written in lines of their own.
TEST(CclAllreduce, TimesBySourceLineTellTheStepsApart) {
  int lines = 0;
  for (const trace::Share& share : all_reduce({}).critical_path.by_line)
    lines += share.name.starts_with("intercube_allreduce.cpp:") ? 1 : 0;
  EXPECT_EQ(lines, 3);
}

TEST(CclAllreduce, TakesAsManyElementsAsCclYaml) {
  const auto range_of = [](const std::vector<Param>& params) {
    const auto range = std::ranges::find(params, "n_elem", &Param::name)->range;
    return std::pair(range.least, range.most);
  };
  EXPECT_EQ(range_of(builtin_registry().benches.at("ccl-allreduce").options),
            range_of(ccl::entry_params(ccl::builtin_registry())));
  EXPECT_THROW(all_reduce({"n_elem=1000000000000"}), dist::SpawnException);  // more than there is memory
}

TEST(CclAllreduce, AnyRootCubeIsRight) {
  for (int root = 0; root < 16; ++root)
    EXPECT_EQ(headline({"n_elem=16"}, {}, {fmt::format("algorithms.intercube_allreduce.root_cube={}", root)}),
              "intercube_allreduce (ws=2): 32 OK");
}

TEST(CclAllreduce, AnyRootCubeOfAnOddMeshBetweenSipsInATorusIsRight) {
  const Words machine = {"system.sips.count=4", "system.sips.topology=torus_2d", "sip.cube_mesh.w=5",
                         "sip.cube_mesh.h=3"};
  for (int root = 0; root < 15; ++root)
    EXPECT_EQ(
        headline({"n_elem=16"}, machine, {fmt::format("algorithms.intercube_allreduce.root_cube={}", root)}),
        "intercube_allreduce (ws=4): 60 OK");
}

TEST(CclAllreduce, EveryOperationIsRight) {
  for (const char* op : {"SUM", "MAX", "MIN", "PROD", "AVG"})
    for (const char* dtype : {"f16", "bf16", "f32"})
      headline({std::string("op=") + op, std::string("dtype=") + dtype, "n_elem=24"});
}

TEST(CclAllreduce, WithAWorldSizeEveryRankIsAPe) {
  EXPECT_EQ(headline({"algorithm=ring_allreduce_tcm", "world_size=5", "n_elem=8"}),
            "ring_allreduce_tcm (ws=5): 5 OK");
  EXPECT_EQ(headline({"algorithm=tree_allreduce", "world_size=130", "n_elem=8"}),
            "tree_allreduce (ws=130): 130 OK");
}

TEST(CclAllreduce, HasTheColumnsOfNcclTests) {
  // S = 1024 · 2 B; busbw = algbw · 2 · 31 / 32 for 32 members.
  const RunResult result = all_reduce({});
  EXPECT_THAT(result.report.text(),
              HasSubstr("size         count    type   redop  root         time    algbw    busbw  #wrong"));
  const double us = result.launches[1].trace.pe_exec_ns() / 1e3, algbw = 2048 / us / 1e3;
  EXPECT_THAT(
      result.report.text(),
      HasSubstr(fmt::format("2048          1024     f16     sum    -1 {:>12.3f} {:>8.3f} {:>8.3f}       0",
                            us, algbw, algbw * 2 * 31 / 32)));
}

}  // namespace
}  // namespace kernbench::bench::ccl_allreduce_test
