// Queues on the real machine model: numbers and hazards from its records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/hazards.hpp"
#include "data/replay.hpp"
#include "device/queue_world.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data::simulated_queue_test {
namespace {

using namespace kernbench::dtypes;
using address::MemorySpace;
using device::CreditPolicy;
using device::OpRecord;
using device::testing::kSlice;
using device::testing::pe_of;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr PeCoord kPe0{0, 0, 0}, kPe1{0, 0, 1};
constexpr std::uint64_t kShared = 0x2'0000'0000;  // PE 0's slice, for whoever maps it

class World : public device::testing::QueueWorld, private RunFacts {
 public:
  void share(PeCoord pe) {
    map(pe);
    device.mmu(pe).insert(address::VirtAddr(kShared), {place(kPe0, 0x100000), 1_MiB}, "shared");
  }
  address::PhysAddr place(PeCoord pe, std::int64_t offset) const {
    return address::pe_hbm_addr(pe, device.machine().hbm_slice(), Bytes(offset));
  }
  /// Replays all records; f32 numbers of a PE's slice.
  std::vector<float> numbers(PeCoord pe, std::int64_t offset, std::size_t count, int replay_threads = 1) {
    MemoryStore store;
    ReplayExecutor executor(store, *this, {.threads = replay_threads});
    in_turn(executor);
    executor.finish();
    std::vector<float> numbers(count);
    store.read(place(pe, offset), std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }
  std::vector<Hazard> hazards() {
    HazardDetector detector(*this);
    in_turn(detector);
    return detector.finish();
  }

 private:
  /// Records, and departures between them.
  template <class Reader>
  void in_turn(Reader& reader) const {
    const auto departures = log.departures();
    auto next = departures.begin();
    for (const OpRecord& r : log.ordered()) {
      for (; next != departures.end() && next->at < r.end; ++next) reader.depart(*next);
      reader.append(r);
    }
  }

  const device::Origin& origin(std::uint32_t index) override { return processors.origins()[index]; }
  void translate(std::uint32_t index, address::VirtAddr begin, Bytes size,
                 std::vector<address::PhysPiece>& out) override {
    device.mmu(origin(index).pe).translate(begin, size, out);
  }
  Message message(const OpRecord& record) override {
    const device::QueueMessage m = message_of(record, origin(record.origin));
    return {m.ring, m.number};
  }
  Ring ring(std::uint32_t number) override {
    const auto r = processors.queues().ring(number);
    return {static_cast<std::uint32_t>(r.slots), r.in_slot};
  }
  HostTransfer host_transfer(const OpRecord&) override { return {}; }
  RequestOrder request_order(std::uint32_t request) override { return {request, {}}; }
};

// ── slot wrap ──

constexpr int kTurns = 200;
constexpr std::array<int, 4> kSizes = {16, 33, 64, 5};

std::vector<PeCoord> members() { return {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}}; }
int rank_of(PeCoord pe) {
  const auto pes = members();
  return static_cast<int>(std::ranges::find(pes, pe) - pes.begin());
}

/// Each turn a tile of another shape goes all around, forwarded from slot to slot; everybody adds up what passes.
void around(tl::Context& tl) {
  auto sum = tl.zeros({1}, f32);
  for (int turn = 0; turn < kTurns; ++turn) {
    const int n = kSizes[static_cast<std::size_t>(turn) % kSizes.size()];
    auto x = tl.full({n}, rank_of(pe_of(tl)) + 1 + turn % 7, f32);
    for (std::size_t step = 1; step < members().size(); ++step) {
      tl.send("E", x);
      x = tl.recv("W", {n}, f32);
      sum = sum + tl.sum(x);
    }
  }
  tl.store(tl::Ptr(kSlice), sum);
}

/// Summed over all ranks but the own one: n · (rank + 1 + turn mod 7), over all turns.
float expected_sum(int rank) {
  float sum = 0;
  for (int turn = 0; turn < kTurns; ++turn)
    for (int other = 0; other < 4; ++other)
      if (other != rank)
        sum += static_cast<float>(kSizes[static_cast<std::size_t>(turn) % kSizes.size()] *
                                  (other + 1 + turn % 7));
  return sum;
}

/// 600 messages through each ring.
std::vector<Hazard> hazards_around(int slots, MemorySpace memory, CreditPolicy credit, int threads = 1) {
  World world;
  world.wiring.rules.slots = slots;
  world.wiring.rules.memory = memory;
  world.wiring.rules.credit = credit;
  world.threads = threads;
  world.QueueWorld::ring(members());
  world.run(members(), around);
  for (const PeCoord& pe : members())
    EXPECT_EQ(world.numbers(pe, 0, 1, threads)[0], expected_sum(rank_of(pe)));
  return world.hazards();
}

TEST(SimulatedQueue, ForwardedTilesOfManyShapesThroughFewSlots) {
  for (const int slots : {2, 4, 8})
    for (const auto memory : {MemorySpace::Tcm, MemorySpace::Sram, MemorySpace::Hbm})
      EXPECT_THAT(hazards_around(slots, memory, CreditPolicy::on_last_use, slots == 4 ? 2 : 1), IsEmpty())
          << slots << " slots in " << to_string(memory);
}

// One slot is enough then. The numbers are right, for tiles are values; on hardware they would not be.
TEST(SimulatedQueue, OnRecvCreditsLetForwardedTilesBeOverwritten) {
  const auto found = hazards_around(1, MemorySpace::Tcm, CreditPolicy::on_recv);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::slot_overwritten);
  EXPECT_THAT(to_string(found[0]), HasSubstr("simulated_queue_test.cpp:"));
  EXPECT_THAT(hazards_around(1, MemorySpace::Hbm, CreditPolicy::on_recv),
              IsEmpty());  // moved out of the slot
}

/// Six tiles are received before the first is read.
void read_late(tl::Context& tl) {
  std::vector<tl::Tile> tiles;
  for (int i = 0; i < 6; ++i)
    if (pe_of(tl) == kPe0)
      tl.send("E", tl.full({1}, i, f32));
    else
      tiles.push_back(tl.recv("W", {1}, f32));
  tl.fence();
  for (std::uint64_t i = 0; i < tiles.size(); ++i) tl.store(tl::Ptr(kSlice + 4 * i), tiles[i]);
}
constexpr int kReaderLine = __LINE__ - 2, kSenderLine = __LINE__ - 6;

TEST(SimulatedQueue, ALateReaderIsNamedWithTheSendThatCameTooEarly) {
  for (const int slots : {1, 2, 4}) {
    World world;
    world.wiring.rules.slots = slots;
    world.wiring.rules.credit = CreditPolicy::on_recv;
    world.link(kPe0, "E", kPe1, "W");
    world.run({kPe0, kPe1}, read_late);
    EXPECT_EQ(world.numbers(kPe1, 0, 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    const auto found = world.hazards();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].occurrences, static_cast<std::uint64_t>(6 - slots));
    EXPECT_THAT(to_string(found[0]),
                AllOf(HasSubstr(fmt::format("simulated_queue_test.cpp:{}", kReaderLine)),
                      HasSubstr(fmt::format("simulated_queue_test.cpp:{}", kSenderLine))));
  }
}

// ── memory order ──

/// PE 0 writes what PE 1 reads.
std::vector<Hazard> handed_over(World& world, bool sender_fences, bool receiver_fences) {
  world.link(kPe0, "E", kPe1, "W");
  for (const PeCoord pe : {kPe0, kPe1}) world.share(pe);
  world.run({kPe0, kPe1}, [=](tl::Context& tl) {
    if (pe_of(tl) == kPe0) {
      const auto token = tl.full({1}, 1.0, f32);
      tl.store(tl::Ptr(kShared), tl.full({64}, 7.0, f32));  // line A
      if (sender_fences) tl.fence();
      tl.send("E", token);
    } else {
      tl.recv("W", {1}, f32);
      if (receiver_fences) tl.fence();
      const auto x = tl.load(tl::Ptr(kShared), {64}, f32);  // line B
      tl.store(tl::Ptr(kSlice), x);
    }
  });
  return world.hazards();
}
constexpr int kStoreLine = __LINE__ - 12, kLoadLine = __LINE__ - 6;

TEST(SimulatedQueue, StoreFenceSendThenReceiveFenceLoadReadsWhatWasStored) {
  World world;
  EXPECT_THAT(handed_over(world, true, true), IsEmpty());
  EXPECT_THAT(world.numbers(kPe1, 0, 64), Each(7.0f));
}

TEST(SimulatedQueue, WithoutAFenceOnEitherSideTheTwoLinesAreNamed) {
  for (const bool sender_fences : {false, true}) {
    World world;
    const auto found = handed_over(world, sender_fences, !sender_fences);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].kind, HazardKind::read_write);
    EXPECT_THAT(to_string(found[0]), AllOf(HasSubstr(fmt::format("simulated_queue_test.cpp:{}", kStoreLine)),
                                           HasSubstr(fmt::format("simulated_queue_test.cpp:{}", kLoadLine))));
  }
}

TEST(SimulatedQueue, AMessageNobodyReceivedNamesItsSend) {
  World world;
  world.link(kPe0, "E", kPe1, "W");
  world.run({kPe0}, [](tl::Context& tl) { tl.send("E", tl.full({4}, 1.0, f32)); });
  const int line = __LINE__ - 1;
  const auto found = world.hazards();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, HazardKind::unread_message);
  EXPECT_THAT(to_string(found[0]), HasSubstr(fmt::format("simulated_queue_test.cpp:{}", line)));
}

// ── references ──

/// What the receiver of PE 0's message stores.
void store_received(tl::Context& tl) { tl.store(tl::Ptr(kSlice), tl.recv("W", {64}, f32)); }

constexpr PeCoord kOther{1, 0,
                         0};  // its messages take tens of nanoseconds, a store of a PE into its slice nine

// The store that follows waits until the bytes have left; it ends long before they have arrived.
TEST(SimulatedQueue, AReferenceIsSentAsItWasWhenItLeft) {
  for (const int threads : {1, 2}) {
    World world;
    world.link(kPe0, "E", kOther, "W");
    world.run({kPe0, kOther}, [](tl::Context& tl) {
      if (pe_of(tl) == kOther) return store_received(tl);
      tl.store(tl::Ptr(kSlice), tl.full({64}, 1.0, f32));
      tl.send("E", tl.ref(tl::Ptr(kSlice), {64}, f32));
      tl.store(tl::Ptr(kSlice), tl.full({64}, 2.0, f32));
    });
    EXPECT_THAT(world.numbers(kOther, 0, 64, threads), Each(1.0f));
    EXPECT_THAT(world.numbers(kPe0, 0, 64, threads), Each(2.0f));
    EXPECT_THAT(world.hazards(), IsEmpty());
  }
}

/// PE 0 sends a reference to another SIP. With `token`, it tells PE 1 when the bytes have left, and that one overwrites them;
/// without, PE 1 does so when it likes.
void overwrite(tl::Context& tl, bool token) {
  const tl::Ptr shared(kShared);
  if (pe_of(tl) == kOther) return store_received(tl);
  if (pe_of(tl) == kPe0) {
    tl.store(shared, tl.full({64}, 1.0, f32));
    tl.send("E", tl.ref(shared, {64}, f32));  // line C
    tl.fence();
    if (token) tl.send("S", tl.full({1}, 0.0, f32));
    return;
  }
  if (token) tl.recv("N", {1}, f32);
  tl.fence();
  tl.store(shared, tl.full({64}, 2.0, f32));
}
constexpr int kReferenceLine = __LINE__ - 9;

TEST(SimulatedQueue, AReferenceMayBeOverwrittenByAnotherPeOnceItHasLeft) {
  World world;
  world.link(kPe0, "E", kOther, "W");
  world.link(kPe0, "S", kPe1, "N");
  for (const PeCoord pe : {kPe0, kPe1}) world.share(pe);
  world.run({kPe0, kPe1, kOther}, overwrite, true);
  const auto send = world.of(kPe0, device::OpKind::ipcq_send)[1];  // the token's ends first
  ASSERT_LT(world.of(kPe1, device::OpKind::dma_write)[0].end, send.end);
  EXPECT_THAT(world.numbers(kOther, 0, 64), Each(1.0f));
  EXPECT_THAT(world.numbers(kPe0, 0x100000, 64), Each(2.0f));
  EXPECT_THAT(world.hazards(), IsEmpty());
}

TEST(SimulatedQueue, AReferenceThatIsOverwrittenInNoOrderIsAHazard) {
  World world;
  world.link(kPe0, "E", kOther, "W");
  for (const PeCoord pe : {kPe0, kPe1}) world.share(pe);
  world.run({kPe0, kPe1, kOther}, overwrite, false);
  const auto found = world.hazards();
  const auto names = [](const Hazard& h) {
    return to_string(h).find(fmt::format("simulated_queue_test.cpp:{}", kReferenceLine)) != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(found, names), 1);
}

TEST(SimulatedQueue, RowsOfAReferenceArriveOneAfterTheOther) {
  World world;
  world.link(kPe0, "E", kPe1, "W");
  world.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe1) return tl.store(tl::Ptr(kSlice), tl.recv("W", {2, 3}, f32)), void();
    tl.store(tl::Ptr(kSlice), tl.reshape(tl.cast(tl.arange(0, 12), f32), {2, 6}));
    tl.send("E", tl.ref(tl::Ptr(kSlice), {2, 3}, f32, {6, 1}));
  });
  EXPECT_EQ(world.numbers(kPe1, 0, 6), (std::vector<float>{0, 1, 2, 6, 7, 8}));
}

TEST(SimulatedQueue, AReferenceToWhatNobodyWroteIsNamed) {
  World world;
  world.link(kPe0, "E", kPe1, "W");
  world.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe1) return store_received(tl);
    tl.send("E", tl.ref(tl::Ptr(kSlice), {64}, f32));
  });
  EXPECT_THROW(world.numbers(kPe1, 0, 64), SimulationError);
}

// ── destinations, any direction ──

TEST(SimulatedQueue, ATileReceivedToAnAddressIsThere) {
  for (const auto memory : {MemorySpace::Tcm, MemorySpace::Hbm}) {
    World world;
    world.wiring.rules.memory = memory;
    world.link(kPe0, "E", kPe1, "W");
    world.run({kPe0, kPe1}, [](tl::Context& tl) {
      if (pe_of(tl) == kPe0) {
        tl.send("E", tl.full({8}, 5.0, f32));
      } else {
        const auto x = tl.recv("W", {8}, f32, {.dst_addr = tl::Ptr(kSlice)});
        tl.store(tl::Ptr(kSlice + 0x1000), tl.load(tl::Ptr(kSlice), {8}, f32) + x);
      }
    });
    EXPECT_THAT(world.numbers(kPe1, 0, 8), Each(5.0f));
    EXPECT_THAT(world.numbers(kPe1, 0x1000, 8), Each(10.0f));
    EXPECT_THAT(world.hazards(), IsEmpty());
  }
}

// The tile is read twice by one command and once more at the end; until then its slot, the only one, is taken.
TEST(SimulatedQueue, ASlotIsFreeWhenTheLastOfSeveralReadersHasRetired) {
  World world;
  world.wiring.rules.slots = 1;
  world.link(kPe0, "E", kPe1, "W");
  world.run({kPe0, kPe1}, [](tl::Context& tl) {
    if (pe_of(tl) == kPe0) {
      for (int i = 1; i <= 2; ++i) tl.send("E", tl.full({64}, i, f32));
    } else {
      const auto x = tl.recv("W", {64}, f32);
      tl.store(tl::Ptr(kSlice + 0x1000), x * x);
      tl.store(tl::Ptr(kSlice), x);
      tl.store(tl::Ptr(kSlice + 0x2000), tl.recv("W", {64}, f32));
    }
  });
  EXPECT_THAT(world.hazards(), IsEmpty());
  EXPECT_THAT(world.numbers(kPe1, 0x2000, 64), Each(2.0f));
}

TEST(SimulatedQueue, AReceiveFromAnyGetsTheTileOfTheMessageItTook) {
  World world;
  world.link(kPe0, "far", {1, 0, 0}, "out");
  world.link(kPe0, "near", kPe1, "out");
  world.run({kPe0, kPe1, {1, 0, 0}}, [](tl::Context& tl) {
    if (pe_of(tl) != kPe0) return static_cast<void>(tl.send("out", tl.full({1}, pe_of(tl).sip, f32)));
    for (std::uint64_t i = 0; i < 2; ++i) tl.store(tl::Ptr(kSlice + 4 * i), tl.recv_any({1}, f32));
  });
  EXPECT_EQ(world.numbers(kPe0, 0, 2), (std::vector<float>{0, 1}));  // the near one came first
}

}  // namespace
}  // namespace kernbench::data::simulated_queue_test
