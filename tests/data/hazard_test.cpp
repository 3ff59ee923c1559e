#include "data/hazards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/replay_world.hpp"

namespace kernbench::data::hazard_test {
namespace {

using namespace kernbench::dtypes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using tl::Ptr;

constexpr Ptr kX{0x1000}, kY{0x2000}, kZ{0x3000};
constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1}, kPe2{0, 0, 2};
constexpr std::int64_t kN = 16;

std::vector<Hazard> hazards_of(World& world, const NamedRanges* names = nullptr) {
  HazardDetector detector(world, {.gemm_tile = World::kTile, .names = names});
  for (const auto& r : world.records) detector.append(r);
  return detector.finish();
}

/// Two kernels of one launch on neighbouring PEs; the first sends E, the second receives W.
template <class First, class Second>
World& together(World& world, First first, Second second) {
  world.wire(kPe0, "E", kPe1, "W");
  world.wire(kPe1, "W", kPe0, "E");
  const auto request = world.new_request();
  const auto a = world.launch_on(kPe0, first, request), b = world.launch_on(kPe1, second, request);
  world.play_together({a, b});
  world.end_launch(request);
  return world;
}
template <class First, class Second>
std::vector<Hazard> hazards_between(First first, Second second) {
  World world;
  return hazards_of(together(world, first, second));
}

void load_x(tl::Context& tl) { tl.load(kX, {kN}, f32); }
void store_x(tl::Context& tl) { tl.store(kX, tl.zeros({kN}, f32)); }

TEST(Hazards, TwoUnorderedWritesAreNamedWithBothSides) {
  World world;
  NamedRanges names;
  names.add(World::phys(kX.address()), Bytes(64), "x");
  together(world, store_x, [](tl::Context& tl) { tl.store(kX + 32, tl.zeros({kN}, f32)); });
  const auto found = hazards_of(world, &names);
  ASSERT_THAT(found, SizeIs(1));
  const auto& h = found[0];
  EXPECT_EQ(h.kind, HazardKind::write_write);
  EXPECT_EQ(h.first.pe, kPe0);
  EXPECT_EQ(h.second->pe, kPe1);
  EXPECT_EQ(h.begin, World::phys(kX.address() + 32));  // [0, 64) and [32, 96) meet in [32, 64)
  EXPECT_EQ(h.size, Bytes(32));
  EXPECT_THAT(to_string(h),
              AllOf(HasSubstr("write-write"), HasSubstr("tensor 'x' +0x20"),
                    HasSubstr("dma_write by kernel 'kernel' on sip0.cube0.pe0 at hazard_test.cpp:"),
                    HasSubstr("sip0.cube0.pe1 at hazard_test.cpp:")));
}

TEST(Hazards, AReadAndAWriteInNoOrderAreOneWhicheverCameFirst) {
  const auto late_load = [](tl::Context& tl) {
    tl.store(kY,
             tl.zeros({kN}, f32));  // two commands, so that the store of the other is played before the load
    tl.load(kX, {kN}, f32);
  };
  const auto found = hazards_between(store_x, late_load);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::read_write);
  EXPECT_EQ(found[0].first.pe, kPe0);
  EXPECT_THAT(found[0].first.text, HasSubstr("dma_write"));
  EXPECT_THAT(found[0].second->text, HasSubstr("dma_read"));
  EXPECT_THAT(hazards_between(load_x, store_x), SizeIs(1));
}

TEST(Hazards, ReadsAndDisjointWritesAreSilent) {
  EXPECT_THAT(hazards_between(load_x, load_x), IsEmpty());
  EXPECT_THAT(hazards_between(store_x, [](tl::Context& tl) { tl.store(kX + 64, tl.zeros({kN}, f32)); }),
              IsEmpty());
  // Columns 0 and 1 of a matrix of two columns: their ranges overlap, their bytes do not.
  const auto column = [](int which) {
    return [which](tl::Context& tl) { tl.store(kX + 4 * which, tl.zeros({kN}, f32), {.strides = {2}}); };
  };
  EXPECT_THAT(hazards_between(column(0), column(1)), IsEmpty());
}

TEST(Hazards, StoreFenceSendReceiveFenceLoadIsAnOrder) {
  const auto send = [](tl::Context& tl) {
    tl.store(kX, tl.zeros({kN}, f32));
    tl.fence();
    tl.send("E", tl.zeros({1}, f32));
  };
  const auto receive = [](tl::Context& tl) {
    tl.recv("W", {1}, f32);
    tl.fence();
    tl.load(kX, {kN}, f32);
  };
  EXPECT_THAT(hazards_between(send, receive), IsEmpty());
}

TEST(Hazards, AMissingFenceOnEitherSideIsFound) {
  const auto send = [](bool fence) {
    return [fence](tl::Context& tl) {
      tl.store(kX, tl.zeros({kN}, f32));
      if (fence) tl.fence();
      tl.send("E", tl.zeros({1}, f32));
    };
  };
  const auto receive = [](bool fence) {
    return [fence](tl::Context& tl) {
      tl.recv("W", {1}, f32);
      if (fence) tl.fence();
      tl.load(kX, {kN}, f32);
    };
  };
  EXPECT_THAT(hazards_between(send(false), receive(true)), SizeIs(1));
  EXPECT_THAT(hazards_between(send(true), receive(false)), SizeIs(1));
  EXPECT_THAT(hazards_between(send(true), receive(true)), IsEmpty());
}

TEST(Hazards, WaitOrdersWhatItWaitsForAndNothingElse) {
  const auto send = [](bool wait_for_x) {
    return [wait_for_x](tl::Context& tl) {
      const auto zeros = tl.zeros({kN}, f32);
      const auto x = tl.store(kX, zeros), y = tl.store(kY, zeros);
      tl.wait(wait_for_x ? x : y);
      tl.send("E", tl.zeros({1}, f32));
    };
  };
  const auto receive = [](tl::Context& tl) {
    const auto pending = tl.recv_async("W", {1}, f32);
    tl.wait(pending);
    tl.load(kX, {kN}, f32);
  };
  EXPECT_THAT(hazards_between(send(true), receive), IsEmpty());
  EXPECT_THAT(hazards_between(send(false), receive), SizeIs(1));
}

// p loads x and sends it on; q stores over x only after the tile has come: ordered through tiles alone. If q
// stores something else instead of what depends on the tile, it is not.
TEST(Hazards, TilesThatAreMadeSentAndReadAreAnOrder) {
  const auto send = [](tl::Context& tl) { tl.send("E", tl.load(kX, {kN}, f32) + 1.0); };
  EXPECT_THAT(hazards_between(send, [](tl::Context& tl) { tl.store(kX, tl.recv("W", {kN}, f32) * 2.0); }),
              IsEmpty());
  EXPECT_THAT(hazards_between(send,
                              [](tl::Context& tl) {
                                tl.recv("W", {kN}, f32);
                                tl.store(kX, tl.zeros({kN}, f32));
                              }),
              SizeIs(1));
}

TEST(Hazards, AccessesOfOnePeToTheSameBytesArePartOfTheChain) {
  // The load waits for the store, the tile is sent.
  const auto send = [](tl::Context& tl) {
    tl.store(kX, tl.zeros({kN}, f32));
    tl.send("E", tl.load(kX, {kN}, f32));
  };
  const auto receive = [](tl::Context& tl) {
    tl.recv("W", {kN}, f32);
    tl.fence();
    tl.load(kX, {kN}, f32);
  };
  EXPECT_THAT(hazards_between(send, receive), IsEmpty());
}

// Two loads of one PE are in no order. Only the second one's tile is sent, so the store comes after it alone.
TEST(Hazards, AWriteMustComeAfterEveryReadNotOnlyTheLast) {
  int line = 0;
  const auto found = hazards_between(
      [&](tl::Context& tl) {
        line = __LINE__ + 1;
        tl.load(kX, {kN}, f32);
        tl.send("E", tl.load(kX, {kN}, f32));
      },
      [](tl::Context& tl) { tl.store(kX, tl.recv("W", {kN}, f32)); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::read_write);
  EXPECT_THAT(found[0].first.text, HasSubstr(fmt::format("hazard_test.cpp:{}", line)));
}

// What a launch received is known to whatever follows it in its stream, here the host.
TEST(Hazards, TheEndOfALaunchKnowsWhatItReceived) {
  for (const bool receives : {true, false}) {
    World world;
    world.wire(kPe0, "E", kPe1, "W");
    const auto writer = world.new_request(0), reader = world.new_request(1);
    const auto a = world.launch_on(
        kPe0,
        [](tl::Context& tl) {
          tl.store(kX, tl.zeros({kN}, f32));
          tl.fence();
          tl.send("E", tl.zeros({1}, f32));
        },
        writer);
    const auto b = world.launch_on(
        kPe1,
        [&](tl::Context& tl) {
          tl.fence();
          if (receives) tl.recv("W", {1}, f32);
        },
        reader);
    world.play_together({a, b});
    world.end_launch(reader);
    world.host_read(kX.address(), f32, {kN}, 1);
    const auto found = hazards_of(world);
    EXPECT_EQ(std::ranges::count(found, HazardKind::read_write, &Hazard::kind), receives ? 0 : 1);
  }
}

TEST(Hazards, OrderPassesThroughAThirdPe) {
  for (const bool fence : {true, false}) {
    World world;
    world.wire(kPe0, "E", kPe1, "W");
    world.wire(kPe1, "E", kPe2, "W");
    const auto request = world.new_request();
    const auto a = world.launch_on(
        kPe0,
        [](tl::Context& tl) {
          tl.store(kX, tl.zeros({kN}, f32));
          tl.fence();
          tl.send("E", tl.zeros({1}, f32));
        },
        request);
    const auto b = world.launch_on(
        kPe1,
        [&](tl::Context& tl) {
          tl.recv("W", {1}, f32);
          if (fence) tl.fence();
          tl.send("E", tl.zeros({1}, f32));  // not the tile that came: only the fence makes it later
        },
        request);
    const auto c = world.launch_on(
        kPe2,
        [](tl::Context& tl) {
          tl.recv("W", {1}, f32);
          tl.fence();
          tl.load(kX, {kN}, f32);
        },
        request);
    world.play_together({a, b, c});
    EXPECT_THAT(hazards_of(world), SizeIs(fence ? 0 : 1)) << fence;
  }
}

TEST(Hazards, LaunchesAndHostTransfersOfOneStreamAreInOrder) {
  World world;
  world.host_write(kX.address(), NdArray(f32, {kN}));
  world.run(kPe0, load_x);
  world.run(kPe1, store_x);
  world.host_read(kX.address(), f32, {kN});
  world.run(kPe2, store_x);
  EXPECT_THAT(hazards_of(world), IsEmpty());
}

TEST(Hazards, StreamsAreInNoOrderUnlessTheHostWaited) {
  for (const bool waited : {false, true}) {
    World world;
    const auto first = world.new_request(0);
    world.play(world.launch_on(kPe0, store_x, first));
    world.end_launch(first);
    const auto second = world.new_request(1, waited ? std::vector{first} : std::vector<std::uint32_t>{});
    world.play(world.launch_on(kPe1, load_x, second));
    world.end_launch(second);
    EXPECT_THAT(hazards_of(world), SizeIs(waited ? 0 : 1)) << waited;
  }
}

TEST(Hazards, TheHostCanBeOneSide) {
  World world;
  world.run(kPe0, store_x, 0);
  world.host_write(kX.address(), NdArray(f32, {kN}), 1);  // another stream
  const auto found = hazards_of(world);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::write_write);
  EXPECT_EQ(found[0].second->text, "host write, request 1");
}

TEST(Hazards, CompositesAndReceivesToAnAddressAreAccesses) {
  const auto composite = [](tl::Context& tl) {
    tl.composite("gemm", tl.ref(kX, {8, 16}, f32), tl.ref(kY, {16, 8}, f32), tl.ref(kZ, {8, 8}, f32));
  };
  EXPECT_THAT(hazards_between(composite, store_x), SizeIs(1));  // its operand
  EXPECT_THAT(hazards_between(composite, [](tl::Context& tl) { tl.load(kZ, {1}, f32); }),
              SizeIs(1));  // its result
  EXPECT_THAT(hazards_between(composite, load_x), IsEmpty());
  const auto send = [](tl::Context& tl) {
    tl.send("E", tl.zeros({kN}, f32));
    tl.load(kX, {kN}, f32);
  };
  const auto receive = [](tl::Context& tl) { tl.recv("W", {kN}, f32, {.dst_addr = kX}); };
  EXPECT_THAT(hazards_between(send, receive), SizeIs(1));
}

TEST(Hazards, TheSameTwoLinesAreReportedOnceWithACount) {
  const auto many = [](tl::Context& tl) {
    for (int i = 0; i < 10; ++i) tl.store(kX + 64 * i, tl.zeros({kN}, f32));
  };
  const auto found = hazards_between(many, many);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].occurrences, 10u);
  EXPECT_THAT(to_string(found[0]), HasSubstr("(10 times)"));
}

// ── slots ──

/// `late` reads of the first tile come after the sender has gone through all four slots and into the first
/// again.
std::vector<Hazard> slot_hazards(bool late, bool in_slot = true) {
  World world;
  world.default_ring = {.slots = 4, .in_slot = in_slot};
  world.wire(kPe0, "E", kPe1, "W");
  const auto request = world.new_request();
  const auto sender = world.launch_on(
      kPe0,
      [](tl::Context& tl) {
        for (int i = 0; i < 5; ++i) tl.send("E", tl.zeros({kN}, f32));
      },
      request);
  const auto receiver = world.launch_on(
      kPe1,
      [](tl::Context& tl) {
        const auto first = tl.recv("W", {kN}, f32);
        const auto twice = first + first;
        tl.store(kX, twice);
        tl.store(kY, first);  // the last reader
        for (int i = 0; i < 4; ++i) tl.recv("W", {kN}, f32);
      },
      request);
  for (isa::CommandIndex c = 0; c < 8; ++c) world.play(sender, c);  // four times zeros and send
  world.play(receiver, 0);
  if (!late) world.play(receiver, 1), world.play(receiver, 2), world.play(receiver, 3);
  world.play(sender, 8), world.play(sender, 9);
  if (late) world.play(receiver, 1), world.play(receiver, 2), world.play(receiver, 3);
  for (isa::CommandIndex c = 4; c < 8; ++c) world.play(receiver, c);
  return hazards_of(world);
}

TEST(Hazards, ASlotOverwrittenBeforeTheLastReaderRetiredNamesReaderAndSend) {
  const auto found = slot_hazards(true);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::slot_overwritten);
  EXPECT_EQ(found[0].first.pe, kPe1);
  EXPECT_EQ(found[0].first.command, 3u);  // the store of `first`
  EXPECT_EQ(found[0].second->pe, kPe0);
  EXPECT_EQ(found[0].second->command, 9u);  // the fifth send
  EXPECT_THAT(to_string(found[0]),
              AllOf(HasSubstr("slot overwritten"), HasSubstr("send by"), HasSubstr("dma_write by")));
}

TEST(Hazards, ASlotThatIsFreeWhenItIsWrittenIsSilent) {
  EXPECT_THAT(slot_hazards(false), IsEmpty());
  EXPECT_THAT(slot_hazards(true, false), IsEmpty());  // the receive moved the tile out of the slot
}

/// A tile is passed on by a send whose record comes after that of the message that overwrites its slot. Its last byte had
/// left so long before that message was sent.
std::vector<Hazard> forwarding_hazards(Time left_before) {
  World world;
  world.default_ring = {.slots = 1, .in_slot = true};
  world.wire(kPe0, "E", kPe1, "W");
  world.wire(kPe1, "E", kPe0, "W");
  const auto request = world.new_request();
  const auto sender = world.launch_on(
      kPe0,
      [](tl::Context& tl) {
        for (int i = 0; i < 2; ++i) tl.send("E", tl.zeros({kN}, f32));
        tl.recv("W", {kN}, f32);
      },
      request);
  const auto forwarder = world.launch_on(
      kPe1,
      [](tl::Context& tl) {
        tl.send("E", tl.recv("W", {kN}, f32));
        tl.recv("W", {kN}, f32);
      },
      request);
  for (isa::CommandIndex c = 0; c < 3; ++c) world.play(sender, c);
  world.play(forwarder, 0);
  world.play(sender, 3);  // overwrites
  world.play(forwarder, 1);
  auto& overwriting = world.records[world.records.size() - 2];
  auto& forward = world.records.back();
  forward.start = overwriting.start - Time::from_ps(5);
  forward.phase[0] = static_cast<std::uint32_t>((overwriting.start - left_before - forward.start).ps());
  world.play(sender, 4), world.play(forwarder, 2);
  return hazards_of(world);
}

TEST(Hazards, ATilePassedOnFreesItsSlotWhenItsLastByteHasLeft) {
  EXPECT_THAT(forwarding_hazards(Time()), IsEmpty());
  const auto found = forwarding_hazards(Time::from_ps(-1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::slot_overwritten);
  EXPECT_EQ(found[0].first.pe, kPe1);
  EXPECT_EQ(found[0].first.command, 1u);  // the send that passed it on
  EXPECT_EQ(found[0].second->command, 3u);
}

TEST(Hazards, AMessageNobodyReceivedNamesItsSend) {
  const auto send_two = [](tl::Context& tl) {
    tl.send("E", tl.zeros({kN}, f32));
    tl.send("E", tl.zeros({kN}, f32));
  };
  const auto found = hazards_between(send_two, [](tl::Context& tl) { tl.recv("W", {kN}, f32); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::unread_message);
  EXPECT_EQ(found[0].first.command, 3u);
  EXPECT_FALSE(found[0].second);
  EXPECT_THAT(hazards_between(send_two,
                              [](tl::Context& tl) {
                                tl.recv("W", {kN}, f32);
                                tl.recv("W", {kN}, f32);
                              }),
              IsEmpty());
}

TEST(Hazards, DroppingAWiringReportsItsMessagesOnce) {
  World world;
  together(
      world, [](tl::Context& tl) { tl.send("E", tl.zeros({kN}, f32)); }, [](tl::Context&) {});
  HazardDetector detector(world, {.gemm_tile = World::kTile});
  for (const auto& r : world.records) detector.append(r);
  EXPECT_THAT(detector.hazards(), IsEmpty());
  detector.drop_ring(0);
  EXPECT_THAT(detector.hazards(), SizeIs(1));
  EXPECT_THAT(detector.finish(), SizeIs(1));
}

// A token goes round; who has it may touch x.
TEST(Hazards, ThousandsOfAccessesOfACorrectProgramAreSilent) {
  const int pes = 8, rounds = 1500;  // 8 · 1500 · (load + store) = 24,000 accesses
  World world;
  std::vector<std::uint32_t> origins;
  const auto request = world.new_request();
  for (int pe = 0; pe < pes; ++pe) world.wire({0, 0, pe}, "E", {0, 0, (pe + 1) % pes}, "W");
  for (int pe = 0; pe < pes; ++pe)
    origins.push_back(world.launch_on(
        {0, 0, pe},
        [pe](tl::Context& tl) {
          for (int round = 0; round < rounds; ++round) {
            if (round > 0 || pe > 0) tl.recv("W", {1}, f32);
            tl.fence();
            tl.store(kX + 64 * (round % 7), tl.load(kX + 64 * (round % 5), {kN}, f32) + 1.0);
            tl.fence();
            if (round + 1 < rounds || pe + 1 < pes) tl.send("E", tl.zeros({1}, f32));
          }
        },
        request));
  world.play_together(origins);
  EXPECT_THAT(hazards_of(world), IsEmpty());
}

}  // namespace
}  // namespace kernbench::data::hazard_test
