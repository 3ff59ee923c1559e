#include "kernbench/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

#include "kernbench/error.hpp"
#include "topology/connections.hpp"
#include "topology/ejection.hpp"

namespace kernbench::topology::graph_test {
namespace {

Machine machine(std::vector<std::string> overrides = {}, const std::string& name = "default") {
  return load_machine(name, overrides, builtin_registry());
}

Time cost(const Graph& graph, LinkId id) {
  const Link link = graph.link(id);
  return link.wire + graph.node(link.to).latency();
}

/// Least latency from one node to all others over the given links, by plain relaxation: nothing shared with
/// the router's tables.
std::map<NodeId, Time> least_latency(const Graph& graph, const std::vector<LinkId>& links, NodeId from) {
  std::map<NodeId, Time> best = {{from, 0_ps}};
  for (bool changed = true; changed;) {
    changed = false;
    for (const LinkId id : links) {
      const Link link = graph.link(id);
      const auto reached = best.find(link.from);
      if (reached == best.end()) continue;
      const Time there = reached->second + cost(graph, id);
      const auto [at, is_new] = best.try_emplace(link.to, there);
      if (is_new || there < at->second) at->second = there, changed = true;
    }
  }
  return best;
}

std::vector<LinkId> links_of_cube(const Graph& graph, CubeCoord cube) {
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < graph.link_count(); ++i) {
    const Node a = graph.node(graph.link({i}).from);
    const Node b = graph.node(graph.link({i}).to);
    if (a.sip == cube.sip && a.cube == cube.cube && b.sip == cube.sip && b.cube == cube.cube)
      links.push_back({i});
  }
  return links;
}

/// A route is a chain from `from` to `to` that visits no node twice.
void expect_chain(const Graph& graph, NodeId from, NodeId to, const std::vector<LinkId>& route) {
  std::set<NodeId> seen = {from};
  NodeId at = from;
  for (const LinkId id : route) {
    ASSERT_EQ(graph.link(id).from, at) << graph.path(from) << " → " << graph.path(to);
    at = graph.link(id).to;
    ASSERT_TRUE(seen.insert(at).second)
        << graph.path(at) << " twice on " << graph.path(from) << " → " << graph.path(to);
  }
  ASSERT_EQ(at, to) << graph.path(from) << " → " << graph.path(to);
}

std::vector<std::string> cubes_passed(const Graph& graph, const std::vector<LinkId>& route) {
  std::vector<std::string> cubes;
  for (const LinkId id : route) {
    const Node node = graph.node(graph.link(id).to);
    const std::string name = node.cube < 0 ? "-" : std::to_string(node.cube);
    if (cubes.empty() || cubes.back() != name) cubes.push_back(name);
  }
  return cubes;
}

TEST(Graph, EveryNodeIsFoundByItsPath) {
  const Graph graph(machine());
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) ASSERT_EQ(graph.find(graph.path({i})), NodeId{i});
  EXPECT_EQ(graph.path(graph.pe({0, 5, 3}, NodeKind::pe_ipcq)), "sip0.cube5.pe3.pe_ipcq");
  EXPECT_EQ(graph.path(graph.router({0, 5}, 1, 4)), "sip0.cube5.r1c4");
  EXPECT_EQ(graph.path(graph.hbm_ctrl({0, 5, 3})), "sip0.cube5.hbm_ctrl.pe3");
  EXPECT_EQ(graph.path(graph.ucie({0, 5}, Side::E, 2)), "sip0.cube5.ucie_E.conn2");
  EXPECT_EQ(graph.path(graph.io(0, NodeKind::io_cpu)), "sip0.io_cpu");
  EXPECT_EQ(graph.path(graph.system_switch()), "switch");
}

TEST(Graph, APeStandsForItsDmaEngine) {
  const Graph graph(machine());
  EXPECT_EQ(graph.find("sip1.cube2.pe3"), graph.pe({1, 2, 3}, NodeKind::pe_dma));
}

InputError refusal(const Graph& graph, std::string_view path) {
  try {
    graph.find(path);
  } catch (const InputError& e) {
    return e;
  }
  return InputError({"none", "", "", ""});
}

TEST(Graph, AnUnknownNodeNamesTheNearest) {
  const Graph graph(machine());
  for (const char* path : {"", "sip", "sip2.io_cpu", "sip0.cube16.m_cpu", "sip0.cube0.r2c2", "sip0.cube0.pe8",
                           "sip0.io_ucie4.conn0", "sip0.cube0", "sip-1.io_cpu", "sip99999999999.io_cpu"})
    EXPECT_THROW(graph.find(path), InputError) << path;
  try {
    graph.find("sip0.cube0.pe9.pe_dma");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.message(), "a cube has 8 PEs");
    EXPECT_EQ(e.hint(), "pe0 to pe7");
  }
  EXPECT_EQ(refusal(graph, "sip0.cube99.pe0").hint(), "cube0 to cube15");
  EXPECT_EQ(refusal(graph, "sip2.io_cpu").hint(), "sip0 to sip1");
  try {
    graph.find("sip0.cube3.ucie_E.con2");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(e.hint().find("sip0.cube3.ucie_E.conn2"), std::string::npos) << e.what();
  }
}

TEST(Graph, PartsStandWhereThePageSays) {
  const Graph graph(machine());
  const auto router_of = [&](NodeId leaf) {
    const std::vector<LinkId> route = graph.route(leaf, graph.router({0, 0}, 0, 0));
    return route.empty() ? graph.path(leaf) : graph.path(graph.link(route.front()).to);
  };
  const char* expected[] = {"r0c0", "r0c1", "r0c4", "r0c5", "r5c0", "r5c1", "r5c4", "r5c5"};
  for (int pe = 0; pe < 8; ++pe) {
    EXPECT_EQ(router_of(graph.pe({0, 0, pe}, NodeKind::pe_dma)), std::string("sip0.cube0.") + expected[pe]);
    EXPECT_EQ(router_of(graph.hbm_ctrl({0, 0, pe})), std::string("sip0.cube0.") + expected[pe]);
  }
  EXPECT_EQ(router_of(graph.m_cpu({0, 0})), "sip0.cube0.r0c2");
  EXPECT_EQ(router_of(graph.sram({0, 0})), "sip0.cube0.r3c0");
  for (int k = 0; k < 4; ++k) {
    const std::string next = std::to_string(k + 1);  // the middle four of six
    EXPECT_EQ(router_of(graph.ucie({0, 0}, Side::N, k)), "sip0.cube0.r0c" + next);
    EXPECT_EQ(router_of(graph.ucie({0, 0}, Side::S, k)), "sip0.cube0.r5c" + next);
    EXPECT_EQ(router_of(graph.ucie({0, 0}, Side::W, k)), "sip0.cube0.r" + next + "c0");
    EXPECT_EQ(router_of(graph.ucie({0, 0}, Side::E, k)), "sip0.cube0.r" + next + "c5");
  }
}

TEST(Graph, MorePesPerCornerAlternateBetweenItsTwoRouters) {
  const Graph graph(machine({"cube.pe_layout.pe_per_corner=4"}));
  const char* expected[] = {"r0c0", "r0c1", "r0c0", "r0c1", "r0c4", "r0c5", "r0c4", "r0c5"};
  for (int pe = 0; pe < 8; ++pe) {
    const auto route = graph.route(graph.hbm_ctrl({0, 0, pe}), graph.m_cpu({0, 0}));
    EXPECT_EQ(graph.path(graph.link(route[0]).to), std::string("sip0.cube0.") + expected[pe]);
  }
}

TEST(Graph, WiresAndBandwidthsAreThoseOfTheFile) {
  const Graph graph(machine());
  const auto first = [&](NodeId a, NodeId b) { return graph.link(graph.route(a, b).front()); };
  // 3 mm · 0.01 ns/mm = 30 ps; 14/6 mm · 0.01 = 23.3 → 24 ps
  EXPECT_EQ(first(graph.router({0, 0}, 0, 0), graph.router({0, 0}, 0, 1)).wire, 30_ps);
  EXPECT_EQ(first(graph.router({0, 0}, 0, 0), graph.router({0, 0}, 1, 0)).wire, 24_ps);
  EXPECT_EQ(first(graph.router({0, 0}, 0, 0), graph.router({0, 0}, 0, 1)).bandwidth,
            Bandwidth::from_gbs(512));
  // m_cpu at y = 2.0, r0c2 at 14/12 = 1.1667: 0.8333 mm = 8.3 → 9 ps. SRAM at 9.0, r3c0 at 8.1667: the same.
  EXPECT_EQ(first(graph.m_cpu({0, 0}), graph.host()).wire, 9_ps);
  EXPECT_EQ(first(graph.sram({0, 0}), graph.host()).wire, 9_ps);
  EXPECT_EQ(first(graph.sram({0, 0}), graph.host()).bandwidth, Bandwidth::from_gbs(128));
  EXPECT_EQ(first(graph.hbm_ctrl({0, 0, 0}), graph.host()).wire, 1_ps);
  EXPECT_EQ(first(graph.hbm_ctrl({0, 0, 0}), graph.host()).bandwidth, Bandwidth::from_gbs(256));
  EXPECT_EQ(first(graph.pe({0, 0, 0}, NodeKind::pe_dma), graph.host()).bandwidth, Bandwidth::from_gbs(512));
  EXPECT_EQ(first(graph.host(), graph.system_switch()).bandwidth, Bandwidth::from_gbs(128));
}

TEST(Graph, RoutesExistBetweenAllPairsAndAreLoopFree) {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{"sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "system.sips.count=1"},
        {"sip.cube_mesh.w=3", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1", "system.sips.count=1"},
        {"sip.cube_mesh.w=1", "sip.cube_mesh.h=2", "cube.pe_layout.pe_per_corner=1",
         "cube.ucie.connections=3"}}) {
    const Graph graph(machine(overrides));
    for (std::uint32_t a = 0; a < graph.node_count(); ++a)
      for (std::uint32_t b = 0; b < graph.node_count(); ++b)
        ASSERT_NO_FATAL_FAILURE(expect_chain(graph, {a}, {b}, graph.route(NodeId{a}, NodeId{b})));
  }
}

TEST(Graph, RandomRoutesOfLargeMachinesAreLoopFree) {
  std::mt19937 random(1);
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{},
        {"sip.cube_mesh.w=5", "sip.cube_mesh.h=3", "cube.routers.rows=8", "cube.routers.hole=[4, 2]"},
        {"sip.cube_mesh.w=8", "sip.cube_mesh.h=4", "system.sips.count=256",
         "cube.pe_layout.pe_per_corner=4"}}) {
    const Graph graph(machine(overrides));
    std::uniform_int_distribution<std::uint32_t> any(0, graph.node_count() - 1);
    for (int i = 0; i < 5000; ++i) {
      const NodeId a{any(random)};
      const NodeId b{any(random)};
      ASSERT_NO_FATAL_FAILURE(expect_chain(graph, a, b, graph.route(a, b)));
      EXPECT_TRUE(a == b || graph.latency(graph.route(a, b)) > 0_ps);
    }
  }
}

/// Links of a route but for the ejection port at its end, which is there if it ends at a router.
std::int64_t without_ports(const Graph& graph, const std::vector<LinkId>& route) {
  return std::ranges::count_if(route, [&](LinkId id) { return !is_ejection_port(graph.link(id)); });
}

TEST(Graph, RoutesInsideACubeHaveLeastLatencyAndAreEquallyLongBothWays) {
  for (const char* name : {"default", "realistic"}) {
    const Graph graph(machine({"system.sips.count=1", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1"}, name));
    const std::vector<LinkId> links = links_of_cube(graph, {0, 0});
    std::set<NodeId> nodes;
    for (const LinkId id : links) nodes.insert(graph.link(id).from);
    for (const NodeId a : nodes) {
      const auto best = least_latency(graph, links, a);
      for (const NodeId b : nodes) {
        const auto there = graph.route(a, b);
        const auto back = graph.route(b, a);
        ASSERT_EQ(graph.latency(there), best.at(b)) << graph.path(a) << " → " << graph.path(b);
        // Both ways pay the same wires, and the overheads of all nodes but their own start.
        ASSERT_EQ(graph.latency(there) + graph.node(a).latency(),
                  graph.latency(back) + graph.node(b).latency());
        ASSERT_EQ(without_ports(graph, there), without_ports(graph, back));
      }
    }
  }
}

TEST(Graph, RoutesInsideACubePreferXBeforeY) {
  const Graph graph(machine());
  const auto route = graph.route(graph.router({0, 0}, 0, 0), graph.router({0, 0}, 1, 5));
  std::string path;
  for (const LinkId id : route) path += graph.path(graph.link(id).to).substr(11) + " ";
  EXPECT_EQ(path, "r0c1 r0c2 r0c3 r0c4 r0c5 r1c5 ");
}

TEST(Graph, RoutesGoXThenYOverTheCubeMesh) {
  const Graph graph(machine());
  // Cube 0 is (0, 0), cube 6 is (2, 1) of a mesh four wide.
  const NodeId a = graph.pe({0, 0, 0}, NodeKind::pe_dma);
  const NodeId b = graph.hbm_ctrl({0, 6, 0});
  EXPECT_EQ(cubes_passed(graph, graph.route(a, b)), (std::vector<std::string>{"0", "1", "2", "6"}));
  EXPECT_EQ(cubes_passed(graph, graph.route(b, a)), (std::vector<std::string>{"6", "5", "4", "0"}));
}

TEST(Graph, AllPairsOfCubesRouteXThenY) {
  const Graph graph(machine({"sip.cube_mesh.w=5", "sip.cube_mesh.h=3"}));
  for (int from = 0; from < 15; ++from) {
    for (int to = 0; to < 15; ++to) {
      std::vector<std::string> expected = {std::to_string(from)};
      int x = from % 5;
      int y = from / 5;
      while (x != to % 5) x += x < to % 5 ? 1 : -1, expected.push_back(std::to_string(y * 5 + x));
      while (y != to / 5) y += y < to / 5 ? 1 : -1, expected.push_back(std::to_string(y * 5 + x));
      EXPECT_EQ(cubes_passed(
                    graph, graph.route(graph.pe({0, from, 1}, NodeKind::pe_dma), graph.hbm_ctrl({0, to, 2}))),
                expected);
    }
  }
}

TEST(Graph, ToAndFromTheHostACubeUsesThePortOfItsColumn) {
  const Graph graph(machine());
  // Cube 14 is (2, 3): down column 2.
  EXPECT_EQ(cubes_passed(graph, graph.route(graph.host(), graph.hbm_ctrl({1, 14, 0}))),
            (std::vector<std::string>{"-", "2", "6", "10", "14"}));
  EXPECT_EQ(cubes_passed(graph, graph.route(graph.hbm_ctrl({1, 14, 0}), graph.host())),
            (std::vector<std::string>{"14", "10", "6", "2", "-"}));
  std::string names;
  for (const LinkId id : graph.route(graph.host(), graph.hbm_ctrl({1, 2, 3})))
    names += graph.path(graph.link(id).to) + " ";
  EXPECT_EQ(
      names.substr(0, names.find("sip1.cube2.r")),
      "switch sip1.pcie_ep sip1.io_noc sip1.io_ucie2.conn1 sip1.cube2.ucie_N.conn1 ");  // (0 + 3) · 4 / 8 = 1
}

TEST(Graph, ControlGoesThroughTheIoCpuWhenSentThere) {
  const Graph graph(machine());
  const auto names = [&](NodeId a, NodeId b) {
    std::string text;
    for (const LinkId id : graph.route(a, b)) text += graph.path(graph.link(id).to) + " ";
    return text;
  };
  EXPECT_EQ(names(graph.host(), graph.io(0, NodeKind::io_cpu)), "switch sip0.pcie_ep sip0.io_cpu ");
  EXPECT_EQ(names(graph.io(0, NodeKind::io_cpu), graph.m_cpu({0, 1})),
            "sip0.io_noc sip0.io_ucie1.conn0 sip0.cube1.ucie_N.conn0 sip0.cube1.r0c1 sip0.cube1.r0c2 "
            "sip0.cube1.m_cpu ");
}

TEST(Graph, ConnectionsOfAPortAreLoadedEquallyByEveryShift) {
  for (const int per_corner : {1, 2, 4}) {
    const Graph graph(machine({"cube.pe_layout.pe_per_corner=" + std::to_string(per_corner)}));
    const int pes = 4 * per_corner;
    for (int shift = 0; shift < pes; ++shift) {
      std::map<std::uint32_t, int> load;  // crossings of the port between cubes 0 and 1
      for (int pe = 0; pe < pes; ++pe)
        for (const LinkId id :
             graph.route(graph.pe({0, 0, pe}, NodeKind::pe_dma), graph.hbm_ctrl({0, 1, (pe + shift) % pes})))
          if (const Link l = graph.link(id); graph.node(l.from).cube == 0 && graph.node(l.to).cube == 1)
            ++load[id.index];
      EXPECT_EQ(load.size(), 4u);
      for (const auto& [link, count] : load) EXPECT_EQ(count, pes / 4);
    }
  }
}

TEST(Graph, OneToAllAndAllToOneLoadTheConnectionsEqually) {
  const Graph graph(machine());
  for (const bool scatter : {true, false}) {
    std::map<int, int> load;
    for (int pe = 0; pe < 8; ++pe)
      ++load[graph.connection(graph.pe({0, 0, scatter ? 5 : pe}, NodeKind::pe_dma),
                              graph.hbm_ctrl({0, 1, scatter ? pe : 5}))];
    EXPECT_EQ(load, (std::map<int, int>{{0, 2}, {1, 2}, {2, 2}, {3, 2}}));
  }
}

/// How often each connection appears.
std::vector<int> loads(const std::vector<int>& taken, int connections) {
  std::vector<int> count(static_cast<std::size_t>(connections));
  for (const int c : taken) ++count.at(static_cast<std::size_t>(c));
  return count;
}

// P / C messages each where P is a multiple of 2C. Elsewhere at most one message off that, rounded down or up: it cannot be
// better, as with P = C each shift, sender and receiver would have to take every connection once, which is an orthogonal
// mate of the addition table of an even number; there is none.
TEST(Connections, ShiftsSendersAndReceiversLoadThemEqually) {
  for (const int pes : {4, 8, 12, 16, 32})
    for (const int connections : {1, 2, 3, 4, 5, 6, 8})
      for (const Side side : kSides) {
        const auto one = [&](int from, int to) {
          return connection_between(from, to, side, pes, connections);
        };
        const bool exact = pes % (2 * connections) == 0;
        for (int k = 0; k < pes; ++k) {
          std::vector<int> shift, sender, receiver;
          for (int i = 0; i < pes; ++i) {
            shift.push_back(one(i, (i + k) % pes));
            sender.push_back(one(k, i));
            receiver.push_back(one(i, k));
          }
          for (const auto& taken : {shift, sender, receiver})
            for (const int count : loads(taken, connections)) {
              EXPECT_GE(count, pes / connections - (exact ? 0 : 1)) << pes << ' ' << connections;
              EXPECT_LE(count, (pes + connections - 1) / connections + (exact ? 0 : 1))
                  << pes << ' ' << connections;
            }
        }
      }
}

// With an even number of connections, ports are symmetric in 6 × 6 routers. Every pair of cubes of the mesh and of PEs.
TEST(Connections, MirrorImagesOfARouteTakeTheSameTime) {
  for (const auto& overrides : std::vector<std::vector<std::string>>{{},
                                                                     {"cube.ucie.connections=2"},
                                                                     {"cube.pe_layout.pe_per_corner=4"},
                                                                     {"cube.ucie.connections=6"}}) {
    auto all = overrides;
    all.insert(all.end(), {"sip.cube_mesh.w=3", "sip.cube_mesh.h=2"});
    const Graph graph(machine(all));
    const int pes =
        static_cast<int>(overrides == std::vector<std::string>{"cube.pe_layout.pe_per_corner=4"} ? 16 : 8);
    const int half = pes / 2;
    const auto in_x = [&](PeCoord p) {
      return PeCoord{0, p.cube - p.cube % 3 + 2 - p.cube % 3, p.pe - p.pe % half + half - 1 - p.pe % half};
    };
    const auto in_y = [&](PeCoord p) { return PeCoord{0, (p.cube + 3) % 6, (p.pe + half) % pes}; };
    const auto time = [&](PeCoord from, PeCoord to) {
      return graph.latency(graph.route(graph.pe(from, NodeKind::pe_dma), graph.hbm_ctrl(to)));
    };
    for (int a = 0; a < 6 * pes; ++a)
      for (int b = 0; b < 6 * pes; ++b) {
        const PeCoord from{0, a / pes, a % pes}, to{0, b / pes, b % pes};
        ASSERT_EQ(time(from, to), time(in_x(from), in_x(to))) << a << ' ' << b;
        ASSERT_EQ(time(from, to), time(in_y(from), in_y(to))) << a << ' ' << b;
      }
  }
}

TEST(Graph, PartitionsAreTheSipsAndTheRest) {
  const Graph graph(machine());
  EXPECT_EQ(graph.partition_count(), 3);
  EXPECT_EQ(graph.partition(graph.host()), 0);
  EXPECT_EQ(graph.partition(graph.system_switch()), 0);
  EXPECT_EQ(graph.partition(graph.io(0, NodeKind::pcie_ep)), 1);
  EXPECT_EQ(graph.partition(graph.hbm_ctrl({1, 15, 7})), 2);
}

}  // namespace
}  // namespace kernbench::topology::graph_test
