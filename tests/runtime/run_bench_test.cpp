#include "runtime/host_world.hpp"

namespace kernbench::runtime::run_bench_test {
namespace {

void count_up(tl::Context& tl, tl::Ptr x, int steps) {
  auto tile = tl.load(x, {64}, i32);
  for (int i = 0; i < steps; ++i) tile = tile + 1;
  tl.store(x, tile);
}

void program(Torch& torch) {
  Tensor x = torch.zeros({64}, i32, {}, "x");
  torch.launch("count_up", count_up, x, 10);
}

TEST(RunBench, CompletesEverythingAndKeepsWhatHappened) {
  const BenchRun run = run_bench(small(), program);
  std::vector<std::string> names;
  Time sum;
  for (const Trace& t : run.traces())
    names.push_back(std::string(to_string(t.phase)) + " " + t.name), sum += t.total;
  EXPECT_THAT(names, ::testing::ElementsAre("map x", "write x", "launch count_up", "unmap x"));
  EXPECT_EQ(run.completed, sum);  // one stream, no gaps
  const trace::RunLog log = run.log();
  EXPECT_EQ(log.summary().total.math.count, 10u);
  EXPECT_EQ(log.critical_path().length(), run.completed);
  EXPECT_TRUE(run.hazards().empty());
  EXPECT_GT(run.torch->events(), 0u);
}

TEST(RunBench, TwiceIsTheSameToTheBit) {
  EXPECT_EQ(run_bench(load(), program).log().hash(), run_bench(load(), program).log().hash());
  EXPECT_NE(run_bench(load(), program).log().hash(),
            run_bench(load(), program, DeviceSelector::sip(1)).log().hash());
}

TEST(RunBench, TheDeviceIsWhereItRuns) {
  const auto sip_of = [](std::string_view device) {
    int sip = -1;
    run_bench(
        load(), [&](Torch& torch) { sip = torch.zeros({8}, f16).sip(); }, DeviceSelector::parse(device));
    return sip;
  };
  EXPECT_EQ(sip_of("all"), 0);
  EXPECT_EQ(sip_of("sip:0"), 0);
  EXPECT_EQ(sip_of("sip:1"), 1);
  EXPECT_THAT(complaint([&] { sip_of("sip:2"); }), HasSubstr("it has sip:0 to sip:1"));
  for (const char* wrong : {"", "sip", "sip:", "sip:x", "sip:1x", "sip:-1", "ALL", "1"})
    EXPECT_THAT(complaint([&] { sip_of(wrong); }), HasSubstr("runtime.device")) << wrong;
  EXPECT_THAT(complaint([] {
                run_bench(
                    load(), [](Torch& torch) { torch.ahbm.set_device(0); }, DeviceSelector::sip(1));
              }),
              HasSubstr("there is no device 0 to set"));
}

TEST(RunBench, AProgramThatSubmitsNothingIsAnError) {
  EXPECT_THAT(complaint([] { run_bench(small(), [](Torch&) {}); }), HasSubstr("runtime.nothing-submitted"));
}

TEST(RunBench, ErrorsOfTheProgramComeThrough) {
  EXPECT_THAT(complaint([] {
                run_bench(small(), [](Torch& torch) {
                  Tensor x = torch.zeros({64}, i32);
                  throw InputError({"mine", "", "mine", ""});
                });
              }),
              HasSubstr("mine"));
}

TEST(RunBench, ARunCanBeStoppedBetweenTwoEvents) {
  std::atomic<bool> stop = false;
  const auto host = [&](Torch& torch) {
    program(torch);
    torch.synchronize();
    program(torch);
    stop = true;
    EXPECT_THROW(torch.synchronize(), Interrupted);
    EXPECT_EQ(torch.traces().size(), 4u);  // nothing of the second was done
    stop = false;
    torch.synchronize();  // and it can go on
    EXPECT_EQ(torch.traces().size(), 8u);
  };
  const auto hash = run_bench(small(), host, {}, {.interrupt = &stop}).log().hash();
  EXPECT_EQ(hash, run_bench(small(),
                            [](Torch& torch) {
                              program(torch);
                              torch.synchronize();
                              program(torch);
                            })
                      .log()
                      .hash());
}

TEST(RunBench, AContextThatWasStoppedIsLeftAsItIs) {
  std::atomic<bool> stop = true;
  Torch torch(small(), {.interrupt = &stop});
  Tensor x = torch.zeros({64}, i32);
  EXPECT_THROW(x.numpy(), Interrupted);
}  // and nothing is thrown again

// Rows of a large tensor are made when its numbers are computed, which is after the read has been simulated.
TEST(RunBench, ComputingNumbersCanBeStoppedAsWell) {
  std::atomic<bool> stop = false;
  Torch torch(small(), {.interrupt = &stop});
  Tensor x = torch.from_rows<std::int32_t>({1024, 512}, [&](std::int64_t, std::span<std::int32_t> out) {
    std::ranges::fill(out, 1);
    stop = true;
  });
  EXPECT_THAT(complaint([&] { x.numpy(); }), HasSubstr("stopped while its numbers were computed"));
  EXPECT_EQ(torch.traces().back().phase, Phase::read);
}  // and nothing is thrown again

TEST(RunBench, ProgressIsReportedAndChangesNothing) {
  int reports = 0;
  Time last;
  const auto host = [](Torch& torch) {
    Tensor x = torch.zeros({64}, i32, {}, "x");
    for (int i = 0; i < 10; ++i) torch.launch("count_up", count_up, x, 1000);
  };
  const auto watch = [&](const Progress& p) {
    EXPECT_GE(p.now, last);
    EXPECT_GT(p.events, 0u);
    last = p.now;
    ++reports;
  };
  const auto hash = run_bench(small(), host, {}, {.data = false, .progress = watch}).log().hash();
  EXPECT_GT(reports, 0);
  EXPECT_EQ(hash, run_bench(small(), host, {}, {.data = false}).log().hash());
}

}  // namespace
}  // namespace kernbench::runtime::run_bench_test
