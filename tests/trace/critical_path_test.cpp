#include "trace/run_maker.hpp"

namespace kernbench::trace::critical_path_test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(CriticalPath, OfNothingIsEmpty) {
  const auto path = RunMaker().finish().critical_path();
  EXPECT_EQ(path.length(), ps(0));
  EXPECT_THAT(path.pieces, ElementsAre());
  EXPECT_THAT(path.by_resource, ElementsAre());
}

// The last of the total order: of several that end at one instant, the one of the highest partition.
TEST(CriticalPath, BeginsAtTheLastOfTheTotalOrder) {
  RunMaker run(4);
  for (const int sip : {0, 1, 2}) {
    const auto origin = run.program({sip, 0, 0});
    run.add({.kind = OpKind::dma_read, .start = 0, .end = 100, .origin = origin, .command = 0});
  }
  EXPECT_EQ(run.finish().critical_path().pieces.back().op.partition, 3);
}

TEST(CriticalPath, ARecordAloneIsItsPhases) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  run.add(
      {.kind = OpKind::dma_read, .start = 100, .end = 200, .origin = k, .command = 3, .phases = {20, 50}});
  const auto path = run.finish().critical_path();
  // Request 20, bursts 50, and what is left of 100: data 30.
  EXPECT_THAT(shown(path), ElementsAre("fabric 100-120", "memory 120-170", "fabric 170-200"));
  EXPECT_THAT(shown(path.by_resource), ElementsAre("fabric 50", "memory 50"));
  EXPECT_THAT(shown(path.by_line), ElementsAre("kernel.cpp:13 100"));
  EXPECT_DOUBLE_EQ(path.by_resource[0].fraction, 0.5);
}

// A load 0-100, and a gemm that needed only what the load had brought at 70, and starts at 80.
TEST(CriticalPath, GoesOnFromTheInstantInsideTheCause) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  const auto load = run.add(
      {.kind = OpKind::dma_read, .start = 0, .end = 100, .origin = k, .command = 0, .phases = {10, 40}});
  run.add({.kind = OpKind::gemm,
           .start = 80,
           .end = 180,
           .origin = k,
           .command = 1,
           .cause = load,
           .cause_instant = 70,
           .reason = Reason::operand,
           .phases = {0, 30, 60}});
  const auto path = run.finish().critical_path();
  EXPECT_THAT(shown(path),
              ElementsAre("fabric 0-10", "memory 10-50", "fabric 50-70",  // the load, up to the instant
                          "wait_operand 70-80", "tcm_read 80-110", "gemm 110-170", "tcm_write 170-180"));
  // The load: 70 under what held it (nothing). The gemm: 10 + 100 under operand.
  EXPECT_THAT(shown(path.by_reason), ElementsAre("operand 110", "start 70"));
  EXPECT_THAT(shown(path.by_line), ElementsAre("kernel.cpp:11 110", "kernel.cpp:10 70"));
}

TEST(CriticalPath, AConstraintMetAfterItsCauseEndedIsAGap) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  const auto send =
      run.add({.kind = OpKind::ipcq_send, .start = 0, .end = 50, .origin = k, .command = 0, .phases = {50}});
  run.add({.kind = OpKind::ipcq_recv,
           .start = 80,
           .end = 90,
           .origin = k,
           .command = 1,
           .cause = send,
           .cause_instant = 75,
           .reason = Reason::credit,
           .phases = {10}});
  // The announcement travelled from 50 to 75, and 5 more passed: 30 under the reason.
  EXPECT_THAT(shown(run.finish().critical_path()),
              ElementsAre("fabric 0-50", "wait_credit 50-80", "queue 80-90"));
}

TEST(CriticalPath, PhasesOfNoLengthDoNotAppear) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  run.add({.kind = OpKind::math, .start = 0, .end = 40, .origin = k, .phases = {0, 0, 40}});
  EXPECT_THAT(shown(run.finish().critical_path()), ElementsAre("math 0-40"));
}

// A launch of one kernel: on its way to the PE 0-200, one load 250-850 that the PE's CPU came to at 250, the
// end of the program at 850, the completion's way back until 1000.
struct Launch {
  RunMaker run;
  std::uint32_t kernel = run.program({0, 1, 2});
  OpRef program = run.add({.kind = OpKind::program, .start = 0, .end = 200, .origin = kernel});
  OpRef load = run.add({.kind = OpKind::dma_read,
                        .start = 250,
                        .end = 850,
                        .origin = kernel,
                        .command = 4,
                        .cause = program,
                        .cause_instant = 200,
                        .reason = Reason::issue,
                        .phases = {100, 400}});
  OpRef completion = run.add({.kind = OpKind::host_launch,
                              .start = 850,
                              .end = 1000,
                              .origin = kernel,
                              .cause = load,
                              .cause_instant = 850,
                              .reason = Reason::operand,
                              .written_by = 0},
                             OpRef{0, 1});
};

TEST(CriticalPath, OfALaunchLeadsToThePeThroughItsWorkAndBack) {
  Launch world;
  const auto path = world.run.finish().critical_path();
  EXPECT_THAT(shown(path), ElementsAre("control 0-200", "wait_issue 200-250", "fabric 250-350",
                                       "memory 350-750", "fabric 750-850", "control 850-1000"));
  EXPECT_THAT(shown(path.by_resource),
              ElementsAre("memory 400", "control 350", "fabric 200", "wait_issue 50"));
  // The load with its gap: 650. The completion: 150. The way to the PE: 200.
  EXPECT_THAT(shown(path.by_reason), ElementsAre("issue 650", "start 200", "operand 150"));
  EXPECT_THAT(shown(path.by_line), ElementsAre("kernel.cpp:14 650", "kernel 350"));
}

TEST(CriticalPath, TheNextRequestOfAStreamGoesBackThroughTheOneBefore) {
  Launch world;
  const auto read = world.run.request("read x", 1);
  world.run.add({.kind = OpKind::host_read,
                 .start = 1000,
                 .end = 1500,
                 .origin = read,
                 .cause = world.completion,
                 .cause_instant = 1000,
                 .phases = {200, 100}},
                OpRef{0, 2});
  const auto path = world.run.finish().critical_path();
  EXPECT_EQ(path.length(), ps(1500));
  EXPECT_EQ(path.pieces.size(), 6u + 3u);
  EXPECT_THAT(shown(path.by_line), UnorderedElementsAre("kernel.cpp:14 650", "read x 500", "kernel 350"));
}

TEST(CriticalPath, WhatNeverCompletedIsNamed) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  run.add({.kind = OpKind::math, .start = 0, .end = 10, .origin = k, .phases = {0, 0, 10}});
  const auto program = run.reserve(k);  // still running when the run was stopped
  run.add({.kind = OpKind::math,
           .start = 60,
           .end = 90,
           .origin = k,
           .cause = program,
           .cause_instant = 50,
           .reason = Reason::issue,
           .phases = {0, 0, 30}});
  EXPECT_THAT(shown(run.finish().critical_path()), ElementsAre("unfinished 0-60", "math 60-90"));
}

TEST(CriticalPath, ARequestNothingHeldUpLeavesTheHostsTime) {
  RunMaker run;
  const auto first = run.request("first", 0), second = run.request("second", 1);
  run.add({.kind = OpKind::host_map, .start = 0, .end = 10, .origin = first});
  run.add({.kind = OpKind::host_map, .start = 40, .end = 50, .origin = second});
  EXPECT_THAT(shown(run.finish().critical_path()), ElementsAre("wait_start 0-40", "control 40-50"));
}

TEST(CriticalPath, OfALogWhoseCausesFormACircleIsRefused) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  run.add({.kind = OpKind::math, .start = 0, .end = 5, .origin = k, .phases = {5}});
  const auto a = run.reserve(k), b = run.reserve(k);
  run.add({.kind = OpKind::math, .start = 9, .end = 9, .origin = k, .cause = b, .cause_instant = 9}, a);
  run.add({.kind = OpKind::math, .start = 9, .end = 9, .origin = k, .cause = a, .cause_instant = 9}, b);
  EXPECT_THROW(run.finish().critical_path(), InputError);
}

TEST(CriticalPath, TheTableShowsTheLargestShareFirst) {
  Launch world;
  const auto text = to_text(world.run.finish().critical_path());
  EXPECT_THAT(text, ::testing::StartsWith(
                        "critical path: 1.000 ns in 6 pieces\n\nresource                ns   share\n"
                        "memory               0.400   40.0%\n"));
}

}  // namespace
}  // namespace kernbench::trace::critical_path_test
