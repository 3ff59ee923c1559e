#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/pe.hpp"
#include "device/queue_world.hpp"

namespace kernbench::device::ipcq_test {
namespace {

using namespace kernbench::dtypes;
using address::MemorySpace;
using testing::kSlice;
using testing::pe_of;
using testing::QueueWorld;
using Span = QueueWorld::Span;
using Spans = std::vector<Span>;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kEast{0, 1, 0}, kOther{1, 0, 0};

// Times count from the start of the PE's program; the PEs of these tests start together. The CPU takes 2 ns to
// start and 1 ns to dispatch each command. `full` of 128 f16 (256 B): one vector, 1 ns; its store into TCM at
// 512 GB/s 0.5 ns: issued at 3 ns, ready at 4.5 ns.
constexpr Time kReady = 4'500_ps;

/// The first PE sends 256 B E, the second receives them from W and stores them.
void hello(tl::Context& tl, PeCoord sender, PeCoord receiver) {
  if (pe_of(tl) == sender) tl.send("E", tl.full({128}, 1.0, f16));
  if (pe_of(tl) == receiver) tl.store(tl::Ptr(kSlice), tl.recv("W", {128}, f16));
}

struct Hello : QueueWorld {
  explicit Hello(PeCoord a, PeCoord b, MemorySpace memory = MemorySpace::Tcm) {
    wiring.rules.memory = memory;
    link(a, "E", b, "W");
    run({a, b}, hello, a, b);
  }
};

// From TCM to TCM of the neighbour: port 1, r0c0 1, r0c1 30, port 1, TCM 1: 34 ps; 256 B at 512 GB/s 500 ps.
// Announced 2 ps later (port, pe_ipcq). The tile is used in its slot: a store of 256 B takes 8.005 + 1 ns.
TEST(Ipcq, ToANeighbourInTheCube) {
  const Hello w(kPe0, kPe1);
  const Time commit = kReady + 34_ps + 500_ps;
  const Time received = commit + 2_ps;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kReady, commit}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv), (Spans{{received, received}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::dma_write), (Spans{{received, received + 9'005_ps}}));
  const OpRecord send = w.of(kPe0, OpKind::ipcq_send)[0];
  EXPECT_EQ(send.retired() - w.start_of(kPe0), kReady + 500_ps);  // its last byte has left
  EXPECT_EQ(send.amount, 256u);
  EXPECT_EQ(w.of(kPe1, OpKind::ipcq_recv)[0].amount, 256u);
}

// Port 1, r0c0 1, to r0c5 5 · 30, r1c5 24, two connections of 1 ps + 8 ns, r1c0 1, r0c0 24, port 1, TCM 1:
// 16.205 ns; 256 B at the crossing's 128 GB/s 2 ns.
TEST(Ipcq, ToTheNextCube) {
  const Hello w(kPe0, kEast);
  const Time commit = kReady + 16'205_ps + 2_ns;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kReady, commit}}));
  EXPECT_EQ(w.spans(kEast, OpKind::ipcq_recv), (Spans{{commit + 2_ps, commit + 2_ps}}));
}

// Port 1, r0c0 1, r0c2 60, two connections of 1 ps + 8 ns, io_noc 1: 16.065; pcie_ep, switch, pcie_ep 1 ps + 5 ns
// each: 15.003; io_noc 1, two connections 16.002, r0c1 1, r0c0 30, port 1, TCM 1: 16.036. In all 47.104 ns;
// 256 B at 128 GB/s 2 ns.
TEST(Ipcq, ToAnotherSip) {
  const Hello w(kPe0, kOther);
  const Time commit = kReady + 47'104_ps + 2_ns;
  ASSERT_EQ(w.start_of(kPe0), w.start_of(kOther));
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kReady, commit}}));
  EXPECT_EQ(w.spans(kOther, OpKind::ipcq_recv), (Spans{{commit + 2_ps, commit + 2_ps}}));
  // The record is written where it ends, and its serial is its sender's.
  const auto& there = w.log.logs()[2];
  const auto send = std::ranges::find(there, OpKind::ipcq_send, &OpRecord::kind);
  ASSERT_NE(send, there.end());
  const auto receive = std::ranges::find(there, OpKind::ipcq_recv, &OpRecord::kind);
  EXPECT_EQ(receive->cause(), (OpRef{1, send->serial}));
}

// Into the neighbour's slice: port 1, r0c0 1, r0c1 30, controller 1: 33 ps; 256 B at 256 GB/s 1 ns; a burst of
// 8 ns. Announced 3 ps later (r0c1, port, pe_ipcq). The receive reads it into scratch: 8.005 + 1 ns.
TEST(Ipcq, ARingInHbmIsReadIntoScratch) {
  const Hello w(kPe0, kPe1, MemorySpace::Hbm);
  const Time commit = kReady + 33_ps + 1_ns + 8_ns;
  const Time received = commit + 3_ps + 9'005_ps;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kReady, commit}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv), (Spans{{commit + 3_ps, received}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::dma_write), (Spans{{received, received + 9'005_ps}}));
  const OpRecord send = w.of(kPe0, OpKind::ipcq_send)[0];
  EXPECT_EQ(send.phase[0] + send.phase[1], 1033u);  // the rest is the burst
}

// To the cube's SRAM: port 1, r0c0 1, r3c0 3 · 24, 9 ps and 2 ns: 2.083; 256 B at 128 GB/s 2 ns. Announced after
// 9 + 30 + 3 · 24 + 1 + 1 = 113 ps. The receive: request 1 + 30 + 72 + 9 ps + 2 ns = 2.112, back 113 ps + 2 ns.
TEST(Ipcq, ARingInSramIsReadIntoScratch) {
  const Hello w(kPe0, kPe1, MemorySpace::Sram);
  const Time commit = kReady + 2'083_ps + 2_ns;
  const Time announced = commit + 113_ps;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kReady, commit}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv), (Spans{{announced, announced + 2'112_ps + 2'113_ps}}));
}

TEST(Ipcq, CausesTellWhoWaitedForWhom) {
  const Hello w(kPe0, kPe1);
  const OpRecord send = w.of(kPe0, OpKind::ipcq_send)[0], receive = w.of(kPe1, OpKind::ipcq_recv)[0];
  EXPECT_EQ(send.reason, Reason::operand);
  EXPECT_EQ(send.cause_serial, w.of(kPe0, OpKind::math)[0].serial);
  EXPECT_EQ(receive.reason, Reason::credit);
  EXPECT_EQ(receive.cause_serial, send.serial);
  EXPECT_EQ(receive.cause_instant, send.end);
  EXPECT_EQ(w.of(kPe1, OpKind::dma_write)[0].cause_serial, receive.serial);
}

// The slot is free when the receiver has its tile, but its credit takes 47 ns back. The tile of the second send is
// ready meanwhile: what it waits for at last is the credit.
TEST(Ipcq, ACreditCountsFromWhenItArrives) {
  QueueWorld w;
  w.wiring.rules.slots = 1;
  w.link(kPe0, "E", kOther, "W");
  w.run({kPe0, kOther}, [](tl::Context& tl) {
    if (pe_of(tl) == kOther) return void((tl.recv("W", {128}, f16), tl.recv("W", {128}, f16)));
    auto x = tl.full({128}, 1.0, f16);
    tl.send("E", x);
    for (int i = 0; i < 30; ++i) x = x + 1.0;
    tl.send("E", x);
  });
  const auto ready = w.of(kPe0, OpKind::math).back().end;
  const auto received = w.of(kOther, OpKind::ipcq_recv)[0];
  const auto second = w.of(kPe0, OpKind::ipcq_send)[1];
  ASSERT_GT(ready, received.end);
  ASSERT_GT(second.start, ready);
  EXPECT_EQ(second.reason, Reason::credit);
  EXPECT_EQ(second.cause_serial, received.serial);
}

TEST(Ipcq, RecordsSayWhichMessageTheyAre) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    for (int i = 0; i < 6; ++i)
      pe_of(tl) == kPe0 ? static_cast<void>(tl.send("E", tl.full({4}, 1.0, f16)))
                        : static_cast<void>(tl.recv("W", {4}, f16));
  });
  const auto sends = w.of(kPe0, OpKind::ipcq_send), receives = w.of(kPe1, OpKind::ipcq_recv);
  ASSERT_EQ(sends.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) {
    const QueueMessage sent = message_of(sends[i], w.processors.origins()[sends[i].origin]);
    EXPECT_EQ(sent, message_of(receives[i], w.processors.origins()[receives[i].origin]));
    EXPECT_EQ(sent.number, i);
    EXPECT_EQ(sent.ring, w.installed->ends(kPe0)[0].send_ring);
  }
}

// ── credits ──

/// Two messages through a ring of one slot; the receiver stores each, or does nothing with it.
void twice(tl::Context& tl, PeCoord sender, bool stores) {
  const auto x = pe_of(tl) == sender ? tl.full({128}, 1.0, f16) : tl::Tile();
  for (std::uint64_t i = 0; i < 2; ++i) {
    if (pe_of(tl) == sender) {
      tl.send("E", x);
    } else {
      const auto got = tl.recv("W", {128}, f16);
      if (stores) tl.store(tl::Ptr(kSlice + 0x1000 * i), got);
    }
  }
}

struct Twice : QueueWorld {
  Twice(PeCoord a, PeCoord b, MemorySpace memory, CreditPolicy credit, bool stores = false) {
    wiring.rules.memory = memory;
    wiring.rules.credit = credit;
    wiring.rules.slots = 1;
    link(a, "E", b, "W");
    run({a, b}, twice, a, stores);
  }
  Time second_send() const { return spans(kPe0, OpKind::ipcq_send)[1].start; }
};

// The first store retires 9.005 ns after the receive (ToANeighbourInTheCube). The credit: 34 ps, 16 B at 512 GB/s
// 32 ps (31.25 rounded up).
TEST(Ipcq, TheLastReaderReturnsTheCredit) {
  const Twice w(kPe0, kPe1, MemorySpace::Tcm, CreditPolicy::on_last_use, true);
  const Time received = kReady + 536_ps;
  EXPECT_EQ(w.second_send(), received + 9'005_ps + 66_ps);
  const OpRecord second = w.of(kPe0, OpKind::ipcq_send)[1], store = w.of(kPe1, OpKind::dma_write)[0];
  EXPECT_EQ(second.reason, Reason::credit);
  EXPECT_EQ(second.cause_serial, store.serial);
  EXPECT_EQ(second.cause_instant, store.end);
}

// At the same instant the store begins; at the PE's port its packet of 256 B goes first: 500 ps.
TEST(Ipcq, OnRecvTheReceiveReturnsTheCredit) {
  const Twice w(kPe0, kPe1, MemorySpace::Tcm, CreditPolicy::on_recv, true);
  EXPECT_EQ(w.second_send(), kReady + 536_ps + 66_ps + 500_ps);
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_send)[1].cause_serial, w.of(kPe1, OpKind::ipcq_recv)[0].serial);
}

// 16.205 ns as the message, and 96 ps more by connection 2 (Hbm.APeReadsTheNextCube); 16 B at 128 GB/s 125 ps.
TEST(Ipcq, ACreditFromTheNextCube) {
  const Twice w(kPe0, kEast, MemorySpace::Tcm, CreditPolicy::on_recv);
  EXPECT_EQ(w.second_send(), kReady + 18'207_ps + 16'426_ps);
}

TEST(Ipcq, ACreditFromAnotherSip) {
  const Twice w(kPe0, kOther, MemorySpace::Tcm, CreditPolicy::on_recv);
  EXPECT_EQ(w.second_send(), kReady + 49'106_ps + 47'229_ps);
}

// Read out of its slot, a message needs it no longer, whoever reads the tile.
TEST(Ipcq, ARingInHbmIsFreeWhenTheReceiveHasEnded) {
  const Twice w(kPe0, kPe1, MemorySpace::Hbm, CreditPolicy::on_last_use);
  const Time received = kReady + 33_ps + 9_ns + 3_ps + 9'005_ps;
  EXPECT_EQ(w.second_send(), received + 66_ps);
}

/// The receiver gets two tiles and stores the second one first, long before the first.
void out_of_order(tl::Context& tl) {
  if (pe_of(tl) == kPe0) {
    const auto x = tl.full({128}, 1.0, f16);
    for (int i = 0; i < 3; ++i) tl.send("E", x);
  } else {
    const auto a = tl.recv("W", {128}, f16), b = tl.recv("W", {128}, f16);
    tl.store(tl::Ptr(kSlice), b);
    tl.fence();
    tl.store(tl::Ptr(kSlice + 0x1000), a);
    tl.recv("W", {128}, f16);
  }
}

// A slot is written again in its turn, so its credit must not come before those of the slots before it.
TEST(Ipcq, CreditsComeInTheOrderOfSlots) {
  QueueWorld w;
  w.wiring.rules.slots = 2;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, out_of_order);
  const auto stores = w.spans(kPe1, OpKind::dma_write);
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send)[2].start, stores[1].end + 66_ps);
}

// Slots of one ring may lie in different banks: a later one may be written earlier.
TEST(Ipcq, AnnouncementsTakeEffectInTheOrderOfSlots) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.install();
  PeIpcq& ipcq = w.processors.pe(kPe1).ipcq();
  const QueuePort& port = *(*ipcq.find(*w.installed))[0];
  const auto announce = [&](std::int64_t slot) {
    const auto at = port.plan.receives_from + w.wiring.rules.slot_size * slot;
    ipcq.announce(at, port.plan.receive_ring, SendFacts{.bytes = 8_B}, Time());
  };
  announce(1);
  EXPECT_EQ(port.receives.peer_head_cache(), 0u);
  announce(2);
  announce(0);
  EXPECT_EQ(port.receives.peer_head_cache(), 3u);
}

TEST(Ipcq, ATileThatNobodyReadsReturnsItsCreditAtOnce) {
  const Twice w(kPe0, kPe1, MemorySpace::Tcm, CreditPolicy::on_last_use);
  EXPECT_EQ(w.second_send(), kReady + 536_ps + 66_ps);
}

// PE 1 is sending 4 KiB, which its port is busy with for 8 ns, when a tile comes and goes. The credit has a channel of its
// own: it waits for a packet, not for the message.
TEST(Ipcq, ACreditPassesAMessageAtThePort) {
  QueueWorld w;
  w.wiring.rules.slots = 1;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    const auto large = tl.full({2048}, 1.0, f16);
    if (pe_of(tl) == kPe0) {
      tl.fence();
      const auto small = tl.full({128}, 1.0, f16);
      tl.send("E", small);
      tl.send("E", small);
      tl.recv("E", {2048}, f16);
    } else {
      tl.send("W", large);
      tl.recv("W", {128}, f16);
      tl.recv("W", {128}, f16);
    }
  });
  const OpRecord message = w.of(kPe1, OpKind::ipcq_send)[0];
  EXPECT_GT(w.of(kPe1, OpKind::ipcq_recv)[0].end, message.start);
  EXPECT_LT(w.of(kPe1, OpKind::ipcq_recv)[0].end, message.retired());
  EXPECT_LT(w.of(kPe0, OpKind::ipcq_send)[1].start, message.retired());
}

// ── order ──

// A receive that waits for ever so long holds up neither sends nor receives of other directions.
TEST(Ipcq, DirectionsDoNotWaitForEachOther) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe0, "far", kOther, "far");
  w.run({kPe0, kPe1, kOther}, [](tl::Context& tl) {
    const auto x = tl.full({128}, 1.0, f16);
    if (pe_of(tl) == kPe0) {
      tl.recv("far", {128}, f16);  // 47 ns away
      tl.send("E", x);
      tl.recv("E", {128}, f16);
    } else if (pe_of(tl) == kPe1) {
      tl.send("W", x);
      tl.recv("W", {128}, f16);
    } else {
      tl.send("far", x);
    }
  });
  const auto receives = w.spans(kPe0, OpKind::ipcq_recv);  // in the order of their ends
  EXPECT_EQ(receives[0].end, 6_ns);                        // dispatched then; the message was there at 5.036
  EXPECT_EQ(receives[1].end, kReady + 49'106_ps);
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send)[0].start, 5_ns);
}

TEST(Ipcq, TwoPesWhoseEastAndWestLeadToEachOther) {
  QueueWorld w;
  w.ring({kPe0, kPe1});
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    const bool first = pe_of(tl) == kPe0;
    tl.send("E", tl.full({first ? 4 : 8}, 1.0, f16));
    tl.send("W", tl.full({first ? 16 : 32}, 1.0, f16));
    tl.recv("W", {first ? 8 : 4}, f16);
    tl.recv("E", {first ? 32 : 16}, f16);
  });
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_recv).size(), 2u);  // sizes are checked: each came by its own ring
}

// Counters and unread messages stay over launches.
TEST(Ipcq, AMessageWaitsForTheNextLaunch) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0}, [](tl::Context& tl) { tl.send("E", tl.full({128}, 1.0, f16)); });
  w.run({kPe1}, [](tl::Context& tl) { tl.recv("W", {128}, f16); });
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv), (Spans{{3_ns, 3_ns}}));
  EXPECT_EQ(w.of(kPe1, OpKind::ipcq_recv)[0].reason, Reason::issue);
}

TEST(Ipcq, APortWithOverheadTakesItForEveryOperation) {
  QueueWorld w({"pe.pe_ipcq.overhead_ns=3", "pe.pe_dma.overhead_ns=10"});
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0, kPe1}, hello, kPe0, kPe1);
  const Time commit = kReady + 13_ns + 534_ps;
  EXPECT_EQ(w.spans(kPe0, OpKind::ipcq_send), (Spans{{kReady, commit}}));
  EXPECT_EQ(w.spans(kPe1, OpKind::ipcq_recv), (Spans{{commit + 2_ps, commit + 2_ps + 3_ns}}));
}

}  // namespace
}  // namespace kernbench::device::ipcq_test
