#include <thread>

#include "kernbench/tl.hpp"
#include "trace/run_maker.hpp"

namespace kernbench::trace::op_log_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OpLog, RecordsTakeSixtyFourBytes) { EXPECT_EQ(sizeof(OpRecord), 64u); }

TEST(OpLog, PartitionsAreMergedByEndThenPartitionThenOrderOfWriting) {
  RunMaker run(3);
  const auto host = run.request("map"), a = run.program({0, 0, 0}), b = run.program({1, 0, 0});
  run.add({.kind = OpKind::math, .end = 10, .origin = b, .command = 0});
  run.add({.kind = OpKind::math, .end = 10, .origin = b, .command = 1});
  run.add({.kind = OpKind::math, .end = 20, .origin = b, .command = 2});
  run.add({.kind = OpKind::math, .end = 10, .origin = a, .command = 3});
  run.add({.kind = OpKind::math, .end = 15, .origin = a, .command = 4});
  run.add({.kind = OpKind::math, .end = 20, .origin = a, .command = 5});
  run.add({.kind = OpKind::host_map, .end = 15, .origin = host});
  std::vector<std::string> order;
  for (const auto& op : run.finish().ops())
    order.push_back(fmt::format("{}:{}.{}", op.end.ps(), op.id.partition, op.id.id));
  EXPECT_THAT(order, ElementsAre("10:1.0", "10:2.0", "10:2.1", "15:0.0", "15:1.1", "20:1.2", "20:2.2"));
}

TEST(OpLog, IsWalkedInStepsUpToAnInstant) {
  RunMaker run(3);
  const auto a = run.program({0, 0, 0}), b = run.program({1, 0, 0});
  for (const auto& [end, origin] : {std::pair(10, b), {10, a}, {15, a}, {20, b}, {20, a}, {30, b}})
    run.add({.kind = OpKind::math, .end = end, .origin = origin});
  const auto records = run.log().records();
  std::vector<std::uint32_t> next;
  const auto walk = [&](int limit) {
    std::vector<std::string> order;
    in_total_order(records, next, ps(limit), [&](OpId id, const OpRecord& r) {
      order.push_back(fmt::format("{}:{}", r.end.ps(), id.partition));
    });
    return order;
  };
  EXPECT_THAT(walk(9), ElementsAre());
  EXPECT_THAT(walk(15), ElementsAre("10:1", "10:2", "15:1"));
  EXPECT_THAT(walk(15), ElementsAre());
  EXPECT_THAT(walk(20), ElementsAre("20:1", "20:2"));
  EXPECT_THAT(walk(99), ElementsAre("30:2"));
}

TEST(OpLog, RefusesARecordThatEndsBeforeTheOneBefore) {
  OpLog log(1);
  log.append(0, RunMaker::record_of({.end = 5}, 1));
  log.append(0, RunMaker::record_of({.end = 5}, 2));
  EXPECT_THROW(log.append(0, RunMaker::record_of({.end = 4}, 3)), InternalError);
}

TEST(OpLog, RefusesRecordsThatContradictEachOther) {
  const auto fault_of = [](const RecordSpec& spec, std::uint32_t serial = 1) -> std::string {
    RunMaker run(3);
    run.program({0, 0, 0});
    run.add(spec, OpRef{1, serial});
    try {
      run.finish();
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(fault_of({.start = 1, .end = 2}), "");
  EXPECT_THAT(fault_of({.start = 3, .end = 2}), HasSubstr("record 0 of partition 1 ends before it starts"));
  EXPECT_THAT(fault_of({.end = 2, .origin = 7}), HasSubstr("origin 7"));
  EXPECT_THAT(fault_of({.end = 2, .command = 10}), HasSubstr("command 10 of 10"));
  EXPECT_THAT(fault_of({.start = 1, .end = 2, .cause = {1, 1}, .cause_instant = 2}),
              HasSubstr("before its cause is met"));
  EXPECT_THAT(fault_of({.end = 2, .cause = {3, 1}}), HasSubstr("partition that does not exist"));
  EXPECT_THAT(fault_of({.end = 9, .phases = {5, 5}}), HasSubstr("phases longer than itself"));
  EXPECT_EQ(fault_of({.kind = OpKind::ipcq_send, .end = 2, .written_by = 2}), "");
  EXPECT_THAT(fault_of({.end = 2}, 0), HasSubstr("serial 0"));
  EXPECT_THAT(fault_of({.kind = static_cast<OpKind>(15), .reason = static_cast<Reason>(7)}),
              HasSubstr("reason"));
}

TEST(OpLog, RefusesTwoRecordsOfOneSerial) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  const auto a = run.add({.end = 1, .origin = k});
  run.add({.end = 2, .origin = k}, a);
  EXPECT_THROW(run.finish(), InternalError);
}

TEST(OpLog, PartitionsMayBeWrittenByDifferentThreads) {
  constexpr int kPartitions = 4;
  constexpr std::uint32_t kEach = 3 * kChunkRecords + 17;
  OpLog log(kPartitions);
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < kPartitions; ++p)
      threads.emplace_back([&log, p] {
        for (std::uint32_t i = 0; i < kEach; ++i)
          log.append(p, RunMaker::record_of({.end = i, .origin = static_cast<std::uint32_t>(p)}, i + 1));
      });
  }
  EXPECT_EQ(log.size(), kPartitions * kEach);
  RunMaker names(kPartitions);
  names.request("host");
  for (int sip = 0; sip + 1 < kPartitions; ++sip) names.program({sip, 0, 0});
  const auto run = log.finish(names.info);
  for (std::uint16_t p = 0; p < kPartitions; ++p)
    for (const std::uint32_t id : {0u, kChunkRecords - 1, kChunkRecords, kEach - 1})
      EXPECT_EQ(run.op({p, id}).end, ps(id));
  EXPECT_THROW(run.op({0, kEach}), InputError);
  EXPECT_THROW(run.op({kPartitions, 0}), InputError);
}

TEST(OpLog, SwitchedOffItStillCounts) {
  const device::Origins origins = {{nullptr, {0, 0, 0}, 0}};
  OpLog log(2, {.storage = Storage::none, .origins = &origins});
  log.append(0, RunMaker::record_of({.kind = OpKind::host_map}, 1));
  log.append(1, RunMaker::record_of({.kind = OpKind::gemm}, 1));
  log.append(1, RunMaker::record_of({.kind = OpKind::gemm}, 2));
  EXPECT_EQ(log.size(), 3u);
  EXPECT_EQ(log.count(OpKind::gemm), 2u);
  EXPECT_THROW(log.finish({}), InternalError);
}

TEST(OpLog, OperationsCarryTheLinesOfTheRecordedProgram) {
  tl::Context tl({.kernel = "copy", .pe = {0, 2, 5}});
  const auto first_line = __LINE__ + 2;
  run_kernel(
      [](tl::Context& c) {
        const auto x = c.load(tl::Ptr{0x1000}, {32}, DType::f16);
        c.store(tl::Ptr{0x2000}, x);
      },
      tl);
  const device::Origins origins = {{&tl.program(), {0, 2, 5}, 0}, {nullptr, {0, -1, -1}, 1}};
  OpLog log(2);
  log.append(1, RunMaker::record_of({.kind = OpKind::dma_write, .end = 7, .command = 1}, 1));
  log.append(0, RunMaker::record_of({.kind = OpKind::host_read, .end = 9, .origin = 1}, 1));
  const auto run = log.finish(describe_run("", origins, std::vector<std::string>{"copy", "read y"}));
  const auto store = run.ops()[0], read = run.ops()[1];
  EXPECT_EQ(store.file, "op_log_test.cpp");
  EXPECT_EQ(store.line, first_line + 2);
  EXPECT_EQ(to_string(store),
            fmt::format("sip0.cube2.pe5 dma_write copy #1 op_log_test.cpp:{}", first_line + 2));
  EXPECT_EQ(to_string(read), "host host_read read y");
  EXPECT_EQ(read.file, "");
}

TEST(OpLog, PhasesAddUpToTheRecord) {
  RunMaker run;
  const auto k = run.program({0, 0, 0});
  run.add({.kind = OpKind::dma_read, .start = 100, .end = 200, .origin = k, .phases = {10, 70, 0}});
  run.add({.kind = OpKind::gemm, .start = 100, .end = 200, .origin = k, .phases = {10, 20, 30}});
  // Of the 30 until the request is at the memory it waits 20 for its window.
  run.add({.kind = OpKind::dma_read, .start = 100, .end = 200, .origin = k, .phases = {30, 40, 20}});
  const auto ops = run.finish().ops();
  ASSERT_EQ(ops[2].phase_count, 4);
  EXPECT_EQ(ops[2].phases[0].resource, "window");
  EXPECT_EQ(ops[2].phases[0].length, ps(20));
  EXPECT_EQ(ops[2].phases[1].length, ps(10));
  EXPECT_EQ(ops[2].phases[2].resource, "memory");
  EXPECT_EQ(ops[2].phases[3].length, ps(30));
  ASSERT_EQ(ops[0].phase_count, 3);
  EXPECT_EQ(ops[0].phases[0].resource, "fabric");
  EXPECT_EQ(ops[0].phases[1].length, ps(70));
  EXPECT_EQ(ops[0].phases[2].length, ps(20));  // what is left
  ASSERT_EQ(ops[1].phase_count, 4);
  EXPECT_EQ(ops[1].phases[2].resource, "gemm");
  EXPECT_EQ(ops[1].phases[3].resource, "tcm_write");
  EXPECT_EQ(ops[1].phases[3].length, ps(40));
}

// Below 2^31 ps = 2.147 ms to the picosecond; above to 1,024 ps, from below.
TEST(OpRecord, PhasesOfMillisecondsKeepTheirLength) {
  for (const std::int64_t ps : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2'147'483'647}})
    EXPECT_EQ(device::phase_length(device::packed_phase(Time::from_ps(ps))).ps(), ps);
  for (const std::int64_t ps :
       {std::int64_t{2'147'483'648}, std::int64_t{6'000'000'001}, std::int64_t{1'000'000'000'000}}) {
    const std::int64_t kept = device::phase_length(device::packed_phase(Time::from_ps(ps))).ps();
    EXPECT_LE(kept, ps);
    EXPECT_GT(kept, ps - 1024);
  }
}

// A receive that waits for 6 ms and then takes 4 ms more: 6 ms = 5,859,375 · 1,024 ps, so nothing is cut off.
TEST(OpRecord, ALongWaitIsTheWaitAndNotThatMuchModulo32Bits) {
  OpRecord record{.start = Time(), .end = Time::from_ps(10'000'000'000), .kind = OpKind::ipcq_recv};
  record.phase[0] = device::packed_phase(Time::from_ps(6'000'000'000));
  const Phases phases = phases_of(record);
  EXPECT_EQ(phases.length[0], Time::from_ps(6'000'000'000));
  EXPECT_EQ(phases.length[1], Time::from_ps(4'000'000'000));
}

}  // namespace
}  // namespace kernbench::trace::op_log_test
