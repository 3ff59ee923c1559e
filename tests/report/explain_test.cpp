// What limits a run is named: programs with a bottleneck that was built in.
#include "report/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "report/saved.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::explain_test {
namespace {

using ::testing::HasSubstr;
using namespace kernbench::dtypes;

/// Loads 64 KiB again and again: nothing but HBM and the way from it.
void stream(Torch& torch, const Options&, BenchReport&) {
  const Tensor x = torch.empty({128, 256}, f16, {}, "x");
  torch.launch(
      "stream",
      [](tl::Context& tl, tl::Ptr p) {
        for (int i = 0; i < 64; ++i) tl.load(p, {128, 256}, f16);
      },
      x);
}

/// One load, then vector work on it: cheap operations that the TCM must feed, or dear ones.
template <bool kDear>
void compute(Torch& torch, const Options&, BenchReport&) {
  const Tensor x = torch.empty({64, 256}, f16, {}, "x");
  torch.launch(
      "compute",
      [](tl::Context& tl, tl::Ptr p) {
        auto tile = tl.load(p, {64, 256}, f16);
        for (int i = 0; i < 64; ++i) tile = kDear ? tl.exp(tile) : tile + tile;
        tl.store(p, tile);
      },
      x);
}

/// PE 0 of a cube sends to its neighbour, again and again.
void talk(Torch& torch, const Options&, BenchReport&) {
  const Tensor x = torch.empty({8, 256}, f16, DPPolicy{.pe = Split::row_wise, .num_cubes = 1}, "x");
  dist::launch(
      torch, {.name = "talk", .topology = "intracube_ring"},
      [](tl::Context& tl, tl::Ptr p) {
        const int pe = tl.program_id(0);
        if (pe == 0) {
          const auto tile = tl.load(p, {256}, f16);
          for (int i = 0; i < 1000; ++i) tl.send("E", tile);
        } else if (pe == 1) {
          for (int i = 0; i < 1000; ++i) tl.recv("W", {256}, f16);
        }
      },
      x);
}

void many_launches(Torch& torch, const Options&, BenchReport&) {
  const Tensor x = torch.empty({64}, f16, {}, "x");
  for (int i = 0; i < 40; ++i)
    torch.launch(
        "tiny", [](tl::Context& tl, tl::Ptr p) { tl.store(p, tl.load(p, {64}, f16) + 1); }, x);
}

struct Case {
  const char* name;
  bench::HostFunction host;
  std::vector<std::string> overrides;  // of the machine, and of ccl
  LimitKind limit;
  const char* knob;  // of --sensitivity
};

std::vector<Case> cases() {
  return {
      {"hbm", stream, {}, LimitKind::hbm, "HBM bandwidth"},
      {"link", stream, {"pe.pe_dma.bw_gbs=64"}, LimitKind::link, "PE port"},
      {"tcm", compute<false>, {"pe.pe_tcm.read_bw_gbs=32"}, LimitKind::tcm, "TCM read"},
      {"math", compute<true>, {}, LimitKind::math, "vector unit"},
      {"credits", talk, {"ccl.defaults.n_slots=1"}, LimitKind::credits, "queue slots"},
      {"window",
       stream,
       {"pe.pe_dma.window_bytes=512", "cube.hbm.access_ns=40"},
       LimitKind::window,
       "DMA window"},
      {"cost", many_launches, {"system.host.submit_ns=2000"}, LimitKind::launches, "launch cost"},
      {"launches", many_launches, {"sip.io.io_cpu.overhead_ns=400"}, LimitKind::launches, "control path"}};
}

class Explain : public ::testing::TestWithParam<std::size_t>, protected testing::TempFolder {
 protected:
  Explain() : registry_(builtin_registry()) {
    for (const Case& one : cases()) registry_.benches.add({one.name, "a bench of a test", {}, one.host});
  }

  SavedRun save(const Case& one) {
    std::vector<std::string> of_machine;
    bench::RunOptions how;
    for (const std::string& text : one.overrides)
      (text.starts_with("ccl.") ? how.ccl_overrides : of_machine).push_back(text);
    how.finished = [&](Torch& torch, const bench::RunResult& result) {
      report::save(result, torch, {.command = "-", .ccl_overrides = how.ccl_overrides}, file("run.db"), {});
    };
    bench::run(registry_.benches.at(one.name), {}, machine("small", of_machine), how);
    return SavedRun::open(file("run.db"));
  }

  Registry registry_;
};

TEST_P(Explain, NamesTheBottleneckThatWasBuiltInFirst) {
  const Case one = cases()[GetParam()];
  const SavedRun run = save(one);
  const std::vector<Limit> limits = find_limits(run);
  ASSERT_FALSE(limits.empty());
  EXPECT_EQ(to_string(limits[0].kind), to_string(one.limit)) << explanation(run);
  EXPECT_GT(limits[0].share, 0.5);
}

// Rows of one bank, one after the other: the bus carries bytes for 2 of 44 ns, the rest is rows.
TEST(ExplainDram, SaysWhereTheTimeOfTheDramWent) {
  const testing::TempFolder folder;
  save_shipped("memory", {"pattern=one_bank", "count=500"}, folder.file("run.db"),
               machine("realistic", {"cube.hbm.hash=none", "cube.hbm.refresh=none"}));
  const SavedRun run = SavedRun::open(folder.file("run.db"));
  const std::string text = explanation(run);
  EXPECT_THAT(text, HasSubstr("the DRAM of sip0.cube0.hbm_ctrl.pe0, the busiest of 1"));
  EXPECT_THAT(text, HasSubstr("of 500 bursts"));
  const auto json = nlohmann::json::parse(explanation_json(run));
  EXPECT_GT(json["dram"]["wanted"], 0.5);  // one channel of eight is used, and that one nearly always
  EXPECT_GT(json["dram"]["parts"][1]["share"], 0.9);
  EXPECT_GT(json["dram"]["row_conflicts"], 0.9);
  const std::vector<Limit> limits = find_limits(run);
  const auto hbm = std::ranges::find(limits, LimitKind::hbm, &Limit::kind);
  ASSERT_NE(hbm, limits.end());
  EXPECT_THAT(hbm->why, HasSubstr("something waited for its DRAM: data"));
  EXPECT_THAT(hbm->advice, HasSubstr("rows are opened for few bytes each"));
}

TEST(ExplainDram, IsSilentAboutAMemoryThatDoesNotCount) {
  const testing::TempFolder folder;
  save_shipped("memory", {"count=50"}, folder.file("run.db"));
  EXPECT_EQ(explanation(SavedRun::open(folder.file("run.db"))).find("DRAM"), std::string::npos);
}

TEST_P(Explain, SensitivityRanksItFirstAndWhatIsNotUsedGainsExactlyNothing) {
  const Case one = cases()[GetParam()];
  const SavedRun run = save(one);
  const Rerun rerun(run, registry_);
  const std::vector<Variant> variants = sensitivity(rerun);
  const std::vector<VariantResult> results = rerun.all(variants, nullptr);
  std::size_t best = 0;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    ASSERT_EQ(results[i].failure, "") << variants[i].name;
    if (results[i].total < results[best].total) best = i;
    const bool unused = variants[i].name == "SRAM bandwidth" || variants[i].name == "matrix unit";
    EXPECT_TRUE(!unused || results[i].total == run.total()) << variants[i].name;
  }
  EXPECT_EQ(variants[best].name, one.knob) << variants_text(run, variants, results, true);
  EXPECT_LT(results[best].total, run.total());
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, Explain, ::testing::Range<std::size_t>(0, 8),
                         [](const auto& one) { return std::string(cases()[one.param].name); });

class ExplainShipped : public ::testing::Test, protected testing::TempFolder {
 protected:
  const Registry registry_ = builtin_registry();
};

TEST_F(ExplainShipped, WhatIfEqualsARunWithThatMachine) {
  save_shipped("matmul-composite", {"M=128"}, file("run.db"));
  const SavedRun run = SavedRun::open(file("run.db"));
  const std::vector<Variant> variants =
      what_if({"cube.hbm.hbm_to_router_bw_gbs=512", "pe.pe_gemm.tile_cycles=8"});
  ASSERT_EQ(variants.size(), 3u);
  const auto results = Rerun(run, registry_).all(variants, nullptr);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto expected = save_shipped("matmul-composite", {"M=128"}, file("other.db"),
                                       machine("small", variants[i].overrides));
    EXPECT_EQ(results[i].total, expected.total);
    EXPECT_EQ(results[i].hash, expected.hash);
  }
}

TEST_F(ExplainShipped, AProgramOfOnesOwnCannotBeRunAgain) {
  Torch torch(machine());
  { const Tensor x = torch.zeros({64}, f16, {}, "x"); }
  torch.synchronize();
  save_run(torch, file("own.db"));
  try {
    const Rerun rerun(SavedRun::open(file("own.db")), registry_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.id(), "explain.no-bench");
    EXPECT_THAT(error.what(), HasSubstr("kernbench diff"));
  }
  EXPECT_THAT(explanation(SavedRun::open(file("own.db"))), HasSubstr("a program of one's own"));
}

TEST_F(ExplainShipped, TellsLinesWithTheirTextBoundsAndAdvice) {
  save_shipped("matmul-composite", {"M=256", "K=256", "N=256"}, file("run.db"));
  const std::string text = explanation(SavedRun::open(file("run.db")));
  for (const char* part :
       {"what limits it", " 1. HBM", "sip0.cube0.hbm_ctrl.pe0", "→ move less", "by source line",
        "matmul_composite.cpp:", "what limits each launch", "it is at its bound", "lower bound"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = nlohmann::json::parse(explanation_json(SavedRun::open(file("run.db"))));
  EXPECT_EQ(json.at("limits").at(0).at("kind"), "HBM");
}

class SavedEnergyTest : public ::testing::Test, protected testing::TempFolder {};

TEST_F(SavedEnergyTest, IsThatOfTheRun) {
  const auto result =
      save_shipped("matmul-composite", {"M=64", "K=64", "N=64"}, file("a"), machine("realistic"));
  const SavedRun run = SavedRun::open(file("a"));
  ASSERT_TRUE(result.energy);
  const auto energy = nlohmann::ordered_json::parse(explanation_json(run)).at("energy");
  EXPECT_EQ(energy, nlohmann::ordered_json::parse(trace::to_json(*result.energy)));
  EXPECT_THAT(explanation(run), HasSubstr("where the energy went"));
  EXPECT_THAT(explanation(run), HasSubstr("by part"));
}

TEST_F(SavedEnergyTest, IsNotThereWithoutPrices) {
  save_shipped("matmul-composite", {"M=64", "K=64", "N=64"}, file("a"));
  const SavedRun run = SavedRun::open(file("a"));
  EXPECT_TRUE(nlohmann::json::parse(explanation_json(run)).at("energy").is_null());
  EXPECT_THAT(explanation(run), ::testing::Not(HasSubstr("energy")));
}

}  // namespace
}  // namespace kernbench::report::explain_test
