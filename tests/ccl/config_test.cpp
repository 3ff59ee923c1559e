#include "ccl/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernbench/error.hpp"

namespace kernbench::ccl::config_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Registry& registry() {
  static const Registry registry = builtin_registry();
  return registry;
}

Config load(const std::string& text, std::vector<std::string> overrides = {}) {
  return load_config_text(text, "my.yaml", overrides, registry());
}

InputError refusal(const std::string& text, std::vector<std::string> overrides = {}) {
  try {
    load(text, std::move(overrides));
  } catch (const InputError& e) {
    return e;
  }
  ADD_FAILURE() << "this should have been refused: " << text;
  return InputError({.id = "none", .where = "", .what = "", .hint = ""});
}

TEST(Config, ThatShipsHasTheDesignsDefaults) {
  const auto config = load_config("default", {}, registry());
  EXPECT_EQ(config.algorithm(), "intercube_allreduce");
  EXPECT_EQ(config.group(), Group::sip);
  const auto rules = config.settings("ring_allreduce").rules;
  EXPECT_EQ(rules.slots, 4);
  EXPECT_EQ(rules.slot_size, 4096_B);
  EXPECT_EQ(rules.memory, address::MemorySpace::Tcm);
  EXPECT_EQ(rules.credit, device::CreditPolicy::on_last_use);
  EXPECT_EQ(rules.backpressure, device::Backpressure::sleep);
  EXPECT_EQ(rules.credit_bytes, 16_B);
  EXPECT_TRUE(config.notes().empty());
}

TEST(Config, ThatShipsNamesEveryAllReduceAndItsVariants) {
  const auto config = load_config("default", {}, registry());
  for (const auto& algorithm : registry().algorithms()) EXPECT_THAT(config.names(), Contains(algorithm.name));
  EXPECT_EQ(config.settings("ring_allreduce_hbm").algorithm, "ring_allreduce");
  EXPECT_EQ(config.settings("ring_allreduce_hbm").rules.memory, address::MemorySpace::Hbm);
  EXPECT_EQ(config.settings("ring_allreduce_sram").rules.memory, address::MemorySpace::Sram);
  // What the file says of an algorithm is what the algorithm says of itself.
  for (const auto& algorithm : registry().algorithms()) {
    const auto s = config.settings(algorithm.name);
    EXPECT_EQ(s.topology, algorithm.topology);
    EXPECT_EQ(s.mapper, algorithm.mapper);
    EXPECT_EQ(s.validator, algorithm.validator);
  }
}

TEST(Config, SectionsMayBeEmpty) {
  for (const auto* text : {"{}", "defaults:\n", "algorithms: {}\n", "defaults: {}\nalgorithms:\n"}) {
    const auto config = load(text);
    EXPECT_EQ(config.algorithm(), "intercube_allreduce");
    EXPECT_EQ(config.settings("tree_allreduce").topology, "tree_binary");
  }
}

TEST(Config, EntriesDifferFromTheDefaultsWhereTheySaySo) {
  const auto config = load(R"(
defaults: {n_slots: 8, slot_size: 1024, credit_policy: on_recv, backpressure: poll, poll_ns: 12.5, group: cube}
algorithms:
  mine:
    module: kernbench.ccl.algorithms.ring_allreduce
    topology: ring_1d_unidir
    n_slots: 2
    buffer_kind: sram
    world_size: 16
    n_elem: 64
    root_cube: 3
  tree_allreduce:
)");
  EXPECT_EQ(config.group(), Group::cube);
  const auto mine = config.settings("mine");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.algorithm, "ring_allreduce");
  EXPECT_EQ(mine.topology, "ring_1d_unidir");
  EXPECT_EQ(mine.mapper, "leader_only");
  EXPECT_EQ(mine.rules.slots, 2);
  EXPECT_EQ(mine.rules.slot_size, 1024_B);
  EXPECT_EQ(mine.rules.memory, address::MemorySpace::Sram);
  EXPECT_EQ(mine.rules.credit, device::CreditPolicy::on_recv);
  EXPECT_EQ(mine.rules.backpressure, device::Backpressure::poll);
  EXPECT_EQ(mine.rules.poll, Time::from_ps(12500));
  EXPECT_EQ(mine.world_size, 16);
  EXPECT_EQ(mine.n_elem, 64);
  EXPECT_EQ(mine.root_cube, 3);
  const auto tree = config.settings("tree_allreduce");
  EXPECT_EQ(tree.rules.slots, 8);
  EXPECT_EQ(tree.world_size, std::nullopt);
}

TEST(Config, ValuesCanBeOverridden) {
  const std::vector<std::string> set = {"ccl.defaults.n_slots=16",
                                        "algorithms.tree_allreduce.buffer_kind=hbm",
                                        "ccl.algorithms.ring_allreduce.world_size=7"};
  const auto config = load_config("default", set, registry());
  EXPECT_EQ(config.settings("mesh_allreduce").rules.slots, 16);
  EXPECT_EQ(config.settings("tree_allreduce").rules.memory, address::MemorySpace::Hbm);
  EXPECT_EQ(config.settings("ring_allreduce").world_size, 7);
  EXPECT_EQ(load("{}", {"ccl.algorithms.barrier.n_slots=1"}).settings("barrier").rules.slots, 1);
}

TEST(Config, SaysWhatHasNoEffect) {
  const auto config =
      load("defaults:\n  vc_chunk_size: 256\nalgorithms: {ring_allreduce: {vc_chunk_size: 1}}\n");
  EXPECT_THAT(config.notes(), ElementsAre("my.yaml:2:3: vc_chunk_size has no effect",
                                          "my.yaml:3:31: vc_chunk_size has no effect"));
}

struct Bad {
  std::string text, id, where, says;
};

TEST(Config, MistakesAreRefusedWithTheirPlace) {
  const std::vector<Bad> cases = {
      {"default: {}\n", "ccl.unknown-key", "my.yaml:1:1", "'defaults'"},
      {"defaults: {n_slot: 4}\n", "ccl.unknown-key", "my.yaml:1:12", "'n_slots'"},
      {"defaults: 4\n", "ccl.type", "my.yaml:1:11", "map"},
      {"- a\n", "ccl.type", "my.yaml:1:1", "map"},
      {"defaults: {n_slots: 0}\n", "param.range", "my.yaml:1:21", "from 1"},
      {"defaults: {n_slots: many}\n", "param.type", "my.yaml:1:21", "whole number"},
      {"defaults: {buffer_kind: dram}\n", "param.choice", "my.yaml:1:25", "tcm, hbm, sram"},
      {"defaults: {group: rank}\n", "param.choice", "my.yaml:1:19", "sip, cube, pe"},
      {"defaults: {poll_ns: 0}\n", "param.range", "my.yaml:1:21", "poll_ns"},
      {"defaults: {algorithm: ring_alreduce}\n", "ccl.unknown-algorithm", "my.yaml:1:23", "ring_allreduce"},
      {"algorithms: {mine: {}}\n", "ccl.unknown-algorithm", "my.yaml:1:14", "module"},
      {"algorithms: {mine: {module: a}}\n", "ccl.unknown-algorithm", "my.yaml:1:29",
       "known algorithms: hello_send"},
      {"algorithms: {mine: {module: kernbench.ccl.algorithms.rign_allreduce}}\n", "ccl.unknown-algorithm",
       "my.yaml:1:29", "did you mean 'ring_allreduce' or "},
      {"algorithms: {mine: {module: my_package.ring}}\n", "ccl.python-path", "my.yaml:1:29",
       "'my_package.ring' is the import path of a Python module, and only Python programs can import it\n"
       "  hint: run `python3 -m kernbench …`"},
      {"algorithms: {mine: {module: my_package.ring_allreduce}}\n", "ccl.python-path", "my.yaml:1:29",
       "'my_package.ring_allreduce' is the import path of a Python module"},
      {"algorithms: {barrier: {mapper: my_package.ring.first}}\n", "ccl.python-path", "my.yaml:1:32",
       "'my_package.ring.first' is the import path of a Python function"},
      {"algorithms: {barrier: {validator: my_package.ring.small}}\n", "ccl.python-path", "my.yaml:1:35",
       "Python function"},
      {"algorithms: {a.b: {module: barrier}}\n", "ccl.name", "my.yaml:1:14", "dot"},
      {"algorithms: {barrier: {topology: torus}}\n", "param.choice", "my.yaml:1:34", "torus_2d"},
      {"algorithms: {ring_allreduce: {topology: torus_2d}}\n", "ccl.topology", "my.yaml:1:41",
       "right with ring_1d, ring_1d_unidir, none"},
      {"algorithms: {mine: {module: tree_allreduce, topology: ring_1d}}\n", "ccl.topology", "my.yaml:1:55",
       "right with tree_binary, none"},
      {"algorithms: {barrier: {mapper: all}}\n", "param.choice", "my.yaml:1:32", "all_pes"},
      {"algorithms: {barrier: {validator: none}}\n", "param.choice", "my.yaml:1:35", "any"},
      {"algorithms: {barrier: {algorithm: x}}\n", "ccl.unknown-key", "my.yaml:1:24", "module"},
      {"algorithms: {barrier: {}, barrier: {}}\n", "yaml.duplicate-key", "my.yaml:1:27", "barrier"},
      {"algorithms: {barrier: 3}\n", "ccl.type", "my.yaml:1:23", "'algorithms.barrier'"},
  };
  for (const auto& bad : cases) {
    const auto e = refusal(bad.text);
    EXPECT_EQ(e.id(), bad.id) << bad.text;
    EXPECT_EQ(e.where(), bad.where) << bad.text;
    EXPECT_THAT(e.what(), HasSubstr(bad.says)) << bad.text;
  }
}

TEST(Config, ARootCubeWithoutARootIsSaidToBeWithoutEffect) {
  const auto notes = [](const std::string& text) {
    return load_config_text(text, "my.yaml", {}, builtin_registry()).notes();
  };
  EXPECT_THAT(notes("algorithms: {ring_allreduce: {root_cube: 5}}\n"),
              ElementsAre("my.yaml:1:42: root_cube has no effect: ring_allreduce has no root cube"));
  EXPECT_TRUE(notes("algorithms: {intercube_allreduce: {root_cube: 5}}\n").empty());
}

TEST(Config, BadOverridesAreRefused) {
  const std::vector<Bad> cases = {
      {"ccl.defaults.n_slots", "ccl.set", "", "KEY=VALUE"},
      {"ccl.defaults=4", "ccl.set", "", "no value"},
      {"ccl.default.n_slots=4", "ccl.unknown-key", "", "did you mean 'ccl.defaults'?"},
      {"ccl=4", "ccl.unknown-key", "", "no part"},
      {"ccl.algorithms.barrier=4", "ccl.set", "", "no value"},
      {"ccl.algorithms.nobody.n_slots=4", "ccl.unknown-algorithm", "", "nobody"},
      {"ccl.defaults.n_slots=0", "param.range", "", "from 1"},
      {"ccl.defaults.n_slots={a: 1}", "param.type", "", "whole number"},
  };
  for (const auto& bad : cases) {
    const auto e = refusal("{}", {bad.text});
    EXPECT_EQ(e.id(), bad.id) << bad.text;
    EXPECT_EQ(e.where(), "--set " + bad.text);
    EXPECT_THAT(e.what(), HasSubstr(bad.says)) << bad.text;
  }
  EXPECT_EQ(refusal("defaults: 4\n", {"defaults.n_slots=4"}).id(), "ccl.type");
}

TEST(Config, UnknownNamesAndFilesListWhatThereIs) {
  const auto config = load_config("default", {}, registry());
  try {
    config.settings("ring_allreduce_dram");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("ring_allreduce_dram"), HasSubstr("ring_allreduce_sram")));
  }
  EXPECT_THROW(load_config("nowhere.yaml", {}, registry()), InputError);
}

TEST(Config, PrintedAndLoadedAgainIsTheSame) {
  const auto config =
      load_config("default", std::vector<std::string>{"ccl.defaults.poll_ns=0.25"}, registry());
  EXPECT_EQ(load(to_yaml(config)), config);
  EXPECT_FALSE(load("{}") == config);
}

TEST(Config, KnowsAUsersAlgorithm) {
  Registry mine = builtin_registry();
  mine.add({.name = "acme_allreduce",
            .description = "Ours.",
            .topology = "ring_1d",
            .kernel = [](tl::Context&, const Call&) {}});
  const auto config = load_config_text("defaults: {algorithm: acme_allreduce}\n", "my.yaml", {}, mine);
  EXPECT_EQ(config.settings(config.algorithm()).topology, "ring_1d");
}

}  // namespace
}  // namespace kernbench::ccl::config_test
