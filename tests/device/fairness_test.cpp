// Pseudo-channels take the bursts of different issuers, and of reads and writes, in turn.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "device/device_world.hpp"

namespace kernbench::device::fairness_test {
namespace {

using testing::Machine;
using testing::Transfer;
using testing::TransferStart;

constexpr std::int64_t kKiB = 1024;

/// Issues transfers at given times.
class TimedMachine {
 public:
  explicit TimedMachine(topology::Machine machine, FabricOptions options = {})
      : device(std::move(machine), options) {}

  Transfer& issue_at(Time at, PeCoord pe, Direction direction, PeCoord slice, Extent extent) {
    sim::Partition& here = device.simulation().partition(pe.sip + 1);
    Transfer& transfer = *transfers_.emplace_back(std::make_unique<Transfer>(here));
    transfer.direction = direction;
    transfer.end = device.graph().pe(pe, topology::NodeKind::pe_dma);
    transfer.pieces = {{&device.hbm(slice), extent}};
    here.schedule_at(*starts_.emplace_back(std::make_unique<TransferStart>(device.dma(pe), transfer)), at);
    return transfer;
  }
  std::vector<std::int64_t> run(int threads = 1) {
    device.simulation().run({.threads = threads});
    std::vector<std::int64_t> all;
    for (const auto& transfer : transfers_) all.push_back(transfer->retired.ps());
    return all;
  }

  Device device;

 private:
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<std::unique_ptr<TransferStart>> starts_;
};

/// A shipped machine as it is.
topology::Machine shipped(std::vector<std::string> overrides = {}) {
  return topology::load_machine("default", overrides, kernbench::testing::registry_with_own_models());
}

TEST(Fairness, ASmallReadDoesNotWaitForALargeOneOfAnotherPe) {
  TimedMachine m(shipped());
  const Transfer& large = m.issue_at(0_ns, {0, 0, 0}, Direction::read, {0, 0, 0}, {.row_bytes = 1 << 20});
  const Transfer& small =
      m.issue_at(22_ns, {0, 0, 1}, Direction::read, {0, 0, 0}, {.offset = 1 << 20, .row_bytes = 64});
  m.run();
  EXPECT_LT(small.retired - 22_ns, 60_ns);
  // 1 MiB and one more burst on one channel: 4096 ns and 8 more.
  EXPECT_LT(large.retired, 5_ns + 8_ns + 4096_ns + 9_ns);
}

TEST(Fairness, TwoEqualReadsOfTwoPesEndTogether) {
  for (const auto& overrides : std::vector<std::vector<std::string>>{
           {}, {"cube.hbm.model=rows", "cube.hbm.burst_bytes=64", "cube.hbm.refresh_ns=0"}}) {
    TimedMachine m(shipped(overrides));
    const Transfer& a = m.issue_at(0_ns, {0, 0, 0}, Direction::read, {0, 0, 0}, {.row_bytes = 512 * kKiB});
    const Transfer& b = m.issue_at(0_ns, {0, 0, 1}, Direction::read, {0, 0, 0},
                                   {.offset = 512 * kKiB, .row_bytes = 512 * kKiB});
    m.run();
    EXPECT_NEAR(a.retired.ns() / b.retired.ns(), 1, 0.01) << overrides.size();
    if (overrides.empty()) {
      EXPECT_LT(std::max(a.retired, b.retired).ns(), 1.01 * (1 << 20) / 256);
    }
  }
}

// One channel, 8 ns a burst: every 8th burst of 256 B. Bursts of PE 0 are asked for at 2 ps, when its channel takes the first. Those of PE 1
// come at `t`: it waits for the one that is in service, and for one more.
TEST(Fairness, WhoComesWaitsForOneBurstOfEachOther) {
  constexpr Extent kOneChannel{.offset = 0, .row_bytes = 256, .rows = 100, .stride = 2 * kKiB};
  const auto time = [&](Time at) {
    TimedMachine m(testing::load({"pe.pe_dma.strided=gather"}));
    m.issue_at(0_ns, {0, 0, 0}, Direction::read, {0, 0, 0}, kOneChannel);
    const Transfer& small = m.issue_at(at, {0, 0, 1}, Direction::read, {0, 0, 0}, {.row_bytes = 256});
    m.run();
    return small.retired;
  };
  TimedMachine alone(testing::load({}));
  const Transfer& small = alone.issue_at(0_ns, {0, 0, 1}, Direction::read, {0, 0, 0}, {.row_bytes = 256});
  alone.run();
  const Time way = small.retired - 8_ns - 1_ns;  // there and back: wires alone
  const Time there = Time::from_ps(way.ps() / 2);
  // Comes at 20 ns and the way there: in service is the burst from 16 to 24 ns, next the one until 32, then its own until 40 ns.
  EXPECT_EQ(time(20_ns), 2_ps + 40_ns + 1_ns + there);
  // Comes just when the fourth is taken, at 24.002 ns: all who come at an instant have come before it is chosen.
  EXPECT_EQ(time(24_ns + 2_ps - there), 2_ps + 40_ns + 1_ns + there);
  EXPECT_EQ(time(24_ns + 3_ps - there), 2_ps + 48_ns + 1_ns + there);
}

TEST(Fairness, ReadsAndWritesOfOnePeTakeTurns) {
  constexpr Extent kOneChannel{.offset = 0, .row_bytes = 256, .rows = 100, .stride = 2 * kKiB};
  TimedMachine m(testing::load({"pe.pe_dma.strided=gather"}));
  const Transfer& reads = m.issue_at(0_ns, {0, 0, 0}, Direction::read, {0, 0, 0}, kOneChannel);
  const Transfer& writes = m.issue_at(0_ns, {0, 0, 0}, Direction::write, {0, 0, 0}, kOneChannel);
  m.run();
  // 200 bursts of 8 ns. The reads come first, and are at most two bursts ahead.
  EXPECT_NEAR(reads.retired.ns(), 1600, 20);
  EXPECT_NEAR(writes.retired.ns(), 1600, 20);
}

TEST(Fairness, ManyIssuersGetEqualShares) {
  TimedMachine m(shipped());
  std::vector<const Transfer*> all;
  for (int pe = 0; pe < 8; ++pe)
    all.push_back(&m.issue_at(Time::from_ps(100 * pe), {0, 0, pe}, Direction::read, {0, 0, 0},
                              {.offset = pe * 256 * kKiB, .row_bytes = 256 * kKiB}));
  m.run();
  for (const Transfer* t : all) EXPECT_NEAR(t->retired.ns(), 8 * 1024, 0.02 * 8 * 1024);
}

/// The definition: each channel takes a burst when it is free, the streams that wait in turn.
class InTurn : public models::MemoryModel {
 public:
  InTurn(const ParamSet& hbm, const models::MemoryPlace& place)
      : place_(place), bus_(models::burst_time(hbm)), access_(hbm.time("access_ns")) {
    for (std::int64_t i = 0; i < hbm.integer("num_pcs"); ++i)
      channels_.push_back(std::make_unique<Channel>(*this, i));
  }
  void request(const models::MemoryRequest& r) override {
    for (std::int64_t i = 0; i < r.count; ++i)
      channels_[static_cast<std::size_t>(r.first + i) % channels_.size()]->add(r, i);
  }

 private:
  struct Burst {
    std::uint64_t tag;
    std::int64_t number;
  };
  struct Queue {
    std::uint64_t stream;
    std::deque<Burst> bursts;
  };
  struct Channel {
    Channel(InTurn& of, std::int64_t index)
        : memory(of), rank(static_cast<std::uint64_t>(index)), free(*this), choose(*this) {}
    void add(const models::MemoryRequest& r, std::int64_t i) {
      const std::uint64_t stream = 2 * r.issuer + (r.direction == Direction::read ? 0 : 1);
      auto queue = std::find_if(queues.begin(), queues.end(), [&](auto& q) { return q.stream == stream; });
      if (queue == queues.end()) queue = queues.insert(queues.end(), {stream, {}});
      queue->bursts.push_back({r.tag, i});
      ask();
    }
    void ask() {
      sim::Partition& here = memory.place_.partition;
      if (free.scheduled() || choose.scheduled()) return;
      if (free_at > here.now()) return here.schedule_at(free, free_at);
      here.choose(choose, std::uint64_t{1} << 31 | rank);  // behind all requests of the instant
    }
    void serve() {
      Queue queue = std::move(queues.front());
      queues.pop_front();
      const Burst burst = queue.bursts.front();
      queue.bursts.pop_front();
      if (!queue.bursts.empty()) queues.push_back(std::move(queue));
      free_at = memory.place_.partition.now() + memory.bus_;
      const Time through = free_at + memory.access_;
      memory.place_.answers.through(burst.tag, burst.number, {&through, 1});
      if (!queues.empty()) ask();
    }
    InTurn& memory;
    const std::uint64_t rank;
    std::deque<Queue> queues;
    Time free_at;
    sim::MemberEvent<&Channel::ask> free;
    sim::MemberEvent<&Channel::serve> choose;
  };
  const models::MemoryPlace place_;
  const Time bus_, access_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

/// Random reads and writes of few slices, close together.
std::vector<std::int64_t> random_times(std::uint32_t seed, std::vector<std::string> overrides,
                                       FabricOptions options, int threads = 1) {
  topology::Registry registry = kernbench::testing::registry_with_own_models();
  models::MemoryBehaviour in_turn = models::memory<InTurn>();
  in_turn.gathers = false;
  registry.add_impl("hbm", {"test.in_turn", "", {}, in_turn});
  const std::vector<std::vector<std::string>> kinds = {
      {},
      {"pe.pe_dma.strided=gather"},
      {"fabric.packet_bytes=100", "cube.hbm.hbm_to_router_bw_gbs=77.7"},
      {"fabric.packet_bytes=1024", "cube.hbm.burst_bytes=64", "cube.hbm.access_ns=5"}};
  overrides.insert(overrides.end(), kinds[seed % kinds.size()].begin(), kinds[seed % kinds.size()].end());
  overrides.insert(overrides.end(), {"sip.cube_mesh.w=2", "sip.cube_mesh.h=1"});
  TimedMachine m(topology::load_machine("default", overrides, registry), options);
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const int spread = 1 << pick(0, 17);
  for (int i = pick(2, 60); i > 0; --i) {
    const PeCoord pe{pick(0, 1), pick(0, 1), pick(0, 7)};
    const std::int64_t row = std::vector{1, 64, 255, 256, 2048, 16384}[static_cast<std::size_t>(pick(0, 5))];
    const std::int64_t rows = pick(0, 2) ? 1 : pick(2, 20);
    m.issue_at(
        Time::from_ps(pick(0, spread)), pe, pick(0, 1) ? Direction::read : Direction::write,
        {0, 0, pick(0, 1)},
        {.offset = 64 * pick(0, 100), .row_bytes = row, .rows = rows, .stride = row + 2048 * pick(0, 1)});
  }
  return m.run(threads);
}

TEST(Fairness, WhatIsAnsweredAheadIsWhatComesBurstByBurst) {
  for (std::uint32_t seed = 0; seed < 80; ++seed) {
    const auto expected = random_times(seed, {"cube.hbm.impl=test.in_turn"}, {.shortcuts = false});
    ASSERT_EQ(random_times(seed, {}, {.shortcuts = false}), expected) << "seed " << seed << " by packets";
    ASSERT_EQ(random_times(seed, {}, {}), expected) << "seed " << seed << " in runs";
    if (seed % 10 == 0) {
      ASSERT_EQ(random_times(seed, {}, {}, 2), expected) << "seed " << seed;
    }
  }
}

TEST(Fairness, RowsGiveTheSameInPiecesAndByPackets) {
  for (std::uint32_t seed = 0; seed < 40; ++seed)
    ASSERT_EQ(random_times(seed, {"cube.hbm.model=rows"}, {}),
              random_times(seed, {"cube.hbm.model=rows"}, {.shortcuts = false}))
        << "seed " << seed;
}

}  // namespace
}  // namespace kernbench::device::fairness_test
