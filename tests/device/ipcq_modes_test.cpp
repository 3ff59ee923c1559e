// Polling, receives from any direction and to an address, who watches, and that results depend on nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "counting_new.hpp"
#include "device/queue_world.hpp"

namespace kernbench::device::ipcq_modes_test {
namespace {

using namespace kernbench::dtypes;
using address::MemorySpace;
using testing::kSlice;
using testing::pe_of;
using testing::QueueWorld;
using Spans = std::vector<QueueWorld::Span>;
using ::testing::ElementsAre;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kOther{1, 0, 0};

// ── polling ──

/// Two messages through one slot, which the receiver does not need; a last command behind the sends.
void twice(tl::Context& tl) {
  if (pe_of(tl) == kPe0) {
    const auto x = tl.full({128}, 1.0, f16);
    tl.send("E", x);
    tl.send("E", x);
    tl.full({128}, 2.0, f16);
  } else {
    tl.recv("W", {128}, f16);
    tl.recv("W", {128}, f16);
  }
}

struct Polled : QueueWorld {
  explicit Polled(Time every, Backpressure how = Backpressure::poll) {
    wiring.rules.slots = 1;
    wiring.rules.backpressure = how;
    wiring.rules.poll = every;
    link(kPe0, "E", kPe1, "W");
    run({kPe0, kPe1}, twice);
  }
  Time second_send() const { return spans(kPe0, OpKind::ipcq_send)[1].start; }
  Time last_command() const { return spans(kPe0, OpKind::math)[1].start; }
};

// The tile is ready at 4.5 ns. The second send is issued at 5 ns and finds no credit. The first message is received
// at 5.036 ns; its credit takes 34 ps and 32 ps: it is there at 5.102 ns (see Ipcq.TheLastReaderReturnsTheCredit).
// The last command is issued at 6 ns.
TEST(IpcqPoll, ASleeperGoesOnWithTheCredit) {
  const Polled w(3_ns, Backpressure::sleep);
  EXPECT_EQ(w.second_send(), 5'102_ps);
  EXPECT_EQ(w.last_command(), 6_ns);
}

// Looks at 5 ns and at 8 ns. Meanwhile the CPU issues nothing: the last command is dispatched from 8 ns on.
TEST(IpcqPoll, APollerGoesOnAtItsNextLookAndKeepsTheCpuBusy) {
  const Polled w(3_ns);
  EXPECT_EQ(w.second_send(), 8_ns);
  EXPECT_EQ(w.last_command(), 9_ns);
  const OpRecord second = w.of(kPe0, OpKind::ipcq_send)[1];
  EXPECT_EQ(second.reason, Reason::credit);
  EXPECT_EQ(second.cause_serial, w.of(kPe1, OpKind::ipcq_recv)[0].serial);
}

TEST(IpcqPoll, ALookAtTheInstantOfTheCreditFindsIt) {
  EXPECT_EQ(Polled(102_ps).second_send(), 5'102_ps);
  EXPECT_EQ(Polled(101_ps).second_send(), 5'202_ps);
  EXPECT_EQ(Polled(1_ps).second_send(), 5'102_ps);
}

TEST(IpcqPoll, WhoHasCreditNeverPolls) {
  QueueWorld w;
  w.wiring.rules.backpressure = Backpressure::poll;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, twice);
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send)[1].start, 5_ns);
}

// The third send looks at 6 ns and at 506 ns; PE 1 frees both slots after 256 ns, one after the other. The second credit
// changes nothing about the look that finds the first, and is there for the fourth send, the CPU's next command.
TEST(IpcqPoll, ASecondCreditBeforeTheLookIsFoundByTheNextSend) {
  QueueWorld w;
  w.wiring.rules.slots = 2;
  w.wiring.rules.backpressure = Backpressure::poll;
  w.wiring.rules.poll = 500_ns;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    const auto x = tl.full({128}, 1.0, f16);
    if (pe_of(tl) == kPe1) tl.load(tl::Ptr(kSlice), {32, 1024}, f16), tl.fence();
    for (int i = 0; i < 4; ++i) pe_of(tl) == kPe0 ? void(tl.send("E", x)) : void(tl.recv("W", {128}, f16));
  });
  const auto sends = w.spans(kPe0, OpKind::ipcq_send);
  EXPECT_EQ(sends[1].start, 5_ns);
  EXPECT_EQ(sends[2].start, 506_ns);
  EXPECT_EQ(sends[3].start, 507_ns);
}

// The first send, at 4.5 ns, takes the only slot, which PE 1 does not free before it has 64 KiB, after 256 ns. The tile of
// the second one is loaded from 5 ns on: 987 ps of overhead, 2 ps there, 8 ns for a burst, 2 B in 8 ps and 3 ps back. It is
// there at 14 ns, the instant at which the CPU has issued the eighth command behind the send (7 ns … 14 ns): it does
// not begin with the next one, but after the second look, at 514 ns.
TEST(IpcqPoll, ALookAtTheInstantOfACommandHoldsUpTheNextOne) {
  for (const bool runs : {true, false}) {
    QueueWorld w({"pe.pe_dma.overhead_ns=0.987"}, {.shortcuts = runs});
    w.wiring.rules.slots = 1;
    w.wiring.rules.backpressure = Backpressure::poll;
    w.wiring.rules.poll = 500_ns;
    w.link(kPe0, "E", kPe1, "W");
    w.run({kPe0, kPe1}, [](tl::Context& tl) {
      if (pe_of(tl) == kPe0) {
        tl.send("E", tl.full({128}, 1.0, f16));
        tl.send("E", tl.load(tl::Ptr(kSlice), {1}, f16));
        for (int i = 0; i < 9; ++i) tl.full({1}, 2.0, f16);
      } else {
        tl.load(tl::Ptr(kSlice), {32, 1024}, f16);
        tl.fence();
        tl.recv("W", {128}, f16);
        tl.recv("W", {1}, f16);
      }
    });
    EXPECT_EQ(w.spans(kPe0, OpKind::dma_read)[0].end, 14_ns) << runs;
    EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send)[1].start, 514_ns) << runs;
    EXPECT_EQ(w.spans(kPe0, OpKind::math).back().start, 515_ns) << runs;
  }
}

// ── sends of one instant ──

// PE 0's load, from 4 ns on, is there at 13 ns (987 ps of overhead, 2 ps, 8 ns, 8 ps, 3 ps), the instant at which the CPU issues
// the eighth command behind the first send. Both sends have their tiles then, and pass the engine in the order of their
// rings: the first one's 2 B leave the TCM after 987 ps and 4 ps, the other's 256 B after 2 · 987 ps and 500 ps.
TEST(IpcqSends, OfOneInstantPassTheEngineInTheOrderOfTheirRings) {
  for (const bool runs : {true, false}) {
    QueueWorld w({"pe.pe_dma.overhead_ns=0.987"}, {.shortcuts = runs});
    w.link(kPe0, "E", kPe1, "W");
    w.link(kPe0, "W", kOther, "E");
    w.run({kPe0, kPe1, kOther}, [](tl::Context& tl) {
      if (pe_of(tl) == kPe1) tl.recv("W", {1}, f16);
      if (pe_of(tl) == kOther) tl.recv("E", {128}, f16);
      if (pe_of(tl) != kPe0) return;
      const auto ready = tl.full({128}, 1.0, f16);
      tl.send("E", tl.load(tl::Ptr(kSlice), {1}, f16));
      for (int i = 0; i < 7; ++i) tl.full({1}, 2.0, f16);
      tl.send("W", ready);
    });
    const auto sends = w.of(kPe0, OpKind::ipcq_send);  // by their ends: the one to the other SIP is later
    EXPECT_EQ(sends[0].start, sends[1].start) << runs;
    EXPECT_EQ(sends[0].start - w.start_of(kPe0), 13_ns) << runs;
    EXPECT_EQ(sends[0].phase[0], 987u + 4u) << runs;
    EXPECT_EQ(sends[1].phase[0], 2u * 987u + 500u) << runs;
  }
}

// ── any direction ──

struct Star : QueueWorld {
  Star() {
    link(kPe0, "far", kOther, "out");
    link(kPe0, "near", kPe1, "out");
  }
};

/// Sends tiles of these many elements.
void send_out(tl::Context& tl, std::initializer_list<int> sizes) {
  for (const int n : sizes) tl.send("out", tl.full({n}, 1.0, f16));
}

// Sizes tell messages apart: a receive of another size is an error. The near ones are there after some 5 ns, the
// far ones after 50 ns.
TEST(IpcqAny, TakesTheOldestAnnounced) {
  Star w;
  w.run({kPe0, kPe1, kOther}, [](tl::Context& tl) {
    if (pe_of(tl) == kOther) send_out(tl, {8});
    if (pe_of(tl) == kPe1) send_out(tl, {4, 16});
    if (pe_of(tl) != kPe0) return;
    tl.recv_any({4}, f16);
    tl.recv_any({16}, f16);
    tl.recv_any({8}, f16);
  });
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_recv).size(), 3u);
}

TEST(IpcqAny, LeavesAloneWhatAnEarlierReceiveHasClaimed) {
  Star w;
  w.run({kPe0, kPe1, kOther}, [](tl::Context& tl) {
    if (pe_of(tl) == kOther) send_out(tl, {8, 32});
    if (pe_of(tl) == kPe1) send_out(tl, {4});
    if (pe_of(tl) != kPe0) return;
    tl.recv("far", {8}, f16);
    tl.recv("near", {4}, f16);
    tl.recv_any({32}, f16);  // not the near one, although it is the oldest
  });
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_recv).size(), 3u);
}

TEST(IpcqAny, HoldsBackLaterReceives) {
  Star w;
  w.run({kPe0, kPe1, kOther}, [](tl::Context& tl) {
    if (pe_of(tl) == kOther) send_out(tl, {8});
    if (pe_of(tl) == kPe1) send_out(tl, {4, 16});
    if (pe_of(tl) != kPe0) return;
    tl.recv_any({4}, f16);
    tl.recv("near", {16}, f16);  // the next one of this direction
    tl.recv_any({8}, f16);
  });
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_recv).size(), 3u);
}

// Both wait before the launch; the near one was sent later.
TEST(IpcqAny, GoesByTheTimeOfTheAnnouncementOverLaunches) {
  Star w;
  w.run({kOther}, [](tl::Context& tl) { send_out(tl, {8}); });
  w.run({kPe1}, [](tl::Context& tl) { send_out(tl, {4}); });
  w.run({kPe0}, [](tl::Context& tl) {
    tl.recv_any({8}, f16);
    tl.recv_any({4}, f16);
  });
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_recv), (Spans{{3_ns, 3_ns}, {4_ns, 4_ns}}));
}

// Both are announced at one instant, the one of the second direction first. The tile stays alive, so nothing goes back.
TEST(IpcqAny, OfTheSameAgeTakesTheFirstDirection) {
  Star w;
  w.install();
  PeIpcq& ipcq = w.processors.pe(kPe0).ipcq();
  const auto& ports = *ipcq.find(*w.installed);
  for (const std::size_t direction : {1, 0}) {
    const auto& plan = ports[direction]->plan;
    ipcq.announce(plan.receives_from, plan.receive_ring, SendFacts{.bytes = 8_B}, Time());
  }
  w.launch({kPe0}, [](tl::Context& tl) {
    const auto x = tl.recv_any({4}, f16), y = tl.recv("far", {4}, f16), never = tl.recv("far", {4}, f16);
    tl.store(tl::Ptr(kSlice), x + y + never);
  });
  w.simulate();
  EXPECT_EQ(ports[0]->receives.my_tail(), 1u);
  EXPECT_EQ(ports[1]->receives.my_tail(), 0u);
}

// ── to an address ──

struct Placed : QueueWorld {
  explicit Placed(MemorySpace memory) {
    wiring.rules.memory = memory;
    wiring.rules.slots = 1;
    link(kPe0, "E", kPe1, "W");
    run({kPe0, kPe1}, [](tl::Context& tl) {
      if (pe_of(tl) == kPe0) {
        const auto x = tl.full({128}, 1.0, f16);
        tl.send("E", x);
        tl.send("E", x);
      } else {
        const auto got = tl.recv("W", {128}, f16, {.dst_addr = tl::Ptr(kSlice + 0x2000)});
        tl.load(tl::Ptr(kSlice + 0x2000), {128}, f16);
        tl.store(tl::Ptr(kSlice + 0x4000), got);
        tl.recv("W", {128}, f16);
      }
    });
  }
};

// Announced at 5.036 ns; written from the slot to the slice: 8.005 + 1 ns. Then the slot is free: credit 66 ps,
// behind the packet of the store, which begins at this instant, 500 ps.
TEST(IpcqPlaced, ATileIsMovedFromItsSlotToTheAddress) {
  const Placed w(MemorySpace::Tcm);
  const Time moved = 5'036_ps + 9'005_ps;
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv)[0], (QueueWorld::Span{5'036_ps, moved}));
  EXPECT_EQ(w.spans(kPe1, OpKind::dma_read)[0].start, moved);  // the same bytes: in program order
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send)[1].start, moved + 566_ps);
}

// Out of the HBM ring, announced at 13.536 ns, in 9.005 ns, and on to the slice in another 9.005 ns.
TEST(IpcqPlaced, FromHbmItPassesThroughThePe) {
  const Placed w(MemorySpace::Hbm);
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv)[0], (QueueWorld::Span{13'536_ps, 13'536_ps + 2 * 9'005_ps}));
}

// A tensor may lie in the PE's own TCM: the tile passes the DMA engine.
TEST(IpcqPlaced, ATileIsMovedToThePesOwnTcm) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm, MemorySpace::Sram}) {
    QueueWorld w;
    w.wiring.rules.memory = memory;
    w.link(kPe0, "E", kPe1, "W");
    constexpr std::uint64_t kInTcm = 0x9'0000'0000;
    w.device.mmu(kPe1).insert(address::VirtAddr(kInTcm), {address::pe_tcm_addr(kPe1, 4_MiB), 4_KiB}, "x");
    w.run({kPe0, kPe1}, [](tl::Context& tl) {
      if (pe_of(tl) == kPe0)
        tl.send("E", tl.full({128}, 1.0, f16));
      else
        tl.recv("W", {128}, f16, {.dst_addr = tl::Ptr(kInTcm)});
    });
    EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv).size(), 1u);
  }
}

TEST(IpcqAsync, AWaitHoldsIssueUntilTheMessageIsThere) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) {
      tl.send("E", tl.full({128}, 1.0, f16));
    } else {
      const auto pending = tl.recv_async("W", {128}, f16);
      tl.full({128}, 1.0, f16);  // goes on meanwhile
      tl.wait(pending);
      tl.full({128}, 2.0, f16);
    }
  });
  const auto math = w.spans(kPe1, OpKind::math);
  EXPECT_EQ(math[0].start, 4_ns);
  EXPECT_EQ(math[1].start, 5'036_ps + 1_ns);
}

// Both PEs ask first and send then. Of one command at a time, a receive would hold the send behind it for good.
TEST(IpcqAsync, AnAsyncReceiveDoesNotHoldAPeThatIssuesInOrder) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm, MemorySpace::Sram}) {
    QueueWorld w({"pe.pe_cpu.issue=in_order"});
    w.wiring.rules.memory = memory;
    w.link(kPe0, "E", kPe1, "W");
    w.run({kPe0, kPe1}, [](tl::Context& tl) {
      const char* way = pe_of(tl) == kPe0 ? "E" : "W";
      const auto came = tl.recv_async(way, {128}, f16);
      tl.send(way, tl.full({128}, 1.0, f16));
      tl.full({128}, 2.0, f16);
      tl.wait(came);
      tl.store(tl::Ptr(kSlice), came);
    });
    // 2 launch, 1 dispatch: the receive is issued at 3 ns, the tile made from 4 ns on, 1 ns and 256 B into the TCM at 512 GB/s,
    // and sent 1 ns later.
    EXPECT_EQ(w.spans(kPe0, OpKind::math)[0].start, 4_ns);
    EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send)[0].start, 6'500_ps);
    EXPECT_GE(w.spans(kPe0, OpKind::dma_write)[0].start, w.spans(kPe0, OpKind::ipcq_recv)[0].end + 1_ns);
  }
}

// More receives than a queue is deep, in both modes.
TEST(IpcqAsync, ManyAsyncReceivesHoldNobody) {
  for (const char* issue : {"in_order", "run_ahead"}) {
    QueueWorld w({std::string("pe.pe_cpu.issue=") + issue, "pe.pe_cpu.queue_depth=2"});
    w.link(kPe0, "E", kPe1, "W");
    w.run({kPe0, kPe1}, [](tl::Context& tl) {
      const char* way = pe_of(tl) == kPe0 ? "E" : "W";
      std::vector<tl::Tile> came;
      for (int i = 0; i < 8; ++i) came.push_back(tl.recv_async(way, {128}, f16));
      for (int i = 0; i < 8; ++i) {
        tl.send(way, tl.full({128}, 1.0, f16));
        tl.store(tl::Ptr(kSlice + 256 * static_cast<std::uint64_t>(i)), came[static_cast<std::size_t>(i)]);
      }
    });
    EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv).size(), 8u);
  }
}

// ── watching ──

TEST(IpcqWatcher, SeesEverySendAndReceive) {
  struct Watcher : QueueWatcher {
    void on_send(const QueueEvent& e) override { note("send", e); }
    void on_receive(const QueueEvent& e) override { note("recv", e); }
    void note(const char* what, const QueueEvent& e) {
      seen.push_back(fmt::format("{} {} {} {} {}", what, to_string(e.pe), e.direction, to_string(e.peer),
                                 to_string(e.bytes)));
      times.push_back(e.at);
    }
    std::vector<std::string> seen;
    std::vector<Time> times;
  } watcher;
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.processors.watch_queues(&watcher);
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0)
      tl.send("E", tl.full({128}, 1.0, f16));
    else
      tl.recv("W", {128}, f16);
  });
  EXPECT_THAT(watcher.seen, ElementsAre("send sip0.cube0.pe0 E sip0.cube0.pe1 256 B",
                                        "recv sip0.cube0.pe1 W sip0.cube0.pe0 256 B"));
  EXPECT_EQ(watcher.times[1] - watcher.times[0], 536_ps);
}

// ── whatever else ──

std::vector<PeCoord> some_pes() {
  std::vector<PeCoord> pes;
  for (const int sip : {0, 1})
    for (const int cube : {0, 1})
      for (int pe = 0; pe < 8; ++pe) pes.push_back({sip, cube, pe});
  return pes;
}

/// Forwards around the ring in both directions, with loads, stores and math in between.
void busy_ring(tl::Context& tl, int rounds) {
  std::mt19937 random(static_cast<unsigned>(tl.program_id(0) + 8 * tl.program_id(1) + 64 * tl.program_id(2)));
  auto x = tl.load(tl::Ptr(kSlice), {256}, f16);
  auto y = tl.load(tl::Ptr(kSlice + 0x1000), {32}, f32);
  for (int i = 0; i < rounds; ++i) {
    tl.send("E", x);
    tl.send("W", y);
    if (random() % 3 == 0) tl.store(tl::Ptr(kSlice + 0x10000 + random() % 16 * 0x1000), tl.exp(x));
    x = tl.recv("W", {256}, f16);
    y = tl.recv("E", {32}, f32) + 1.0;
  }
  tl.store(tl::Ptr(kSlice + 0x2000), x);
}

std::vector<std::vector<OpRecord>> logs_of(MemorySpace memory, int threads, bool runs) {
  QueueWorld w({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"}, {.shortcuts = runs});
  w.wiring.rules.memory = memory;
  w.threads = threads;
  w.ring(some_pes());
  w.run(some_pes(), busy_ring, 20);
  return w.log.logs();
}

TEST(Ipcq, TheSameRecordsWithAnyNumberOfThreads) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm, MemorySpace::Sram}) {
    const auto expected = logs_of(memory, 1, true);
    std::size_t records = 0;
    for (const auto& log : expected) records += log.size();
    EXPECT_GT(records, 32u * 20 * 4);
    for (const int threads : {2, 3}) {
      const auto logs = logs_of(memory, threads, true);
      for (std::size_t p = 0; p < logs.size(); ++p) {
        ASSERT_EQ(logs[p].size(), expected[p].size());
        for (std::size_t i = 0; i < logs[p].size(); ++i)
          ASSERT_EQ(std::memcmp(&logs[p][i], &expected[p][i], sizeof(OpRecord)), 0)
              << to_string(memory) << ", " << threads << " threads: record " << i << " of partition " << p;
      }
    }
  }
}

// Serials may differ, for they count what starts at one instant in the order in which it happens to be found.
TEST(Ipcq, TheSameTimesInOnePieceOrPacketByPacket) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm, MemorySpace::Sram}) {
    const auto times = [&](bool runs) {
      std::vector<std::tuple<std::uint32_t, std::uint32_t, Time, Time>> found;
      for (const auto& log : logs_of(memory, 1, runs))
        for (const OpRecord& r : log) found.emplace_back(r.origin, r.command, r.start, r.end);
      std::ranges::sort(found);
      return found;
    };
    EXPECT_EQ(times(true), times(false)) << to_string(memory);
  }
}

TEST(Allocation, QueuesAllocateNothingPerMessage) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm}) {
    QueueWorld w({"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"});
    w.processors.writer().set_sink(nullptr);
    w.wiring.rules.memory = memory;
    w.ring(some_pes());
    w.launch(some_pes(), busy_ring, 2000);
    sim::Simulation& sim = w.device.simulation();
    sim.run({.until = sim.now() + 20_us});
    const auto events = sim.counters().events;
    const auto before = kernbench::testing::allocations();
    sim.run({.until = sim.now() + 3_us});
    EXPECT_GT(sim.counters().events - events, 20'000u);
    EXPECT_LE(kernbench::testing::allocations() - before, 100) << to_string(memory);
    w.simulate();
  }
}

}  // namespace
}  // namespace kernbench::device::ipcq_modes_test
