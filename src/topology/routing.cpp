// The one route between two nodes. Inside a cube the plan knows the way; between cubes X first, then Y;
// between a cube and the IO chiplet straight along the cube's column; between SIPs through the switch.
#include <algorithm>

#include "kernbench/error.hpp"
#include "kernbench/graph.hpp"
#include "topology/connections.hpp"
#include "topology/cube_plan.hpp"
#include "topology/ejection.hpp"

namespace kernbench::topology {

/// Walks one message from where it is to where it goes, noting the links.
class Graph::Router {
 public:
  Router(const Graph& graph, NodeId from, NodeId to, std::vector<LinkId>& out)
      : g_(graph),
        at_(graph.locate(from)),
        to_(graph.locate(to)),
        from_pe_(graph.node(from).pe),
        to_pe_(graph.node(to).pe),
        out_(out) {
    constexpr std::size_t kUsual = 16;  // links of a way, if it is not long
    out_.reserve(kUsual);
    scratch_.reserve(kUsual);
  }

  void walk() {
    if (at_.sip != to_.sip) {
      leave_to_switch();
      if (to_.sip >= 0) enter_sip();
    }
    if (at_.sip < 0) {
      cross_system(to_.index);
    } else if (at_.cube >= 0 && to_.cube >= 0) {
      cross_mesh();
    } else {
      if (at_.cube >= 0) climb_to_io();
      to_.cube >= 0 ? descend_from_io() : cross_io(to_.index);
    }
    eject();
  }

 private:
  // Local indices of the IO chiplet's nodes and links, in the order of graph.cpp.
  enum SystemNode { kHost = 0, kSwitch = 1 };
  enum IoNode { kEndpoint = 0, kIoCpu = 1, kNoc = 2, kFirstConn = 3 };
  enum IoLink { kToSwitch = 0, kFromSwitch = 1, kCores = 2, kConns = 8 };

  void take(int sip_link_index) { out_.push_back(g_.sip_link(at_.sip, sip_link_index)); }

  void leave_to_switch() {
    if (at_.sip < 0) {
      cross_system(kSwitch);
      return;
    }
    if (at_.cube >= 0) climb_to_io();
    cross_io(kEndpoint);
    take(kToSwitch);
    at_ = {-1, -1, kSwitch};
  }

  void enter_sip() {
    at_ = {to_.sip, -1, kEndpoint};
    take(kFromSwitch);
  }

  void cross_system(int target) {
    if (at_.index != target) out_.push_back({target == kSwitch ? 0u : 1u});
    at_.index = target;
  }

  /// Between nodes of the IO chiplet: the cores are joined to each other, connections to the NoC alone.
  void cross_io(int target) {
    if (at_.index == target) return;
    if (at_.index >= kFirstConn) {
      take(kConns + 2 * (at_.index - kFirstConn) + 1);
      at_.index = kNoc;
    }
    const int core = target >= kFirstConn ? kNoc : target;
    if (at_.index != core) take(kCores + core_link(at_.index, core));
    if (target >= kFirstConn) take(kConns + 2 * (target - kFirstConn));
    at_.index = target;
  }

  static int core_link(int from, int to) {
    constexpr int kIndex[3][3] = {{-1, 0, 2}, {1, -1, 4}, {3, 5, -1}};
    return kIndex[from][to];
  }

  void walk_cube(int target) {
    std::vector<int>& links = scratch_;
    links.clear();
    g_.cube_->path(at_.index, target, links);
    const int base = g_.io_links_ + at_.cube * static_cast<int>(g_.cube_->links().size());
    for (const int link : links) take(base + link);
    at_.index = target;
  }

  /// Out of the network, at a router with an ejection port.
  void eject() {
    if (at_.cube < 0) return;
    const int port = g_.cube_->ejection(at_.index);
    if (port >= 0) take(g_.io_links_ + at_.cube * static_cast<int>(g_.cube_->links().size()) + port);
  }

  /// Out of the cube by a port and into the node that faces it.
  void cross(Side side) {
    walk_cube(g_.cube_->ucie(side, connection(side)));
    take_crossing(g_.crossing_of_cube_[static_cast<std::size_t>(at_.cube * 4 + static_cast<int>(side))],
                  connection(side));
  }

  /// A message that does not go from PE to PE takes the connection that is its PE's share of the port.
  int connection(Side side) const {
    if (from_pe_ >= 0 && to_pe_ >= 0)
      return connection_between(from_pe_, to_pe_, side, g_.pes_, g_.connections_);
    return std::max({0, from_pe_, to_pe_}) * g_.connections_ / g_.pes_;
  }

  void take_crossing(int crossing_index, int conn) {
    KB_ASSERT(crossing_index >= 0, "a route leaves the mesh at cube {}", at_.cube);
    const Crossing& crossing = g_.crossings_[static_cast<std::size_t>(crossing_index)];
    const int first = g_.io_links_ + g_.cubes() * static_cast<int>(g_.cube_->links().size());
    take(first + crossing_index * g_.connections_ + conn);
    at_.cube = crossing.to_cube;
    at_.index = crossing.to_cube < 0 ? kFirstConn + crossing.to_side * g_.connections_ + conn
                                     : g_.cube_->ucie(static_cast<Side>(crossing.to_side), conn);
  }

  void cross_mesh() {
    const MeshCoord goal = MeshCoord::of(to_.cube, g_.mesh_.x);
    for (MeshCoord here; (here = MeshCoord::of(at_.cube, g_.mesh_.x)).x != goal.x;)
      cross(here.x < goal.x ? Side::E : Side::W);
    for (MeshCoord here; (here = MeshCoord::of(at_.cube, g_.mesh_.x)).y != goal.y;)
      cross(here.y < goal.y ? Side::S : Side::N);
    walk_cube(to_.index);
  }

  void climb_to_io() {
    while (at_.cube >= 0) cross(Side::N);
  }

  void descend_from_io() {
    const int col = MeshCoord::of(to_.cube, g_.mesh_.x).x;
    cross_io(kFirstConn + col * g_.connections_ + connection(Side::S));
    take_crossing(g_.crossing_of_io_[static_cast<std::size_t>(col)], connection(Side::S));
    while (at_.cube != to_.cube) cross(Side::S);
    walk_cube(to_.index);
  }

  const Graph& g_;
  Local at_, to_;
  const int from_pe_, to_pe_;
  std::vector<LinkId>& out_;
  std::vector<int> scratch_;
};

void Graph::route(NodeId from, NodeId to, std::vector<LinkId>& out) const {
  if (from != to) Router(*this, from, to, out).walk();
}

std::vector<LinkId> Graph::route(NodeId from, NodeId to) const {
  std::vector<LinkId> out;
  route(from, to, out);
  return out;
}

Time Graph::latency(const std::vector<LinkId>& route) const {
  Time sum;
  for (const LinkId id : route) sum += forward(*this, link(id));
  return sum;
}

}  // namespace kernbench::topology
