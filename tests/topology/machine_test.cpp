#include "kernbench/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kernbench/error.hpp"
#include "topology/energy_prices.hpp"
#include "topology/machine_text.hpp"
#include "topology/schema.hpp"

namespace kernbench::topology::machine_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Machine load(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return load_machine_text(text, "m.yaml", overrides, builtin_registry());
}

Error::Info refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    load(text, overrides);
  } catch (const InputError& e) {
    return {e.id(), e.where(), e.message(), e.hint()};
  }
  ADD_FAILURE() << "accepted:\n" << text;
  return {};
}

/// Refused at the line of `part`, with that id, and with a hint.
void expect_refused_at(const std::string& text, const std::string& part, const char* id) {
  const Error::Info info = refusal(text);
  EXPECT_EQ(info.id, id) << info.what;
  EXPECT_THAT(info.where, StartsWith("m.yaml:" + std::to_string(line_of(text, part)) + ":")) << info.what;
  EXPECT_FALSE(info.hint.empty()) << info.what;
}

TEST(LoadMachine, AcceptsTheShippedMachines) {
  for (const ShippedMachine& shipped : shipped_machines())
    EXPECT_NO_THROW(load_machine(shipped.name, {}, builtin_registry())) << shipped.name;
  EXPECT_EQ(shipped_machines().size(), 3u);
}

TEST(LoadMachine, AcceptsTheOlderFormOfComponents) {
  const std::string now = "  switch: {kind: switch, impl: builtin.switch, attrs: {overhead_ns: 5}}\n";
  const auto with = [&](const std::string& text) { return replaced(default_text(), now, text); };
  const Machine machine = load(with("  components: {switch: {kind: switch, attrs: {overhead_ns: 7}}}\n"));
  EXPECT_EQ(machine.at("system.switch").number("overhead_ns"), 7);
  EXPECT_EQ(load(with("  components:\n    switch: {overhead_ns: 7}\n"), {"system.switch.overhead_ns=9"})
                .at("system.switch")
                .number("overhead_ns"),
            9);
  EXPECT_EQ(refusal(with(now + "  components: {switch: {}}\n")).id, "topology.duplicate-key");
  EXPECT_EQ(refusal(with("  components: 3\n")).id, "topology.type");
}

TEST(LoadMachine, TheDefaultIsTheMachineOfTheDesign) {
  const Machine machine = load(default_text());
  EXPECT_EQ(machine.sips(), 2);
  EXPECT_EQ(machine.cube_mesh(), (MeshCoord{4, 4}));
  EXPECT_EQ(machine.pes(), 8);
  EXPECT_EQ(machine.total_pes(), 256);
  EXPECT_EQ(machine.hbm_slice(), 6_GiB);  // 48 / 8
  // 32 · 64 · 32 multiply-adds in 16 cycles of 1 ns are 4096 per ns; two operations each.
  EXPECT_DOUBLE_EQ(machine.pe_peak_tflops(), 8.192);
  EXPECT_THAT(machine.idealised(), ::testing::IsSupersetOf({"HBM access 0 ns", "PCIe 5 ns"}));
  EXPECT_THAT(load(default_text(), {"cube.routers.overhead_ns=0"}).idealised(),
              ::testing::Contains("routers 0 ns"));
  EXPECT_TRUE(load_machine("realistic", {}, builtin_registry()).idealised().empty());
}

TEST(LoadMachine, TheDefaultFileStatesEveryParameterAtItsDefault) {
  const Machine machine = load(default_text());
  for (const Group& group : machine.groups()) {
    for (const Param& param : group.params.params()) {
      const std::string path = group.path + "." + param.name;
      if (path == "system.sips.w" || path == "system.sips.h") continue;  // a ring has none
      EXPECT_THAT(machine.where(path), StartsWith("m.yaml:")) << path;
      EXPECT_NE(machine.where(path), machine.where(group.path)) << path << " is not in the file";
      if (param.required) continue;
      EXPECT_EQ(group.params.value(param.name), param.fallback) << path;
    }
  }
}

TEST(LoadMachine, AMinimalFileTakesTheRegistrysDefaults) {
  const Machine minimal = load(
      "system: {sips: {count: 2}, host: {}, switch: {}, pcie: {}}\n"
      "sip: {cube_mesh: {w: 4, h: 4}, io: {pcie_ep: {}, io_cpu: {}, io_noc: {}}}\n"
      "cube: {pe_layout: {pe_per_corner: 2}, routers: {}, m_cpu: {}, sram: {}, ucie: {}, hbm: }\n"
      "pe: {pe_cpu: {}, pe_scheduler: {}, pe_dma: {}, pe_fetch_store: {}, pe_gemm: {}, pe_math: {}, pe_tcm: "
      "{},\n"
      "     pe_mmu: {}, pe_ipcq: {}}\n"
      "fabric: {}\nlaunch: {}\n");
  EXPECT_EQ(minimal, load(default_text()));
}

TEST(LoadMachine, ComponentsMayLeaveKindImplAndAttrsOut) {
  const std::string& text = default_text();
  const std::string full = "switch: {kind: switch, impl: builtin.switch, attrs: {overhead_ns: 5}}";
  for (const char* form : {"switch: {overhead_ns: 5}", "switch: {kind: switch, overhead_ns: 5}",
                           "switch: {attrs: {overhead_ns: 5}}", "switch: {}", "switch:", "switch: {attrs: }"})
    EXPECT_EQ(load(replaced(text, full, form)), load(text)) << form;
}

TEST(LoadMachine, OverridesReachAnyKeyAndTheLastWins) {
  const Machine machine =
      load(default_text(), {"sip.cube_mesh.w=8", "cube.hbm.attrs.num_pcs=4", "cube.hbm.num_pcs=16",
                            "cube.size_mm=[20, 16]", "cube.pe_layout.corners=[NW, SE]"});
  EXPECT_EQ(machine.cube_mesh().x, 8);
  EXPECT_EQ(machine.at("cube.hbm").integer("num_pcs"), 16);
  EXPECT_EQ(machine.at("cube").numbers("size_mm"), (std::vector<double>{20, 16}));
  EXPECT_EQ(machine.pes(), 4);  // 2 corners of 2
  EXPECT_EQ(machine.where("sip.cube_mesh.w"), "--set sip.cube_mesh.w=8");
}

TEST(LoadMachine, ABadOverrideNamesItself) {
  const struct {
    const char *text, *id, *hint;
  } cases[] = {
      {"sip.cube_mesh.w", "topology.set", "for example"},
      {"=8", "topology.set", "for example"},
      {"sip.cube_mesh.w=", "topology.set", "for example"},
      {"sip.cube_mesh.ww=8", "topology.unknown-key", "'w'"},
      {"sip.cube_msh.w=8", "topology.unknown-key", "sip.cube_mesh"},
      {"w=8", "topology.unknown-key", ""},
      {"sip.cube_mesh.w=0", "param.range", "from 1 to 32"},
      {"sip.cube_mesh.w=four", "param.type", "from 1 to 32"},
      {"sip.cube_mesh.w=[4", "yaml.syntax", ""},
      {"sip.cube_mesh={w: 8}", "topology.missing", ""},
      {"cube.hbm.impl=acme.hbm", "topology.unknown-impl", "builtin.hbm"},
      {"cube.routers.bw_gbs=.nan", "param.range", "GB/s"},
  };
  for (const auto& [text, id, hint] : cases) {
    const Error::Info info = refusal(default_text(), {text});
    EXPECT_EQ(info.id, id) << text << ": " << info.what;
    EXPECT_THAT(info.where, HasSubstr(std::string("--set ") + text)) << info.what;
    EXPECT_THAT(info.hint, HasSubstr(hint)) << text;
  }
}

TEST(LoadMachine, RefusesAnUnknownKeyWithTheNearestKnownOne) {
  const std::string& text = default_text();
  for (const auto& [from, to, nearest] :
       std::vector<std::array<std::string, 3>>{{"clock_ghz: 1", "clock_gzh: 1", "'clock_ghz'"},
                                               {"pe_per_corner: 2", "pes_per_corner: 2", "'pe_per_corner'"},
                                               {"num_pcs: 8", "nmu_pcs: 8", "'num_pcs'"},
                                               {"fabric:", "fabrics:", "'fabric'"},
                                               {"tile_cycles: 16", "tile_cycle: 16", "'tile_cycles'"}}) {
    const std::string bad = replaced(text, from, to);
    expect_refused_at(bad, to, "topology.unknown-key");
    EXPECT_THAT(refusal(bad).hint, HasSubstr(nearest));
  }
}

TEST(LoadMachine, RefusesDuplicateKeysAlsoAcrossAttrs) {
  expect_refused_at(replaced(default_text(), "    w: 4\n", "    w: 4\n    w: 5\n"), "    w: 5",
                    "yaml.duplicate-key");
  const std::string twice = replaced(
      default_text(), "impl: builtin.switch, attrs:", "impl: builtin.switch, overhead_ns: 7, attrs:");
  expect_refused_at(twice, "overhead_ns: 7", "topology.duplicate-key");
}

TEST(LoadMachine, RefusesWrongTypes) {
  const std::string& text = default_text();
  expect_refused_at(replaced(text, "    w: 4", "    w: wide"), "w: wide", "param.type");
  expect_refused_at(replaced(text, "    w: 4", "    w: 4.5"), "w: 4.5", "param.type");
  expect_refused_at(replaced(text, "    w: 4", "    w: '4'"), "w: '4'", "param.type");
  expect_refused_at(replaced(text, "    w: 4", "    w: 010"), "w: 010", "param.type");
  expect_refused_at(replaced(text, "    w: 4", "    w: [4]"), "w: [4]", "param.type");
  expect_refused_at(replaced(text, "size_mm: [18, 14]", "size_mm: 18"), "size_mm: 18", "param.type");
  expect_refused_at(replaced(text, "size_mm: [18, 14]", "size_mm: [18, 14, 3]"), "size_mm: [", "param.type");
  const std::string fabric =
      text.substr(text.find("fabric:\n"), text.find("launch:") - text.find("fabric:\n"));
  expect_refused_at(replaced(text, fabric, "fabric: 256\n"), "fabric: 256", "topology.type");
  expect_refused_at(replaced(text, "switch: {kind: switch", "switch: {kind: router"), "kind: router",
                    "topology.kind");
}

TEST(LoadMachine, RefusesNumbersThatMakeNoSense) {
  const std::string& text = default_text();
  for (const char* value :
       {"0", "-4", "33", "1e18", "99999999999999999999", ".nan", ".inf", "-.inf", "1e999"})
    expect_refused_at(replaced(text, "    w: 4", std::string("    w: ") + value), "    w: ", "param.range");
  for (const char* value : {"0", "-512", "1e-4", "1e7", ".nan", ".inf", "1e999"})
    expect_refused_at(replaced(text, "bw_gbs: 128   ", std::string("bw_gbs: ") + value + "   "),
                      std::string("bw_gbs: ") + value, "param.range");
  for (const char* value : {"-1", "1e7", ".nan"})
    expect_refused_at(replaced(text, "access_ns: 0", std::string("access_ns: ") + value),
                      "access_ns: ", "param.range");
}

TEST(LoadMachine, RefusesMissingSectionsAndComponents) {
  const std::string& text = default_text();
  for (const SchemaEntry& entry : schema()) {
    if (entry.optional) continue;
    const std::string bad = without_group(text, entry.path);
    const Error::Info info = refusal(bad);
    EXPECT_EQ(info.id, "topology.missing") << entry.path;
    EXPECT_THAT(info.what, HasSubstr("'" + entry.path + "'")) << info.where;
    EXPECT_THAT(info.where, StartsWith("m.yaml:")) << entry.path;
    EXPECT_FALSE(info.hint.empty());
  }
}

// ── energy ──

const std::string kEnergy =
    "\nenergy:\n  hbm_read_pj_per_byte: 31.2\n  mac:\n    f16_pj: 0.72\n  static: {pe_w: 0.25}\n";

TEST(EnergyPrices, AreLeftOutOrGivenInParts) {
  EXPECT_FALSE(EnergyPrices::of(load(default_text())));
  EXPECT_THAT(load(default_text()).idealised(), ::testing::Contains("energy 0 pJ"));
  const Machine machine = load(default_text() + kEnergy);
  EXPECT_THAT(machine.idealised(), ::testing::Not(::testing::Contains("energy 0 pJ")));
  const auto prices = EnergyPrices::of(machine);
  ASSERT_TRUE(prices);
  EXPECT_EQ(prices->hbm_read.fj, 31200);
  EXPECT_TRUE(prices->hbm_read.given);
  EXPECT_EQ(prices->hbm_write.fj, 0);
  EXPECT_FALSE(prices->hbm_write.given);
  EXPECT_EQ(prices->mac[static_cast<std::size_t>(DType::f16)].fj, 720);
  EXPECT_EQ(prices->vector[0].key, "energy.vector.simple_pj");
  EXPECT_EQ(prices->sip_mw, 250 * 8 * 16);
  EXPECT_EQ(prices->machine_mw, 250 * 8 * 16 * 2);
}

TEST(EnergyPrices, ArePrintedAndReadBack) {
  for (const std::string& text :
       {default_text() + kEnergy, default_text() + "\nenergy: {}\n", default_text()}) {
    const Machine machine = load(text);
    EXPECT_EQ(load(to_yaml(machine)), machine);
  }
  EXPECT_THAT(to_yaml(load(default_text())), ::testing::Not(HasSubstr("energy")));
}

TEST(EnergyPrices, CanBeSetOnAMachineWithoutAny) {
  const Machine machine = load(default_text(), {"energy.mac.f16_pj=0.5", "energy.launch_pj=3"});
  EXPECT_EQ(EnergyPrices::of(machine)->mac[0].fj, 500);
  EXPECT_EQ(EnergyPrices::of(machine)->launch.fj, 3000);
  EXPECT_EQ(machine.where("energy.launch_pj"), "--set energy.launch_pj=3");
  EXPECT_EQ(load(default_text(), {"energy.mac={f16_pj: 3}"}).at("energy.mac").number("f16_pj"), 3);
}

TEST(EnergyPrices, AreRefusedWithTheirPlace) {
  const auto with = [](const std::string& from, const std::string& to) {
    return replaced(default_text() + kEnergy, from, to);
  };
  expect_refused_at(with("31.2", "-1"), "hbm_read_pj_per_byte", "param.range");
  expect_refused_at(with("31.2", "much"), "hbm_read_pj_per_byte", "param.type");
  expect_refused_at(with("31.2", "31.2345"), "hbm_read_pj_per_byte", "topology.invalid");
  expect_refused_at(with("f16_pj", "f17_pj"), "f17_pj", "topology.unknown-key");
  expect_refused_at(with("pe_w: 0.25", "pe_w: 0.0001"), "pe_w", "topology.invalid");
  const Error::Info digits = refusal(with("31.2", "31.2345"));
  EXPECT_THAT(digits.what, HasSubstr("31.2345 is no whole number of femtojoules"));
  EXPECT_THAT(refusal(with("pe_w: 0.25", "pe_w: 0.0001")).what, HasSubstr("milliwatts"));
  EXPECT_THAT(refusal(with("31.2", "-1")).what, HasSubstr("number of pJ per byte from 0 to"));
  EXPECT_THAT(refusal(default_text(), {"energy.tcm_pj=1"}).hint, HasSubstr("tcm_read_pj_per_byte"));
}

TEST(EnergyPrices, OfTheRealisticMachineArePublishedOnes) {
  const Machine machine = load_machine("realistic", {}, builtin_registry());
  const auto prices = EnergyPrices::of(machine);
  ASSERT_TRUE(prices);
  EXPECT_EQ(prices->hbm_read.fj, 250'000 / 8);  // 250 pJ per 64 bits
  EXPECT_EQ(prices->ucie.fj, 8 * 250);          // 0.25 pJ a bit
  EXPECT_EQ(prices->pcie.fj, 8 * 5 * 1300);     // five times 1.3 pJ a bit
  EXPECT_EQ(prices->mac[static_cast<std::size_t>(DType::bf16)].fj, 210 + 380);
  EXPECT_NEAR(static_cast<double>(prices->sip_mw), 80'000, 100);
}

TEST(LoadMachine, RefusesMissingValuesThatHaveNoDefault) {
  for (const auto& [line, path] : std::vector<std::pair<std::string, std::string>>{
           {"    count: 2\n", "system.sips.count"}, {"    h: 4\n", "sip.cube_mesh.h"}}) {
    const Error::Info info = refusal(replaced(default_text(), line, ""));
    EXPECT_EQ(info.id, "topology.missing");
    EXPECT_THAT(info.what, HasSubstr(path));
  }
}

TEST(LoadMachine, RefusesMoreCubesOrPesThanAddressesHold) {
  const std::string& text = default_text();
  EXPECT_NO_THROW(load(text, {"sip.cube_mesh.w=8"}));  // 8 × 4 = 32: five bits
  expect_refused_at(replaced(text, "    w: 4", "    w: 9"), "    w: 9", "topology.invalid");
  EXPECT_THAT(refusal(text, {"sip.cube_mesh.w=9"}).hint, HasSubstr("5 bits"));
  EXPECT_NO_THROW(load(text, {"cube.pe_layout.pe_per_corner=4"}));  // 16: four bits
  expect_refused_at(replaced(text, "pe_per_corner: 2", "pe_per_corner: 5"), "pe_per_corner: 5",
                    "topology.invalid");
  EXPECT_THAT(refusal(text, {"system.sips.count=257"}).id, "param.range");
}

TEST(LoadMachine, RefusesAnImplNobodyRegistered) {
  const std::string bad = replaced(default_text(), "impl: builtin.pe_gemm", "impl: acme.systolic");
  expect_refused_at(bad, "acme.systolic", "topology.unknown-impl");
  EXPECT_THAT(refusal(bad).hint, HasSubstr("builtin.pe_gemm"));
}

TEST(LoadMachine, SixSipsNeedAShapeForAGrid) {
  const std::string six =
      replaced(replaced(default_text(), "count: 2", "count: 6"), "topology: ring_1d ", "topology: torus_2d ");
  expect_refused_at(six, "count: 6", "topology.invalid");
  EXPECT_THAT(refusal(six).hint, HasSubstr("system.sips.w"));
  const Machine machine = load(replaced(six, "count: 6\n", "count: 6\n    w: 3\n    h: 2\n"));
  EXPECT_EQ(machine.sip_grid(), (MeshCoord{3, 2}));
  EXPECT_EQ(load(six, {"system.sips.topology=ring_1d"}).sip_grid(), (MeshCoord{6, 1}));
  EXPECT_EQ(load(six, {"system.sips.topology=ring_1d", "system.sips.w=3", "system.sips.h=2"}).sip_grid(),
            (MeshCoord{6, 1}));  // a ring has no rows
  EXPECT_EQ(load(six, {"system.sips.count=9"}).sip_grid(), (MeshCoord{3, 3}));
}

TEST(LoadMachine, GridsOfSipsMustMultiplyUp) {
  const auto with = [](const std::vector<std::string>& overrides) {
    return refusal(default_text(), overrides);
  };
  EXPECT_EQ(with({"system.sips.count=6", "system.sips.w=3", "system.sips.h=3"}).id, "topology.invalid");
  EXPECT_EQ(with({"system.sips.w=2"}).id, "topology.invalid");
  EXPECT_EQ(with({"system.sips.h=2"}).id, "topology.invalid");
  EXPECT_EQ(load(default_text(), {"system.sips.count=4", "system.sips.topology=mesh_2d"}).sip_topology(),
            SipTopology::torus_2d);  // what old files mean by it
}

TEST(LoadMachine, RefusesPartsThatDoNotFitTogether) {
  for (const auto& overrides : std::vector<std::vector<std::string>>{
           {"cube.routers.hole=[3, 2]"},                   // odd in six rows: not in the middle
           {"cube.routers.hole=[6, 2]"},                   // no ring of routers left
           {"cube.routers.hole=[0, 2]"},                   // half a hole
           {"cube.routers.hole=[1.5, 2]"},                 // half a router
           {"cube.ucie.connections=7"},                    // more than routers on a side
           {"cube.m_cpu.at_mm=[18.1, 2]"},                 // off the cube
           {"cube.sram.at_mm=[1, 14.1]"},                  // off the cube
           {"cube.hbm.hbm_total_gb_per_cube=47.9999999"},  // no whole bursts
           {"pe.pe_tcm.kernel_scratch_mb=13"},             // 4 + 13 > 16
           {"cube.hbm.model=rows", "cube.hbm.row_bytes=1000"},
           {"cube.hbm.model=rows", "cube.hbm.row_hit_ns=36"},
           {"cube.hbm.model=rows", "cube.hbm.refresh_ns=3900"}}) {
    const Error::Info info = refusal(default_text(), overrides);
    EXPECT_EQ(info.id, "topology.invalid") << overrides.back() << ": " << info.what;
    EXPECT_THAT(info.where, HasSubstr(overrides.back()));
    EXPECT_FALSE(info.hint.empty());
  }
}

/// One refresh every 3,900 ns by default: between two of them a row must be opened and a command given.
TEST(LoadMachine, RefusesRefreshesThatLeaveNoTimeForACommand) {
  const auto with = [](const std::string& refresh, const std::string& length, const std::string& activate) {
    return std::vector<std::string>{"cube.hbm.model=scheduled", "cube.hbm.refresh=" + refresh,
                                    "cube.hbm." + length, "cube.hbm." + activate};
  };
  for (const auto& overrides : {with("all_bank", "refresh_ns=350", "trcd_read_ns=3551"),
                                with("all_bank", "refresh_ns=350", "trcd_write_ns=3550.001"),
                                with("all_bank", "refresh_ns=3881", "trcd_read_ns=20"),
                                with("per_bank", "refresh_bank_ns=200", "trcd_read_ns=3701"),
                                with("per_bank", "refresh_bank_ns=3900", "trcd_write_ns=10")}) {
    const Error::Info info = refusal(default_text(), overrides);
    EXPECT_EQ(info.id, "topology.invalid") << overrides.back();
    EXPECT_THAT(info.what, HasSubstr("3900 ns from one refresh to the next"));
    EXPECT_THAT(info.hint, HasSubstr("at most refresh_interval_ns"));
  }
  for (const auto& overrides : {with("all_bank", "refresh_ns=350", "trcd_read_ns=3550"),
                                with("per_bank", "refresh_ns=3900", "trcd_read_ns=20"),
                                with("none", "refresh_ns=3900", "trcd_read_ns=3900"),
                                with("all_bank", "refresh_ns=0", "trcd_read_ns=3900")})
    EXPECT_NO_THROW(load(default_text(), overrides)) << overrides[2];
}

TEST(LoadMachine, RefusesFilesThatAreNoMaps) {
  for (const char* text : {"just words", "[a, b]", "12"})
    EXPECT_EQ(refusal(text).id, "topology.type") << text;
  EXPECT_EQ(refusal("").what, "the file is empty");
  EXPECT_EQ(refusal("# nothing yet\n").what, "the file has no keys, only comments or an empty value");
  EXPECT_EQ(refusal("").id, "yaml.empty");
}

TEST(LoadMachine, RefusesAFolderAndAMissingFileByName) {
  const auto id_of = [](const std::string& path) {
    try {
      load_machine(path, {}, builtin_registry());
    } catch (const InputError& e) {
      EXPECT_EQ(e.where(), path);
      EXPECT_FALSE(e.hint().empty());
      return e.id();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(id_of(std::filesystem::temp_directory_path().string()), "file.folder");
  EXPECT_EQ(id_of("no_such_machine.yaml"), "file.missing");
}

TEST(LoadMachine, TakesAUsersImplWithItsParameters) {
  Registry registry = builtin_registry();
  registry.add_impl("pe_gemm", {"acme.systolic",
                                "a weight-stationary array",
                                {Param::integer("fill_cycles", 12, {0, 1000}, "cycles to fill the array")}});
  const std::string text = replaced(default_text(),
                                    "impl: builtin.pe_gemm, attrs: {tile_m: 32, tile_k: 64, tile_n: 32, "
                                    "tile_cycles: 16, rates: {}, fill_cycles: 0}",
                                    "impl: acme.systolic, attrs: {fill_cycles: 7}");
  const Machine machine = load_machine_text(text, "m.yaml", {}, registry);
  EXPECT_EQ(machine.group("pe.pe_gemm").impl, "acme.systolic");
  EXPECT_EQ(machine.at("pe.pe_gemm").integer("fill_cycles"), 7);
  EXPECT_EQ(load_machine_text(to_yaml(machine), "m.yaml", {}, registry), machine);
  EXPECT_EQ(refusal(text).id, "topology.unknown-impl");  // other registries know nothing of it
}

TEST(LoadMachine, TwoMachinesStandSideBySide) {
  const Machine a = load(default_text());
  const Machine b = load(default_text(), {"sip.cube_mesh.w=2"});
  EXPECT_EQ(a.cubes(), 16);
  EXPECT_EQ(b.cubes(), 8);
  EXPECT_FALSE(a == b);
}

TEST(Registry, RefusesASecondImplOrKindOfTheSameNameAndUnknownKinds) {
  Registry registry = builtin_registry();
  const auto id_of = [&](const std::string& kind, Impl impl) {
    try {
      registry.add_impl(kind, std::move(impl));
    } catch (const InputError& e) {
      return e.id() + ": " + e.hint();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(id_of("pe_gemm", {"builtin.pe_gemm", "", {}}), StartsWith("registry.twice"));
  EXPECT_THAT(id_of("pe_gem", {"acme.gemm", "", {}}), HasSubstr("'pe_gemm'"));
  EXPECT_THAT(id_of("pe_dma", {"acme.dma", "", {Param::integer("outstanding", 1, {1, 2}, "")}}),
              StartsWith("registry.twice"));
  EXPECT_EQ(id_of("pe_gemm", {"acme.gemm", "", {}}), "accepted");
  EXPECT_EQ(id_of("pe_gemm", {"acme.memory", "", {}, models::links<models::RegularLink>()}),
            "registry.behaviour: kind pe_gemm takes models::MatrixFactory (compute_model.hpp)");
  EXPECT_EQ(id_of("host", {"acme.host", "", {}, models::links<models::RegularLink>()}),
            "registry.behaviour: that of kind host cannot be replaced: leave it out");
}

TEST(Override, OfAttrsAsAMapSetsEachOfThem) {
  const Registry registry = builtin_registry();
  for (const char* text : {"pe.pe_mmu.attrs={overhead_ns: 7}", "pe.pe_mmu={attrs: {overhead_ns: 7}}",
                           "pe.pe_mmu={overhead_ns: 7}"}) {
    const std::vector<std::string> overrides = {text};
    EXPECT_EQ(load_machine("small", overrides, registry).at("pe.pe_mmu").number("overhead_ns"), 7) << text;
  }
  for (const char* text :
       {"pe.pe_mmu.attrs={nonsense: 7}", "pe.pe_mmu.attrs=5", "pe.pe_mmu.attrs={overhead_ns: -7}",
        "cube.routers.attrs=[1]", "pe.pe_mmu={attrs: {attrs: {overhead_ns: 7}}}", "system={}"}) {
    const std::vector<std::string> overrides = {text};
    EXPECT_THROW(load_machine("small", overrides, registry), InputError) << text;
  }
}

TEST(Override, ThatDoesNotFitTheFileIsNamedInTheHint) {
  const std::vector<std::string> overrides = {"cube.routers.rows=7"};
  try {
    load_machine("small", overrides, builtin_registry());
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(e.hint().find("--set cube.routers.rows=7"), std::string::npos) << e.what();
  }
}

TEST(Machine, OlderFilesChooseTheMemoryByItsModel) {
  const auto hbm = [](const std::string& name, std::vector<std::string> overrides) {
    return load_machine(name, overrides, builtin_registry()).group("cube.hbm");
  };
  EXPECT_EQ(hbm("default", {}).impl, "builtin.hbm");
  EXPECT_EQ(hbm("default", {"cube.hbm.model=rows"}), hbm("default", {"cube.hbm.impl=builtin.hbm_rows"}));
  EXPECT_EQ(hbm("realistic", {"cube.hbm.model=plain"}),
            hbm("realistic", {"cube.hbm.model=plain", "cube.hbm.banks=8"}));
  const std::string text =
      replaced(default_text(), "      num_pcs: 8\n", "      model: rows\n      num_pcs: 8\n      banks: 4\n");
  const Machine machine = load_machine_text(text, "m.yaml", {}, builtin_registry());
  EXPECT_EQ(machine.group("cube.hbm").impl, "builtin.hbm_rows");
  EXPECT_EQ(machine.at("cube.hbm").integer("banks"), 4);
}

TEST(Machine, AParameterOfAnotherImplSaysWhose) {
  const std::vector<std::string> overrides = {"cube.hbm.banks=4"};
  try {
    load_machine("default", overrides, builtin_registry());
    FAIL() << "it was accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.id(), "topology.unknown-key");
    EXPECT_THAT(e.hint(), HasSubstr("builtin.hbm_rows has: give cube.hbm the impl builtin.hbm_rows"));
  }
}

TEST(Machine, AnImplChecksItsValuesAndTheErrorNamesTheirPlace) {
  Registry registry = builtin_registry();
  const auto check = [](const ParamSet& params) -> std::optional<Refusal> {
    if (params.integer("lanes") % 2 == 0) return std::nullopt;
    return Refusal{"lanes", "lanes come in pairs", "make it even"};
  };
  registry.add_impl("pe_math", {.name = "acme.simd",
                                .doc = "",
                                .params = {Param::integer("lanes", 8, {1, 64}, "")},
                                .behaviour = {},
                                .check = check});
  const std::string text =
      replaced(default_text(),
               "impl: builtin.pe_math, attrs: {vector_bytes: 256, simple_cycles: 1, divide_cycles: 4, "
               "transcendental_cycles: 8}",
               "impl: acme.simd, attrs: {lanes: 7}");
  try {
    load_machine_text(text, "m.yaml", {}, registry);
    FAIL() << "it was accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.where(), ::testing::MatchesRegex("m.yaml:[0-9]+:[0-9]+"));
    EXPECT_EQ(e.message(), "lanes come in pairs");
  }
  const Machine machine = load_machine_text(replaced(text, "lanes: 7", "lanes: 6"), "m.yaml", {}, registry);
  try {
    machine.require_behaviours();
    FAIL() << "it can be simulated";
  } catch (const InputError& e) {
    EXPECT_EQ(e.id(), "topology.no-behaviour");
    EXPECT_THAT(e.where(), ::testing::MatchesRegex("m.yaml:[0-9]+:[0-9]+"));
  }
}

/// A matrix unit that looks at its parameters when it is made.
struct Picky : models::MatrixModel {
  explicit Picky(const ParamSet& params) {
    if (params.integer("edge") > 16) throw std::runtime_error("an edge of at most 16 cells");
  }
  models::TileShape tile() const override { return {}; }
  double cycles(const models::Product&) const override { return 1; }
};

Registry with_picky() {
  Registry registry = builtin_registry();
  registry.add_impl(
      "pe_gemm", {"acme.picky", "", {Param::integer("edge", 8, {1, 64}, "")}, models::matrix_unit<Picky>()});
  return registry;
}

TEST(Machine, WhatAModelRefusesIsRefusedBeforeItRuns) {
  const Registry registry = with_picky();
  const std::vector<std::string> good = {"pe.pe_gemm.impl=acme.picky"};
  EXPECT_NO_THROW(load_machine("default", good, registry).require_behaviours());
  const std::vector<std::string> bad = {"pe.pe_gemm.impl=acme.picky", "pe.pe_gemm.edge=32"};
  const Machine machine = load_machine("default", bad, registry);
  try {
    machine.require_behaviours();
    FAIL() << "it was accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.id(), "topology.model");
    EXPECT_EQ(e.message(), "acme.picky cannot be made for pe.pe_gemm: an edge of at most 16 cells");
    EXPECT_EQ(e.where(), "--set pe.pe_gemm.impl=acme.picky");
  }
}

TEST(Machine, AnImplHasOnlyItsOwnParameters) {
  const std::string attrs =
      "impl: builtin.pe_gemm, attrs: {tile_m: 32, tile_k: 64, tile_n: 32, tile_cycles: 16, rates: {}, "
      "fill_cycles: 0}";
  const std::string text = replaced(default_text(), attrs, "impl: acme.picky, attrs: {tile_m: 32, edge: 4}");
  try {
    load_machine_text(text, "m.yaml", {}, with_picky());
    FAIL() << "it was accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.where(), ::testing::MatchesRegex("m.yaml:[0-9]+:[0-9]+"));
    EXPECT_EQ(e.message(), "acme.picky has no 'tile_m'");
    EXPECT_THAT(e.hint(), HasSubstr("builtin.pe_gemm has"));
  }
}

TEST(Override, OfAnImplTakesThePlaceOfWhatTheFileGaveTheOther) {
  const Registry registry = with_picky();
  const auto gemm = [&](std::vector<std::string> overrides) {
    return load_machine("realistic", overrides, registry).at("pe.pe_gemm");
  };
  EXPECT_EQ(gemm({"pe.pe_gemm.impl=acme.picky", "pe.pe_gemm.edge=4"}).params().size(), 1u);
  EXPECT_THROW(gemm({"pe.pe_gemm.impl=acme.picky", "pe.pe_gemm.tile_m=4"}), InputError);
  EXPECT_EQ(gemm({"pe.pe_gemm.impl=builtin.pe_gemm"}).integer("fill_cycles"), 32);
}

/// An impl that has a parameter of the name of one that the file gives another impl.
Registry with_tall() {
  Registry registry = with_picky();
  registry.add_impl(
      "pe_gemm", {"acme.tall", "", {Param::integer("tile_m", 8, {1, 64}, "")}, models::matrix_unit<Picky>()});
  return registry;
}

TEST(Override, GivesTheImplThatAnotherOverrideChoseItsParameters) {
  const Registry registry = with_tall();
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{"pe.pe_gemm.impl=acme.tall", "pe.pe_gemm.tile_m=16"},
        {"pe.pe_gemm.tile_m=16", "pe.pe_gemm.impl=acme.tall"}}) {
    const Machine machine = load_machine("default", overrides, registry);
    EXPECT_EQ(machine.at("pe.pe_gemm").integer("tile_m"), 16);
    EXPECT_EQ(machine.where("pe.pe_gemm.tile_m"), "--set pe.pe_gemm.tile_m=16");
  }
}

TEST(Override, OfAValueThatTheFileGivesTooIsWhatAnErrorNames) {
  const auto where = [](std::vector<std::string> overrides) -> std::string {
    try {
      load_machine("default", overrides, with_tall());
    } catch (const InputError& e) {
      return e.where();
    }
    return "accepted";
  };
  EXPECT_EQ(where({"pe.pe_gemm.impl=acme.picky", "pe.pe_gemm.tile_m=4"}), "--set pe.pe_gemm.tile_m=4");
  EXPECT_EQ(where({"pe.pe_gemm.impl=acme.tall", "pe.pe_gemm.tile_m=65"}), "--set pe.pe_gemm.tile_m=65");
}

TEST(Machine, ATableIsNumbersByName) {
  const auto rates = [](const std::string& text) {
    const std::vector<std::string> overrides = {"pe.pe_gemm.rates=" + text};
    return load_machine("small", overrides, builtin_registry()).at("pe.pe_gemm").table("rates");
  };
  EXPECT_EQ(rates("{f32: 0.25, i8: 2}"), (NumberTable{{"f32", 0.25}, {"i8", 2}}));
  EXPECT_EQ(rates("{}"), NumberTable());
  for (const char* wrong :
       {"{f33: 1}", "{f32: 0}", "{f32: fast}", "{f32: [1]}", "[1, 2]", "2", "{f32: 1, f32: 2}"})
    EXPECT_THROW(rates(wrong), InputError) << wrong;
  // Written and read again it is the same.
  const std::vector<std::string> overrides = {"pe.pe_gemm.rates={f32: 0.25, i8: 2}"};
  const Machine machine = load_machine("small", overrides, builtin_registry());
  EXPECT_EQ(load_machine_text(to_yaml(machine), "again", {}, builtin_registry()), machine);
}

TEST(Machine, PeaksAreThoseOfTheDtype) {
  const Machine machine = load_machine("realistic");
  EXPECT_DOUBLE_EQ(machine.pe_peak_tflops(), 8.192);
  EXPECT_DOUBLE_EQ(machine.pe_peak_tflops(DType::bf16), 8.192);
  EXPECT_DOUBLE_EQ(machine.pe_peak_tflops(DType::i8), 2 * 8.192);
  EXPECT_DOUBLE_EQ(machine.pe_peak_tflops(DType::f8e5m2), 2 * 8.192);
  EXPECT_DOUBLE_EQ(machine.pe_peak_tflops(DType::f32), 8.192 / 4);
  for (const DType type : kAllDTypes)
    EXPECT_DOUBLE_EQ(load_machine("default").pe_peak_tflops(type), 8.192) << to_string(type);
}

}  // namespace
}  // namespace kernbench::topology::machine_test
