// `explain`, `trace` and `diff` from outside: what they say of saved runs, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.hpp"
#include "temp_folder.hpp"

namespace kernbench::seeing_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

class Seeing : public ::testing::Test, protected testing::TempFolder {
 protected:
  /// A small product, saved.
  std::string saved(const std::string& name, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"run",     "--bench", "matmul-composite", "M=64",
                                      "K=128",   "N=64",    "--topology",       "small",
                                      "--quiet", "--save",  file(name)};
    words.insert(words.end(), more.begin(), more.end());
    succeeds(words);
    return file(name);
  }
};

TEST_F(Seeing, ExplainSaysWhatLimitsARunFromItsFileAlone) {
  const std::string run = saved("run.db");
  EXPECT_THAT(succeeds({"explain", run}),
              AllOf(StartsWith("matmul-composite: "), HasSubstr("what limits it\n 1. "),
                    HasSubstr("by source line")));
  EXPECT_EQ(Json::parse(succeeds({"explain", run, "--json"})).at("launches").at(0).at("name"), "matmul");
}

TEST_F(Seeing, WhatIfTriesChangesOneByOneAndTogether) {
  const std::string run = saved("run.db");
  const std::string faster = "cube.hbm.hbm_to_router_bw_gbs=512";
  const Json tried = Json::parse(
      succeeds({"explain", run, "--json", "--what-if", faster, "--what-if", "pe.pe_gemm.tile_cycles=8"}));
  ASSERT_EQ(tried.at("variants").size(), 3u);
  succeeds({"run", "--bench", "matmul-composite", "M=64", "K=128", "N=64", "--topology", "small", "--set",
            faster, "--quiet", "--json", file("set.json")});
  const Json expected = Json::parse(std::ifstream(file("set.json")));
  EXPECT_EQ(tried["variants"][0]["total_ns"], expected["sim"]["total_ns"]);
  EXPECT_EQ(tried["variants"][0]["op_log_hash"], expected["sim"]["op_log_hash"]);
  EXPECT_THAT(succeeds({"explain", run, "--what-if", faster}),
              AllOf(HasSubstr("as it ran"), HasSubstr(faster)));
  EXPECT_THAT(refused({"explain", run, "--what-if", "cube.hbm.bandwith=1"}), HasSubstr("bandwith"));
}

// The saved run holds its ccl.yaml: what the file says today is another matter.
TEST_F(Seeing, ARunIsTriedAgainWithTheCollectivesItHad) {
  const std::string ccl = file("mine.yaml"), run = file("run.db"), later = file("later.db");
  const auto write = [&](int slots) { std::ofstream(ccl) << "defaults: {n_slots: " << slots << "}\n"; };
  const auto all_reduce = [&](const std::string& to) {
    succeeds({"run", "--bench", "ccl-allreduce", "n_elem=16384", "--set", "sip.cube_mesh.w=1", "--set",
              "sip.cube_mesh.h=1", "--ccl", ccl, "--quiet", "--save", to});
  };
  write(1);
  all_reduce(run);
  write(8);
  all_reduce(later);
  EXPECT_THAT(succeeds({"diff", run, later}), HasSubstr("ccl.defaults.n_slots: 1 → 8"));
  const auto total = [&](const std::string& of) {
    const Json tried = Json::parse(succeeds({"explain", of, "--json", "--what-if", "pe.clock_ghz=1"}));
    EXPECT_EQ(tried["variants"][0]["total_ns"], tried["total_ns"]);
    return tried["total_ns"].get<double>();
  };
  EXPECT_GT(total(run), total(later));
  std::remove(ccl.c_str());
  total(run);
  EXPECT_THAT(succeeds({"explain", run, "--sensitivity"}), HasSubstr("as it ran"));
  EXPECT_THAT(refused({"explain", run, "--what-if", "ccl.defaults.n_slotz=2"}), HasSubstr("n_slotz"));
}

TEST_F(Seeing, DiffSaysTheSameOrWhatChanged) {
  const std::string a = saved("a.db"), b = saved("b.db"), c = saved("c.db", {"--set", "pe.clock_ghz=2"});
  EXPECT_EQ(succeeds({"diff", a, b}), "the same run\n");
  EXPECT_THAT(succeeds({"diff", a, c}),
              AllOf(HasSubstr("pe.clock_ghz: 1 → 2"), HasSubstr("the same commands")));
}

TEST_F(Seeing, TraceIsWrittenByARunAndFromItsFileAlike) {
  const std::string run = saved("run.db", {"--trace", file("a.json")});
  EXPECT_THAT(succeeds({"trace", run, "-o", file("b.json")}), HasSubstr("ui.perfetto.dev"));
  const auto text = [&](const char* name) {
    std::ifstream in(file(name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(text("a.json"), text("b.json"));
  EXPECT_GT(Json::parse(text("a.json")).at("traceEvents").size(), 100u);
  EXPECT_THAT(succeeds({"run", "--bench", "matmul-composite", "M=64", "--topology", "small", "--trace",
                        file("c.json.gz"), "--trace-ops", "10"}),
              HasSubstr("c.json.gz: 10 operations"));
  EXPECT_EQ(files(), 4u);
}

TEST_F(Seeing, WhatIsNoSavedRunIsRefused) {
  std::ofstream(file("text")) << "something else";
  for (const char* command : {"explain", "trace", "diff"}) {
    std::vector<std::string> words = {command, file("text")};
    if (std::string(command) == "diff") words.push_back(file("text"));
    if (std::string(command) == "trace") words.insert(words.end(), {"-o", file("out.json")});
    EXPECT_THAT(refused(words), HasSubstr("not a saved run of KernBench"));
  }
  EXPECT_THAT(refused({"explain", file("missing")}), HasSubstr("no such file"));
}

}  // namespace
}  // namespace kernbench::seeing_test
