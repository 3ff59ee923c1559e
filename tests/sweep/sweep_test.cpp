#include "sweep/sweep.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernbench/error.hpp"
#include "sweep/background_sync.hpp"
#include "sweep/machines.hpp"
#include "sweep/odd_bench.hpp"
#include "temp_folder.hpp"

namespace kernbench::sweep::sweep_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const Registry& registry() { return registry_with_odd_bench(); }

class Sweep : public ::testing::Test {
 protected:
  Plan plan(const std::string& text) const { return read_plan(text, "s.yaml", registry()); }
  SweepOutcome run(const std::string& text, int jobs = 1, const std::string& in = "a",
                   bool fail_fast = false) const {
    return run_sweep(plan(text), folder_ + "/" + in, registry(), {.jobs = jobs, .fail_fast = fail_fast});
  }
  std::string text_of(const std::string& file, const std::string& in = "a") const {
    std::ostringstream out;
    out << std::ifstream(folder_ + "/" + in + "/" + file).rdbuf();
    return out.str();
  }

  const testing::TempFolder temp_;
  const std::string folder_ = temp_.path().string();
};

constexpr const char* kOdd = "bench: odd\nvary: {n: [1, 2, 3]}\ncolumns: [results.twice]\n";

TEST_F(Sweep, WritesATableInTheOrderOfThePlan) {
  const SweepOutcome outcome = run(kOdd);
  EXPECT_EQ(outcome.points, 3u);
  EXPECT_EQ(outcome.run, 3u);
  EXPECT_EQ(outcome.failed, 0u);
  EXPECT_EQ(text_of("results.csv"), "n,ok,results.twice,error\n1,true,2,\n2,true,4,\n3,true,6,\n");
}

TEST_F(Sweep, RunsNoPointTwice) {
  run(kOdd);
  const SweepOutcome more = run("bench: odd\nvary: {n: [3, 4]}\ncolumns: [results.twice, total_ns]\n");
  EXPECT_EQ(more.known, 1u);
  EXPECT_EQ(more.run, 1u);
  EXPECT_THAT(text_of("results.csv"), StartsWith("n,ok,results.twice,total_ns,error\n3,true,6,"));
}

TEST_F(Sweep, ColumnOfAShippedBenchIsTheSumOverItsLaunches) {
  run("bench: gpt3-qkv\nvary: {tokens: [1]}\ncolumns: [pe_exec_ns, launches]\n");
  std::istringstream rows(text_of("results.csv"));
  std::string row;
  std::getline(rows, row), std::getline(rows, row);
  const auto record = nlohmann::json::parse(text_of("points.jsonl"));
  double sum = 0;
  for (const auto& launch : record["run"]["launches"]) sum += launch["pe_exec_ns"].get<double>();
  EXPECT_EQ(record["run"]["launches"].size(), 3u);
  EXPECT_THAT(row, StartsWith("1,true," + nlohmann::json(sum).dump() + ","));
}

TEST_F(Sweep, GivesTheSameTableWithOneAndManyJobs) {
  const std::string text =
      "bench: matmul-composite\nvary: {variant: [ref_ref, load_ref], M: {from: 32, to: 128, times: 2}, "
      "cube.hbm.access_ns: [0, 20]}\n"
      "verify: true\ncolumns: [pe_exec_ns, results.tflops, utilization.gemm]\n";
  run(text, 1, "one");
  run(text, 3, "three");
  EXPECT_EQ(text_of("results.csv", "one"), text_of("results.csv", "three"));
}

TEST_F(Sweep, KeepsPointsThatFailAndGoesOn) {
  const std::string text = "bench: odd\nvary: {n: [12, 13, 17, 18]}\ncolumns: [results.twice]\n";
  const SweepOutcome outcome = run(text, 2);
  EXPECT_EQ(outcome.run, 4u);
  EXPECT_EQ(outcome.failed, 2u);
  const std::string csv = text_of("results.csv");
  EXPECT_THAT(csv, HasSubstr("12,true,24,\n13,false,,"));
  EXPECT_THAT(csv, HasSubstr("13 brings bad luck"));
  EXPECT_THAT(csv, HasSubstr("17,false,,its process was ended by signal 9"));
  EXPECT_THAT(csv, HasSubstr("18,true,36,"));
  EXPECT_EQ(run(text).run, 0u) << "they are known to fail";
}

TEST_F(Sweep, StopsAtTheFirstFailureWithFailFast) {
  const SweepOutcome outcome = run("bench: odd\nvary: {n: [13, 1, 2, 3]}\n", 1, "a", true);
  EXPECT_EQ(outcome.run, 1u);
}

/// Does the work itself, and looks at the folder whenever it is given a point.
class WatchingWorkers final : public Workers {
 public:
  WatchingWorkers(Work work, std::string points) : work_(std::move(work)), points_(std::move(points)) {}
  int count() const override { return 1; }
  void give(int /*worker*/, std::size_t point) override {
    std::ifstream in(points_);
    lines_when_given.push_back(static_cast<int>(
        std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n')));
    line_ = work_(point);
  }
  std::optional<Done> wait(const std::atomic<bool>* /*interrupt*/) override {
    return Done{.worker = 0, .line = line_, .how = {}};
  }
  std::vector<int> lines_when_given;

 private:
  const Work work_;
  const std::string points_;
  std::string line_;
};

TEST_F(Sweep, HasAPointInItsFolderBeforeItsWorkerGetsTheNext) {
  const Plan three = plan(kOdd);
  WatchingWorkers workers(work_of(three, registry()), folder_ + "/a/points.jsonl");
  run_sweep(three, folder_ + "/a", registry(), {.workers = &workers});
  EXPECT_THAT(workers.lines_when_given, ::testing::ElementsAre(0, 1, 2));
}

TEST(BackgroundSync, ReturnsTheErrorOfASyncThatFailed) {
  BackgroundSync none(-1);
  EXPECT_EQ(none.finish(), 0);  // nothing was asked for
  none.request();
  EXPECT_EQ(none.finish(), EBADF);
}

TEST(Machines, AreLoadedOnceForEqualOverrides) {
  Machines machines("small", registry().components);
  const auto wide = machines.with({"sip.cube_mesh.w=4"});
  EXPECT_EQ(wide->cube_mesh().x, 4);
  EXPECT_NE(machines.with({}), wide);
  EXPECT_EQ(machines.with({"sip.cube_mesh.w=4"}), wide);
  EXPECT_THROW(machines.with({"sip.cube_mesh.w=-1"}), InputError);
  EXPECT_EQ(machines.with({"sip.cube_mesh.w=4"}), wide);
}

TEST_F(Sweep, IsRefusedInAFolderInWhichAnotherSweepWorks) {
  const Folder held(folder_ + "/a");
  try {
    run(kOdd);
    ADD_FAILURE();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("another sweep works in this folder"));
  }
}

TEST_F(Sweep, DropsALineThatWasCutOffAndRefusesOneThatIsDamaged) {
  run(kOdd);
  const std::string good = text_of("points.jsonl"), file = folder_ + "/a/points.jsonl";
  std::ofstream(file, std::ios::trunc) << good.substr(0, good.size() - 5);
  EXPECT_EQ(run(kOdd).run, 1u);
  EXPECT_EQ(std::ranges::count(text_of("points.jsonl"), '\n'), 3);
  std::ofstream(file, std::ios::trunc) << "nonsense\n" << good;
  EXPECT_THROW(run(kOdd), InputError);
}

TEST_F(Sweep, LineWithAValueOfAnotherTypeIsDamage) {
  run(kOdd);
  const std::string good = text_of("points.jsonl"), file = folder_ + "/a/points.jsonl";
  const auto first = nlohmann::ordered_json::parse(good.substr(0, good.find('\n')));
  const auto id_of_refusal = [&](const char* changed) -> std::string {
    auto line = first;
    line.update(nlohmann::ordered_json::parse(changed));
    std::ofstream(file, std::ios::trunc) << line.dump() << good.substr(good.find('\n'));
    try {
      run(kOdd);
    } catch (const InputError& e) {
      return e.id();
    }
    return "";
  };
  for (const char* changed :
       {R"({"key": 3})", R"({"ok": "true"})", R"({"ok": null})", R"({"values": []})",
        R"({"values": {"n": 1}})", R"({"seconds": "1"})", R"({"error": {}})", R"({"run": 5})"})
    EXPECT_EQ(id_of_refusal(changed), "sweep.folder") << changed;
  // A value inside of a run that no column of the table needs is not looked at.
  for (const char* changed :
       {R"({"run": {"launches": 3}})", R"({"run": {"sim": "x"}})", R"({"run": {"launches": [7]}})"})
    EXPECT_THAT(id_of_refusal(changed), ::testing::AnyOf("", "sweep.folder")) << changed;
}

}  // namespace
}  // namespace kernbench::sweep::sweep_test
