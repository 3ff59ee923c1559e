// What a saved run says is what the run said.
#include "kernbench/saved_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "bench/run_json.hpp"
#include "kernbench/deadlock.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "report/saved.hpp"
#include "temp_folder.hpp"

namespace kernbench::report::saved_run_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using namespace kernbench::dtypes;

class SavedRuns : public ::testing::Test, protected testing::TempFolder {
 protected:
  std::string db() const { return file("run.db"); }
};

std::vector<std::pair<std::string, std::vector<std::string>>> shipped() {
  return {{"matmul-composite", {"M=70", "K=150", "N=50"}},
          {"matmul-composite", {"M=64", "variant=load_load"}},
          {"gpt3-qkv", {"tokens=5", "d_model=320"}},
          {"va-offset-verify", {"n_elem=17"}},
          {"ccl-allreduce", {"n_elem=64"}}};
}

TEST_F(SavedRuns, EveryShippedBenchComesBackWithTheSameHashPathAndSummary) {
  const auto two = machine("small", {"system.sips.count=2"});
  for (const auto& [name, words] : shipped()) {
    const bench::RunResult run = save_shipped(name, words, db(), two);
    const SavedRun saved = SavedRun::open(db());
    EXPECT_EQ(saved.hash(), run.hash) << name;
    EXPECT_EQ(saved.total(), run.total);
    EXPECT_TRUE(saved.complete());
    const trace::RunLog log = saved.log();
    EXPECT_EQ(log.hash(), run.hash) << name;
    EXPECT_EQ(to_json(log.summary()), to_json(run.summary));
    EXPECT_EQ(to_text(log.critical_path()), to_text(run.critical_path));
    EXPECT_EQ(saved.machine(), to_yaml(run.machine));
  }
}

TEST_F(SavedRuns, HoldsEverythingOfTheJson) {
  const bench::RunResult run = save_shipped("gpt3-qkv", {"tokens=5", "d_model=320"}, db());
  const Json saved = Json::parse(SavedRun::open(db()).json());
  const Json expected = bench::to_json(run);
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(saved.at(key), value) << key;
}

TEST_F(SavedRuns, ThePathOfTheTableAddsUpLikeTheRuns) {
  const bench::RunResult run = save_shipped("ccl-allreduce", {"n_elem=64"}, db());
  const SavedPath path = SavedRun::open(db()).critical_path();
  EXPECT_EQ(path.length(), run.critical_path.length());
  ASSERT_EQ(path.pieces.size(), run.critical_path.pieces.size());
  const auto same = [](const std::vector<trace::Share>& a, const std::vector<trace::Share>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].name, b[i].name);
      EXPECT_EQ(a[i].time, b[i].time);
    }
  };
  same(path.by_resource, run.critical_path.by_resource);
  same(path.by_reason, run.critical_path.by_reason);
  same(path.by_line, run.critical_path.by_line);
}

TEST_F(SavedRuns, LaunchesCarryTheirTimesAndBounds) {
  const bench::RunResult run = save_shipped("matmul-composite", {"M=128", "K=128", "N=128"}, db());
  std::vector<std::string> phases;
  for (const SavedLaunch& launch : SavedRun::open(db()).launches()) {
    phases.push_back(launch.phase);
    if (launch.phase != "launch") continue;
    EXPECT_EQ(launch.name, "matmul");
    EXPECT_EQ(launch.pe_exec, run.launches[0].trace.pe_exec);
    EXPECT_EQ(launch.lower_bound, 1152_ns);  // 32 steps of 8192 B and 32 KiB out at 256 GB/s
    EXPECT_EQ(launch.bound_by, "sip0.cube0.hbm_ctrl.pe0");
    EXPECT_EQ(launch.macs, 128 * 128 * 128);
    EXPECT_EQ(launch.bytes, 262'144 + 32'768);
  }
  EXPECT_THAT(phases,
              ElementsAre("map", "write", "map", "write", "map", "launch", "unmap", "unmap", "unmap"));
}

// The slice delivers 32 steps of 8192 B to the PE; both that and what the host wrote (2 × 32 KiB) is in its table.
TEST_F(SavedRuns, LinksAndMemoriesSayWhatTheyCarriedAndWhen) {
  save_shipped("matmul-composite", {"M=128", "K=128", "N=128"}, db());
  const SavedRun saved = SavedRun::open(db());
  const auto links = saved.links();
  const auto out = std::ranges::find(links, "sip0.cube0.hbm_ctrl.pe0", &SavedLink::source);
  ASSERT_NE(out, links.end());
  EXPECT_EQ(out->bytes, 262'144);
  EXPECT_EQ(out->busy, Bandwidth::from_gbs(out->bandwidth_gbs).time_for(Bytes(262'144)));
  const auto loads = saved.loads();
  const auto load = std::ranges::find(loads, out->id, &SavedLoad::link);
  ASSERT_NE(load, loads.end());
  const double busy = std::accumulate(load->utilization.begin(), load->utilization.end(), 0.0);
  EXPECT_NEAR(busy * saved.bucket().ns() * out->bandwidth_gbs, 262'144, 500);
  const auto memories = saved.memories();
  const auto hbm = std::ranges::find(memories, "sip0.cube0.hbm_ctrl.pe0", &SavedMemory::name);
  ASSERT_NE(hbm, memories.end());
  EXPECT_EQ(hbm->read_bytes, 262'144);
  EXPECT_EQ(hbm->written_bytes, 32'768 + 2 * 32'768);
}

TEST_F(SavedRuns, OpsCommandsAndLinesHangTogether) {
  save_shipped("matmul-composite", {"M=64", "K=64", "N=64", "variant=load_load"}, db());
  const SavedRun saved = SavedRun::open(db());
  std::vector<std::string> texts;
  saved.for_each_command([&](const SavedCommand& c) { texts.push_back(c.text + " | " + c.shapes); });
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts[0], "dma_read | f16[64, 64]");
  const auto rows = saved.query(
      "SELECT c.text, l.file FROM ops o JOIN commands c ON c.program = o.program AND c.\"index\" = o.command "
      "JOIN lines l ON l.id = o.line WHERE o.kind = 'dma_read' LIMIT 1");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(rows[0][0]), "dma_read");
  EXPECT_EQ(std::get<std::string>(rows[0][1]), "matmul_composite.cpp");
  const auto phases = saved.query(
      "SELECT count(*) FROM ops JOIN (SELECT op, sum(ps) AS ps FROM phases GROUP BY op) ON op = id "
      "WHERE ps <> end_ps - start_ps");
  EXPECT_EQ(std::get<std::int64_t>(phases[0][0]), 0);
}

TEST_F(SavedRuns, SendsAndReceivesOfOneMessageNameIt) {
  save_shipped("ccl-allreduce", {"n_elem=64"}, db());
  std::multiset<std::pair<std::int64_t, std::int64_t>> sent, received;
  SavedRun::open(db()).for_each_op([&](const SavedOp& op) {
    if (op.kind == "ipcq_send") sent.emplace(op.queue.value(), op.message.value());
    if (op.kind == "ipcq_recv") received.emplace(op.queue.value(), op.message.value());
  });
  EXPECT_FALSE(sent.empty());
  EXPECT_EQ(sent, received);
}

TEST_F(SavedRuns, AProgramOfOnesOwnIsSavedWithBounds) {
  Torch torch(machine());
  {
    const Tensor x = torch.zeros({64, 64}, f16, {}, "x");
    torch.launch(
        "twice",
        [](tl::Context& tl, tl::Ptr p) {
          tl.store(p, tl.load(p, {64, 64}, f16) * 2);
        },
        x);
    torch.synchronize();
  }
  save_run(torch, db());
  const SavedRun saved = SavedRun::open(db());
  EXPECT_EQ(saved.log().hash(), torch.log().hash());
  EXPECT_EQ(saved.value("bench"), "");
  const auto launches = saved.launches();
  const auto kernel = std::ranges::find(launches, "launch", &SavedLaunch::phase);
  ASSERT_NE(kernel, launches.end());
  EXPECT_EQ(kernel->lower_bound, 64_ns);  // 2 × 8192 B at 256 GB/s
}

TEST_F(SavedRuns, ARunThatFailedIsSavedWithWhatItSaid) {
  const Bench stuck = bench_of([](Torch&, const Options&, BenchReport&) {
    throw SimulationError({"test.stuck", "here", "nobody sends", ""});
  });
  EXPECT_THROW(save_bench(stuck, {}, db()), Error);
  EXPECT_FALSE(std::filesystem::exists(db()));  // nothing was submitted, so there is nothing to save
  const Bench half = bench_of([](Torch& torch, const Options&, BenchReport&) {
    const Tensor x = torch.zeros({64}, f16, {}, "x");
    torch.synchronize();
    throw SimulationError({"test.stuck", "here", "nobody sends", ""});
  });
  EXPECT_THROW(save_bench(half, {}, db()), SimulationError);
  const SavedRun saved = SavedRun::open(db());
  EXPECT_THAT(saved.value("failure"), HasSubstr("nobody sends"));
  EXPECT_EQ(saved.value("ok"), "false");
  EXPECT_GT(saved.op_count(), 0u);
}

TEST_F(SavedRuns, ADeadlockIsSavedWithWhatWasDoneBeforeIt) {
  const Bench stuck = bench_of([](Torch& torch, const Options&, BenchReport&) {
    const Tensor x = torch.empty({8, 64}, f16, DPPolicy{.pe = Split::row_wise, .num_cubes = 1}, "x");
    dist::launch(
        torch, {.name = "stuck", .topology = "intracube_ring"},
        [](tl::Context& tl, tl::Ptr p) {
          tl.load(p, {64}, f16);
          if (tl.program_id(0) == 1) tl.recv("W", {64}, f16);
        },
        x);
  });
  EXPECT_THROW(save_bench(stuck, {}, db()), IpcqDeadlock);
  const SavedRun saved = SavedRun::open(db());
  EXPECT_THAT(saved.value("failure"), HasSubstr("1 program cannot go on"));
  const auto loads = saved.query("SELECT count(*) FROM ops WHERE kind = 'dma_read'");
  EXPECT_EQ(std::get<std::int64_t>(loads[0][0]), 8);
  const auto last = saved.query("SELECT max(end_ps) FROM ops");
  EXPECT_EQ(saved.total().ps(), std::get<std::int64_t>(last[0][0]));  // not before what was seen to happen
  EXPECT_EQ(saved.log().hash(), saved.hash());
}

TEST_F(SavedRuns, BeyondALimitFirstLastAndEveryKthLaunchStay) {
  const Bench many = bench_of([](Torch& torch, const Options&, BenchReport&) {
    const Tensor x = torch.zeros({64}, f16, {}, "x");
    for (int i = 0; i < 10; ++i)
      torch.launch(
          "one", [](tl::Context& tl, tl::Ptr p) { tl.store(p, tl.load(p, {64}, f16) + 1); }, x);
  });
  const bench::RunResult run = save_bench(many, {}, db(), machine(), {.most_ops = 30});
  const SavedRun saved = SavedRun::open(db());
  EXPECT_FALSE(saved.complete());
  EXPECT_EQ(saved.hash(), run.hash);
  EXPECT_EQ(saved.critical_path().length(), run.critical_path.length());
  std::vector<bool> kept;
  for (const SavedLaunch& launch : saved.launches()) {
    if (launch.phase != "launch") continue;
    kept.push_back(launch.ops_kept == launch.ops);
    EXPECT_EQ(launch.ops, 5);
  }
  // 10 launches of 5 and 3 others are 53; every second and the last one leave 33, every fourth 23.
  EXPECT_THAT(kept, ElementsAre(true, false, false, false, true, false, false, false, true, true));
  EXPECT_EQ(saved.log().size(), 23u);
}

TEST_F(SavedRuns, AQueryOfOnesOwnThatIsWrongSaysWhy) {
  save_shipped("va-offset-verify", {"n_elem=17"}, db());
  try {
    SavedRun::open(db()).query("SELECT id FROM nowhere");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.id(), "run-file.query");
    EXPECT_THAT(error.what(), HasSubstr("nowhere"));
  }
}

}  // namespace
}  // namespace kernbench::report::saved_run_test
