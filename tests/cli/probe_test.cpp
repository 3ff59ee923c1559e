// `kernbench probe` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_program.hpp"
#include "temp_folder.hpp"

namespace kernbench::probe_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Outcome probe(std::vector<std::string> words) {
  words.insert(words.begin(), {KERNBENCH_BINARY, "probe"});
  return run_program(words, {});
}

json probe_json(std::vector<std::string> words) {
  words.emplace_back("--json");
  const Outcome outcome = probe(std::move(words));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return json::parse(outcome.out);
}

std::int64_t ps(const json& ns) { return std::llround(ns.get<double>() * 1e3); }

void expect_parts_add_up(const json& result) {
  std::int64_t sum = 0;
  for (const auto& part : result["parts"]) sum += ps(part);
  EXPECT_EQ(sum, ps(result["total_ns"])) << result.dump();
}

TEST(Probe, JsonTakesAFileLikeEverywhere) {
  const testing::TempFolder folder;
  const std::string file = folder.file("probe.json");
  const std::vector<std::string> words = {"probe", "latency", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0"};
  auto command = words;
  command.insert(command.begin(), KERNBENCH_BINARY);
  const std::string text = expect_success(run_program(command));
  command.insert(command.end(), {"--json", file});
  EXPECT_EQ(expect_success(run_program(command)), text);
  EXPECT_EQ(json::parse(std::ifstream(file))["op"], "read");
}

TEST(ProbeCommand, BareRunsTheCatalogueAndEndsWithItsVerdicts) {
  const Outcome outcome = probe({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  // A router of 2.5 ns and 2 ps of wires there, 8 ns, 32 KiB at 256 GB/s, the same back; 32768 B / 141.004 ns
  EXPECT_THAT(outcome.out, HasSubstr("141.004       232.39       256.00    90.8 %   = 141.004"));
  EXPECT_THAT(outcome.out, HasSubstr("PE to another SIP"));
  EXPECT_THAT(outcome.out, HasSubstr("PASS  formula = simulation"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("FAIL")));
}

TEST(ProbeCommand, TheCatalogueForPrograms) {
  const json catalogue = probe_json({"--topology", "small"});
  EXPECT_EQ(catalogue["ok"], true);
  EXPECT_EQ(catalogue["cases"].size(), 14u);  // seven distances, written and read
  for (const json& c : catalogue["cases"]) {
    expect_parts_add_up(c);
    EXPECT_EQ(c["bytes"], 32768);
    EXPECT_EQ(c["formula_ns"], c["total_ns"]);
    EXPECT_FALSE(c["hops"].empty());
  }
  EXPECT_EQ(catalogue["saturation"][0]["points"].size(), 5u);
  EXPECT_EQ(catalogue["saturation"][0]["points"][4]["bytes"], 1 << 20);
  for (const json& i : catalogue["invariants"]) EXPECT_EQ(i["pass"], true);
}

TEST(ProbeCommand, RowsModePassesWithLowerBounds) {
  EXPECT_THAT(probe({"--topology", "realistic"}).out, HasSubstr("memory is what the other parts leave.\n"));
  const json catalogue = probe_json({"--topology", "realistic"});
  for (const json& c : catalogue["cases"]) {
    EXPECT_EQ(c["formula_is"], "lower bound");
    EXPECT_EQ(c["memory_is"], "remainder");
    EXPECT_GE(ps(c["total_ns"]), ps(c["formula_ns"]));
    expect_parts_add_up(c);
  }
}

TEST(ProbeCommand, LatencyOfAReadHasTheKeysOfTheManual) {
  const json r = probe_json({"latency", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", "--bytes", "256"});
  EXPECT_EQ(r["from"], "sip0.cube0.pe0.pe_dma");
  EXPECT_EQ(r["to"], "sip0.cube0.hbm_ctrl.pe0");
  EXPECT_EQ(r["op"], "read");
  EXPECT_EQ(r["bytes"], 256);
  EXPECT_EQ(r["total_ns"],
            14.004);  // router 2 × 2.5 ns, wires 2 × 2 ps, one burst 8 ns, 256 B at 256 GB/s 1 ns
  EXPECT_EQ(r["parts"], (json{{"wire_ns", 0.004},
                              {"overhead_ns", 5.0},
                              {"serialization_ns", 1.0},
                              {"memory_ns", 8.0},
                              {"ack_ns", 0.0},
                              {"window_ns", 0.0}}));
  EXPECT_EQ(r["formula_is"], "exact");
  EXPECT_EQ(r["memory_is"], "formula");
  EXPECT_EQ(r["hops"].size(), 6u);
  EXPECT_EQ(r["hops"][5]["node"], "sip0.cube0.pe0.pe_dma");
  EXPECT_EQ(r["hops"][5]["at_ns"], 13.004);
}

// 1 MiB from another SIP, 64 KiB in flight: the engine waits, and the window is the bottleneck.
TEST(ProbeCommand, AWindowIsAPartAndALimit) {
  const std::vector<std::string> words = {
      "latency", "sip0.cube0.pe0", "sip1.cube0.hbm_ctrl.pe0", "--bytes", "1MiB", "--topology", "realistic"};
  const json r = probe_json(words);
  EXPECT_GT(r["parts"]["window_ns"], 0);
  EXPECT_EQ(r["window"]["in_flight_bytes"], 65536);
  EXPECT_EQ(r["window"]["gbs"], r["bottleneck_gbs"]);
  EXPECT_DOUBLE_EQ(r["window"]["gbs"].get<double>(), 65536 / r["window"]["round_trip_ns"].get<double>());
  EXPECT_FALSE(probe_json({"latency", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0"}).contains("window"));
}

TEST(ProbeCommand, OtherNodesAreSentMessages) {
  const json r = probe_json({"latency", "host", "sip0.cube0.m_cpu"});
  EXPECT_EQ(r["op"], "message");
  EXPECT_EQ(r["bytes"], 0);
  expect_parts_add_up(r);
  // Switch 5, endpoint 5, two UCIe ports 16, routers r0c1 and r0c2 2.5 each, M CPU 5.
  EXPECT_EQ(r["parts"]["overhead_ns"], 36.0);
}

TEST(ProbeCommand, BandwidthTakesSizesWithUnitsAndWrites) {
  const json r = probe_json(
      {"bandwidth", "sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0", "--bytes", "32KiB", "--op", "write"});
  EXPECT_EQ(r["bytes"], 32768);
  EXPECT_EQ(r["parts"]["serialization_ns"], 256.0);
  // 13 routers (r0c0 down to r3c0, then r3c5 to r0c0) of 2.5 ns, two UCIe ports of 8, wires.
  EXPECT_EQ(r["parts"]["ack_ns"], 48.799);
  expect_parts_add_up(r);
}

TEST(ProbeCommand, UnalignedIsPrintedAsALowerBound) {
  const Outcome outcome =
      probe({"bandwidth", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", "--offset", "100"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("ns, as a lower bound: memory is taken to keep up"));
  EXPECT_THAT(outcome.out, HasSubstr("what the other parts leave"));
}

TEST(ProbeCommand, TheMachineCanBeChosenAndChanged) {
  const json r = probe_json({"latency", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", "--topology", "small",
                             "--set", "cube.hbm.access_ns=30"});
  EXPECT_EQ(r["parts"]["memory_ns"], 38.0);
}

TEST(ProbeCommand, MatrixDrawsAHeatMapOfAllPairs) {
  const testing::TempFolder folder;
  const std::string file = folder.file("heat.svg");
  const json m = probe_json({"matrix", "--topology", "small", "--from", "pe", "--to", "hbm", "-o", file});
  EXPECT_EQ(m["from"].size(), 32u);
  EXPECT_EQ(m["values"].size(), 32u);
  EXPECT_EQ(m["values"][0][0], 13.254);  // 64 B of its own slice: a router each way, 4 ps, a burst, 0.25 ns
  std::stringstream svg;
  svg << std::ifstream(file).rdbuf();
  EXPECT_THAT(svg.str(), StartsWith("<svg "));
  EXPECT_THAT(svg.str(), HasSubstr("sip0.cube3.pe7.pe_dma → sip0.cube0.hbm_ctrl.pe2"));
}

/// The value of an attribute after some place in an SVG.
double attribute(const std::string& svg, std::size_t from, const std::string& name) {
  const std::string key = " " + name + "=\"";
  return std::stod(svg.substr(svg.find(key, from) + key.size()));
}

TEST(ProbeCommand, AHeatMapOfOneRowShowsItsWholeScale) {
  const Outcome outcome = probe({"matrix", "--from", "host", "--to", "sram", "-o", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t scale = outcome.out.rfind("<rect", outcome.out.find("class=\"frame\""));  // its last step
  ASSERT_NE(scale, std::string::npos);
  EXPECT_LE(attribute(outcome.out, scale, "y") + attribute(outcome.out, scale, "height"),
            attribute(outcome.out, 0, "height"));
}

TEST(ProbeCommand, LargeMatricesTakeOnePartPerCube) {
  const json m = probe_json({"matrix"});
  EXPECT_EQ(m["from"].size(), 32u);
  EXPECT_THAT(m["remark"], HasSubstr("One PE per cube"));
  const json one = probe_json({"matrix", "--within", "sip1.cube3", "--metric", "bandwidth"});
  EXPECT_EQ(one["from"].size(), 8u);
  EXPECT_EQ(one["to"][7], "sip1.cube3.hbm_ctrl.pe7");
  EXPECT_EQ(one["metric"], "effective_gbs");
  EXPECT_EQ(one["op"], "read");
  EXPECT_EQ(probe_json({"matrix", "--from", "host", "--to", "m_cpu"})["op"], "message");
  // A PE is not sent messages by itself.
  EXPECT_TRUE(probe_json({"matrix", "--to", "pe", "--within", "sip0.cube0"})["values"][3][3].is_null());
}

TEST(ProbeCommand, BadInputIsExitCodeTwoBeforeAnySimulation) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"latency", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe9"}, "did you mean 'sip0.cube0.hbm_ctrl.pe"},
      {{"latency", "sip9.cube0.pe0", "host"}, "there are 2 SIPs"},
      {{"latency", "host"}, "B is required"},
      {{"latency", "host", "host"}, "two different nodes"},
      {{"bandwidth", "host", "sip0.cube0.sram", "--bytes", "33MiB"}, "go beyond its 32 MiB"},
      {{"bandwidth", "host", "sip0.cube0.sram", "--bytes", "many"},
       "--bytes many: must be a number of bytes"},
      {{"bandwidth", "host", "sip0.cube0.sram", "--op", "erase"}, "--op erase: must be read or write"},
      {{"latency", "host", "sip0.cube0.m_cpu", "--offset", "5"}, "is no memory"},
      {{"latency", "host", "sip0.cube0.m_cpu", "--op", "write"}, "is no memory"},
      {{"matrix", "--to", "pe", "--op", "read"}, "is no memory"},
      {{"latency", "host", "sip0.cube0.hbm_ctrl.pe0", "--bytes", "0"}, "at least one byte"},
      {{"latency", "host", "sip0.cube0.hbm_ctrl.pe0", "--bytes", "-1"},
       "--bytes -1: must be a number of bytes"},
      {{"matrix", "-o", "/nonexistent/heat.svg"}, "/nonexistent/heat.svg: cannot be written"},
      {{"matrix", "--from", "gpu"}, "no such part"},
      {{"matrix", "--by", "rack"}, "no such step"},
      {{"matrix", "--within", "sip7"}, "no such SIP or cube"},
      {{"matrix", "--from", "host", "--to", "host"}, "there is one host here"},
      {{"matrix", "--from", "m_cpu", "--to", "m_cpu", "--within", "sip0.cube0"}, "there is one m_cpu here"},
      {{"matrix", "--by", "pe", "--set", "system.sips.count=8"}, "too large"},
      {{"matrx"}, "matrix"},
      {{"--topology", "missing.yaml"}, "missing.yaml"},
  };
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = probe(words);
    EXPECT_EQ(outcome.exit_code, 2) << expected << "\n" << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr(expected));
    EXPECT_THAT(outcome.err, HasSubstr("\n  hint: "));
  }
}

}  // namespace
}  // namespace kernbench::probe_test
