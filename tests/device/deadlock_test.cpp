#include "kernbench/deadlock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/queue_world.hpp"

namespace kernbench::device::deadlock_test {
namespace {

using namespace kernbench::dtypes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::pe_of;
using testing::QueueWorld;
using ::testing::SizeIs;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kPe2{0, 0, 2}, kOther{1, 0, 0};

struct World : QueueWorld {
  using QueueWorld::QueueWorld;
  template <class Kernel>
  IpcqDeadlock deadlock_of(const std::vector<PeCoord>& pes, Kernel kernel) {
    launch(pes, kernel);
    simulate();
    auto found = processors.find_deadlock();
    EXPECT_TRUE(found.has_value());
    return found.value_or(IpcqDeadlock({}, {}));
  }
  /// What an upper layer does after an error.
  void recover() {
    processors.abort();
    simulate();
    processors.restart();
    launches.clear();
    installed = nullptr;
  }
  void hello(PeCoord from, PeCoord to) {
    run({from, to}, [from](tl::Context& tl) {
      if (pe_of(tl) == from)
        tl.send("E", tl.full({128}, 1.0, f16));
      else
        tl.recv("W", {128}, f16);
    });
  }
};

TEST(Deadlock, NoneWhenAllProgramsHaveEnded) {
  World w;
  w.link(kPe0, "E", kPe1, "W");
  w.hello(kPe0, kPe1);
  EXPECT_FALSE(w.processors.find_deadlock());
}

TEST(Deadlock, AReceiveWithoutASender) {
  World w;
  w.link(kPe0, "E", kPe1, "W");
  const auto error = w.deadlock_of({kPe1}, [](tl::Context& tl) { tl.recv("W", {128}, f16); });
  const int line = __LINE__ - 1;
  ASSERT_THAT(error.blocked(), SizeIs(1));
  const BlockedPe& b = error.blocked()[0];
  EXPECT_EQ(b.pe, kPe1);
  ASSERT_THAT(b.waits, SizeIs(1));
  EXPECT_EQ(b.waits[0].command, "recv W");
  EXPECT_EQ(b.waits[0].line, fmt::format("deadlock_test.cpp:{}", line));
  EXPECT_EQ(b.waits[0].what, "no message from sip0.cube0.pe0; sip0.cube0.pe0 runs no program");
  EXPECT_THAT(error.circle(), IsEmpty());
  EXPECT_THAT(error.what(), HasSubstr("W: sent 0, consumed 0; announced 0, received 0; 4 slots"));
  EXPECT_THAT(error.hint(), HasSubstr("every receive needs a send"));
}

TEST(Deadlock, ACircleOfReceivesOverSips) {
  World w;
  w.ring({kPe0, kPe1, kOther});
  const auto error = w.deadlock_of({kPe0, kPe1, kOther}, [](tl::Context& tl) {
    const auto x = tl.recv("W", {128}, f16);
    tl.send("E", x);
  });
  EXPECT_THAT(error.blocked(), SizeIs(3));
  EXPECT_THAT(error.circle(), ElementsAre(kPe0, kOther, kPe1));  // each waits for its W
  EXPECT_THAT(error.what(),
              HasSubstr("circle: sip0.cube0.pe0 → sip1.cube0.pe0 → sip0.cube0.pe1 → sip0.cube0.pe0"));
}

// PE 0 waits for PE 1 but is not part of the circle.
TEST(Deadlock, ACircleThatOthersWaitFor) {
  World w;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe1, "E", kPe2, "W");
  const auto error = w.deadlock_of(
      {kPe0, kPe1, kPe2}, [](tl::Context& tl) { tl.recv(pe_of(tl) == kPe2 ? "W" : "E", {128}, f16); });
  EXPECT_THAT(error.blocked(), SizeIs(3));
  EXPECT_THAT(error.circle(), ElementsAre(kPe1, kPe2));
}

/// Forwards what it receives, round by round.
void forward(tl::Context& tl) {
  auto x = tl.full({128}, 1.0, f16);
  for (int i = 0; i < 3; ++i) {
    tl.send("E", x);               // line A
    x = tl.recv("W", {128}, f16);  // line B
  }
}
constexpr int kSendLine = __LINE__ - 4, kReceiveLine = __LINE__ - 3;

// Every PE's only slot holds a tile that waits to be sent on: no credit can ever come back.
TEST(Deadlock, AForwardingRingWithOneSlotNamesTheLiveTiles) {
  World w;
  w.wiring.rules.slots = 1;
  w.ring({kPe0, kPe1, kPe2});
  const auto error = w.deadlock_of({kPe0, kPe1, kPe2}, forward);
  ASSERT_THAT(error.blocked(), SizeIs(3));
  const BlockedPe& b = error.blocked()[0];
  ASSERT_FALSE(b.waits.empty());
  EXPECT_EQ(b.waits[0].command, "send E");
  EXPECT_EQ(b.waits[0].what, "no credit from sip0.cube0.pe1");
  ASSERT_THAT(b.live_tiles, SizeIs(1));
  EXPECT_EQ(b.live_tiles[0].received, fmt::format("deadlock_test.cpp:{}", kReceiveLine));
  EXPECT_EQ(b.live_tiles[0].reader, fmt::format("send E at deadlock_test.cpp:{}", kSendLine));
  EXPECT_EQ(b.live_tiles[0].direction, "W");
  EXPECT_THAT(error.circle(), ElementsAre(kPe0, kPe1));  // PE 1 waits for the next message of PE 0
  EXPECT_THAT(error.hint(), HasSubstr("more slots"));
  ASSERT_THAT(b.rings, SizeIs(2));
  EXPECT_EQ(b.rings[0].direction, "E");
  EXPECT_EQ(b.rings[0].my_head, 1u);
  EXPECT_EQ(b.rings[0].peer_tail_cache, 0u);
  EXPECT_EQ(b.rings[1].peer_head_cache, 1u);
  EXPECT_EQ(b.rings[1].my_tail, 1u);
}

/// The PEs of the first cubes of SIP 0.
std::vector<PeCoord> pes_of_cubes(int cubes) {
  std::vector<PeCoord> pes;
  for (int i = 0; i < cubes * 8; ++i) pes.push_back({0, i / 8, i % 8});
  return pes;
}

// 32 PEs in a ring of which all wait for W but one, in the middle, which is at another line.
TEST(Deadlock, OfManyPesTheOneThatWaitsElsewhereIsShown) {
  World w;
  const auto pes = pes_of_cubes(4);
  w.ring(pes);
  const PeCoord odd{0, 2, 5};
  int usual_line = 0, odd_line = 0;
  const auto error = w.deadlock_of(pes, [&](tl::Context& tl) {
    if (pe_of(tl) == odd)
      odd_line = __LINE__, tl.recv("E", {128}, f16);
    else
      usual_line = __LINE__, tl.recv("W", {128}, f16);
  });
  EXPECT_THAT(error.blocked(), SizeIs(32));
  const std::string text = error.what();
  EXPECT_THAT(text, HasSubstr("32 programs cannot go on"));
  EXPECT_THAT(
      text,
      HasSubstr("\n  sip0.cube0.pe0 in kernel 'kernel', and 30 more at the same lines (sip0.cube0.pe1 … "
                "sip0.cube3.pe7)\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("recv W at deadlock_test.cpp:{}: no message from sip0.cube3.pe7",
                                          usual_line)));
  EXPECT_THAT(text, HasSubstr("\n  sip0.cube2.pe5 in kernel 'kernel'\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("recv E at deadlock_test.cpp:{}: no message from sip0.cube2.pe6",
                                          odd_line)));
  EXPECT_EQ(std::ranges::count(text, '\n'), 10);  // two PEs of four lines, the circle, the hint
}

// A peer that runs no program is another case than one that waits itself.
TEST(Deadlock, OfManyPesThoseWhosePeerRunsNothingAreShownApart) {
  World w;
  auto pes = pes_of_cubes(2);
  w.ring(pes);
  pes.pop_back();
  const std::string text = w.deadlock_of(pes, [](tl::Context& tl) { tl.recv("W", {128}, f16); }).what();
  EXPECT_THAT(text, HasSubstr("no message from sip0.cube1.pe7; sip0.cube1.pe7 runs no program\n"));
  EXPECT_THAT(text, HasSubstr("\n  sip0.cube0.pe1 in kernel 'kernel', and 13 more at the same lines"));
}

TEST(Deadlock, OfManyPesAFewAlikeAreNamed) {
  World w;
  const auto pes = pes_of_cubes(2);
  w.ring(pes);
  const std::string text = w.deadlock_of(pes, [](tl::Context& tl) {
                              tl.recv(pe_of(tl).cube == 1 && pe_of(tl).pe < 3 ? "E" : "W", {128}, f16);
                            }).what();
  EXPECT_THAT(
      text, HasSubstr("\n  sip0.cube1.pe0 in kernel 'kernel', and 2 more at the same lines (sip0.cube1.pe1, "
                      "sip0.cube1.pe2)\n"));
}

TEST(Deadlock, OfManyPesThatAllWaitElsewhereEightAreShown) {
  World w;
  const auto pes = pes_of_cubes(2);
  for (std::size_t i = 0; i < pes.size(); ++i)
    w.link(pes[i], fmt::format("to{}", i), pes[(i + 1) % pes.size()], fmt::format("from{}", i));
  const std::string text = w.deadlock_of(pes, [](tl::Context& tl) {
                              tl.recv(fmt::format("to{}", pe_of(tl).cube * 8 + pe_of(tl).pe), {128}, f16);
                            }).what();
  EXPECT_THAT(text, HasSubstr("\n  sip0.cube0.pe7 in kernel"));
  EXPECT_THAT(text, Not(HasSubstr("\n  sip0.cube1.pe0 in kernel")));
  EXPECT_THAT(text, HasSubstr("\n… and 8 more, at other lines\n"));
}

TEST(Deadlock, TheSameRingWithTwoSlotsEnds) {
  World w;
  w.wiring.rules.slots = 2;
  w.ring({kPe0, kPe1, kPe2});
  w.run({kPe0, kPe1, kPe2}, forward);
}

TEST(Deadlock, PollingForACreditThatNeverComesIsFoundToo) {
  World w;
  w.wiring.rules.slots = 1;
  w.wiring.rules.backpressure = Backpressure::poll;
  w.link(kPe0, "E", kPe1, "W");
  const auto error = w.deadlock_of({kPe0}, [](tl::Context& tl) {
    const auto x = tl.full({128}, 1.0, f16);
    for (int i = 0; i < 3; ++i) tl.send("E", x);
  });
  ASSERT_THAT(error.blocked(), SizeIs(1));
  EXPECT_EQ(
      error.blocked()[0].waits[0].what,
      "no credit from sip0.cube0.pe1, for which its CPU looks and issues nothing; sip0.cube0.pe1 runs no "
      "program");
}

/// Both send twice before they receive.
void send_first(tl::Context& tl) {
  const auto x = tl.full({128}, 1.0, f16);
  for (int i = 0; i < 2; ++i) tl.send("E", x);
  for (int i = 0; i < 2; ++i) tl.recv("W", {128}, f16);
}

// A sleeper's receives are issued while its second send waits; a poller's are not, so its peer never gets a credit.
TEST(Deadlock, APollerHoldsBackTheReceivesThatWouldFreeItsPeer) {
  World sleeps;
  sleeps.wiring.rules.slots = 1;
  sleeps.ring({kPe0, kPe1});
  sleeps.run({kPe0, kPe1}, send_first);
  World polls;
  polls.wiring.rules.slots = 1;
  polls.wiring.rules.backpressure = Backpressure::poll;
  polls.ring({kPe0, kPe1});
  const auto error = polls.deadlock_of({kPe0, kPe1}, send_first);
  EXPECT_THAT(error.circle(), ElementsAre(kPe0, kPe1));
  ASSERT_THAT(error.blocked()[0].waits, SizeIs(1));  // its receives have not been issued
  EXPECT_EQ(error.blocked()[0].waits[0].what,
            "no credit from sip0.cube0.pe1, for which its CPU looks and issues nothing");
}

// A polling sender goes on with the first of several looks after the credit: what waits for it is found each time.
TEST(Deadlock, PollersThatTakeTurnsEnd) {
  World w;
  w.wiring.rules.slots = 1;
  w.wiring.rules.backpressure = Backpressure::poll;
  w.wiring.rules.poll = 700_ps;
  w.ring({kPe0, kPe1, kOther});
  w.run({kPe0, kPe1, kOther}, [](tl::Context& tl) {
    const auto x = tl.full({128}, 1.0, f16);
    for (int i = 0; i < 50; ++i) {
      tl.send("E", x);
      tl.recv("W", {128}, f16);
    }
  });
  EXPECT_EQ(w.of(kPe0, OpKind::ipcq_recv).size(), 50u);
}

TEST(Deadlock, AReceiveFromAnyWaitsForAll) {
  World w;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe0, "S", kPe2, "N");
  const auto error = w.deadlock_of({kPe0}, [](tl::Context& tl) { tl.recv_any({128}, f16); });
  EXPECT_EQ(error.blocked()[0].waits[0].command, "recv_any");
  EXPECT_THAT(error.blocked()[0].waits[0].peers, ElementsAre(kPe1, kPe2));
}

// The second send has neither a tile nor a credit; it is the tile that it waits for.
TEST(Deadlock, ASendThatWaitsForItsTileIsNotBlamedOnCredits) {
  World w;
  w.wiring.rules.slots = 1;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe0, "S", kPe2, "N");
  const auto error = w.deadlock_of({kPe0}, [](tl::Context& tl) {
    tl.send("E", tl.full({128}, 1.0, f16));
    tl.send("E", tl.recv("S", {128}, f16));
  });
  ASSERT_THAT(error.blocked()[0].waits, SizeIs(1));
  EXPECT_EQ(error.blocked()[0].waits[0].command, "recv S");
}

TEST(Deadlock, DirectionsThatGoOneWayHaveHalfTheCounters) {
  World w;
  w.link_one_way(kPe0, "E", kPe1, "W");
  w.link_one_way(kPe2, "N", kPe0, "S");
  const auto error = w.deadlock_of({kPe0}, [](tl::Context& tl) {
    tl.send("E", tl.full({128}, 1.0, f16));
    tl.recv_any({128}, f16);
  });
  EXPECT_THAT(error.blocked()[0].waits[0].peers, ElementsAre(kPe2));  // nothing comes from PE 1
  EXPECT_THAT(error.what(), AllOf(HasSubstr("    E: sent 1, consumed 0; 4 slots\n"),
                                  HasSubstr("    S: announced 0, received 0; 4 slots")));
}

TEST(Deadlock, AfterwardsTheDeviceWorksWithAFreshWiring) {
  World w;
  w.wiring.rules.slots = 1;
  w.ring({kPe0, kPe1, kPe2});
  w.deadlock_of({kPe0, kPe1, kPe2}, forward);
  const std::uint32_t old_ring = w.installed->first_ring();
  w.recover();
  EXPECT_FALSE(w.processors.find_deadlock());
  w.hello(kPe0, kPe1);
  EXPECT_GT(w.installed->first_ring(), old_ring);
}

TEST(Deadlock, AfterAnErrorInAKernelTheDeviceWorksToo) {
  World w;
  w.ring({kPe0, kPe1, kPe2});
  w.launch({kPe0, kPe1, kPe2}, [](tl::Context& tl) {
    const auto x = tl.full({128}, 1.0, f16);
    for (int i = 0; i < 100; ++i) {
      tl.send("E", x);
      tl.recv("W", {128}, f16);
      if (i == 20 && pe_of(tl) == kPe1) tl.load(tl::Ptr(0x40), {128}, f16);  // not mapped
    }
  });
  EXPECT_THROW(w.simulate(), address::MmuFault);
  w.recover();
  w.hello(kPe0, kPe1);
}

TEST(Deadlock, ALaunchOnItsWayDoesNotStartAfterAnAbort) {
  World w;
  w.link(kPe0, "E", kPe1, "W");
  w.install();
  const std::size_t before = w.of(kPe0, OpKind::program).size();
  w.launch({kPe0}, [](tl::Context& tl) { tl.send("E", tl.full({128}, 1.0, f16)); });
  w.recover();
  EXPECT_EQ(w.of(kPe0, OpKind::program).size(), before);
}

}  // namespace
}  // namespace kernbench::device::deadlock_test
