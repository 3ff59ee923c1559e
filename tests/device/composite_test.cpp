#include <gtest/gtest.h>

#include <random>

#include "device/pe_world.hpp"

namespace kernbench::device::composite_test {
namespace {

using namespace kernbench::dtypes;
using testing::kBase;
using testing::Kernels;
using Spans = std::vector<Kernels::Span>;

enum class Staging { ref_ref, load_ref, load_load };

void gemm(tl::Context& tl, Staging staging, int m, int k, int n) {
  const tl::Ptr a(kBase);
  const tl::Ptr b(kBase + (16 << 20));
  const tl::Ptr c(kBase + (32 << 20));
  auto left = staging == Staging::ref_ref ? tl.ref(a, {m, k}, f16) : tl.load(a, {m, k}, f16);
  auto right = staging == Staging::load_load ? tl.load(b, {k, n}, f16) : tl.ref(b, {k, n}, f16);
  tl.composite("gemm", left, right, tl.ref(c, {m, n}, f16));
}

Kernels::Span at(double start_ns, double end_ns) { return {Time::from_ns(start_ns), Time::from_ns(end_ns)}; }

// A 2 × 2 × 2-tile product, 64 × 128 × 64: eight steps. A tile of A is 32 × 64, of B 64 × 32, 4096 B of f16
// each: 16 ns of the slice. A step: fetch 8192 B at 512 GB/s 16 ns, GEMM 16 ns. An output tile: 2048 B, 4 ns
// of the TCM's write port and 8 ns of the slice. The composite is dispatched at 3 ns and the scheduler takes
// 1 ns.

// Both operands from HBM. Three buffers: six transfers start at 4 ns. The i-th ends 2 ps + 8 ns + i · 16 ns +
// 3 ps after the first request, as long as the slice has nothing else to do: 12.005 + 16 i. A step starts
// when its second operand is there; when it has been fetched, 16 ns later, the transfers of the third step
// after it start. Every second step ends an output tile. Step 2 has computed at 108.005; the TCM's write port
// is held by a packet of the seventh transfer until 109.004, then stores 4 ns. Its DMA-out starts at 113.004,
// in turn with step 3's fetch: a turn of 0.5 ns ends at 113.005, then its 8 packets go at 1 ns each, and the fetch
// ends 4 ns later, 128.005. Its bursts, one for each channel, come from 114.5 on and go in turn with the reads': each waits
// for the burst in service and for one more, so that the last goes from 132.002 to 140.002, acknowledged 140.004. Reads come
// 8 ns later from then on: the eighth at 12.005 + 16 · 8 + 8 = 148.005. The second and third DMA-out, 185.004 and 257.004,
// alike: the last read ends at 12.005 + 16 · 16 + 3 · 8 = 292.005.
TEST(Composite, TwoByTwoByTwoWithBothOperandsReferenced) {
  Kernels k;
  k.run({0, 0, 0}, gemm, Staging::ref_ref, 64, 128, 64);
  EXPECT_EQ(k.spans(OpKind::tile_dma_in),
            (Spans{at(4, 28.005), at(4, 44.005), at(4, 60.005), at(4, 76.005), at(4, 92.005), at(4, 108.005),
                   at(60.005, 124.005), at(60.005, 148.005), at(92.005, 164.005), at(92.005, 180.005),
                   at(128.005, 196.005), at(128.005, 220.005), at(164.005, 236.005), at(164.005, 252.005),
                   at(200.005, 268.005), at(200.005, 292.005)}));
  EXPECT_EQ(k.spans(OpKind::tile_gemm),
            (Spans{at(44.005, 76.005), at(76.005, 113.004), at(108.005, 144.005), at(148.005, 185.004),
                   at(180.005, 216.005), at(220.005, 257.004), at(252.005, 288.005), at(292.005, 328.005)}));
  EXPECT_EQ(k.spans(OpKind::tile_dma_out),
            (Spans{at(113.004, 140.004), at(185.004, 212.004), at(257.004, 284.004), at(328.005, 344.010)}));
}

/// How long the matrix unit computes, record by record.
std::vector<Time> computed(const Kernels& k, OpKind kind) {
  std::vector<Time> all;
  for (const OpRecord& r : k.log.records)
    if (r.kind == kind) all.push_back(phase_length(r.phase[2]));
  return all;
}

// Two products of 2 × 1 × 2 tiles in one dot: in f16 a tile takes 16 cycles, in f8 and i8 half of that, in f32 four times as
// much, in the other f8 ⌈16 / 3⌉ = 6; of two types the slower counts. Filling the unit takes 5 cycles for each product.
TEST(MatrixUnit, TakesItsTimeByDtypeAndIsFilledOncePerProduct) {
  const auto time = [](DType left, DType right) {
    Kernels k({"pe.pe_gemm.rates={f8e4m3: 2, i8: 2, f32: 0.25, f8e5m2: 3}", "pe.pe_gemm.fill_cycles=5"});
    k.run({0, 0, 0}, [&](tl::Context& tl) {
      tl.dot(tl.load(tl::Ptr(kBase), {2, 64, 64}, left),
             tl.load(tl::Ptr(kBase + (1 << 20)), {2, 64, 64}, right));
    });
    return computed(k, OpKind::gemm);
  };
  EXPECT_EQ(time(f16, f16), (std::vector<Time>{2 * (4 * 16_ns + 5_ns)}));
  EXPECT_EQ(time(bf16, bf16), (std::vector<Time>{2 * (4 * 16_ns + 5_ns)}));
  EXPECT_EQ(time(f8e4m3, f8e4m3), (std::vector<Time>{2 * (4 * 8_ns + 5_ns)}));
  EXPECT_EQ(time(i8, i8), (std::vector<Time>{2 * (4 * 8_ns + 5_ns)}));
  EXPECT_EQ(time(f32, f32), (std::vector<Time>{2 * (4 * 64_ns + 5_ns)}));
  EXPECT_EQ(time(f8e5m2, f8e5m2), (std::vector<Time>{2 * (4 * 6_ns + 5_ns)}));
  EXPECT_EQ(time(f16, f32), (std::vector<Time>{2 * (4 * 64_ns + 5_ns)}));
}

// A composite is one product: its first step fills the unit, the others find it full.
TEST(MatrixUnit, IsFilledOncePerComposite) {
  Kernels k({"pe.pe_gemm.fill_cycles=5"});
  k.run({0, 0, 0}, [](tl::Context& tl) {
    for (int i = 0; i < 2; ++i) gemm(tl, Staging::ref_ref, 64, 64, 32);
  });
  EXPECT_EQ(computed(k, OpKind::tile_gemm), (std::vector<Time>{21_ns, 16_ns, 21_ns, 16_ns}));
}

// A in the TCM (16 KiB, loaded 3 … 75.005), B from HBM: one transfer of 16 ns a step, so fetch and GEMM keep
// up with it. The composite waits for A: 75.005 + 1. Fetches now follow each other without a gap, and every
// second one lets the 8 packets of a DMA-out pass at the TCM's read port (4 ns): step 4's ends at 168.010. The bursts of the
// first DMA-out, which begins at 153.009, go in turn with those of transfers 5 and 6; the last is through at 180.007. Transfer 6 then has
// its last burst at 180.007 + 8, and packets that had to wait for it go at 1 ns each: 190.510.
TEST(Composite, TwoByTwoByTwoWithOneOperandResident) {
  Kernels k;
  k.run({0, 0, 0}, gemm, Staging::load_ref, 64, 128, 64);
  EXPECT_EQ(k.spans(OpKind::dma_read), (Spans{at(3, 75.005)}));
  EXPECT_EQ(k.spans(OpKind::tile_dma_in),
            (Spans{at(76.005, 100.010), at(76.005, 116.010), at(76.005, 132.010), at(116.010, 148.010),
                   at(132.010, 164.010), at(148.010, 190.510), at(168.010, 204.010), at(184.010, 231.010)}));
  EXPECT_EQ(k.spans(OpKind::tile_gemm),
            (Spans{at(100.010, 132.010), at(116.010, 153.009), at(132.010, 164.010), at(148.010, 189.009),
                   at(168.010, 200.010), at(190.510, 230.009), at(209.510, 241.510), at(231.010, 270.509)}));
  EXPECT_EQ(k.spans(OpKind::tile_dma_out),
            (Spans{at(153.009, 180.009), at(189.009, 220.009), at(230.009, 246.014), at(270.509, 286.514)}));
}

// Both in the TCM: loads of 16 KiB each, 3 … 75.005 and 4 … 139.005; then a step every 16 ns, and 4 ns
// more for each that lets the 8 packets of a DMA-out pass, which begin after the turn of 0.5 ns that begins with them.
TEST(Composite, TwoByTwoByTwoWithBothOperandsResident) {
  Kernels k;
  k.run({0, 0, 0}, gemm, Staging::load_load, 64, 128, 64);
  EXPECT_EQ(k.spans(OpKind::dma_read), (Spans{at(3, 75.005), at(4, 139.005)}));
  EXPECT_EQ(k.spans(OpKind::tile_gemm),
            (Spans{at(140.005, 172.005), at(156.005, 192.005), at(172.005, 204.005), at(188.005, 228.005),
                   at(208.005, 240.005), at(224.005, 264.005), at(244.005, 276.005), at(260.005, 300.005)}));
  EXPECT_EQ(k.spans(OpKind::tile_dma_out),
            (Spans{at(192.005, 208.510), at(228.005, 244.510), at(264.005, 280.510), at(300.005, 316.010)}));
  // The first step waits for its fetch. After it the unit is never idle: a step's time up to its own GEMM is the unit's, but for what
  // packets that went between add to its fetch.
  const auto steps = k.of(OpKind::tile_gemm);
  using Phases = std::array<std::uint32_t, 3>;  // the unit busy with the step before, fetch, GEMM
  EXPECT_EQ(steps[0].phase, (Phases{0, 16'000, 16'000}));
  EXPECT_EQ(steps[1].phase, (Phases{16'000, 0, 16'000}));
  EXPECT_EQ(steps[3].phase, (Phases{16'000, 4'000, 16'000}));
  EXPECT_EQ(steps[4].phase, (Phases{16'000, 0, 16'000}));
}

TEST(Composite, EpiloguesRunOnTheVectorUnit) {
  Kernels k;
  k.run({0, 0, 0}, [](tl::Context& tl) {
    auto a = tl.ref(tl::Ptr(kBase), {32, 128}, f16);
    auto b = tl.ref(tl::Ptr(kBase + 0x10000), {128, 32}, f16);
    auto c = tl.ref(tl::Ptr(kBase + 0x20000), {32, 32}, f16);
    tl.composite("gemm", a, b, c,
                 {.epilogue = {{"mul", 2.0, isa::EpiloguePoint::per_k_step}, {"exp"}, {"add", 1.0}}});
  });
  // The accumulator goes on to the vector unit from registers: a step ends when its GEMM does.
  for (const OpRecord& step : k.of(OpKind::tile_gemm))
    EXPECT_EQ(step.end - step.start, Time::from_ps(step.phase[0] + step.phase[1] + step.phase[2]));
  const auto math = k.of(OpKind::tile_math);
  ASSERT_EQ(math.size(), 4u);  // mul for each of 2 steps, exp and add once
  // 1024 elements of f32 are 16 vectors of 64 lanes: mul 16 cycles, exp 128, add 16 and the store of 2048 B 4
  // ns.
  EXPECT_EQ(math[0].end - math[0].start, 16_ns);
  // The exp is handed over together with the second mul and waits for it first.
  EXPECT_EQ(math[2].phase, (std::array<std::uint32_t, 3>{16'000, 0, 128'000}));
  EXPECT_EQ(k.of(OpKind::tile_dma_out).size(), 1u);
  EXPECT_EQ(k.of(OpKind::tile_dma_out)[0].start, math[3].end);
}

// The product of the second of two k steps is the last to be added: the output is ready when its operation is done.
TEST(Composite, AnEpilogueOfKStepsAloneEndsWithTheLastOfThem) {
  Kernels k;
  const KernelLaunch& launch = k.run({0, 0, 0}, [](tl::Context& tl) {
    tl.composite("gemm", tl.ref(tl::Ptr(kBase), {32, 128}, f16),
                 tl.ref(tl::Ptr(kBase + 0x10000), {128, 32}, f16),
                 tl.ref(tl::Ptr(kBase + 0x20000), {32, 32}, f16),
                 {.epilogue = {{"mul", 2.0, isa::EpiloguePoint::per_k_step},
                               {"abs", {}, isa::EpiloguePoint::per_k_step}}});
  });
  const auto math = k.of(OpKind::tile_math);
  ASSERT_EQ(math.size(), 4u);
  ASSERT_EQ(k.of(OpKind::tile_dma_out).size(), 1u);
  EXPECT_EQ(k.of(OpKind::tile_dma_out)[0].start, math[3].end);
  EXPECT_GT(launch.completed(), math[3].end);
}

// 40 × 64 × 80: rows of 32 and 8, columns of 32, 32 and 16, one k step. n runs faster than m.
TEST(Composite, TilesComeRowByRow) {
  Kernels k;
  k.run({0, 0, 0}, gemm, Staging::ref_ref, 40, 64, 80);
  std::vector<std::uint64_t> macs, bytes_out;
  for (const OpRecord& r : k.of(OpKind::tile_gemm)) macs.push_back(r.amount / 64);
  for (const OpRecord& r : k.of(OpKind::tile_dma_out)) bytes_out.push_back(r.amount / 2);
  const std::vector<std::uint64_t> elements = {32 * 32, 32 * 32, 32 * 16, 8 * 32, 8 * 32, 8 * 16};
  EXPECT_EQ(macs, elements);
  EXPECT_EQ(bytes_out, elements);
}

TEST(Composite, IsTheSameInPiecesAndPacketByPacket) {
  for (const Staging s : {Staging::ref_ref, Staging::load_ref, Staging::load_load}) {
    Kernels in_pieces;
    in_pieces.run({0, 0, 0}, gemm, s, 160, 200, 100);
    Kernels packet_by_packet({}, {.shortcuts = false});
    packet_by_packet.run({0, 0, 0}, gemm, s, 160, 200, 100);
    ASSERT_EQ(in_pieces.log.records.size(), packet_by_packet.log.records.size());
    for (std::size_t i = 0; i < in_pieces.log.records.size(); ++i)
      ASSERT_EQ(in_pieces.log.records[i].end, packet_by_packet.log.records[i].end) << i;
  }
}

TEST(Composite, RecordCountsFollowTheFormula) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int i = 0; i < 60; ++i) {
    const int m = pick(1, 150), kk = pick(1, 300), n = pick(1, 150);
    const auto staging = static_cast<Staging>(pick(0, 2));
    Kernels k;
    k.run({0, 0, 0}, gemm, staging, m, kk, n);
    const auto tiles = [](int extent, int tile) {
      return static_cast<std::size_t>((extent + tile - 1) / tile);
    };
    const std::size_t mt = tiles(m, 32), kt = tiles(kk, 64), nt = tiles(n, 32);
    EXPECT_EQ(k.of(OpKind::tile_gemm).size(), mt * nt * kt);
    EXPECT_EQ(k.of(OpKind::tile_dma_in).size(), (2 - static_cast<std::size_t>(staging)) * mt * nt * kt);
    EXPECT_EQ(k.of(OpKind::tile_dma_out).size(), mt * nt);
    std::uint64_t macs = 0;
    for (const OpRecord& r : k.of(OpKind::tile_gemm)) macs += r.amount;
    EXPECT_EQ(macs,
              static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(kk) * static_cast<std::uint64_t>(n));
  }
}

// While the scheduler is at work, eight of ten loads fill the read channel. The first two that end let in the last two,
// the third lets in the first tile.
TEST(Composite, GoesOnWhenLoadsLeaveTheReadChannelThatTheyFilled) {
  Kernels k({"pe.pe_scheduler.overhead_ns=50"});
  k.run({0, 0, 0}, [](tl::Context& tl) {
    tl.composite("gemm", tl.ref(tl::Ptr(kBase), {32, 64}, f16),
                 tl.ref(tl::Ptr(kBase + 0x10000), {64, 32}, f16),
                 tl.ref(tl::Ptr(kBase + 0x20000), {32, 32}, f16));
    for (int i = 0; i < 10; ++i) tl.load(tl::Ptr(kBase + 0x100000), {64, 64}, f16);
  });
  ASSERT_EQ(k.of(OpKind::tile_dma_in).size(), 2u);
  EXPECT_EQ(k.of(OpKind::tile_dma_out).size(), 1u);
  EXPECT_EQ(k.spans(OpKind::tile_dma_in)[0].start, k.spans(OpKind::dma_read)[2].end);
}

// A load of 16 KiB, two of 4 KiB and the composite's first three, 16 ns each, follow each other in the slice: products x · y
// can start when y is there, at 107.005 ns, and leave the fetch stage 16 ns later. At that instant the composite's first tile
// is there, so its step goes before the second product; at 139.005 ns its second one. Its third comes a turn of that
// step's fetch later, at 155.505 ns, so the second product starts at 155.005 ns.
TEST(Composite, GoesBeforeProductsOfTheSameInstant) {
  for (const bool runs : {true, false}) {
    Kernels k({}, {.shortcuts = runs});
    k.run({0, 0, 0}, [](tl::Context& tl) {
      const auto a = tl.load(tl::Ptr(kBase), {64, 128}, f16);
      const auto x = tl.load(tl::Ptr(kBase), {32, 64}, f16);
      const auto y = tl.load(tl::Ptr(kBase + 0x10000), {64, 32}, f16);
      tl.composite("gemm", a, tl.ref(tl::Ptr(kBase + (16 << 20)), {128, 128}, f16),
                   tl.ref(tl::Ptr(kBase + (32 << 20)), {64, 128}, f16));
      tl.dot(x, y);
      tl.dot(x, y);
    });
    EXPECT_EQ(k.spans(OpKind::gemm)[0].start, 107'005_ps) << runs;
    EXPECT_EQ(k.spans(OpKind::tile_gemm)[0].start, 123'005_ps) << runs;
    EXPECT_EQ(k.spans(OpKind::tile_gemm)[1].start, 139'005_ps) << runs;
    EXPECT_EQ(k.spans(OpKind::gemm)[1].start, 155'005_ps) << runs;
  }
}

// A product leaves the matrix unit's fetch stage while the scheduler is still at work on the composite.
TEST(Composite, StartsNothingBeforeTheSchedulerIsDone) {
  Kernels k({"pe.pe_scheduler.overhead_ns=1000"});
  k.run({0, 0, 0}, [](tl::Context& tl) {
    tl.dot(tl.zeros({32, 64}, f16), tl.zeros({64, 32}, f16));
    tl.composite("gemm", tl.ref(tl::Ptr(kBase), {32, 64}, f16),
                 tl.ref(tl::Ptr(kBase + 0x10000), {64, 32}, f16),
                 tl.ref(tl::Ptr(kBase + 0x20000), {32, 32}, f16));
  });
  // 2 ns of launch, four commands of 1 ns each, then the scheduler.
  EXPECT_EQ(k.spans(OpKind::tile_dma_in)[0].start, 1006_ns);
}

TEST(Composite, FiveHundredTwelveCubedIs2048Tiles) {
  Kernels k;
  k.run({0, 0, 0}, gemm, Staging::ref_ref, 512, 512, 512);
  EXPECT_EQ(k.of(OpKind::tile_gemm).size(), 2048u);
}

/// Share of the composite's time, from its first DMA-in to its last DMA-out, in which the matrix unit computed.
double utilisation(Staging staging) {
  Kernels k;
  k.run({0, 0, 0}, gemm, staging, 512, 512, 512);
  const auto tiles = k.of(OpKind::tile_gemm);
  const Time span = k.of(OpKind::tile_dma_out).back().end - k.of(OpKind::tile_dma_in).front().start;
  return static_cast<double>(tiles.size()) * 16 / span.ns();
}

// Both operands from HBM: 8192 B a step, 32 ns; 8 steps and 2048 B of output a tile: 128 ns of GEMM in 264
// ns.
TEST(Composite, WithBothOperandsReferencedTheSliceIsTheLimit) {
  const double limit = 128.0 / 264;
  EXPECT_GE(utilisation(Staging::ref_ref), 0.98 * limit);
  EXPECT_LE(utilisation(Staging::ref_ref), limit);
}

// One operand in the TCM: 4096 B a step, 16 ns; 128 ns of GEMM in 136 ns.
TEST(Composite, WithOneOperandResidentItNearlyKeepsUp) {
  const double limit = 128.0 / 136;
  EXPECT_GE(utilisation(Staging::load_ref), 0.98 * limit);
  EXPECT_LE(utilisation(Staging::load_ref), limit);
}

// Both operands and the result in the TCM: as with a result in memory, but nothing goes out, so that no fetch lets a
// packet pass. Loads end at 139.005, the scheduler takes 1 ns, then a fetch of 16 ns a step; the last step begins at
// 140.005 + 7 · 16 and takes 16 fetch, 16 GEMM, 8 store (4096 B of f32). The sum of the result begins as it ends.
TEST(Composite, WithATileAsItsResultWritesNothing) {
  Kernels k;
  k.run({0, 0, 0}, [](tl::Context& tl) {
    const auto a = tl.load(tl::Ptr(kBase), {64, 128}, f16),
               b = tl.load(tl::Ptr(kBase + (16 << 20)), {128, 64}, f16);
    tl.sum(tl.composite("gemm", a, b), 0);
  });
  EXPECT_TRUE(k.spans(OpKind::tile_dma_out).empty());
  EXPECT_EQ(k.spans(OpKind::tile_gemm).size(), 8u);
  EXPECT_EQ(k.spans(OpKind::tile_gemm).back(), at(140.005 + 7 * 16, 140.005 + 7 * 16 + 16 + 16 + 8));
  EXPECT_EQ(k.spans(OpKind::math).front().start, k.spans(OpKind::tile_gemm).back().end);
}

// Four products of one tile each: fetch (4 · 4096 + 4096) B at 512 GB/s 40 ns, 4 · 16 ns of GEMM, store 4 · 4096 B 32 ns.
TEST(Dot, OfBatchesTakesThemOneAfterTheOther) {
  Kernels k;
  k.run({0, 0, 0}, [](tl::Context& tl) {
    const auto a = tl.load(tl::Ptr(kBase), {4, 32, 64}, f16),
               b = tl.load(tl::Ptr(kBase + (16 << 20)), {64, 32}, f16);
    tl.dot(a, b);
  });
  const auto spans = k.spans(OpKind::gemm);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].end - spans[0].start, Time::from_ns(40 + 64 + 32));
}

}  // namespace
}  // namespace kernbench::device::composite_test
