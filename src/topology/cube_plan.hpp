// The floor plan of one cube: its nodes and links, and the paths between them. Every cube of a machine has
// the same plan, so this is computed once.
//
// Routers form a grid around a hole. Everything else hangs on one router: HBM controllers, the SRAM, the M
// CPU, UCIe connections, and each PE by its `pe_dma`, behind which stand the PE's other parts.
#pragma once

#include <string>
#include <vector>

#include "kernbench/graph.hpp"

namespace kernbench::topology {

class CubePlan {
 public:
  struct LocalLink {
    int from, to;
    Bandwidth bandwidth;
    Time wire;
  };

  explicit CubePlan(const Machine& machine);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<LocalLink>& links() const { return links_; }
  const std::string& name(int node) const { return names_[static_cast<std::size_t>(node)]; }
  const std::vector<std::string>& names() const { return names_; }

  /// The link over which a node that is a router with an ejection port takes in what is for itself; −1: it has none.
  int ejection(int node) const {
    return first_ejection_ >= 0 && node < router_count_ ? first_ejection_ + node : -1;
  }
  int router(int row, int col) const { return routers_[static_cast<std::size_t>(row * cols_ + col)]; }
  int m_cpu() const { return m_cpu_; }
  int sram() const { return sram_; }
  int hbm_ctrl(int pe) const { return first_hbm_ + pe; }
  int ucie(Side side, int conn) const { return first_ucie_ + static_cast<int>(side) * connections_ + conn; }
  int pe(int pe, NodeKind part) const;

  /// Appends the links from one node to another: least latency, X before Y where there is a choice.
  void path(int from, int to, std::vector<int>& links) const;

 private:
  struct Anchor {  // how a node that is no router hangs on the one above it
    int parent = -1, up = -1, down = -1;
  };

  int add(Node node, std::string name);
  void connect(int a, int b, Bandwidth bandwidth, double mm);
  void hang(int node, int parent, Bandwidth up, Bandwidth down, double mm);
  void add_routers(const Machine& machine);
  void add_services(const Machine& machine);
  void add_ucie(const Machine& machine);
  void add_pes(const Machine& machine);
  int nearest_router(Point at) const;
  int pe_router(const Machine& machine, int pe) const;
  void compute_next_hops();
  void add_ejection_ports(const Machine& machine);

  double ns_per_mm_;
  int rows_, cols_, connections_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::vector<LocalLink> links_;
  std::vector<Anchor> anchors_;
  std::vector<int> routers_;    // [row · cols + col] → node, −1 in the hole
  std::vector<int> next_link_;  // [router · routers + target] → link
  int router_count_ = 0;        // routers are the first nodes
  int first_ejection_ = -1;     // link, of the first router
  int m_cpu_ = -1, sram_ = -1, first_hbm_ = -1, first_ucie_ = -1, first_pe_ = -1;
};

}  // namespace kernbench::topology
