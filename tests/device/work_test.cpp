// Whole machines at work: engines, the host, requests to PEs and queues at once, on random machines. In trains and packet
// by packet, on one thread and on several, everything ends at the same picosecond.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <random>
#include <tuple>

#include "device/queue_world.hpp"
#include "device/request.hpp"
#include "device/traffic.hpp"

namespace kernbench::device::work_test {
namespace {

using namespace kernbench::dtypes;
using testing::kSlice;
using testing::pe_of;
using testing::QueueWorld;
using testing::Random;
using testing::seeds;
using testing::Transfer;
using topology::NodeKind;

std::vector<std::string> random_machine(Random& random, int sips) {
  std::vector<std::string> all = {fmt::format("system.sips.count={}", sips),
                                  fmt::format("sip.cube_mesh.w={}", random.pick(1, 2)),
                                  fmt::format("sip.cube_mesh.h={}", random.pick(1, 2))};
  const auto maybe = [&](const char* key, std::initializer_list<const char*> values) {
    if (random.pick(0, 2) == 0)
      all.push_back(
          fmt::format("{}={}", key, values.begin()[random.pick(0, static_cast<int>(values.size()) - 1)]));
  };
  if (random.pick(0, 2) == 0) {
    all.insert(all.end(), {"cube.hbm.model=rows", "cube.hbm.burst_bytes=64"});
    maybe("cube.hbm.refresh_ns", {"0"});
  } else {
    maybe("cube.hbm.burst_bytes", {"64", "128", "512", "1024"});
    maybe("cube.hbm.num_pcs", {"1", "4", "16"});
  }
  maybe("cube.hbm.access_ns", {"0.7", "20"});
  maybe("cube.hbm.hbm_to_router_bw_gbs", {"128", "77.7", "512"});
  maybe("cube.ucie.bw_gbs", {"64", "33.3", "512"});
  maybe("system.pcie.bw_gbs", {"64", "50.1", "256"});
  maybe("fabric.packet_bytes", {"64", "100", "512", "4096"});
  maybe("fabric.header_bytes", {"16", "5"});
  maybe("fabric.request_bytes", {"32", "7", "600"});
  maybe("fabric.ack_bytes", {"16", "9", "600"});
  maybe("cube.routers.buffer_packets", {"1", "4"});
  maybe("pe.pe_dma.strided", {"gather", "linear"});
  maybe("pe.pe_dma.overhead_ns", {"1", "1.5", "0.995"});  // the last: data comes when the CPU's cycles begin
  maybe("pe.pe_dma.outstanding", {"1", "3"});
  maybe("pe.pe_tcm.write_bw_gbs", {"256", "100"});
  maybe("launch.control_bytes", {"64", "4096"});
  maybe("cube.routers.overhead_ns", {"0.3", "1"});
  if (random.pick(0, 4) == 0) all.push_back("cube.routers.impl=acme.late_fee");
  return all;
}

/// Something to do at some instant.
class Deed final : public sim::Event {
 public:
  explicit Deed(std::function<void()> what) : Event(&fire), what_(std::move(what)) {}

 private:
  static void fire(sim::Event& e) { static_cast<Deed&>(e).what_(); }
  std::function<void()> what_;
};

/// Loads and stores of all kinds, of the host and of PEs, and maps.
class Work {
 public:
  Work(std::uint32_t seed, FabricOptions options)
      : random_(seed),
        sips_(random_.pick(1, 4)),
        device_(testing::load(random_machine(random_, sips_)), options) {
    grid_ = Time::from_ps(random_.pick({1, 250, 1000, 8000}));
    spread_ = random_.pick({0, 3, 50, 400});
    one_memory_ = random_.pick(0, 3) == 0;
    hub_ = any_pe();
    const int transfers = random_.pick(1, 150);
    for (int i = 0; i < transfers; ++i) add_transfer();
    const int of_host = random_.pick(0, 1) * random_.pick(0, 6);
    for (int i = 0; i < of_host; ++i) add_host_transfer();
    const int maps = random_.pick(0, 3);
    for (int i = 0; i < maps; ++i) add_map();
  }

  std::vector<std::int64_t> observe(int threads) {
    device_.simulation().run({.threads = threads});
    std::vector<std::int64_t> all;
    for (const auto& t : transfers_) all.push_back(t->retired.ps());
    for (const auto& t : host_transfers_) all.push_back(t->total().ps());
    for (const auto& m : maps_)
      all.insert(all.end(), {m->total().ps(), m->late_starts(), m->latest_start().ps()});
    for (std::uint32_t i = 0; i < device_.graph().link_count(); ++i) {
      const LinkUse use = device_.fabric().use({i});
      all.insert(all.end(), {use.bytes.count(), use.deepest_wait.ps(), use.note.overhead.count(),
                             static_cast<std::int64_t>(use.note.crowded)});
    }
    return all;
  }

 private:
  PeCoord any_pe() {
    return {random_.pick(0, sips_ - 1), random_.pick(0, device_.graph().cubes() - 1), random_.pick(0, 7)};
  }
  void at(int partition, Time time, std::function<void()> what) {
    deeds_.push_back(std::make_unique<Deed>(std::move(what)));
    device_.simulation().partition(partition).schedule_at(*deeds_.back(), time);
  }
  Time any_time() { return grid_ * random_.pick(0, spread_); }
  Extent any_extent() {
    const int bytes = random_.pick(0, 1) ? random_.pick(1, 6000)
                                         : random_.pick({1, 63, 64, 65, 255, 256, 257, 4096, 65536});
    const bool rows = random_.pick(0, 3) == 0;
    return {.offset = random_.pick(0, 1) ? random_.pick(0, 5000) : 256 * random_.pick(0, 20),
            .row_bytes = rows ? bytes % 1000 + 1 : bytes,
            .rows = rows ? random_.pick(2, 20) : 1,
            .stride = 1000 + random_.pick(0, 2) * 24};
  }

  void add_transfer() {
    const PeCoord pe = any_pe();
    const PeCoord place = one_memory_ ? hub_ : random_.pick(0, 1) ? pe : any_pe();
    Memory& memory = random_.pick(0, 4)                  ? device_.hbm(place)
                     : random_.pick(0, 1) && place != pe ? device_.tcm(place)
                                                         : device_.sram(place.in_cube());
    auto& t =
        *transfers_.emplace_back(std::make_unique<Transfer>(device_.simulation().partition(pe.sip + 1)));
    t.direction = random_.pick(0, 1) ? Direction::read : Direction::write;
    t.channel = random_.pick(0, 4) ? Channel::compute : Channel::queue;
    t.end = device_.graph().pe(pe, random_.pick(0, 2) ? NodeKind::pe_tcm : NodeKind::pe_dma);
    t.pieces = {{&memory, any_extent()}};
    if (random_.pick(0, 5) == 0) t.pieces.push_back({&device_.hbm(any_pe()), any_extent()});
    device_.dma(pe);  // engines are made before the threads start
    at(pe.sip + 1, any_time(), [this, pe, &t] { device_.dma(pe).issue(t); });
  }

  void add_host_transfer() {
    auto& t = *host_transfers_.emplace_back(
        std::make_unique<HostTransfer>(device_, random_.pick(0, 2) ? Direction::write : Direction::read));
    const int pieces = random_.pick(1, 20);
    const int bytes = random_.pick(1, 40'000);
    for (int i = 0; i < pieces; ++i)
      t.add(address::pe_hbm_addr(any_pe(), 6_GiB, Bytes(256 * random_.pick(0, 9))),
            Bytes(random_.pick(0, 1) ? bytes : random_.pick(1, 10'000)));
    at(0, any_time(), [&t] { t.submit(); });
  }

  void add_map() {
    auto& m = *maps_.emplace_back(std::make_unique<UnmapRequest>(device_, random_.pick(0, sips_ - 1),
                                                                 device_.graph().cubes(), 8,
                                                                 address::VirtAddr(0x1'0000'0000), 4_KiB));
    at(0, any_time(), [&m] { m.submit(); });
  }

  Random random_;
  const int sips_;
  Device device_;
  Time grid_;
  int spread_ = 0;
  bool one_memory_ = false;
  PeCoord hub_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<std::unique_ptr<HostTransfer>> host_transfers_;
  std::vector<std::unique_ptr<UnmapRequest>> maps_;
  std::vector<std::unique_ptr<Deed>> deeds_;
};

TEST(Work, IsTheSameInTrains) {
  const auto [first, end] = seeds(0, 60);
  for (std::uint32_t seed = first; seed < end; ++seed)
    ASSERT_EQ(Work(seed, {.shortcuts = true}).observe(1), Work(seed, {.shortcuts = false}).observe(1))
        << "seed " << seed;
}

TEST(Work, IsTheSameOnAnyNumberOfThreads) {
  const auto [first, end] = seeds(20'000, 5);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const auto one = Work(seed, {}).observe(1);
    for (const int threads : {2, 4})
      ASSERT_EQ(Work(seed, {}).observe(threads), one) << "seed " << seed << ", " << threads << " threads";
  }
}

/// PEs in a ring that send, receive, load, store and compute, while the host writes.
using Times = std::vector<std::tuple<std::uint32_t, std::uint32_t, int, std::int64_t, std::int64_t>>;
constexpr std::uint64_t kNext = kSlice + 0x1000'0000;  // where a PE finds the slice of the next one

struct Ring {
  std::uint32_t seed;
  std::vector<PeCoord> pes;
  int rounds = 0;
  int most = 0;  // values of a message
  int slots = 0;

  std::size_t self(const tl::Context& tl) const {
    return static_cast<std::size_t>(std::ranges::find(pes, pe_of(tl)) - pes.begin());
  }
  std::size_t before(std::size_t i) const { return (i + pes.size() - 1) % pes.size(); }
  std::size_t after(std::size_t i) const { return (i + 1) % pes.size(); }
  Random random_of(std::size_t i) const {
    return Random(seed ^ static_cast<std::uint32_t>(i * 2'654'435'761u));
  }
  /// How many values the `round`-th message over the ring's `edge`-th wire has.
  int size(std::size_t edge, int round) const {
    return 1 + static_cast<int>((seed * 7919 + edge * 104'729 + static_cast<std::size_t>(round) * 1299) %
                                static_cast<std::size_t>(most));
  }
};

/// Uses the slice of the next PE.
void visit_next(tl::Context& tl, Random& own) {
  const auto x =
      tl.load(tl::Ptr(kNext + 64 * static_cast<std::uint64_t>(own.pick(0, 99))), {own.pick(1, 3000)}, f16);
  if (own.pick(0, 1)) tl.store(tl::Ptr(kNext + 0x100000), tl.exp(x));
}

void one_way(tl::Context& tl, const Ring& ring) {
  const std::size_t self = ring.self(tl);
  Random own = ring.random_of(self);
  for (int i = 0; i < ring.rounds; ++i) {
    tl.send("E", tl.load(tl::Ptr(kSlice + 0x1000), {ring.size(self, i)}, f16));
    if (own.pick(0, 2) == 0) visit_next(tl, own);
    const auto got = tl.recv("W", {ring.size(ring.before(self), i)}, f16);
    if (own.pick(0, 1)) tl.store(tl::Ptr(kSlice + 0x200000), got + 1.0);
    if (own.pick(0, 3) == 0) tl.fence();
  }
}

/// Half of the rings are as even as they can be: then much happens at one instant, and messages may be received from
/// wherever they come.
void both_ways(tl::Context& tl, const Ring& ring) {
  const std::size_t self = ring.self(tl), n = ring.pes.size();
  Random own = ring.random_of(self);
  const bool even = ring.seed % 2 == 0;
  const bool from_any = ring.seed % 4 == 0;
  const int rounds = from_any ? std::min(ring.rounds, ring.slots) : ring.rounds;  // so that no send waits
  const auto size = [&](std::size_t edge, int i) { return even ? ring.most : ring.size(edge, i); };
  const auto exchange = [&](auto east, auto west) {
    const bool east_first = even || own.pick(0, 1);
    east_first ? (east(), west()) : (west(), east());
  };
  for (int i = 0; i < rounds; ++i) {
    const auto part = [&](int values) { return tl.load(tl::Ptr(kSlice + 0x1000), {values}, f16); };
    exchange([&] { tl.send("E", part(size(self, i))); }, [&] { tl.send("W", part(size(n + self, i))); });
    if (own.pick(0, 2) == 0) visit_next(tl, own);
    const auto keep = [&](const auto& got) {
      if (own.pick(0, 1)) tl.store(tl::Ptr(kSlice + 0x200000), got + 1.0);
    };
    exchange(
        [&] {
          keep(from_any ? tl.recv_any({ring.most}, f16) : tl.recv("E", {size(n + ring.after(self), i)}, f16));
        },
        [&] {
          keep(from_any ? tl.recv_any({ring.most}, f16) : tl.recv("W", {size(ring.before(self), i)}, f16));
        });
    if (own.pick(0, 3) == 0) tl.fence();
  }
}

/// Products of references and of loaded tiles beside loads, stores and products of the CPU's own.
void products(tl::Context& tl, const Ring& ring) {
  Random own = ring.random_of(ring.self(tl));
  const auto somewhere = [&] {
    return (own.pick(0, 2) ? kSlice : kNext) + 0x10000 * static_cast<std::uint64_t>(own.pick(0, 9));
  };
  const auto operand = [&](int rows, int columns) {
    const tl::Ptr at(somewhere());
    return own.pick(0, 2) ? tl.ref(at, {rows, columns}, f16) : tl.load(at, {rows, columns}, f16);
  };
  for (int i = 0; i < ring.rounds; ++i) {
    const int m = 32 * own.pick(1, 3), k = 64 * own.pick(1, 3), n = 32 * own.pick(1, 2);
    if (own.pick(0, 1))
      tl.composite("gemm", operand(m, k), operand(k, n), tl.ref(tl::Ptr(kSlice + 0x300000), {m, n}, f16));
    for (int loads = own.pick(0, 12); loads > 0; --loads) {
      const auto x = tl.load(tl::Ptr(somewhere()), {16, 64}, f16);
      if (own.pick(0, 2) == 0) tl.exp(x);
      if (own.pick(0, 3) == 0) tl.dot(x, tl.load(tl::Ptr(somewhere()), {64, 32}, f16));
      if (own.pick(0, 3) == 0) tl.store(tl::Ptr(kSlice + 0x200000), x);
    }
    if (own.pick(0, 3) == 0) tl.fence();
  }
}

using RingKernel = void (*)(tl::Context&, const Ring&);

/// Short queues and little scratch: the CPUs wait for both.
struct Tight {
  int queue_depth;
  const char* scratch_mb;
};

Times ring_times(RingKernel kernel, std::uint32_t seed, bool runs, int threads,
                 const Tight* tight = nullptr) {
  Random random(seed);
  const int sips = random.pick(1, 4);
  auto machine = random_machine(random, sips);
  if (tight) {
    machine.push_back(fmt::format("pe.pe_cpu.queue_depth={}", tight->queue_depth));
    machine.push_back(fmt::format("pe.pe_tcm.kernel_scratch_mb={}", tight->scratch_mb));
  }
  QueueWorld w(std::move(machine), {.shortcuts = runs});
  w.threads = threads;
  auto& rules = w.wiring.rules;
  using enum address::MemorySpace;
  const address::MemorySpace memories[] = {Tcm, Hbm, Sram};
  rules.memory = memories[random.pick(0, 2)];
  rules.slots = random.pick(1, 4);
  rules.credit_bytes = Bytes(random.pick({0, 16, 300}));
  if (random.pick(0, 2) == 0) {
    rules.backpressure = Backpressure::poll;
    rules.poll = Time::from_ps(random.pick({250, 1000, 7777}));
  }
  Ring ring{.seed = seed, .slots = rules.slots};
  auto& pes = ring.pes;
  for (int sip = 0; sip < sips; ++sip)
    for (int cube = 0; cube < w.device.graph().cubes(); ++cube)
      for (int pe = 0; pe < 8; ++pe)
        if (random.pick(0, 2) > 0) pes.push_back({sip, cube, pe});
  if (pes.size() < 2) return {};
  w.ring(pes);
  const Bytes slice = w.device.machine().hbm_slice();
  for (std::size_t i = 0; i < pes.size(); ++i) {
    w.map(pes[i]);
    w.device.mmu(pes[i]).insert(address::VirtAddr(kNext),
                                {address::pe_hbm_addr(pes[ring.after(i)], slice, 0_B), 64_MiB}, "next");
  }
  w.install();
  ring.rounds = random.pick(2, 12);
  ring.most = random.pick({8, 128, 1024, 2048});
  std::vector<std::unique_ptr<HostTransfer>> writes;
  for (int i = random.pick(0, 3); i > 0; --i) {
    writes.push_back(
        std::make_unique<HostTransfer>(w.device, random.pick(0, 1) ? Direction::write : Direction::read));
    for (const PeCoord& pe : pes)
      writes.back()->add(address::pe_hbm_addr(pe, slice, 1_MiB), Bytes(random.pick({1, 4096, 50'000})));
    writes.back()->submit();
  }
  w.run(pes, [&](tl::Context& tl) { kernel(tl, ring); });
  Times found;
  for (const auto& log : w.log.logs())
    for (const OpRecord& r : log)
      found.emplace_back(r.origin, r.command, static_cast<int>(r.kind), r.start.ps(), r.end.ps());
  std::ranges::sort(found);
  for (const auto& t : writes) found.emplace_back(0, 0, 99, 0, t->total().ps());
  return found;
}

TEST(Work, OfQueuesIsTheSameInTrains) {
  const auto [first, end] = seeds(0, 40);
  for (std::uint32_t seed = first; seed < end; ++seed)
    ASSERT_EQ(ring_times(one_way, seed, true, 1), ring_times(one_way, seed, false, 1)) << "seed " << seed;
}

TEST(Work, OfProductsIsTheSameInTrains) {
  const auto [first, end] = seeds(0, 40);
  for (std::uint32_t seed = first; seed < end; ++seed)
    ASSERT_EQ(ring_times(products, seed, true, 1), ring_times(products, seed, false, 1)) << "seed " << seed;
}

// A tile of a composite is computed at the instant at which the write channel has room for a store: the tile goes first.
TEST(Work, OfProductsIsTheSameInTrainsWhereATileAndAStoreComeAtOneInstant) {
  EXPECT_EQ(ring_times(products, 127, true, 1), ring_times(products, 127, false, 1));
}

// Two messages of a sender are in a memory at one instant, with acknowledgements that have a size: they are announced in order.
TEST(Work, OfQueuesIsTheSameInTrainsWhereTwoWritesEndAtOneInstant) {
  EXPECT_EQ(ring_times(both_ways, 70'807, true, 1), ring_times(both_ways, 70'807, false, 1));
}

TEST(Work, OfQueuesInBothDirectionsIsTheSameInTrains) {
  const auto [first, end] = seeds(0, 40);
  for (std::uint32_t seed = first; seed < end; ++seed)
    ASSERT_EQ(ring_times(both_ways, seed, true, 1), ring_times(both_ways, seed, false, 1)) << "seed " << seed;
}

TEST(Work, OfCpusThatAreHeldIsTheSameInTrains) {
  const auto [first, end] = seeds(0, 20);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const int depth = 1 + static_cast<int>(seed % 3);
    const Tight for_tiles{depth, "0.03125"}, for_operands{depth, "0.25"};
    const auto compare = [&](RingKernel kernel, const Tight& tight) {
      ASSERT_EQ(ring_times(kernel, seed, true, 1, &tight), ring_times(kernel, seed, false, 1, &tight))
          << "seed " << seed;
    };
    compare(one_way, for_tiles);
    compare(both_ways, for_tiles);
    compare(products, for_operands);
  }
}

TEST(Work, OfQueuesIsTheSameOnAnyNumberOfThreads) {
  const auto [first, end] = seeds(20'000, 4);
  for (std::uint32_t seed = first; seed < end; ++seed)
    for (const int threads : {2, 4})
      ASSERT_EQ(ring_times(both_ways, seed, true, 1), ring_times(both_ways, seed, true, threads))
          << "seed " << seed << ", " << threads << " threads";
}

}  // namespace
}  // namespace kernbench::device::work_test
