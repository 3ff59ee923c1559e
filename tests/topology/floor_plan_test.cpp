#include "topology/floor_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stack>

namespace kernbench::topology::floor_plan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Machine machine(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return load_machine(name, overrides, builtin_registry());
}

std::string drawing(const Machine& m, const FloorPlanColours& colours = {}) {
  return draw_floor_plan(m, Graph(m), colours);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Every element that opens closes, in order; attributes are quoted; nothing is left unescaped.
void expect_well_formed(const std::string& svg) {
  std::stack<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    ASSERT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /"));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.top(), tag.substr(1));
      open.pop();
    } else if (tag.back() != '/') {
      open.push(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(FloorPlan, ShowsEveryRouterPePortAndMemoryOfASmallMachine) {
  const std::string svg = drawing(machine("small"));
  expect_well_formed(svg);
  // Four cubes, and cube 0 once more enlarged.
  EXPECT_EQ(count(svg, ": router, "), 5u * 32);
  EXPECT_EQ(count(svg, " matrix, "), 5u * 8);
  EXPECT_EQ(count(svg, ": HBM slice "), 5u * 8);
  EXPECT_EQ(count(svg, ".sram: "), 5u);
  EXPECT_EQ(count(svg, ".m_cpu: "), 5u);
  // 4 ports of 4 connections; facing pairs 2 + 2 and two columns to the IO chiplet are 6 × 4 crossings.
  EXPECT_EQ(count(svg, ": UCIe connection, 128 GB/s"), 5u * 16);
  EXPECT_EQ(count(svg, "<title>sip0.cube3.r5c5: router, 2.5 ns</title>"), 1u);
  EXPECT_THAT(svg, HasSubstr("sip0.cube0.ucie_E.conn2 ↔ sip0.cube1.ucie_W.conn2: 128 GB/s each way"));
  EXPECT_THAT(svg, HasSubstr("host ↔ switch"));
  EXPECT_THAT(svg, HasSubstr("switch ↔ sip0.pcie_ep"));
  EXPECT_THAT(svg, HasSubstr("1 SIP × 4 cubes × 8 PEs = 32 PEs"));
}

TEST(FloorPlan, LargeMachinesAreOutlinesAndSaySo) {
  const std::string svg = drawing(machine("default", {"system.sips.count=16"}));
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("SIPs in outline"));
  EXPECT_THAT(svg, HasSubstr("SIP 15"));
  EXPECT_THAT(svg, Not(HasSubstr("sip15.cube0.r0c0")));
  EXPECT_THAT(drawing(machine("default")), Not(HasSubstr("outline")));
}

TEST(FloorPlan, TheLargestMachinesGiveFilesOfSaneSize) {
  const std::string svg = drawing(
      machine("default", {"system.sips.count=256", "sip.cube_mesh.w=8", "cube.pe_layout.pe_per_corner=4"}));
  expect_well_formed(svg);
  EXPECT_LT(svg.size(), 2u << 20);
  EXPECT_THAT(svg, HasSubstr("wires to the switch left out"));
  EXPECT_LT(drawing(machine("default", {"cube.routers.rows=40", "cube.routers.cols=40"})).size(), 4u << 20);
}

TEST(FloorPlan, TakesOwnColoursForNodesLinksAndCubes) {
  const Machine m = machine("small");
  const Graph graph(m);
  const NodeId hot_node = graph.router({0, 2}, 1, 1);
  const LinkId hot_link = graph.route(graph.router({0, 2}, 1, 1), graph.router({0, 2}, 1, 0)).front();
  FloorPlanColours colours;
  colours.node = [&](NodeId id) { return id == hot_node ? "#ff0001" : ""; };
  colours.link = [&](LinkId id) { return id == hot_link ? "#ff0002" : ""; };
  colours.cube = [&](CubeCoord cube) { return cube.cube == 2 ? "#ff0003" : ""; };
  const std::string svg = draw_floor_plan(m, graph, colours);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("style=\"fill:#ff0001\"><title>sip0.cube2.r1c1: "));
  EXPECT_THAT(svg, HasSubstr("style=\"stroke:#ff0002\"><title>sip0.cube2.r1c1 → sip0.cube2.r1c0: 512 GB/s"));
  EXPECT_THAT(svg, HasSubstr("style=\"fill:#ff0003\"><title>sip0.cube2: "));
  EXPECT_THAT(svg, HasSubstr("sip0.cube2.r1c0 → sip0.cube2.r1c1: "));  // the other direction, beside it
  for (const char* colour : {"#ff0001", "#ff0002", "#ff0003"}) EXPECT_EQ(count(svg, colour), 1u) << colour;
}

TEST(FloorPlan, TellsWhatColoursMeanAndLeavesTheRestPlain) {
  const Machine m = machine("small");
  const Graph graph(m);
  const LinkId hot_link = graph.route(graph.router({0, 2}, 1, 1), graph.router({0, 2}, 1, 0)).front();
  FloorPlanColours colours;
  colours.link = [&](LinkId id) { return id == hot_link ? "#ff0002" : ""; };
  colours.is_rest_plain = true;
  colours.legend = {{"#ff0002", "a hot link"}};
  colours.title = "<what it shows>";
  const std::string svg = draw_floor_plan(m, graph, colours);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("small · &lt;what it shows&gt;"));
  EXPECT_THAT(svg, HasSubstr("style=\"fill:#ff0002\""));
  EXPECT_THAT(svg, HasSubstr(">a hot link<"));
  EXPECT_THAT(svg, HasSubstr("style=\"stroke:#ff0002\"><title>sip0.cube2.r1c1 → sip0.cube2.r1c0: "));
  EXPECT_THAT(svg, Not(HasSubstr("sip0.cube2.r1c0 → sip0.cube2.r1c1: ")));
  EXPECT_LT(svg.size(), drawing(m).size() + 2000);
}

TEST(FloorPlan, OddShapesAreDrawn) {
  for (const std::vector<std::string>& odd : std::vector<std::vector<std::string>>{
           {"cube.routers.hole=[0, 0]"},
           {"cube.pe_layout.corners=[SE]", "cube.pe_layout.pe_per_corner=16"},
           {"cube.size_mm=[1000, 0.5]", "cube.m_cpu.at_mm=[0, 0]", "cube.sram.at_mm=[1, 0.2]"},
           {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.pe_layout.corners=[NW]",
            "cube.pe_layout.pe_per_corner=1"},
           {"sip.cube_mesh.w=32", "sip.cube_mesh.h=1"}}) {
    const std::string svg = drawing(machine("small", odd));
    expect_well_formed(svg);
    EXPECT_THAT(svg, Not(HasSubstr("nan"))) << odd.front();
    EXPECT_THAT(svg, Not(HasSubstr("inf"))) << odd.front();
  }
}

TEST(FloorPlan, EscapesTheNameOfTheFile) {
  const Machine m = load_machine_text(shipped_machines().front().yaml, "<&\">.yaml", {}, builtin_registry());
  const std::string svg = drawing(m);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&quot;&gt;.yaml"));
}

}  // namespace
}  // namespace kernbench::topology::floor_plan_test
