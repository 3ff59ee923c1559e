// What a DMA engine may have in flight, and what bounds a transfer before its first request: overhead and look-up.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "device/pe_world.hpp"
#include "device/probe.hpp"
#include "kernbench/dma_model.hpp"

namespace kernbench::device::window_test {
namespace {

using models::DmaRows;
using models::WindowDma;
using testing::Kernels;
using testing::load;
using testing::Machine;

constexpr PeCoord kPe0{0, 0, 0};

std::string window(Bytes bytes) { return fmt::format("pe.pe_dma.window_bytes={}", bytes.count()); }

/// What a command takes before its first request goes out.
Time issue(const Prober& prober) {
  return prober.machine().at("pe.pe_dma").time("overhead_ns") +
         prober.machine().at("pe.pe_mmu").time("overhead_ns");
}

std::vector<DmaRows> split(Bytes window, const DmaRows& piece) {
  std::vector<DmaRows> requests;
  WindowDma(window).split(piece, requests);
  return requests;
}

// Of 64 KiB: up to 4 KiB go in one request, more in requests of 512 bytes.
TEST(DmaWindow, CutsWhatIsLargeForIt) {
  EXPECT_EQ(split(64_KiB, {.offset = 0, .row_bytes = 4096}).size(), 1u);
  EXPECT_EQ(split(64_KiB, {.offset = 0, .row_bytes = 8192}).size(), 16u);
  // At the multiples of 512: 412 bytes, 15 of 512, 100.
  const auto odd = split(64_KiB, {.offset = 100, .row_bytes = 8192});
  ASSERT_EQ(odd.size(), 17u);
  EXPECT_EQ(odd.front(), (DmaRows{.offset = 100, .row_bytes = 412}));
  EXPECT_EQ(odd.back(), (DmaRows{.offset = 8192, .row_bytes = 100}));
  // Rows of 64 bytes go eight at a time, rows of 1,024 in two.
  const auto short_rows = split(64_KiB, {.offset = 0, .row_bytes = 64, .rows = 100, .stride = 4096});
  ASSERT_EQ(short_rows.size(), 13u);
  EXPECT_EQ(short_rows[1], (DmaRows{.offset = 8 * 4096, .row_bytes = 64, .rows = 8, .stride = 4096}));
  EXPECT_EQ(short_rows[12].rows, 4);
  EXPECT_EQ(split(64_KiB, {.offset = 0, .row_bytes = 1024, .rows = 8, .stride = 4096}).size(), 16u);
}

TEST(DmaWindow, OfAFewBytesIsARequestOfAFewBytes) {
  EXPECT_EQ(WindowDma::request_bytes(64_B), 64_B);
  EXPECT_EQ(split(64_B, {.offset = 0, .row_bytes = 256}).size(), 4u);
}

// To the next cube: 502 ps of wires, 32 ns of UCIe ports, a burst of 8 ns: 40.502 ns, and 2 ns for a request of 256 bytes at 128
// GB/s. 16 of them are in flight: after each 16, the engine waits 42.502 − 16 · 2 = 10.502 ns. 128 requests: 7 waits.
TEST(DmaWindow, MakesATransferWaitOnceForEveryWindow) {
  Prober prober(load({window(4_KiB)}));
  const topology::Graph& graph = prober.graph();
  const ProbeResult r = prober.measure(prober.make_case(
      graph.find("sip0.cube0.pe0"), graph.find("sip0.cube1.hbm_ctrl.pe0"), Direction::read, 32_KiB));
  EXPECT_EQ(r.total, 40'502_ps + 256_ns + 7 * 10'502_ps);
  EXPECT_EQ(r.parts.window, 7 * 10'502_ps);
  EXPECT_TRUE(r.formula.exact);
  EXPECT_TRUE(r.agrees());
  ASSERT_TRUE(r.formula.window);
  EXPECT_EQ(r.formula.window->in_flight, 4_KiB);
  EXPECT_EQ(r.formula.window->round_trip, 42'502_ps);
  EXPECT_NEAR(r.bottleneck_gbs(), 4096 / 42.502, 1e-9);
}

// The rate of a long stream is the slowest link's, or a window per round trip of one request.
TEST(DmaWindow, BoundsTheRateToAWindowPerRoundTrip) {
  for (const char* name : {"default", "realistic"})
    for (const char* to : {"sip0.cube0.hbm_ctrl.pe0", "sip0.cube1.hbm_ctrl.pe0", "sip1.cube0.hbm_ctrl.pe0"})
      for (const Bytes bytes : {4_KiB, 8_KiB, 16_KiB, 32_KiB, 64_KiB, 128_KiB, 256_KiB})
        for (const Direction op : {Direction::read, Direction::write}) {
          Prober prober(load({window(bytes), "cube.hbm.impl=builtin.hbm", "cube.hbm.access_ns=20"}, name));
          const topology::Graph& graph = prober.graph();
          const auto measured = [&](Bytes moved) {
            return prober.measure(prober.make_case(graph.find("sip0.cube0.pe0"), graph.find(to), op, moved));
          };
          const ProbeResult one = measured(1_MiB), more = measured(3_MiB);
          EXPECT_TRUE(one.agrees() && more.agrees()) << name << to << bytes.count();
          const double request = static_cast<double>(WindowDma::request_bytes(bytes).count());
          const Time latency = one.formula.parts.total() - one.formula.parts.window -
                               one.formula.parts.serialization - issue(prober);
          const double link = one.formula.bottleneck.gbs();
          const double round_trip = latency.ns() + request / link;
          const double expected = std::min(link, static_cast<double>(bytes.count()) / round_trip);
          const double rate = 2 * 1024 * 1024 / (more.total - one.total).ns();
          EXPECT_NEAR(rate / expected, 1, 0.01) << name << " " << to << " " << bytes.count();
        }
}

TEST(DmaWindow, ThatNeverBindsChangesNothing) {
  for (const Direction op : {Direction::read, Direction::write}) {
    Prober with(load({window(256_KiB)})), without(load({}));
    const auto time = [&](Prober& prober) {
      return prober.time(prober.make_case(prober.graph().find("sip0.cube0.pe0"),
                                          prober.graph().find("sip0.cube1.hbm_ctrl.pe0"), op, 128_KiB));
    };
    EXPECT_EQ(time(with), time(without));
  }
}

// SRAM answers requests in order, too. 2 ns there, back, 4 KiB in flight of 128 GB/s: it is the link that bounds.
TEST(DmaWindow, HoldsForEveryMemory) {
  for (const char* to : {"sip0.cube3.sram", "sip0.cube5.pe3.pe_tcm"})
    for (const Direction op : {Direction::read, Direction::write}) {
      Prober prober(load({window(4_KiB)}));
      const ProbeResult r = prober.measure(
          prober.make_case(prober.graph().find("sip0.cube0.pe0"), prober.graph().find(to), op, 128_KiB));
      EXPECT_TRUE(r.agrees()) << to << ": " << r.total.ns() << " " << r.formula.parts.total().ns();
      EXPECT_TRUE(r.formula.exact);
    }
}

TEST(DmaWindow, IsSharedByTheTransfersOfAChannelAndNotWithTheOtherChannel) {
  const auto last = [](const std::vector<std::string>& overrides, bool both) {
    Machine m(overrides);
    auto& far = m.device.hbm({1, 0, 0});
    for (int i = 0; i < 4; ++i) m.read(kPe0, far, i * 4096, 4096);
    if (both)
      for (int i = 0; i < 4; ++i) m.write(kPe0, m.device.hbm({1, 1, 0}), i * 4096, 4096);
    m.run();
    return m.transfers[3]->retired;
  };
  // Four reads of 4 KiB through a window of 4 KiB: one after the other.
  const Time one = [&] {
    Machine m({window(64_KiB)});
    m.read(kPe0, m.device.hbm({1, 0, 0}), 0, 256);
    return m.run();
  }();
  // Each round of 16 requests of 256 bytes takes a round trip; the last one ends 15 requests of 2 ns behind its first.
  EXPECT_EQ(last({window(4_KiB)}, false), 4 * one + 15 * 2_ns);
  EXPECT_EQ(last({window(4_KiB)}, true), last({window(4_KiB)}, false));
}

TEST(DmaWindow, IsOnTheRecordOfWhatItHeldBack) {
  Kernels w({window(4_KiB), "pe.pe_mmu.overhead_ns=1"});
  w.device.mmu(kPe0).insert(address::VirtAddr(testing::kBase),
                            {address::pe_hbm_addr({1, 0, 0}, w.device.machine().hbm_slice(), 0_B), 64_MiB},
                            "far");
  w.run(kPe0, [](tl::Context& tl) { tl.load(tl::Ptr(testing::kBase), {8192}, DType::f16); });
  const auto read = std::ranges::find(w.log.records, OpKind::dma_read, &OpRecord::kind);
  ASSERT_NE(read, w.log.records.end());
  // 64 requests, 16 in flight: the last one goes out three round trips after the first, and its way is the rest of phase 0.
  Machine m({window(64_KiB)});
  m.issue(kPe0, Direction::read, m.device.hbm({1, 0, 0}), {.row_bytes = 256}, true);
  const Time round_trip = m.run();
  EXPECT_EQ(phase_length(read->phase[kHeldPhase]), 3 * round_trip + 15 * 2_ns);
  EXPECT_GT(phase_length(read->phase[0]), phase_length(read->phase[kHeldPhase]));
}

// Commands take 4 ns of the engine one after the other; look-ups of 10 ns overlap. Own slice: 8.004 ns and 1 ns for 256 bytes.
TEST(DmaLookUp, IsLatencyAndNotThroughput) {
  Machine m({"pe.pe_dma.overhead_ns=4", "pe.pe_mmu.overhead_ns=10"});
  for (int i = 0; i < 4; ++i) m.read(kPe0, m.device.hbm(kPe0), i * 256, 256);
  m.run();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(m.transfers[static_cast<std::size_t>(i)]->retired, (i + 1) * 4_ns + 10_ns + 9'004_ps);
}

TEST(DmaLookUp, OfCommandsThatStartTogetherEndTogether) {
  Machine m({"pe.pe_mmu.overhead_ns=10"});
  for (int i = 0; i < 8; ++i) m.read(kPe0, m.device.hbm(kPe0), i * 256, 256);
  m.run();
  // Eight bursts of eight channels at once; the data leaves one after the other.
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(m.transfers[static_cast<std::size_t>(i)]->retired, 10_ns + 8'004_ps + (i + 1) * 1_ns);
}

// Only so many commands are in flight: the ninth begins when the first has retired, and looks up its address then.
TEST(DmaLookUp, BeginsWhenACommandIsAccepted) {
  Machine m({"pe.pe_mmu.overhead_ns=10", "pe.pe_dma.outstanding=1"});
  for (int i = 0; i < 2; ++i) m.read(kPe0, m.device.hbm(kPe0), i * 256, 256);
  m.run();
  EXPECT_EQ(m.transfers[1]->retired, 2 * (10_ns + 9'004_ps));
}

}  // namespace
}  // namespace kernbench::device::window_test
