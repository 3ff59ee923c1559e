#include "topology/cube_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "kernbench/error.hpp"
#include "topology/ejection.hpp"

namespace kernbench::topology {
namespace {

/// Not std::hypot, whose last bit depends on the C library: lengths become times.
double distance(Point a, Point b) {
  const double x = a.x - b.x, y = a.y - b.y;
  return std::sqrt(x * x + y * y);
}

Node cube_part(NodeKind kind, Time overhead, Point at) {
  Node node{.kind = kind};
  node.overhead = overhead;
  node.at = at;
  return node;
}

}  // namespace

CubePlan::CubePlan(const Machine& machine)
    : ns_per_mm_(machine.at("system").number("ns_per_mm")),
      rows_(static_cast<int>(machine.at("cube.routers").integer("rows"))),
      cols_(static_cast<int>(machine.at("cube.routers").integer("cols"))) {
  add_routers(machine);
  add_services(machine);
  add_ucie(machine);
  add_pes(machine);
  compute_next_hops();
  add_ejection_ports(machine);
}

int CubePlan::add(Node node, std::string name) {
  nodes_.push_back(node);
  names_.push_back(std::move(name));
  anchors_.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}

void CubePlan::connect(int a, int b, Bandwidth bandwidth, double mm) {
  const Time wire = std::max(1_ps, Time::from_ns_rounded_up(mm * ns_per_mm_));
  links_.push_back({a, b, bandwidth, wire});
  links_.push_back({b, a, bandwidth, wire});
}

void CubePlan::hang(int node, int parent, Bandwidth up, Bandwidth down, double mm) {
  connect(node, parent, up, mm);
  links_.back().bandwidth = down;
  const int last = static_cast<int>(links_.size()) - 1;
  anchors_[static_cast<std::size_t>(node)] = {parent, last - 1, last};
}

/// Router (r, c) stands at the middle of its cell of the cube; the centre belongs to the HBM stack.
void CubePlan::add_routers(const Machine& machine) {
  const ParamSet& params = machine.at("cube.routers");
  const auto& size = machine.at("cube").numbers("size_mm");
  const int hole_rows = static_cast<int>(params.numbers("hole")[0]);
  const int hole_cols = static_cast<int>(params.numbers("hole")[1]);
  const int first_row = (rows_ - hole_rows) / 2;
  const int first_col = (cols_ - hole_cols) / 2;
  for (int r = 0; r < rows_; ++r) {
    for (int c = 0; c < cols_; ++c) {
      const bool in_hole =
          r >= first_row && r < first_row + hole_rows && c >= first_col && c < first_col + hole_cols;
      Node node = cube_part(NodeKind::router, params.time("overhead_ns"),
                            {(c + 0.5) * size[0] / cols_, (r + 0.5) * size[1] / rows_});
      node.row = r;
      node.col = c;
      routers_.push_back(in_hole ? -1 : add(node, fmt::format("r{}c{}", r, c)));
    }
  }
  router_count_ = static_cast<int>(nodes_.size());
  const Bandwidth bandwidth = params.bandwidth("bw_gbs");
  for (int r = 0; r < rows_; ++r) {
    for (int c = 0; c < cols_; ++c) {
      const int here = router(r, c);
      if (here < 0) continue;
      if (c + 1 < cols_ && router(r, c + 1) >= 0) connect(here, router(r, c + 1), bandwidth, size[0] / cols_);
      if (r + 1 < rows_ && router(r + 1, c) >= 0) connect(here, router(r + 1, c), bandwidth, size[1] / rows_);
    }
  }
}

int CubePlan::nearest_router(Point at) const {
  int best = 0;
  for (int i = 1; i < router_count_; ++i)
    if (distance(nodes_[static_cast<std::size_t>(i)].at, at) <
        distance(nodes_[static_cast<std::size_t>(best)].at, at))
      best = i;
  return best;
}

void CubePlan::add_services(const Machine& machine) {
  const auto place = [&](const char* path) {
    const auto& at = machine.at(path).numbers("at_mm");
    return Point{at[0], at[1]};
  };
  const auto join = [&](NodeKind kind, const char* path, Bandwidth bandwidth) {
    const Point at = place(path);
    const int node =
        add(cube_part(kind, machine.at(path).time("overhead_ns"), at), std::string(to_string(kind)));
    const int parent = nearest_router(at);
    hang(node, parent, bandwidth, bandwidth, distance(at, nodes_[static_cast<std::size_t>(parent)].at));
    return node;
  };
  m_cpu_ = join(NodeKind::m_cpu, "cube.m_cpu", machine.at("cube.routers").bandwidth("bw_gbs"));
  sram_ = join(NodeKind::sram, "cube.sram", machine.at("cube.sram").bandwidth("bw_gbs"));
}

/// The connections of a port join the middle routers of their side: r0/r5 c1…c4 and r1…r4 c0/c5 of six.
void CubePlan::add_ucie(const Machine& machine) {
  const ParamSet& params = machine.at("cube.ucie");
  connections_ = static_cast<int>(params.integer("connections"));
  first_ucie_ = static_cast<int>(nodes_.size());
  const Bandwidth bandwidth = params.bandwidth("bw_gbs");
  for (const Side side : kSides) {
    const bool horizontal = side == Side::N || side == Side::S;
    const int first = ((horizontal ? cols_ : rows_) - connections_) / 2;
    for (int k = 0; k < connections_; ++k) {
      const int row = horizontal ? (side == Side::N ? 0 : rows_ - 1) : first + k;
      const int col = horizontal ? first + k : (side == Side::W ? 0 : cols_ - 1);
      const int parent = router(row, col);
      Node node =
          cube_part(NodeKind::ucie, params.time("overhead_ns"), nodes_[static_cast<std::size_t>(parent)].at);
      node.side = static_cast<int>(side);
      node.conn = k;
      hang(add(node, fmt::format("ucie_{}.conn{}", to_string(side), k)), parent, bandwidth, bandwidth, 0);
    }
  }
}

/// Each corner has two routers, the outermost of its row; its PEs take them in turn.
int CubePlan::pe_router(const Machine& machine, int pe) const {
  const ParamSet& layout = machine.at("cube.pe_layout");
  const int per_corner = static_cast<int>(layout.integer("pe_per_corner"));
  const std::string& corner = layout.words("corners")[static_cast<std::size_t>(pe / per_corner)];
  const int row = corner[0] == 'N' ? 0 : rows_ - 1;
  const int first_col = corner[1] == 'W' ? 0 : cols_ - 2;
  return router(row, first_col + pe % per_corner % 2);
}

void CubePlan::add_pes(const Machine& machine) {
  const Bandwidth hbm_bw = machine.at("cube.hbm").bandwidth("hbm_to_router_bw_gbs");
  const Bandwidth port_bw = machine.at("pe.pe_dma").bandwidth("bw_gbs");
  const ParamSet& tcm = machine.at("pe.pe_tcm");
  const auto add_at = [&](NodeKind kind, int pe, int beside, std::string name) {
    Node node = cube_part(kind, 0_ps, nodes_[static_cast<std::size_t>(beside)].at);
    node.pe = pe;
    return add(node, std::move(name));
  };
  first_hbm_ = static_cast<int>(nodes_.size());
  for (int pe = 0; pe < machine.pes(); ++pe) {
    const int parent = pe_router(machine, pe);
    hang(add_at(NodeKind::hbm_ctrl, pe, parent, fmt::format("hbm_ctrl.pe{}", pe)), parent, hbm_bw, hbm_bw, 0);
  }
  first_pe_ = static_cast<int>(nodes_.size());
  for (int pe = 0; pe < machine.pes(); ++pe) {
    const int beside = pe_router(machine, pe);
    for (const NodeKind part : kPeParts)
      add_at(part, pe, beside, fmt::format("pe{}.{}", pe, to_string(part)));
    const int port = this->pe(pe, NodeKind::pe_dma);
    hang(port, beside, port_bw, port_bw, 0);
    for (const NodeKind part : kPeParts) {
      if (part == NodeKind::pe_dma) continue;
      const bool is_tcm = part == NodeKind::pe_tcm;
      hang(this->pe(pe, part), port, is_tcm ? tcm.bandwidth("read_bw_gbs") : port_bw,
           is_tcm ? tcm.bandwidth("write_bw_gbs") : port_bw, 0);
    }
  }
}

int CubePlan::pe(int pe, NodeKind part) const {
  const int which = static_cast<int>(part) - static_cast<int>(kPeParts.front());
  return first_pe_ + pe * static_cast<int>(kPeParts.size()) + which;
}

/// Least latency from every router to every router. Links cost the same both ways, so paths do, too.
void CubePlan::compute_next_hops() {
  const auto count = static_cast<std::size_t>(router_count_);
  std::vector<std::vector<int>> out(count);  // links between routers, X first
  for (const bool want_x : {true, false}) {
    for (std::size_t l = 0; l < links_.size(); ++l) {
      const LocalLink& link = links_[l];
      if (link.from >= router_count_ || link.to >= router_count_) continue;
      const bool is_x =
          nodes_[static_cast<std::size_t>(link.from)].row == nodes_[static_cast<std::size_t>(link.to)].row;
      if (is_x == want_x) out[static_cast<std::size_t>(link.from)].push_back(static_cast<int>(l));
    }
  }
  const auto cost = [&](int l) {
    const LocalLink& link = links_[static_cast<std::size_t>(l)];
    return link.wire + nodes_[static_cast<std::size_t>(link.to)].overhead;
  };
  next_link_.assign(count * count, -1);
  for (std::size_t target = 0; target < count; ++target) {
    std::vector<Time> left(count, Time::never());
    using Item = std::pair<Time, std::size_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> open;
    open.emplace(left[target] = 0_ps, target);
    while (!open.empty()) {
      const auto [so_far, at] = open.top();
      open.pop();
      if (so_far > left[at]) continue;
      for (const int l : out[at]) {
        const auto before = static_cast<std::size_t>(links_[static_cast<std::size_t>(l)].to);
        if (so_far + cost(l) < left[before]) open.emplace(left[before] = so_far + cost(l), before);
      }
    }
    for (std::size_t at = 0; at < count; ++at) {
      if (at == target) continue;
      const auto best = std::find_if(out[at].begin(), out[at].end(), [&](int l) {
        return left[at] == cost(l) + left[static_cast<std::size_t>(links_[static_cast<std::size_t>(l)].to)];
      });
      KB_ASSERT(best != out[at].end(), "router {} cannot reach {}", names_[at], names_[target]);
      next_link_[at * count + target] = *best;
    }
  }
}

/// A link from each router to itself, as fast as one to another router. No way inside the cube leads over it.
void CubePlan::add_ejection_ports(const Machine& machine) {
  if (!has_ejection_ports(machine)) return;
  first_ejection_ = static_cast<int>(links_.size());
  const Bandwidth bandwidth = machine.at("cube.routers").bandwidth("bw_gbs");
  for (int router = 0; router < router_count_; ++router)
    links_.push_back({router, router, bandwidth, Time()});
}

void CubePlan::path(int from, int to, std::vector<int>& links) const {
  // Down from the target's router to the target: at most router → pe_dma → part.
  std::array<int, 2> way_down{};
  std::size_t steps_down = 0;
  int top = to;  // the node from which the way down begins
  const auto is_above_target = [&](int node) {
    steps_down = 0;
    for (top = to; top != node && top >= router_count_; top = anchors_[static_cast<std::size_t>(top)].parent)
      way_down[steps_down++] = anchors_[static_cast<std::size_t>(top)].down;
    return top == node;
  };
  while (!is_above_target(from)) {
    const Anchor& anchor = anchors_[static_cast<std::size_t>(from)];
    const int link =
        from >= router_count_ ? anchor.up : next_link_[static_cast<std::size_t>(from * router_count_ + top)];
    links.push_back(link);
    from = links_[static_cast<std::size_t>(link)].to;
  }
  while (steps_down > 0) links.push_back(way_down[--steps_down]);
}

}  // namespace kernbench::topology
