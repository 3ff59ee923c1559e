// The machine as a graph: nodes with places, links with bandwidths, and the one route between any two nodes.
//
// All SIPs are alike and all cubes are alike, so the graph is two plans (a cube, an IO chiplet) and
// arithmetic: ids are dense integers, and a machine of 131,072 PEs costs no more memory than one of eight.
// Whoever runs the machine keeps its state in arrays indexed by id.
//
// Node paths read like `sip0.cube5.pe3.pe_dma`, `sip0.cube5.r1c4`, `sip0.cube5.hbm_ctrl.pe3`,
// `sip0.cube5.ucie_E.conn2`, `sip0.io_ucie2.conn0` (the IO chiplet's port above column 2), `sip0.io_cpu`,
// `switch`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/coords.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/units.hpp"

namespace kernbench::topology {

struct NodeId {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(NodeId, NodeId) = default;
};
struct LinkId {
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(LinkId, LinkId) = default;
};

enum class NodeKind : std::uint8_t {
  host,
  switch_,
  pcie_ep,
  io_cpu,
  io_noc,
  io_ucie,  // outside the cubes
  router,
  m_cpu,
  sram,
  hbm_ctrl,
  ucie,  // of a cube
  pe_cpu,
  pe_scheduler,
  pe_dma,
  pe_fetch_store,
  pe_gemm,
  pe_math,
  pe_tcm,
  pe_mmu,
  pe_ipcq,  // of a PE
};
inline constexpr std::size_t kNodeKinds = static_cast<std::size_t>(NodeKind::pe_ipcq) + 1;
inline constexpr std::array kPeParts = {NodeKind::pe_cpu,         NodeKind::pe_scheduler, NodeKind::pe_dma,
                                        NodeKind::pe_fetch_store, NodeKind::pe_gemm,      NodeKind::pe_math,
                                        NodeKind::pe_tcm,         NodeKind::pe_mmu,       NodeKind::pe_ipcq};
/// As in paths and machine files: `pe_dma`, `switch`, `hbm_ctrl`.
std::string_view to_string(NodeKind kind);

/// Sides of a cube, and of its UCIe ports.
enum class Side : std::uint8_t { N, E, S, W };
inline constexpr std::array kSides = {Side::N, Side::E, Side::S, Side::W};
std::string_view to_string(Side side);

struct Point {
  double x = 0, y = 0;  // mm, x east, y south
};

/// Coordinates are −1 where they do not apply.
struct Node {
  NodeKind kind;
  int sip = -1, cube = -1, pe = -1;
  int row = -1, col = -1;    // of a router; `col` of an IO chiplet's UCIe port
  int side = -1, conn = -1;  // of a UCIe connection
  Time overhead;             // of every message that arrives: its latency, or service
  Point at;                  // in its cube, or its SIP outside the cubes

  /// The control CPUs work on one message at a time: their overhead is a service that messages queue for.
  /// Anywhere else it is a latency: every message pays it, and it occupies nobody.
  bool serves() const { return kind == NodeKind::io_cpu || kind == NodeKind::m_cpu; }
  Time latency() const { return serves() ? Time() : overhead; }
  Time service() const { return serves() ? overhead : Time(); }
};

/// One direction of a connection.
struct Link {
  NodeId from, to;
  Bandwidth bandwidth;
  Time wire;  // at least 1 ps
};

class CubePlan;

class Graph {
 public:
  explicit Graph(const Machine& machine);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  std::uint32_t node_count() const;
  std::uint32_t link_count() const;
  Node node(NodeId id) const;
  Link link(LinkId id) const;
  /// The links of a SIP have ids one after the other, its wire to the switch among them.
  LinkId first_link(int sip) const { return sip_link(sip, 0); }
  std::uint32_t links_per_sip() const { return static_cast<std::uint32_t>(sip_links_); }
  std::string path(NodeId id) const;
  /// The node of a path; `sip0.cube0.pe3` is that PE's `pe_dma`. Unknown: InputError with the nearest names.
  NodeId find(std::string_view path) const;

  NodeId host() const { return {0}; }
  NodeId system_switch() const { return {1}; }
  NodeId io(int sip, NodeKind kind) const;  // pcie_ep, io_cpu or io_noc
  NodeId io_ucie(int sip, int col, int conn) const;
  bool has_router(int row, int col) const;  // false in the hole
  NodeId router(CubeCoord cube, int row, int col) const;
  NodeId m_cpu(CubeCoord cube) const;
  NodeId sram(CubeCoord cube) const;
  NodeId ucie(CubeCoord cube, Side side, int conn) const;
  NodeId hbm_ctrl(PeCoord pe) const;
  NodeId pe(PeCoord pe, NodeKind part) const;

  /// Appends the links from `from` to `to`, in order; nothing if they are the same node.
  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const;
  std::vector<LinkId> route(NodeId from, NodeId to) const;
  /// Wires and latencies along a route: when a message of no bytes arrives.
  Time latency(const std::vector<LinkId>& route) const;

  /// The first UCIe connection on the route between two nodes; −1 if it crosses none. docs/model.md has the rule.
  int connection(NodeId from, NodeId to) const;
  /// Partitions run independently: 0 is host and switch, s + 1 is SIP s.
  int partition(NodeId id) const;
  int partition_count() const { return sips_ + 1; }

  int sips() const { return sips_; }
  int cubes() const { return mesh_.x * mesh_.y; }
  MeshCoord cube_mesh() const { return mesh_; }
  int pes() const { return pes_; }

 private:
  struct Local {  // an id taken apart
    int sip, cube, index;
  };
  Local locate(NodeId id) const;
  NodeId cube_node(CubeCoord cube, int index) const;
  LinkId sip_link(int sip, int index) const;
  void number_crossings();
  Link io_link(int sip, int index) const;
  Link crossing_link(int sip, int index) const;

  class Router;

  int sips_, pes_, connections_;
  MeshCoord mesh_;
  std::unique_ptr<const CubePlan> cube_;
  Bandwidth pcie_bw_, io_bw_, ucie_bw_;
  std::array<Time, 6> overheads_;  // of the node kinds outside the cubes
  struct Crossing {                // a UCIe port to the port it faces; the IO chiplet counts as cube −1
    int cube, side;                // from: this side of this cube; side of the IO chiplet: its column
    int to_cube, to_side;
  };
  std::vector<Crossing> crossings_;
  std::vector<int> crossing_of_cube_;  // [cube · 4 + side] → index in crossings_, −1 at the rim
  std::vector<int> crossing_of_io_;    // [column]
  int io_nodes_, sip_nodes_, io_links_, sip_links_;
};

}  // namespace kernbench::topology
