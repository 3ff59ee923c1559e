// `kernbench ccl plan`, and what `list` and `describe` say of collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.hpp"
#include "temp_folder.hpp"

namespace kernbench::ccl_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CclCommand : public ::testing::Test, protected testing::TempFolder {
 protected:
  std::string file_with(const std::string& text) const {
    std::ofstream(file("ccl.yaml"), std::ios::binary) << text;
    return file("ccl.yaml");
  }
};

TEST_F(CclCommand, PlansTheDefaultAlgorithm) {
  EXPECT_THAT(
      succeeds({"ccl", "plan"}),
      AllOf(StartsWith("intercube_allreduce: PE 0 of every cube"),
            HasSubstr("32 ranks, each a cube: 2 SIPs × 16 cubes × 1 PE; 1 lane"),
            HasSubstr("sip1.cube15.pe0  W sip1.cube14.pe0  N sip1.cube11.pe0"), HasSubstr("warning: ")));
}

TEST_F(CclCommand, PlansAnyAlgorithmOnAnyMachine) {
  EXPECT_THAT(
      succeeds({"ccl", "plan", "--algorithm", "ring_allreduce", "--topology", "small", "--set",
                "ccl.algorithms.ring_allreduce.world_size=3", "--set", "ccl.defaults.n_slots=64"}),
      AllOf(HasSubstr("3 ranks, each a pe: 1 SIP × 1 cube × 3 PEs"),
            HasSubstr("sip0.cube0.pe2  E sip0.cube0.pe0  W sip0.cube0.pe1"), Not(HasSubstr("warning"))));
  EXPECT_THAT(
      succeeds({"ccl", "plan", "--algorithm", "ring_allreduce", "--group", "cube", "--topology", "small"}),
      HasSubstr("4 ranks, each a cube"));
  EXPECT_THAT(succeeds({"ccl", "plan", "--algorithm", "all_to_all", "--set", "sip.cube_mesh.h=1"}),
              HasSubstr("sip0.cube0.pe0  rank1 sip1.cube0.pe0"));
}

TEST_F(CclCommand, PlansWhatTheBenchWouldRun) {
  const auto plan = [](const std::string& algorithm) {
    return succeeds({"ccl", "plan", "--algorithm", algorithm, "--topology", "small"});
  };
  EXPECT_THAT(plan("ring_allreduce"), HasSubstr("4 ranks, each a cube: 1 SIP × 4 cubes × 1 PE; 1 lane"));
  EXPECT_THAT(plan("hierarchical_allreduce"),
              HasSubstr("32 ranks, each a pe: 1 SIP × 4 cubes × 8 PEs; 1 lane"));
  EXPECT_THAT(succeeds({"ccl", "plan", "--algorithm", "ring_allreduce", "--group", "sip"}),
              HasSubstr("2 ranks, each a sip: 2 SIPs × 1 cube × 1 PE; 1 lane"));
}

// A ring sends E alone.
TEST_F(CclCommand, WarnsOnlyOfDirectionsThatAreUsed) {
  const std::string plan = succeeds({"ccl", "plan", "--algorithm", "ring_allreduce", "--group", "sip"});
  EXPECT_THAT(plan, HasSubstr(" E: sip"));
  EXPECT_THAT(plan, Not(HasSubstr(" W: sip")));
}

// 2 SIPs × 16 cubes in a ring: everybody's one tile goes past the 31 others.
TEST_F(CclCommand, ShowsWhatQueuesHaveCounted) {
  const auto json =
      nlohmann::json::parse(succeeds({"ccl", "queues", "algorithm=ring_allreduce", "n_elem=16", "--json"}));
  std::size_t sending = 0;
  for (const auto& queue : json) {
    if (queue["wiring"] != "ring_allreduce" || queue["my_head"] == 0) continue;
    ++sending;
    EXPECT_EQ(queue["direction"], "E");
    EXPECT_EQ(queue["my_head"], 31);
    EXPECT_EQ(queue["peer_tail_cache"], 31);
  }
  EXPECT_EQ(sending, 32u);
  EXPECT_THAT(succeeds({"ccl", "queues", "--topology", "small"}), StartsWith("queues of"));
}

TEST_F(CclCommand, PlansOnlyTheRingsThatAreUsed) {
  const auto plan = [](const std::string& topology) {
    return succeeds({"ccl", "plan", "--algorithm", "ring_allreduce", "--topology", "small", "--set",
                     "ccl.algorithms.ring_allreduce.world_size=4", "--set",
                     "ccl.algorithms.ring_allreduce.topology=" + topology});
  };
  EXPECT_THAT(plan("ring_1d"), HasSubstr("8 of 4 slots of 4 KiB in tcm; 128 KiB in all"));
  EXPECT_THAT(plan("ring_1d_unidir"),
              AllOf(HasSubstr("4 of 4 slots of 4 KiB in tcm; 64 KiB in all"),
                    HasSubstr("sip0.cube0.pe0  E (to) sip0.cube0.pe1  W (from) sip0.cube0.pe3")));
}

TEST_F(CclCommand, WritesJson) {
  EXPECT_THAT(succeeds({"ccl", "plan", "-o", file("plan.json")}),
              HasSubstr("the plan of intercube_allreduce"));
  std::ifstream in(file("plan.json"));
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["pes"].size(), 32u);
  EXPECT_EQ(json, nlohmann::json::parse(succeeds({"ccl", "plan", "-o", "-"})));
}

TEST_F(CclCommand, DrawsTheWiring) {
  const std::vector<std::string> plan = {"ccl",        "plan", "--algorithm", "ring_allreduce",
                                         "--topology", "small"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), plan.begin(), plan.end());
    return words;
  };
  EXPECT_THAT(succeeds(with({"--draw", file("w.svg")})), HasSubstr("w.svg: the wiring of ring_allreduce"));
  std::ifstream in(file("w.svg"));
  const std::string svg{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(svg, HasSubstr("small · wiring of ring_allreduce"));
  EXPECT_EQ(succeeds(with({"--draw", "-"})), svg);
  EXPECT_THAT(succeeds(with({"--draw", file("w.svg"), "-o", file("plan.json")})), HasSubstr("the plan of"));
  EXPECT_THAT(refused(with({"--draw", file("w.png")})), HasSubstr("hint: write"));
}

TEST_F(CclCommand, ReadsTheUsersFile) {
  const auto mine =
      file_with("defaults: {algorithm: mine}\nalgorithms: {mine: {module: tree_allreduce, world_size: 5}}\n");
  EXPECT_THAT(succeeds({"ccl", "plan", "--ccl", mine}), StartsWith("mine: Reduces up a binary tree"));
  const auto bad = file_with("defaults: {n_slotz: 5}\n");
  EXPECT_THAT(refused({"ccl", "plan", "--ccl", bad}),
              AllOf(HasSubstr("ccl.yaml:1:12: unknown key 'n_slotz'"), HasSubstr("n_slots")));
}

TEST_F(CclCommand, SaysWhatHasNoEffect) {
  const Outcome outcome =
      kernbench_with({"ccl", "plan", "--ccl", file_with("defaults: {vc_chunk_size: 64}\n")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("ccl.yaml:1:12"), HasSubstr("vc_chunk_size has no effect")));
}

TEST_F(CclCommand, RefusesWhatCannotBe) {
  EXPECT_THAT(refused({"ccl", "plan", "--algorithm", "ring_alreduce"}), HasSubstr("'ring_allreduce'"));
  EXPECT_THAT(refused({"ccl", "plan", "--set", "ccl.defaults.n_slots=0"}),
              HasSubstr("--set ccl.defaults.n_slots=0"));
  EXPECT_THAT(refused({"ccl", "plan", "--group", "sip"}),
              AllOf(HasSubstr("intercube_allreduce does not serve members that are sips"),
                    HasSubstr("sips are served by "), HasSubstr("intersip_allreduce")));
  EXPECT_THAT(refused({"ccl", "plan", "--group", "rack"}), HasSubstr("rack"));
  EXPECT_THAT(refused({"ccl", "plan", "--ccl", "nowhere.yaml"}), HasSubstr("no such file"));
  EXPECT_THAT(refused({"ccl"}), HasSubstr("needs a command"));
  // Commands that have nothing to do with collectives do not take their keys.
  EXPECT_THAT(refused({"topology", "show", "--set", "ccl.defaults.n_slots=2"}),
              HasSubstr("no part of the machine"));
  const Outcome full = kernbench_with({"ccl", "plan", "--set", "ccl.defaults.n_slots=60000"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("fewer or smaller queue slots"));
}

TEST_F(CclCommand, AlgorithmsAreListedAndDescribed) {
  EXPECT_THAT(succeeds({"list", "algorithms"}),
              AllOf(HasSubstr("ring_allreduce_rs"), HasSubstr("all_to_all")));
  EXPECT_THAT(succeeds({"describe", "ring_allreduce_rs"}),
              AllOf(HasSubstr("identical bits   yes"), HasSubstr("neighbours       ring_1d"),
                    HasSubstr("2 · (ws − 1)")));
  EXPECT_THAT(succeeds({"describe", "ring_allreduce"}), HasSubstr("identical bits   no"));
  EXPECT_THAT(succeeds({"describe", "ring_allreduce_sram"}), HasSubstr("with rings in sram"));
  EXPECT_THAT(succeeds({"describe", "pe0_per_cube"}), HasSubstr("a mapper"));
  EXPECT_THAT(succeeds({"describe", "multi_pe_sip_local"}), HasSubstr("a validator"));
  EXPECT_THAT(succeeds({"describe", "hierarchical_3level"}), HasSubstr("a neighbour topology"));
  EXPECT_THAT(succeeds({"describe", "ccl.defaults"}), HasSubstr("n_slots: slots of each ring"));
  EXPECT_THAT(succeeds({"describe", "ccl.algorithms"}), HasSubstr("world_size"));
  EXPECT_THAT(refused({"describe", "ring_alreduce"}), HasSubstr("'ring_allreduce'"));
}

}  // namespace
}  // namespace kernbench::ccl_test
