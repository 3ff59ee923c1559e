// Critical paths through queues: from receive to send, from send to who returned its credit, over all SIPs.
#include <random>

#include "device/queue_world.hpp"
#include "seeds.hpp"
#include "trace/run_maker.hpp"

namespace kernbench::trace::simulated_queue_test {
namespace {

using device::testing::kSlice;
using device::testing::pe_of;
using device::testing::QueueWorld;
using tl::Context;
using tl::Ptr;
using enum DType;

struct World : QueueWorld {
  World() { processors.writer().set_sink(&op_log); }
  RunLog finish() {
    const std::vector<std::string> requests(launches.size(), "launch");
    return op_log.finish(describe_run("machine", processors.origins(), requests));
  }
  OpLog op_log{device.simulation().partitions()};
};

void expect_exact(const CriticalPath& path) {
  Time now = path.begin;
  for (const auto& piece : path.pieces) {
    ASSERT_EQ(piece.begin, now);
    now = piece.end;
  }
  ASSERT_EQ(now, path.end);
  for (const auto* shares : {&path.by_resource, &path.by_reason, &path.by_line})
    EXPECT_EQ(sum(*shares), path.length());
  for (const auto& share : path.by_resource) EXPECT_NE(share.name, "unfinished");
}

Time share_of(const CriticalPath& path, const std::string& resource) {
  for (const auto& share : path.by_resource)
    if (share.name == resource) return share.time;
  return {};
}

// A token goes ten times to the other SIP and back: each way 47.104 ns (see Ipcq.ToAnotherSip) and 4 B at 128 GB/s,
// 32 ps; announced 2 ps after that. Everything else is the launch and the first tile.
TEST(SimulatedQueue, APingPongIsSpentOnTheFabric) {
  World world;
  world.link({0, 0, 0}, "E", {1, 0, 0}, "W");
  world.run({{0, 0, 0}, {1, 0, 0}}, [](Context& tl) {
    const bool first = tl.program_id(2) == 0;
    auto x = first ? tl.full({1}, 1.0, f32) : tl::Tile();
    for (int i = 0; i < 10; ++i) {
      if (first) tl.send("E", x);
      x = tl.recv(first ? "E" : "W", {1}, f32);
      if (!first) tl.send("W", x);
    }
  });
  const auto path = world.finish().critical_path();
  expect_exact(path);
  EXPECT_EQ(share_of(path, "fabric"), 20 * 47'136_ps) << to_text(path);
  EXPECT_EQ(share_of(path, "wait_credit"), 20 * 2_ps) << to_text(path);
}

// One slot over the switch: every message waits for the credit of the one before it. The way there and back is
// longer than all else.
TEST(SimulatedQueue, TooFewSlotsAreSeenAsWaitingForCredit) {
  World world;
  world.wiring.rules.slots = 1;
  world.link({0, 0, 0}, "E", {1, 0, 0}, "W");
  world.run({{0, 0, 0}, {1, 0, 0}}, [](Context& tl) {
    const auto x = tl.full({1}, 1.0, f32);
    for (int i = 0; i < 20; ++i)
      pe_of(tl).sip == 0 ? static_cast<void>(tl.send("E", x)) : static_cast<void>(tl.recv("W", {1}, f32));
  });
  const auto path = world.finish().critical_path();
  expect_exact(path);
  EXPECT_GE(share_of(path, "wait_credit"), 19 * 47_ns) << to_text(path);
  EXPECT_GE(share_of(path, "fabric"), 19 * 47_ns) << to_text(path);
}

/// Rounds around the ring with loads, stores and arithmetic, other ones on every PE.
void random_rounds(Context& tl, unsigned seed) {
  std::mt19937 random(seed + 100 * static_cast<unsigned>(tl.program_id(0) + 8 * tl.program_id(2)));
  auto x = tl.load(Ptr{kSlice}, {256}, f16);
  for (int i = 0; i < 30; ++i) {
    tl.send(i % 2 == 0 ? "E" : "W", x);
    if (random() % 2 == 0) x = tl.exp(x);
    if (random() % 3 == 0) tl.store(Ptr{kSlice + 4096 * (random() % 8)}, x);
    if (random() % 5 == 0) tl.fence();
    x = tl.recv(i % 2 == 0 ? "W" : "E", {256}, f16) + x;
  }
  tl.store(Ptr{kSlice}, x);
}

TEST(SimulatedQueue, ThePathOfRandomProgramsIsExact) {
  const auto [first, end] = testing::seeds(1, 12);
  for (unsigned seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world;
    auto& rules = world.wiring.rules;
    rules.slots = 1 << seed % 3;
    rules.memory = static_cast<address::MemorySpace>(seed % 3);
    rules.credit =
        seed % 2 == 0 || rules.slots == 1 ? device::CreditPolicy::on_recv : device::CreditPolicy::on_last_use;
    rules.backpressure = seed % 4 == 0 ? device::Backpressure::poll : device::Backpressure::sleep;
    const std::vector<PeCoord> pes = {{0, 0, 0}, {0, 0, 1}, {0, 3, 2}, {1, 0, 0}, {1, 0, 1}};
    world.ring(pes);
    world.run(pes, random_rounds, seed);
    expect_exact(world.finish().critical_path());
  }
}

}  // namespace
}  // namespace kernbench::trace::simulated_queue_test
