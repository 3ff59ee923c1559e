// The page about saved runs carries their numbers, and no more than it may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "kernbench/error.hpp"
#include "kernbench/torch.hpp"
#include "report/engine_load.hpp"
#include "report/html.hpp"
#include "report/page_data.hpp"
#include "report/saved.hpp"
#include "report/timeline.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::page_test {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

std::string page_of(const std::vector<std::string>& files) {
  std::vector<SavedRun> runs;
  for (const std::string& file : files) runs.push_back(SavedRun::open(file));
  return html_page(runs, topology::builtin_registry());
}

/// What stands between the tags of the page's data.
std::string data_text(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const auto begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

Json runs_of(const std::string& page) { return Json::parse(data_text(page)).at("runs"); }

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

class Page : public ::testing::Test, protected testing::TempFolder {
 protected:
  std::string db() const { return file("run.db"); }
};

TEST_F(Page, HoldsTheNumbersOfTheJson) {
  save_shipped("ccl-allreduce", {"n_elem=64"}, db(), machine("small", {"system.sips.count=2"}));
  Json expected = Json::parse(SavedRun::open(db()).json());
  const Json run = runs_of(page_of({db()})).at(0);
  EXPECT_EQ(run["machine"]["source"], expected["machine"]["source"]);
  expected.erase("machine");
  expected["op_log_summary"].erase("pes");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(run["run"].at(key), value) << key;
  EXPECT_EQ(run["timeline"]["ops"], expected["ops"]);
  EXPECT_EQ(run["file"], "run.db");
}

TEST_F(Page, ThePathAddsUpAndItsLinesHaveTheirText) {
  save_shipped("matmul-composite", {"M=64", "K=64", "N=64", "variant=load_load"}, db());
  const Json path = runs_of(page_of({db()})).at(0).at("path");
  for (const char* by : {"by_resource", "by_reason", "by_line"}) {
    std::int64_t sum = 0;
    for (const Json& share : path[by]) sum += share["ps"].get<std::int64_t>();
    EXPECT_EQ(sum, path["length_ps"]) << by;
  }
  std::int64_t at = path["pieces"][0][0];
  for (const Json& piece : path["pieces"]) {  // in order, without holes
    EXPECT_EQ(piece[0], at);
    at = piece[1];
  }
  EXPECT_EQ(at - path["pieces"][0][0].get<std::int64_t>(), path["length_ps"]);
}

TEST_F(Page, StaysWholeWhateverNamesSay) {
  Bench bench = bench_of([](Torch& torch, const Options&, BenchReport& report) {
    torch.zeros({64}, f16, {}, "<b>");
    report.line("</script><script>alert(1)</script> <!-- {{data}} &");
  });
  bench.name = "a</script>b";
  save_bench(bench, {}, db());
  const std::string page = page_of({db()});
  EXPECT_THAT(data_text(page), Not(HasSubstr("<")));
  EXPECT_THAT(page, HasSubstr("<title>a&lt;/script&gt;b"));
  EXPECT_EQ(runs_of(page).at(0)["run"]["bench"], "a</script>b");
  EXPECT_EQ(occurrences(page, "<script"), 2u);
}

TEST_F(Page, NeedsNothingFromOutside) {
  save_shipped("matmul-composite", {"M=64"}, db());
  const std::string page = page_of({db()});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("\nimport ")));
  EXPECT_THAT(page, Not(HasSubstr("\nexport ")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_EQ(occurrences(page, "href="), 1u);  // an empty icon
}

TEST_F(Page, ShowsSeveralRunsAndEachMachineOnce) {
  save_shipped("matmul-composite", {"M=64"}, file("a.db"));
  save_shipped("matmul-composite", {"M=128"}, file("b.db"));
  save_shipped("matmul-composite", {"M=64"}, file("c.db"), machine("small", {"pe.clock_ghz=2"}));
  const std::string page = page_of({file("a.db"), file("b.db"), file("c.db")});
  const Json runs = runs_of(page);
  EXPECT_EQ(occurrences(page, "<template id"), 2u);
  EXPECT_THAT(
      (std::vector<int>{runs[0]["plan"].get<int>(), runs[1]["plan"].get<int>(), runs[2]["plan"].get<int>()}),
      ElementsAre(0, 0, 1));
  EXPECT_NE(runs[0]["run"]["hash"], runs[1]["run"]["hash"]);
}

TEST_F(Page, AProgramOfOnesOwnIsCalledByItsFile) {
  Torch torch(machine());
  { const Tensor x = torch.zeros({64}, f16, {}, "x"); }
  torch.synchronize();
  save_run(torch, db());
  EXPECT_THAT(page_of({db()}), HasSubstr("<title>run.db"));
}

TEST_F(Page, ARunThatFailedSaysWhy) {
  const Bench bench = bench_of([](Torch& torch, const Options&, BenchReport&) -> void {
    torch.zeros({64}, f16, {}, "x");
    torch.synchronize();
    throw SimulationError({.id = "test.broken", .where = "", .what = "the program broke", .hint = ""});
  });
  EXPECT_THROW(save_bench(bench, {}, db()), SimulationError);
  const Json run = runs_of(page_of({db()})).at(0);
  EXPECT_THAT(run["run"]["failure"].get<std::string>(), HasSubstr("the program broke"));
  EXPECT_GT(run["timeline"]["bars"], 0);  // what was done before it
}

// 256 frames and more rows than 2000 letters allow: 16 frames are kept, and 2000 / 16 rows.
TEST_F(Page, CarriesNoMoreThanItsLimits) {
  save_shipped("ccl-allreduce", {"n_elem=64"}, db(), machine("small", {"system.sips.count=2"}));
  const SavedRun run = SavedRun::open(db());
  const auto small = machine("small", {"system.sips.count=2"});
  const topology::Graph graph(small);
  const Json data = page_data(run, small, graph, {.bars = 60, .load = 2000});
  EXPECT_EQ(data["load"]["frames"], 16);
  EXPECT_LE(data["load"]["rows"].size(), 125u);
  std::size_t bars = 0;
  std::int64_t ops = 0;
  for (const Json& track : data["timeline"]["tracks"]) {
    bars += track["start"].size();
    for (const Json& count : track["count"]) ops += count.get<std::int64_t>();
  }
  EXPECT_EQ(bars, data["timeline"]["bars"]);
  EXPECT_EQ(ops, static_cast<std::int64_t>(run.op_count()));  // joined, not lost
  EXPECT_GT(data["timeline"]["joined_below_ps"], 0);
}

// The slice's links over time are in the file; in letters they are right to half a level.
TEST_F(Page, LettersSayWhatTheFileSays) {
  save_shipped("matmul-composite", {"M=128", "K=128", "N=128"}, db());
  const SavedRun run = SavedRun::open(db());
  const auto small = machine();
  const Json load = page_data(run, small, topology::Graph(small), {}).at("load");
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (const SavedLoad& expected : run.loads()) {
    std::string text;
    for (const Json& row : load.at("rows"))
      if (row.value("link", std::int64_t{-1}) == expected.link) text = row.at("load").get<std::string>();
    EXPECT_NE(text, "");
    for (std::size_t i = 0; i < expected.utilization.size(); ++i) {
      const double level = i < text.size() ? static_cast<double>(letters.find(text[i])) / 63 : 0;
      EXPECT_NEAR(level, std::min(1.0, expected.utilization[i]), 1.0 / 63);
    }
  }
}

PageOp op(std::int64_t id, Time start, Time end) {
  return {.id = id, .start = start, .end = end, .busy_begin = start, .busy_end = end};
}

PageOps on_one_track(std::vector<PageOp> ops) {
  return {
      .ops = std::move(ops), .tracks = {{{0, 0, 0}, "pe_dma"}}, .kinds = {"dma_read"}, .reasons = {"start"}};
}

// 0–10 and 5–15 ns: 15 ns of work, not 20.
TEST(EngineLoads, CountOverlappingOperationsOnce) {
  const auto loads = engine_loads(on_one_track({op(1, 0_ns, 10_ns), op(2, 5_ns, 15_ns)}), 10_ns, 2);
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].engine, "dma_read");
  EXPECT_THAT(loads[0].busy, ElementsAre(DoubleEq(1.0), DoubleEq(0.5)));
}

TEST(Bars, OverlappingOperationsLieInLanes) {
  const Bars bars =
      make_bars(on_one_track({op(1, 0_ns, 10_ns), op(2, 5_ns, 15_ns), op(3, 10_ns, 12_ns)}), {}, 10);
  EXPECT_EQ(bars.joined_below, 0_ns);
  std::vector<int> lanes;
  for (const Bar& bar : bars.bars) lanes.push_back(bar.lane);
  EXPECT_THAT(lanes, ElementsAre(0, 1, 0));
}

// 100 operations of 1 ns, 1 ns apart, the 51st on the critical path: 50 before it, 49 behind.
TEST(Bars, NeighboursAreJoinedButNotTheCriticalPath) {
  std::vector<PageOp> ops;
  for (int i = 0; i < 100; ++i) ops.push_back(op(i + 1, Time::from_ns(2 * i), Time::from_ns(2 * i + 1)));
  const Bars bars = make_bars(on_one_track(ops), {51}, 10);
  std::vector<std::int64_t> counts;
  for (const Bar& bar : bars.bars) counts.push_back(bar.count);
  EXPECT_THAT(counts, ElementsAre(50, 1, 49));
  EXPECT_TRUE(bars.bars[1].critical);
  EXPECT_GT(bars.joined_below, 1_ns);
}

}  // namespace
}  // namespace kernbench::report::page_test
