#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/pe.hpp"
#include "device/queue_world.hpp"

namespace kernbench::device::wiring_test {
namespace {

using namespace kernbench::dtypes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::pe_of;
using testing::QueueWorld;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kPe2{0, 0, 2}, kOther{1, 0, 0};

/// What is said about a wiring that cannot be installed.
std::string refusal(QueueWorld& w) {
  try {
    w.install();
  } catch (const InputError& error) {
    EXPECT_EQ(error.id(), "device.wiring");
    return error.what();
  }
  ADD_FAILURE() << "was installed";
  return "";
}

TEST(Wiring, TravelsToItsPesAndBack) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.install();
  // As a launch to PE 1 (see ControlPath.OnePe): 41.117 ns to PE 0, r0c1 is 30 ps nearer to the M CPU.
  EXPECT_EQ(w.installation, 2 * 41'117_ps);
  EXPECT_THAT(w.installed->pes_of(0), ElementsAre(kPe0, kPe1));
  EXPECT_TRUE(w.installed->pes_of(1).empty());
}

TEST(Wiring, RingsMustNotOverlap) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe0, "S", kPe2, "N");
  auto& ends = w.ends_of(kPe0);
  const auto inside = ends[0].receives_from + w.wiring.rules.slot_size * 3;  // the last slot of E's
  w.ends_of(kPe2)[0].sends_to = ends[1].receives_from = inside;
  EXPECT_THAT(refusal(w),
              AllOf(HasSubstr("sip0.cube0.pe0 S"), HasSubstr("overlaps the one of sip0.cube0.pe0 E")));
}

TEST(Wiring, NorThoseOfAnotherWiring) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.install();
  QueueWiring again = w.wiring;
  again.name = "again";
  EXPECT_THROW(w.processors.queues().add(again), InputError);
  w.processors.queues().drop(*w.installed);
  EXPECT_NO_THROW(w.processors.queues().add(again));
}

TEST(Wiring, ARefusedWiringLeavesNothingBehind) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  QueueWiring bad = w.wiring;
  bad.pes.push_back(
      {kPe2, {{"N", kPe0, bad.pes[0].ends[0].receives_from, bad.pes[0].ends[0].receives_from}}});
  EXPECT_THROW(w.processors.queues().add(bad), InputError);
  EXPECT_NO_THROW(w.processors.queues().add(w.wiring));
}

TEST(Wiring, EveryDirectionNeedsAReciprocal) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.ends_of(kPe1)[0].sends_to = w.new_ring(kPe0);
  EXPECT_THAT(refusal(w), HasSubstr("no direction of sip0.cube0.pe1 leads back"));
}

TEST(Wiring, MayGoOneWay) {
  QueueWorld w;
  w.link_one_way(kPe0, "E", kPe1, "W");
  w.link_one_way(kPe1, "E", kPe0, "W");
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    for (int i = 0; i < 9; ++i) {  // twice round its 4 slots
      tl.send("E", tl.full({128}, 1.0, f16));
      tl.recv("W", {128}, f16);
    }
  });
  EXPECT_EQ(w.installed->rings(), 2u);
  EXPECT_EQ(w.of(kPe1, OpKind::ipcq_recv).size(), 9u);
}

TEST(Wiring, WhoOnlySendsNeedsOneThatOnlyReceives) {
  const auto refused = [](bool at_peer_sends, bool at_peer_receives) {
    QueueWorld w;
    w.link_one_way(kPe0, "E", kPe1, "W");
    w.ends_of(kPe1)[0].sends = at_peer_sends;
    w.ends_of(kPe1)[0].receives = at_peer_receives;
    return refusal(w);
  };
  EXPECT_THAT(refused(true, true), HasSubstr("no direction of sip0.cube0.pe1 leads back"));
  EXPECT_THAT(refused(true, false), HasSubstr("no direction of sip0.cube0.pe1 leads back"));
  EXPECT_THAT(refused(false, false), HasSubstr("sip0.cube0.pe1 W: neither sends nor receives"));
}

TEST(Wiring, APeIsWiredOnce) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.wiring.pes.push_back(w.wiring.pes[0]);
  EXPECT_THAT(refusal(w), HasSubstr("sip0.cube0.pe0: is wired twice"));
}

TEST(Wiring, DirectionsHaveNamesOfTheirOwn) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe0, "E", kPe2, "W");
  EXPECT_THAT(refusal(w), HasSubstr("sip0.cube0.pe0 E: has no name of its own"));
}

TEST(Wiring, PesMustExistAndNotTalkToThemselves) {
  QueueWorld missing;
  missing.link(kPe0, "E", {0, 0, 8}, "W");
  EXPECT_THAT(refusal(missing), HasSubstr("sip0.cube0.pe8: the machine has no such PE"));
  QueueWorld self;
  self.link(kPe0, "E", kPe0, "W");
  EXPECT_THAT(refusal(self), HasSubstr("leads to the PE itself"));
}

TEST(Wiring, RingsLieInTheReceiversOwnMemory) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.ends_of(kPe0)[0].receives_from = w.ends_of(kPe1)[0].sends_to = address::pe_tcm_addr(kPe2, 8_MiB);
  EXPECT_THAT(refusal(w), HasSubstr("rings in tcm are the receiver's own"));
}

TEST(Wiring, ReinstallingSetsTheCountersToZero) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.run({kPe0}, [](tl::Context& tl) { tl.send("E", tl.full({128}, 1.0, f16)); });
  const WiringPtr before = w.installed;
  w.install();
  EXPECT_EQ(w.processors.pe(kPe0).ipcq().find(*before), nullptr);
  w.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0)
      tl.send("E", tl.full({4}, 1.0, f16));
    else
      tl.recv("W", {4}, f16);  // not the 128 of before
  });
}

// ── what is under way when a wiring goes ──

/// Tells when the first message has been sent, and received.
struct Watch : QueueWatcher {
  void on_send(const QueueEvent&) override { sent = true; }
  void on_receive(const QueueEvent&) override { received = true; }
  bool sent = false, received = false;
};

struct Replaced : QueueWorld {
  Replaced() {
    processors.watch_queues(&watch);
    link(kPe0, "E", kOther, "W");
    install();
    launch({kPe0, kOther}, [](tl::Context& tl) {
      if (pe_of(tl) == kPe0)
        tl.send("E", tl.full({128}, 1.0, f16));
      else
        tl.recv("W", {128}, f16);
    });
  }
  ~Replaced() { processors.watch_queues(nullptr); }
  void run_until(const bool& seen) {
    for (int ns = 0; ns < 1000 && !seen; ++ns)
      device.simulation().run({.until = device.simulation().now() + 1_ns});
    ASSERT_TRUE(seen);
  }
  /// The same rings, at one PE, at once; returns its port.
  QueuePort& replace_at(PeCoord pe) {
    processors.queues().drop(*installed);
    const WiringPtr fresh = processors.queues().add(wiring);
    PeIpcq& ipcq = processors.pe(pe).ipcq();
    ipcq.uninstall(*installed);
    ipcq.install(fresh);
    return *(*ipcq.find(*fresh))[0];
  }
  Watch watch;
};

// 47 ns on the way: the fresh ring is at the same address, but it is not the one it was sent to.
TEST(Wiring, AMessageForADroppedRingIsNobodys) {
  Replaced w;
  w.run_until(w.watch.sent);
  ASSERT_FALSE(w.watch.received);
  w.processors.abort();  // the receiver does not wait for it any more
  const QueuePort& port = w.replace_at(kOther);
  w.simulate();
  EXPECT_EQ(port.receives.peer_head_cache(), 0u);
}

TEST(Wiring, ACreditForADroppedRingIsNobodys) {
  Replaced w;
  w.run_until(w.watch.received);
  const QueuePort& port = w.replace_at(kPe0);
  w.simulate();
  EXPECT_EQ(port.sends.peer_tail_cache(), 0u);
}

TEST(Wiring, AnUninstalledWiringIsMissed) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.install();
  UninstallRequest request(w.processors, w.installed, 0);
  request.submit();
  w.simulate();
  w.launch({kPe0}, [](tl::Context& tl) { tl.send("E", tl.full({128}, 1.0, f16)); });
  EXPECT_THROW(w.simulate(), SimulationError);
}

// ── errors of programs ──

template <class Kernel>
std::string failure(QueueWorld& w, const std::vector<PeCoord>& pes, Kernel kernel, const std::string& id) {
  w.check_directions = false;
  try {
    w.launch(pes, kernel);
    w.simulate();
  } catch (const SimulationError& error) {
    EXPECT_EQ(error.id(), id);
    return error.what();
  }
  ADD_FAILURE() << "ran";
  return "";
}

TEST(Wiring, AnUnknownDirectionListsTheKnownOnes) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  w.link(kPe0, "S", kPe2, "N");
  const auto kernel = [](tl::Context& tl) { tl.send("up", tl.full({4}, 1.0, f16)); };
  EXPECT_THAT(failure(w, {kPe0}, kernel, "device.direction"),
              AllOf(HasSubstr("wiring_test.cpp:"), HasSubstr("'up'"), HasSubstr("this PE has E, S")));
}

TEST(Wiring, ADirectionThatGoesTheOtherWayIsNamedWithTheLine) {
  QueueWorld sends;
  sends.link_one_way(kPe0, "E", kPe1, "W");
  EXPECT_THAT(
      failure(
          sends, {kPe1}, [](tl::Context& tl) { tl.send("W", tl.full({4}, 1.0, f16)); }, "device.direction"),
      AllOf(HasSubstr("sip0.cube0.pe1 at wiring_test.cpp:"), HasSubstr("sends W, which only receives")));
  QueueWorld receives;
  receives.link_one_way(kPe0, "E", kPe1, "W");
  EXPECT_THAT(failure(
                  receives, {kPe0}, [](tl::Context& tl) { tl.recv("E", {4}, f16); }, "device.direction"),
              HasSubstr("receives from E, which only sends"));
}

TEST(Wiring, ASendOnAnUnwiredPe) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  const auto kernel = [](tl::Context& tl) { tl.send("E", tl.full({4}, 1.0, f16)); };
  EXPECT_THAT(failure(w, {kPe2}, kernel, "device.no-queue"),
              AllOf(HasSubstr("sip0.cube0.pe2 at wiring_test.cpp:"), HasSubstr("does not reach this PE")));
}

TEST(Wiring, ATileLargerThanASlot) {
  QueueWorld w;
  w.wiring.rules.slot_size = 128_B;
  w.link(kPe0, "E", kPe1, "W");
  const auto kernel = [](tl::Context& tl) { tl.send("E", tl.full({128}, 1.0, f16)); };
  EXPECT_THAT(failure(w, {kPe0}, kernel, "device.slot"),
              AllOf(HasSubstr("wiring_test.cpp:"), HasSubstr("a tile of 256 B in slots of 128 B")));
}

TEST(Wiring, AMessageOfAnotherSizeThanExpected) {
  QueueWorld w;
  w.link(kPe0, "E", kPe1, "W");
  const auto kernel = [](tl::Context& tl) {
    if (pe_of(tl) == kPe0)
      tl.send("E", tl.full({128}, 1.0, f16));
    else
      tl.recv("W", {64}, f16);
  };
  EXPECT_THAT(failure(w, {kPe0, kPe1}, kernel, "device.message"),
              AllOf(HasSubstr("receives a tile of 128 B from W, but 256 B was sent by kernel 'kernel' on "
                              "sip0.cube0.pe0 at wiring_test.cpp:")));
}

}  // namespace
}  // namespace kernbench::device::wiring_test
