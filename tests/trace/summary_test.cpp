#include <nlohmann/json.hpp>

#include "trace/interval_union.hpp"
#include "trace/launch_summary.hpp"
#include "trace/run_maker.hpp"

namespace kernbench::trace::summary_test {
namespace {

TEST(Summary, CountsTileStepsLikeTheCommandOfTheirKind) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  std::int64_t end = 0;
  const auto add = [&](OpKind kind, int times, std::uint64_t amount) {
    for (int i = 0; i < times; ++i)
      run.add({.kind = kind, .start = end, .end = end + 1, .origin = k, .amount = amount}), ++end;
  };
  add(OpKind::gemm, 1, 1000), add(OpKind::tile_gemm, 2, 100);
  add(OpKind::math, 3, 10), add(OpKind::tile_math, 4, 1);
  add(OpKind::dma_read, 5, 64), add(OpKind::load_scalar, 1, 4), add(OpKind::tile_dma_in, 7, 2048);
  add(OpKind::dma_write, 8, 64), add(OpKind::tile_dma_out, 9, 32);
  add(OpKind::ipcq_send, 10, 16), add(OpKind::ipcq_recv, 11, 8);
  add(OpKind::program, 1, 0);
  const auto json = nlohmann::json::parse(to_json(run.finish().summary()));
  EXPECT_EQ(json["gemm_count"], 3);
  EXPECT_EQ(json["math_count"], 7);
  EXPECT_EQ(json["dma_read_count"], 13);
  EXPECT_EQ(json["dma_write_count"], 17);
  EXPECT_EQ(json["ipcq_send_count"], 10);
  EXPECT_EQ(json["ipcq_recv_count"], 11);
  EXPECT_EQ(json["record_count"], 62);
  EXPECT_EQ(json["engines"]["gemm"]["macs"], 1200);
  EXPECT_EQ(json["engines"]["math"]["elements"], 34);
  EXPECT_EQ(json["engines"]["dma_read"]["bytes"], 5 * 64 + 4 + 7 * 2048);
  EXPECT_EQ(json["engines"]["dma_write"]["bytes"], 8 * 64 + 9 * 32);
}

/// A launch's way to a PE that starts at `at`, and the completion's way back from the last PE's end.
void start(RunMaker& run, std::uint32_t origin, std::int64_t at) {
  run.add({.kind = OpKind::program, .start = 0, .end = at, .origin = origin});
}
void complete(RunMaker& run, std::uint32_t origin, std::int64_t last_end) {
  static std::uint32_t serial = 0;
  run.add({.kind = OpKind::host_launch,
           .start = last_end,
           .end = last_end + 100,
           .origin = origin,
           .written_by = 0},
          OpRef{0, ++serial});
}

// Two PEs of one launch start at 1000 and 1100, the last one ends at 2000; a third has nothing to do.
TEST(Summary, UtilisationIsBusyTimeOverTheLaunchSpanOfEveryPeThatRan) {
  RunMaker run;
  const auto a = run.program({0, 0, 0}), b = run.program({0, 0, 1}),
             idle = run.program({0, 0, 2}, 0, "kernel", 0);
  start(run, a, 1000), start(run, idle, 1000), start(run, b, 1100);
  // Fetch 50, compute 100, store 50: busy 1050-1150 and 1100-1200, together 150.
  run.add({.kind = OpKind::gemm, .start = 1000, .end = 1200, .origin = a, .phases = {0, 50, 100}});
  run.add({.kind = OpKind::gemm, .start = 1050, .end = 1250, .origin = a, .phases = {0, 50, 100}});
  // 1100-1500 and 1300-1600: 500.
  run.add({.kind = OpKind::dma_read, .start = 1100, .end = 1500, .origin = b, .phases = {10, 10}});
  run.add({.kind = OpKind::tile_dma_in, .start = 1300, .end = 1600, .origin = b, .phases = {10, 10}});
  complete(run, b, 2000);
  const auto summary = run.finish().summary();
  ASSERT_EQ(summary.pes.size(), 3u);
  EXPECT_EQ(summary.pes[0].engines.gemm.busy, ps(150));
  EXPECT_EQ(summary.pes[1].engines.dma_read.busy, ps(500));
  EXPECT_EQ(summary.pes[2].exec, ps(0));
  EXPECT_EQ(summary.exec, ps(2000));  // 2 PEs × (1000 … 2000)
  EXPECT_DOUBLE_EQ(utilization(summary).gemm, 150.0 / 2000);
  EXPECT_DOUBLE_EQ(utilization(summary).dma_read, 0.25);
  EXPECT_DOUBLE_EQ(utilization(summary).dma_write, 0);
  EXPECT_DOUBLE_EQ(utilization(summary.pes[0]).gemm, 0.15);
}

TEST(Summary, APeOfSeveralLaunchesHasTheirSpansTogether) {
  RunMaker run;
  const auto first = run.program({0, 0, 0}, 0), second = run.program({0, 0, 0}, 1);
  start(run, first, 100);
  run.add({.kind = OpKind::math, .start = 100, .end = 160, .origin = first, .phases = {0, 0, 60}});
  complete(run, first, 200);
  start(run, second, 500);
  run.add({.kind = OpKind::math, .start = 500, .end = 530, .origin = second, .phases = {0, 0, 30}});
  complete(run, second, 700);
  const auto summary = run.finish().summary();
  ASSERT_EQ(summary.pes.size(), 1u);
  EXPECT_EQ(summary.exec, ps(300));
  EXPECT_EQ(summary.total.math.busy, ps(90));
  EXPECT_DOUBLE_EQ(utilization(summary).math, 0.3);
}

// A launch that never completed has no span.
TEST(Summary, AnUnfinishedLaunchDoesNotCountAsTimeToWork) {
  RunMaker run;
  start(run, run.program({0, 0, 0}), 100);
  EXPECT_EQ(run.finish().summary().exec, ps(0));
}

TEST(Summary, OfNothingIsZero) {
  const auto summary = RunMaker().finish().summary();
  EXPECT_EQ(summary.records, 0u);
  EXPECT_DOUBLE_EQ(utilization(summary).gemm, 0);
}

TEST(IntervalUnion, DoesNotCareInWhichOrderIntervalsCome) {
  std::vector<std::pair<int, int>> intervals = {{0, 10},  {5, 20},  {20, 30}, {50, 60},
                                                {52, 58}, {70, 70}, {40, 41}};
  std::sort(intervals.begin(), intervals.end());
  do {
    IntervalUnion all;
    for (const auto& [begin, end] : intervals) all.add(ps(begin), ps(end));
    ASSERT_EQ(all.length(), ps(30 + 10 + 1));
  } while (std::next_permutation(intervals.begin(), intervals.end()));
}

// Against a list of picoseconds. Ends ascend; most intervals are short, and some reach back over many of those before them.
TEST(IntervalUnion, CountsRightHoweverFarIntervalsReachBack) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<bool> covered(20'000);
    IntervalUnion all, half;
    for (int end = 1; end < 20'000; end += 1 + static_cast<int>(random() % 20)) {
      const int reach =
          random() % 64 == 0 ? static_cast<int>(random() % 8'000) : static_cast<int>(random() % 8);
      const int begin = std::max(0, end - reach);
      (random() % 2 == 0 ? all : half).add(ps(begin), ps(end));
      std::fill(covered.begin() + begin, covered.begin() + end, true);
    }
    all.add(half);
    ASSERT_EQ(all.length(), ps(std::count(covered.begin(), covered.end(), true))) << "seed " << seed;
  }
}

// An interval of 20 ns every 100 ns: three bytes each for the distance of 80,000 and the length of 20,000, 6.5 with what stands
// for 64 of them; the youngest ones are kept as they are. Copies share all but these.
TEST(IntervalUnion, TakesSevenBytesAnInterval) {
  IntervalUnion all;
  for (int i = 0; i < 64'000; ++i) all.add(ps(100'000LL * i), ps(100'000LL * i + 20'000));
  EXPECT_EQ(all.length(), ps(64'000 * 20'000LL));
  EXPECT_LE(all.memory_bytes(), 64'000 * 7 + 8'000u);
  IntervalUnion copy;
  copy.add(all);
  EXPECT_EQ(copy.length(), all.length());
}

TEST(IntervalUnion, OfWhatIsSettledTheLengthAloneIsKept) {
  IntervalUnion all;
  for (int i = 0; i < 10'000; ++i) all.add(ps(2 * i), ps(2 * i + 1));
  all.settle();
  EXPECT_EQ(all.length(), ps(10'000));
  EXPECT_LT(all.memory_bytes(), 4'000u);  // not a byte an interval
  all.add(ps(20'000), ps(20'005));
  EXPECT_EQ(all.length(), ps(10'005));
  IntervalUnion copy, sum;
  copy.add(all);
  EXPECT_EQ(copy.length(), ps(10'005));
  sum.add(ps(30'000), ps(30'001));
  sum.add(all);
  EXPECT_EQ(sum.length(), ps(10'006));
}

// Three programs of one PE with 2 reads of 30 ps each that overlap by 10: 50 ps each time.
TEST(Summary, WithoutALogCountsWhatAPeDidInEveryLaunch) {
  const device::Origins origins = {{nullptr, {0, 0, 0}, 0}};
  OpLog log(1, {.storage = Storage::none, .origins = &origins});
  std::uint32_t serial = 0;
  const auto append = [&](OpKind kind, std::int64_t start, std::int64_t end) {
    log.append(0, RunMaker::record_of({.kind = kind, .start = start, .end = end}, ++serial));
  };
  for (const std::int64_t begin : {0, 1000, 2000}) {
    append(OpKind::program, begin, begin);
    append(OpKind::dma_read, begin + 100, begin + 130);
    append(OpKind::dma_read, begin + 120, begin + 150);
  }
  EXPECT_EQ(log.summary().total.dma_read.busy, ps(150));
  EXPECT_EQ(log.summary().total.dma_read.count, 6u);
}

// Launches 0 and 1 one after the other on one PE, 3 and 2 products; launch 2 beside launch 1 on another SIP. Each is found in
// its own time, whatever came before, after or beside it.
TEST(Summary, OfALaunchHasItsOwnRecordsAlone) {
  RunMaker run(3);
  device::Origins origins;
  const auto launched = [&](PeCoord pe, std::uint32_t launch) {
    origins.add({.pe = pe, .launch = launch, .has_commands = true});
    return run.program(pe, launch);
  };
  const auto first = launched({0, 0, 0}, 0), second = launched({0, 0, 0}, 1), beside = launched({1, 0, 0}, 2);
  const auto products = [&](std::uint32_t origin, std::int64_t from, int n) {
    run.add({.kind = OpKind::program, .start = from, .end = from + 10, .origin = origin});
    for (int i = 1; i <= n; ++i)
      run.add({.kind = OpKind::gemm,
               .start = from + 100 * i,
               .end = from + 100 * i + 10,
               .origin = origin,
               .amount = 7});
  };
  products(first, 0, 3), products(second, 500, 2), products(beside, 600, 1);
  const auto of = [&](std::uint32_t launch, std::int64_t begin, std::int64_t end) {
    return summarize_launch(run.log().records(), origins, launch, ps(begin), ps(end));
  };
  EXPECT_EQ(of(0, 0, 310).total.gemm.count, 3u);
  EXPECT_EQ(of(0, 0, 310).records, 4u);
  EXPECT_EQ(of(1, 500, 710).total.gemm.amount, 14u);
  EXPECT_EQ(of(1, 500, 709).records, 2u);  // one product ends a picosecond later
  EXPECT_EQ(of(2, 500, 710).total.gemm.count, 1u);
  EXPECT_EQ(of(2, 711, 5000).records, 0u);
}

}  // namespace
}  // namespace kernbench::trace::summary_test
