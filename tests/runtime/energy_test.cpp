#include "kernbench/energy.hpp"

#include <numeric>

#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"
#include "trace/power_windows.hpp"

namespace kernbench::runtime::energy_test {
namespace {

using trace::EnergyReport;
using trace::PowerWindows;

// Prices that tell each other apart: no two sums of small multiples are equal.
const std::vector<std::string> kPrices = {"energy.hbm_read_pj_per_byte=31.2",
                                          "energy.hbm_write_pj_per_byte=33.7",
                                          "energy.sram_read_pj_per_byte=1.75",
                                          "energy.sram_write_pj_per_byte=1.93",
                                          "energy.tcm_read_pj_per_byte=0.94",
                                          "energy.tcm_write_pj_per_byte=1.07",
                                          "energy.router_pj_per_byte=0.301",
                                          "energy.ucie_pj_per_byte=2.003",
                                          "energy.pcie_pj_per_byte=52.009",
                                          "energy.launch_pj=1009",
                                          "energy.mac.f16_pj=0.72",
                                          "energy.mac.f32_pj=1.69",
                                          "energy.vector.simple_pj=0.38",
                                          "energy.vector.divide_pj=1.5",
                                          "energy.vector.transcendental_pj=3.1"};

std::vector<std::string> priced(std::vector<std::string> more = {}) {
  more.insert(more.begin(), kPrices.begin(), kPrices.end());
  return more;
}

std::int64_t fj(Energy energy) { return static_cast<std::int64_t>(energy.fj()); }
std::int64_t part(const EnergyReport& report, EnergyPart part) { return fj(report.part(part)); }

/// Every way to add up gives the total, to the femtojoule.
void expect_sums(const EnergyReport& report) {
  Energy operations, requests, windows;
  for (const auto& one : report.operations) operations += one.total();
  for (const auto& one : report.requests) requests += one.total();
  for (const auto& one : report.operations)
    if (one.kind == "other" || one.kind == "static") requests += one.total();
  for (const Energy one : report.windows) windows += one;
  EXPECT_EQ(fj(operations), fj(report.total()));
  EXPECT_EQ(fj(requests), fj(report.total()));
  EXPECT_EQ(fj(windows), fj(report.total()));
  EXPECT_GE(report.peak_w(), report.average_w() * (1 - 1e-12));
}

Energy other(const EnergyReport& report) {
  for (const auto& one : report.operations)
    if (one.kind == "other") return one.total();
  return {};
}

TEST(EnergyOfARun, IsUnknownWithoutPrices) {
  Torch torch(small(), {.data = false});
  torch.empty({8}, f16);
  torch.synchronize();
  EXPECT_FALSE(torch.energy());
}

TEST(EnergyOfARun, OneDmaFromTheOwnSlicePassesOneRouter) {
  Torch torch(small(priced()), {.data = false});
  Tensor x = torch.empty({8192}, f16);
  torch.launch(
      "read", [](tl::Context& tl, tl::Ptr p) { tl.load(p, {8192}, f16); }, x);
  torch.synchronize();
  const auto energy = torch.energy();
  ASSERT_TRUE(energy);
  EXPECT_EQ(part(*energy, EnergyPart::hbm), 16384 * 31200);    // read
  EXPECT_EQ(part(*energy, EnergyPart::routers), 16384 * 301);  // hbm_ctrl → r0c0 → pe_dma
  EXPECT_EQ(part(*energy, EnergyPart::tcm), 16384 * 1070);     // written
  EXPECT_EQ(part(*energy, EnergyPart::launch), 1'009'000);     // one program
  EXPECT_EQ(fj(energy->total()), 16384 * (31200 + 301 + 1070) + 1'009'000);
  EXPECT_EQ(fj(other(*energy)), 0);
  EXPECT_TRUE(energy->unpriced.empty());
  expect_sums(*energy);
}

TEST(EnergyOfARun, AWriteReadsTheTcmAndWritesTheHbm) {
  Torch torch(small(priced()), {.data = false});
  Tensor x = torch.empty({100}, f16);
  torch.launch(
      "write", [](tl::Context& tl, tl::Ptr p) { tl.store(p, tl.zeros({100}, f16)); }, x);
  torch.synchronize();
  const auto energy = torch.energy();
  EXPECT_EQ(part(*energy, EnergyPart::hbm), 200 * 33700);  // bytes, not bursts
  EXPECT_EQ(part(*energy, EnergyPart::routers), 200 * 301);
  EXPECT_EQ(part(*energy, EnergyPart::vector), 100 * 380);            // the zeros are made
  EXPECT_EQ(part(*energy, EnergyPart::tcm), 200 * 1070 + 200 * 940);  // and stored, then read
  expect_sums(*energy);
}

// From cube 1 to PE 0 of cube 0: r0c0 … r3c0 there, one crossing by connection 2, then r3c5 to r0c0 here, 5 columns and 3 rows
// away: 4 + 9 routers.
TEST(EnergyOfARun, EachHopAndEachCrossingCounts) {
  Torch torch(small(priced()), {.data = false});
  Tensor far = torch.empty({32}, f16, DPPolicy{}.on({1, 2}, {0, 1}));
  torch.launch(
      {"read", Grid{1, 1}}, [](tl::Context& tl, tl::Ptr p) { tl.load(p, {32}, f16); }, far);
  torch.synchronize();
  const auto energy = torch.energy();
  EXPECT_EQ(part(*energy, EnergyPart::routers), 64 * 13 * 301);
  EXPECT_EQ(part(*energy, EnergyPart::ucie), 64 * 2003);
  EXPECT_EQ(part(*energy, EnergyPart::hbm), 64 * 31200);
  expect_sums(*energy);
}

TEST(EnergyOfARun, OneProductFetchesMultipliesAndStores) {
  Torch torch(small(priced()), {.data = false});
  Tensor x = torch.empty({64, 64}, f16);
  torch.launch(
      "dot",
      [](tl::Context& tl, tl::Ptr p) {
        const auto a = tl.load(p, {32, 64}, f16), b = tl.load(p, {64, 32}, f16);
        tl.dot(a, b, {.out_dtype = f32});
      },
      x);
  torch.synchronize();
  const auto energy = torch.energy();
  EXPECT_EQ(part(*energy, EnergyPart::matrix), 32 * 64 * 32 * 720);
  EXPECT_EQ(part(*energy, EnergyPart::tcm), 2 * 4096 * 1070       // loaded
                                                + 2 * 4096 * 940  // fetched
                                                + 4096 * 1070);   // the result of 32 × 32 f32
  EXPECT_EQ(energy->macs, 65536u);
  EXPECT_DOUBLE_EQ(energy->pj_per_flop(), energy->total().pj() / 131072);
  EXPECT_EQ(energy->dynamic_pj_per_flop(), energy->pj_per_flop());  // nothing is static here
  expect_sums(*energy);
}

TEST(EnergyOfARun, AVectorOperationIsPricedByItsClassAndElements) {
  Torch torch(small(priced()), {.data = false});
  Tensor x = torch.empty({1024}, f16);
  torch.launch(
      "math",
      [](tl::Context& tl, tl::Ptr p) {
        const auto a = tl.load(p, {1024}, f16);
        tl.exp(a), a / a, a + a;
      },
      x);
  torch.synchronize();
  EXPECT_EQ(part(*torch.energy(), EnergyPart::vector), 1024 * (3100 + 1500 + 380));
}

// 40 × 70 · 70 × 40 in tiles of 32 × 64 × 32: 2 × 2 × 2 steps, edges among them.
TEST(EnergyOfARun, TheStepsOfACompositeAddUpToIt) {
  Torch torch(small(priced()), {.data = false});
  Tensor a = torch.empty({40, 70}, f16), b = torch.empty({70, 40}, f16), c = torch.empty({40, 40}, f16);
  torch.launch(
      "product",
      [](tl::Context& tl, tl::Ptr pa, tl::Ptr pb, tl::Ptr pc) {
        tl.composite("gemm", tl.ref(pa, {40, 70}, f16), tl.ref(pb, {70, 40}, f16), tl.ref(pc, {40, 40}, f16));
      },
      a, b, c);
  torch.synchronize();
  const auto energy = torch.energy();
  const std::int64_t in = 2 * 40 * 70 * 2 + 2 * 70 * 40 * 2, out = 40 * 40 * 2;  // each operand twice
  EXPECT_EQ(part(*energy, EnergyPart::matrix), 40 * 70 * 40 * 720);
  EXPECT_EQ(part(*energy, EnergyPart::hbm), in * 31200 + out * 33700);
  EXPECT_EQ(part(*energy, EnergyPart::routers), (in + out) * 301);
  EXPECT_EQ(part(*energy, EnergyPart::tcm), in * 1070 + in * 940 + out * 1070 + out * 940);
  EXPECT_EQ(fj(other(*energy)), 0);
  expect_sums(*energy);
}

// host → switch → pcie_ep → io_noc → UCIe → r0c1 → r0c0 → HBM: two PCIe links, one crossing, three routers.
// 256 B are read from the slice and written into the neighbour's slot. They pass r0c0 to the engine, r0c0 and r0c1 to the
// neighbour; the credit of 16 B passes both back. The sender's TCM has no part in it.
TEST(EnergyOfARun, AReferenceThatIsSentIsReadWhereItLiesAndPassesTheTcm) {
  Torch torch(small(priced()), {.data = false});
  Engine& engine = torch.engine();
  const PeCoord from{0, 0, 0}, to{0, 0, 1};
  device::QueueWiring plan{.name = "pair", .rules = {}, .pes = {}};
  const auto ring = engine.space().pools().allocate(
      address::MemorySpace::Tcm, to, {.size = plan.rules.slot_size * plan.rules.slots, .owner = "ring"});
  plan.pes = {{from, {{"E", to, {}, ring, true, false}}}, {to, {{"W", from, ring, {}, false, true}}}};
  const auto wiring = engine.processors().queues().add(plan);
  Tensor x = torch.empty({128}, f16);
  engine.install(engine.current_stream(), wiring);
  engine.launch({"pass", {from, to}, {2, 1, 1}, wiring}, {x.state().get()}, [&](tl::Context& tl) {
    if (tl.program_id(0) == 0)
      tl.send("E", tl.ref(x.ptr(), {128}, f16));
    else
      tl.recv("W", {128}, f16);
  });
  torch.synchronize();
  const auto energy = torch.energy();
  ASSERT_TRUE(energy);
  EXPECT_EQ(part(*energy, EnergyPart::hbm), 256 * 31200);
  EXPECT_EQ(part(*energy, EnergyPart::tcm), 256 * 1070);
  EXPECT_EQ(part(*energy, EnergyPart::routers), (3 * 256 + 2 * 16) * 301);
  EXPECT_EQ(fj(other(*energy)), 0);
  expect_sums(*energy);
}

TEST(EnergyOfARun, AHostWriteCrossesPcie) {
  Torch torch(small(priced()), {.data = false});
  Tensor x = torch.zeros({2048}, f16);
  torch.synchronize();
  const auto energy = torch.energy();
  EXPECT_EQ(part(*energy, EnergyPart::pcie), 4096 * 2 * 52009);
  EXPECT_EQ(part(*energy, EnergyPart::ucie), 4096 * 2003);
  EXPECT_EQ(part(*energy, EnergyPart::routers), 4096 * 3 * 301);
  EXPECT_EQ(part(*energy, EnergyPart::hbm), 4096 * 33700);
  ASSERT_EQ(energy->operations.size(), 1u);
  EXPECT_EQ(energy->operations[0].kind, "host_write");
  expect_sums(*energy);
}

TEST(EnergyOfARun, ALaunchIsPricedPerProgram) {
  Torch torch(small({"energy.launch_pj=10", "energy.static.pe_w=0.25", "energy.static.cube_w=2",
                     "energy.static.sip_w=5"}),
              {.data = false});
  torch.launch({"nothing", Grid{8, 4}}, [](tl::Context&) {});
  torch.synchronize();
  const auto energy = torch.energy();
  EXPECT_EQ(part(*energy, EnergyPart::launch), 32 * 10'000);
  // 32 PEs, 4 cubes, 1 SIP: 8 + 8 + 5 W, which are 21,000 fJ per ps, of the whole run.
  EXPECT_EQ(energy->time, torch.traces().back().total);
  EXPECT_EQ(part(*energy, EnergyPart::static_), 21'000 * energy->time.ps());
  ASSERT_EQ(energy->requests.size(), 1u);
  EXPECT_EQ(fj(energy->requests[0].total()), 320'000);
  EXPECT_DOUBLE_EQ(energy->average_w(), 21 + 320'000.0 / static_cast<double>(energy->time.ps()) / 1000);
  EXPECT_TRUE(energy->unpriced.empty());
  expect_sums(*energy);
}

// 256 × 512 · 512 × 256 keeps the matrix unit at work for 512 tiles of 16 ns, 4096 multiply-adds a ns.
TEST(EnergyOfARun, PowerIsThatOfTheBusiestMicrosecond) {
  Torch torch(small({"energy.mac.f16_pj=0.5"}), {.data = false});
  Tensor x = torch.empty({512, 256}, f16);
  torch.launch(
      "dot",
      [](tl::Context& tl, tl::Ptr p) {
        tl.dot(tl.load(p, {256, 512}, f16), tl.load(p, {512, 256}, f16));
      },
      x);
  torch.synchronize();
  const auto energy = torch.energy();
  EXPECT_EQ(fj(energy->total()), std::int64_t{256} * 512 * 256 * 500);
  EXPECT_EQ(energy->window, 1_us);
  EXPECT_DOUBLE_EQ(energy->peak_w(), 2.048);  // 4096 · 0.5 pJ every ns
  EXPECT_DOUBLE_EQ(energy->average_w(), 2.048 * 8192 / energy->time.ns());
  EXPECT_GT(energy->peak_at(), 1_us);
  EXPECT_EQ(energy->windows.front(), Energy());  // it still loads
  EXPECT_THAT(energy->unpriced,
              ::testing::IsSupersetOf({"energy.hbm_read_pj_per_byte", "energy.tcm_read_pj_per_byte"}));
  expect_sums(*energy);
}

TEST(EnergyOfARun, IsTheSameWithoutALogOnAnyThreadsAndPacketByPacket) {
  const auto energy_with = [](TorchOptions options) {
    options.data = false;
    Torch torch(load(priced({"energy.static.pe_w=0.3"})), options);
    for (int sip = 0; sip < 2; ++sip) {
      torch.ahbm.set_device(sip);
      Tensor x = torch.zeros({64, 512}, f16, DPPolicy{.cube = Split::row_wise, .pe = Split::column_wise});
      torch.launch(
          "scale",
          [](tl::Context& tl, tl::Ptr p) {
            const auto mine = tl.shard(p);
            tl.store(mine.ptr, tl.exp(tl.load(mine.ptr, mine.shape, f16)));
          },
          x);
    }
    torch.synchronize();
    return *torch.energy();
  };
  const EnergyReport plain = energy_with({.threads = 1});
  expect_sums(plain);
  EXPECT_EQ(fj(other(plain)), 0);
  for (const TorchOptions& other : {TorchOptions{.threads = 2}, TorchOptions{.threads = 1, .packets = true},
                                    TorchOptions{.threads = 1, .log = LogStorage::none},
                                    TorchOptions{.threads = 2, .log = LogStorage::disk}}) {
    const EnergyReport again = energy_with(other);
    EXPECT_EQ(trace::to_json(again), trace::to_json(plain));
    EXPECT_EQ(again.windows, plain.windows);
  }
}

// A control message of 64 bytes is charged on the links it crosses, though no operation moves it.
TEST(EnergyOfARun, WhatLinksCarryBesideOperationsIsOther) {
  Torch torch(small(priced({"launch.control_bytes=64"})), {.data = false});
  torch.launch({"nothing", Grid{1, 1}}, [](tl::Context&) {});
  torch.synchronize();
  const auto energy = torch.energy();
  // Host to endpoint and back: two PCIe links each way.
  EXPECT_EQ(part(*energy, EnergyPart::pcie), 64 * 4 * 52009);
  EXPECT_GT(fj(other(*energy)), part(*energy, EnergyPart::pcie));
  expect_sums(*energy);
}

TEST(PowerWindows, CutAnAmountAtTheirBordersWithoutLoss) {
  PowerWindows windows;
  windows.add(Energy::from_fj(10), 500_ns, 3500_ns);  // 3 µs: a sixth, two thirds, a sixth
  EXPECT_EQ(windows.sums(), (std::vector<Energy>{Energy::from_fj(1), Energy::from_fj(4), Energy::from_fj(3),
                                                 Energy::from_fj(2)}));
  windows.add(Energy::from_fj(7), 2_us, 2_us);
  EXPECT_EQ(windows.sums()[2], Energy::from_fj(10));
}

TEST(PowerWindows, OfALongRunAreLonger) {
  PowerWindows windows, fine;
  windows.add(Energy::from_fj(1000), 0_us, 4_us);
  const Time late = 1_us * static_cast<std::int64_t>(PowerWindows::kMost);
  windows.add(Energy::from_fj(5), late, late + 1_ns);
  EXPECT_EQ(windows.window(), 2_us);
  EXPECT_EQ(windows.sums()[0], Energy::from_fj(500));
  EXPECT_EQ(windows.sums()[1], Energy::from_fj(500));
  EXPECT_EQ(windows.sums()[PowerWindows::kMost / 2], Energy::from_fj(5));
  fine.add(Energy::from_fj(3), 3_us, 4_us);
  windows.add(fine);
  EXPECT_EQ(windows.sums()[1], Energy::from_fj(503));
}

TEST(Energy, HasUnitsAndAllItsDigits) {
  EXPECT_EQ(to_string(Energy::from_fj(12)), "12 fJ");
  EXPECT_EQ(to_string(Energy::from_fj(12'345'678)), "12.346 nJ");
  EXPECT_EQ(trace::watts_text(0.25), "250.000 mW");
  const auto wide = static_cast<Energy::Wide>(INT64_MAX) * 1000;
  EXPECT_EQ(trace::fj_text(Energy::from_fj(wide)), "9223372036854775807000");
  EXPECT_EQ(to_string(Energy::from_fj(wide)), "9.223 MJ");
}

}  // namespace
}  // namespace kernbench::runtime::energy_test
