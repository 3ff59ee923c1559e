// Probes: the formula, computed from the graph alone, against the simulation.
#include "device/probe.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>

#include "device/device_world.hpp"
#include "device/probe_catalogue.hpp"

namespace kernbench::device::probe_test {
namespace {

using testing::load;
using topology::NodeId;

ProbeResult probe(Prober& prober, const char* from, const char* to, Direction op, Bytes bytes,
                  std::int64_t offset = 0) {
  const topology::Graph& graph = prober.graph();
  return prober.measure(prober.make_case(graph.find(from), graph.find(to), op, bytes, offset));
}

TEST(Probe, PartsOfAReadAreWrittenDown) {
  Prober prober(load({"pe.pe_dma.overhead_ns=3"}));
  const ProbeResult r = probe(prober, "sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0", Direction::read, 32_KiB);
  // See Hbm.APeReadsTheNextCube: 203 ps of wires there and 299 back, 16 ns of UCIe ports each way, a burst of 8 ns, 32 KiB at
  // 128 GB/s; 3 ns of the engine.
  EXPECT_EQ(
      r.parts,
      (ProbeParts{.wire = 502_ps, .overhead = 35_ns, .serialization = 256_ns, .memory = 8_ns, .ack = 0_ps}));
  EXPECT_EQ(r.total, 299'502_ps);
  EXPECT_TRUE(r.formula.exact);
  EXPECT_DOUBLE_EQ(r.bottleneck_gbs(), 128);
  EXPECT_NEAR(r.effective_gbs(), 32768 / 299.502, 1e-9);
}

TEST(Probe, TheAcknowledgementOfAWriteIsAPartOfItsOwn) {
  Prober prober(load({}));
  const ProbeResult r = probe(prober, "sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0", Direction::write, 32_KiB);
  EXPECT_EQ(
      r.parts,
      (ProbeParts{
          .wire = 203_ps, .overhead = 16_ns, .serialization = 256_ns, .memory = 8_ns, .ack = 16'299_ps}));
  EXPECT_EQ(r.total, r.parts.total());
}

TEST(Probe, HopsAreThoseOfTheFormula) {
  Prober prober(load({}));
  const ProbeResult r = probe(prober, "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", Direction::read, 4_KiB);
  // Request: PE, router after 1 ps, controller after 2. Data: after the burst of 8 ns, 1 and 2 ps again.
  const topology::Graph& graph = prober.graph();
  const NodeId pe = graph.find("sip0.cube0.pe0");
  const NodeId router = graph.find("sip0.cube0.r0c0");
  const NodeId slice = graph.find("sip0.cube0.hbm_ctrl.pe0");
  EXPECT_EQ(r.hops, (std::vector<ProbeHop>{{pe, ProbeLeg::request, 0_ps},
                                           {router, ProbeLeg::request, 1_ps},
                                           {slice, ProbeLeg::request, 2_ps},
                                           {slice, ProbeLeg::data, 8'002_ps},
                                           {router, ProbeLeg::data, 8'003_ps},
                                           {pe, ProbeLeg::data, 8'004_ps}}));
  EXPECT_EQ(r.hops, r.formula.hops);
}

TEST(Probe, AMessageToAControlCpuIncludesItsService) {
  Prober prober(load({}));
  // Switch 5, endpoint 5, NoC 0, IO CPU 10 ns.
  const ProbeResult r = probe(prober, "host", "sip0.io_cpu", Direction::read, 0_B);
  EXPECT_EQ(r.parts.overhead, 20_ns);
  EXPECT_EQ(r.total, r.formula.parts.total());
  EXPECT_EQ(r.parts.serialization, 0_ps);
}

TEST(Probe, AnUnalignedAccessHasALowerBound) {
  Prober prober(load({}));
  const ProbeResult r =
      probe(prober, "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", Direction::write, 32_KiB, 128);
  EXPECT_FALSE(r.formula.exact);
  EXPECT_GE(r.total, r.formula.parts.total());
  EXPECT_EQ(r.parts.total(), r.total);
  // A write that ends in a short burst: burst 8 (1 B) comes at 8.004 ns, its channel is busy with burst 0,
  // which came at 1 ns, until 9. Then 8 ns; wires 2 ps each way.
  const ProbeResult odd =
      probe(prober, "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", Direction::write, Bytes(8 * 256 + 1));
  EXPECT_FALSE(odd.formula.exact);
  EXPECT_EQ(odd.total, 17_ns + 4_ps);
}

TEST(Probe, NonsenseIsRefused) {
  Prober prober(load({}));
  const NodeId pe = prober.graph().find("sip0.cube0.pe0");
  const NodeId slice = prober.graph().find("sip0.cube0.hbm_ctrl.pe0");
  EXPECT_THROW(prober.make_case(pe, pe, Direction::read, 1_B), InputError);
  EXPECT_THROW(prober.make_case(pe, slice, Direction::read, 0_B), InputError);
  EXPECT_THROW(prober.make_case(pe, slice, Direction::read, 257_MiB), InputError);
  EXPECT_THROW(prober.make_case(pe, slice, Direction::read, 1_B, (6_GiB).count()), InputError);
  EXPECT_THROW(prober.make_case(pe, slice, Direction::read, 1_B, -1), InputError);
  EXPECT_NO_THROW(prober.make_case(pe, slice, Direction::read, 1_B, (6_GiB).count() - 1));
  const NodeId tcm = prober.graph().find("sip0.cube0.pe1.pe_tcm");
  EXPECT_NO_THROW(prober.make_case(pe, tcm, Direction::read, 16_MiB));
  EXPECT_THROW(prober.make_case(pe, tcm, Direction::read, 16_MiB, 1), InputError);
}

TEST(Probe, AgreesWithItsFormulaOrABoundAndPacketByPacket) {
  const auto agrees = [](bool exact, Time formula, Time total, Time packet_by_packet) {
    ProbeResult r;
    r.formula.exact = exact;
    r.formula.parts.wire = formula;
    r.total = total;
    r.packet_by_packet = packet_by_packet;
    return r.agrees();
  };
  EXPECT_TRUE(agrees(true, 9_ns, 9_ns, 9_ns));
  EXPECT_FALSE(agrees(true, 9_ns, 9_ns, 9'001_ps));
  EXPECT_FALSE(agrees(true, 9_ns, 9'001_ps, 9'001_ps));
  EXPECT_TRUE(agrees(false, 9_ns, 9'001_ps, 9'001_ps));
  EXPECT_FALSE(agrees(false, 9_ns, 9'001_ps, 9'002_ps));
  EXPECT_FALSE(agrees(false, 9_ns, 8'999_ps, 8'999_ps));
}

void expect_parts_and_formula(const ProbeResult& r, const std::string& where) {
  EXPECT_EQ(r.parts.total(), r.total) << where;
  EXPECT_EQ(r.packet_by_packet, r.total) << where;
  if (r.formula.exact) {
    EXPECT_EQ(r.total, r.formula.parts.total()) << where;
    EXPECT_EQ(r.hops, r.formula.hops) << where;
  } else {
    EXPECT_GE(r.total, r.formula.parts.total()) << where;
  }
}

TEST(Catalogue, FormulaEqualsSimulationOnTheShippedMachines) {
  for (const char* name : {"default", "realistic", "small"}) {
    const std::vector<std::string> plain = {"cube.hbm.model=plain"};
    Prober prober(topology::load_machine(name, plain, topology::builtin_registry()));
    const Catalogue catalogue = run_catalogue(prober);
    EXPECT_TRUE(catalogue.holds()) << name;
    EXPECT_EQ(catalogue.cases.size(), std::string(name) == "small" ? 7u : 8u);
    for (const CatalogueCase& c : catalogue.cases) {
      EXPECT_TRUE(c.read.formula.exact && c.write.formula.exact) << c.distance.name;
      expect_parts_and_formula(c.read, c.distance.name);
      expect_parts_and_formula(c.write, c.distance.name);
      for (const ProbeResult& r : c.growing) {
        EXPECT_TRUE(r.formula.exact);
        expect_parts_and_formula(r, c.distance.name);
      }
    }
  }
}

TEST(Catalogue, WithRowsTheFormulaIsALowerBound) {
  Prober prober(load({}, "realistic"));
  const Catalogue catalogue = run_catalogue(prober);
  for (const Invariant& i : catalogue.invariants) EXPECT_EQ(i.broken, std::vector<std::string>{}) << i.name;
  for (const CatalogueCase& c : catalogue.cases) {
    EXPECT_FALSE(c.read.formula.exact);
    expect_parts_and_formula(c.read, c.distance.name);
    expect_parts_and_formula(c.write, c.distance.name);
  }
}

// An engine that splits a transfer has several messages on one way: the way shown is that of the first.
TEST(Probe, ASplitTransferIsOneWay) {
  Prober whole(load({}));
  Prober split(load({"pe.pe_dma.impl=acme.windowed_dma", "pe.pe_dma.request_bytes=4096"}));
  for (const Direction op : {Direction::read, Direction::write}) {
    const auto hops = [&](Prober& prober) {
      std::vector<ProbeHop> data;
      for (const ProbeHop& hop : probe(prober, "sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0", op, 32_KiB).hops)
        if (hop.leg == ProbeLeg::data) data.push_back(hop);
      return data;
    };
    EXPECT_EQ(hops(split), hops(whole));  // nothing is before the first packet, either way
  }
  for (const Invariant& i : run_catalogue(split).invariants)
    EXPECT_EQ(i.broken, std::vector<std::string>{}) << i.name;
}

TEST(Catalogue, LeavesOutWhatAMachineLacks) {
  const auto count = [](std::vector<std::string> overrides) {
    const topology::Machine machine = load(std::move(overrides));
    return probe_distances(machine, topology::Graph(machine)).size();
  };
  EXPECT_EQ(count({}), 8u);
  EXPECT_EQ(count({"system.sips.count=1"}), 7u);
  // One cube: host to it; own slice, same corner, opposite corner.
  EXPECT_EQ(count({"system.sips.count=1", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1"}), 4u);
}

/// The slice that a distance of the catalogue leads to; empty if it is left out.
std::string destination(std::vector<std::string> overrides, const char* name) {
  const topology::Machine machine = load(std::move(overrides));
  const topology::Graph graph(machine);
  for (const ProbeDistance& d : probe_distances(machine, graph))
    if (d.name == name) return graph.path(d.to);
  return "";
}

TEST(Catalogue, CornersAreThoseOfTheMachine) {
  const char* const same = "PE to a slice of its corner";
  const char* const opposite = "PE to the opposite corner";
  // PE 0 is in the first corner of the list. NW, NE, SW, SE of two: PEs 6 and 7 are SE, 7 is farther.
  EXPECT_EQ(destination({}, same), "sip0.cube0.hbm_ctrl.pe1");
  EXPECT_EQ(destination({}, opposite), "sip0.cube0.hbm_ctrl.pe7");
  // With one in each corner PE 3 is SE, and nobody shares PE 0's corner.
  EXPECT_EQ(destination({"cube.pe_layout.pe_per_corner=1"}, same), "");
  EXPECT_EQ(destination({"cube.pe_layout.pe_per_corner=1"}, opposite), "sip0.cube0.hbm_ctrl.pe3");
  // NE and SW: PE 0 at r0c4, so of SW the slice at r5c0, PE 2's, is the farther one.
  EXPECT_EQ(destination({"cube.pe_layout.corners=[NE, SW]"}, opposite), "sip0.cube0.hbm_ctrl.pe2");
  EXPECT_EQ(destination({"cube.pe_layout.corners=[NW, NE]"}, opposite), "");
  EXPECT_EQ(destination({"cube.pe_layout.corners=[NW]"}, same), "sip0.cube0.hbm_ctrl.pe1");
  EXPECT_EQ(destination({"cube.pe_layout.corners=[NW]"}, opposite), "");
}

// Bandwidths that make no whole picoseconds, packets that make no whole bursts, one channel, other corners and
// meshes: all invariants hold.
TEST(Catalogue, HoldsOnOddMachines) {
  const std::vector<std::vector<std::string>> machines = {
      {"cube.hbm.hbm_to_router_bw_gbs=137.752", "cube.hbm.num_pcs=4", "fabric.packet_bytes=512",
       "sip.cube_mesh.w=8", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1"},
      {"cube.hbm.hbm_to_router_bw_gbs=128", "cube.hbm.burst_bytes=512", "fabric.packet_bytes=1000",
       "sip.cube_mesh.w=1", "sip.cube_mesh.h=8"},
      {"cube.ucie.bw_gbs=77.7", "cube.hbm.hbm_to_router_bw_gbs=77.7", "cube.hbm.burst_bytes=16",
       "sip.cube_mesh.w=5", "sip.cube_mesh.h=3", "cube.pe_layout.pe_per_corner=4"},
      {"cube.hbm.model=rows", "cube.hbm.burst_bytes=64", "cube.hbm.num_pcs=1", "cube.ucie.bw_gbs=47.25",
       "sip.cube_mesh.w=8", "sip.cube_mesh.h=4"},
      {"fabric.header_bytes=16", "fabric.request_bytes=32", "fabric.ack_bytes=16"},
      {"fabric.header_bytes=7", "fabric.request_bytes=300", "fabric.ack_bytes=1", "cube.ucie.bw_gbs=77.7"},
  };
  for (const auto& overrides : machines) {
    Prober prober(load(overrides));
    for (const Invariant& i : run_catalogue(prober).invariants)
      EXPECT_EQ(i.broken, std::vector<std::string>{}) << i.name << " with " << overrides.front();
  }
}

TEST(Catalogue, BrokenInvariantsAreNamed) {
  Prober prober(load({}, "small"));
  Catalogue catalogue = run_catalogue(prober);
  std::vector<CatalogueCase> cases = catalogue.cases;
  cases[0].read.total = cases[0].write.total - 1_ps;
  cases[2].read.hops[1].head = cases[2].read.hops[2].head + 1_ps;
  std::swap(cases.back().write.total, cases[2].write.total);
  const std::vector<Invariant> invariants = check_invariants(prober.graph(), cases);
  for (const Invariant& i : invariants) EXPECT_FALSE(i.holds()) << i.name;

  cases = catalogue.cases;
  cases[1].growing[4].total += 1_ps;  // the largest of the saturation table counts, too
  std::vector<std::string> broken;
  for (const Invariant& i : check_invariants(prober.graph(), cases))
    broken.insert(broken.end(), i.broken.begin(), i.broken.end());
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_NE(broken[0].find("host to the farthest cube, 1 MiB"), std::string::npos) << broken[0];
}

TEST(Probe, FormulaAndSimulationAgreeOnRandomMachinesAndNodes) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const auto gbs = [&] { return fmt::format("{}.{}", pick(1, 700), pick(0, 9)); };
  int exact = 0;
  for (int trial = 0; trial < 100; ++trial) {
    Prober prober(load({"sip.cube_mesh.w=2", "sip.cube_mesh.h=2", "cube.routers.bw_gbs=" + gbs(),
                        "cube.ucie.bw_gbs=" + gbs(), "cube.hbm.hbm_to_router_bw_gbs=" + gbs(),
                        "pe.pe_dma.bw_gbs=" + gbs(), "cube.sram.bw_gbs=" + gbs(), "pe.pe_dma.overhead_ns=1.5",
                        fmt::format("fabric.packet_bytes={}", pick(0, 1) ? 64 << pick(0, 3) : pick(16, 5000)),
                        fmt::format("cube.hbm.burst_bytes={}", 32 << pick(0, 5)),
                        fmt::format("cube.hbm.num_pcs={}", 1 << pick(0, 4)),
                        fmt::format("cube.hbm.access_ns={}", pick(0, 9)), "cube.routers.overhead_ns=0.3"}));
    const topology::Graph& graph = prober.graph();
    for (int i = 0; i < 40; ++i) {
      const auto any = [&] {
        return NodeId{static_cast<std::uint32_t>(pick(0, static_cast<int>(graph.node_count()) - 1))};
      };
      const NodeId from = any();
      const NodeId to = pick(0, 1) ? any() : graph.hbm_ctrl({pick(0, 1), pick(0, 3), pick(0, 7)});
      if (from == to) continue;
      const Bytes bytes(pick(0, 1) ? pick(1, 40'000) : 256 * pick(1, 100));
      const Direction op = pick(0, 1) ? Direction::read : Direction::write;
      const ProbeResult r =
          prober.measure(prober.make_case(from, to, op, bytes, pick(0, 3) ? 0 : pick(0, 999)));
      expect_parts_and_formula(
          r, fmt::format("trial {}: {} → {}, {} B", trial, graph.path(from), graph.path(to), bytes.count()));
      exact += r.formula.exact;
    }
  }
  EXPECT_GT(exact, 1500);  // of 4000
}

}  // namespace
}  // namespace kernbench::device::probe_test
