#include "kernbench/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "topology/cube_plan.hpp"

namespace kernbench::topology {
namespace {

constexpr int kSystemNodes = 2;  // host, switch
constexpr int kSystemLinks = 2;  // host → switch, switch → host

// Nodes of an IO chiplet, before its UCIe connections; links of a SIP in front of its cubes'.
constexpr int kIoCores = 3;  // pcie_ep, io_cpu, io_noc
constexpr int kEndpointLinks = 2;
constexpr std::array<std::pair<int, int>, 6> kIoCoreLinks = {
    {{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}}};

constexpr std::array<std::string_view, 20> kKindNames = {
    "host",           "switch",  "pcie_ep",  "io_cpu", "io_noc", "ucie",         "router",
    "m_cpu",          "sram",    "hbm_ctrl", "ucie",   "pe_cpu", "pe_scheduler", "pe_dma",
    "pe_fetch_store", "pe_gemm", "pe_math",  "pe_tcm", "pe_mmu", "pe_ipcq"};

Side opposite(Side side) { return static_cast<Side>((static_cast<int>(side) + 2) % 4); }

/// Takes `PREFIXn` and a dot, if there is one, off the front; nothing if the text does not begin so.
std::optional<int> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int value = 0;
  const char* begin = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (!rest.empty() && rest[0] != '.') return std::nullopt;
  text = rest.empty() ? rest : rest.substr(1);
  return value;
}

/// A number that is beyond the last of its kind: `cube99`.
[[noreturn]] void refuse_number(std::string_view path, const std::string& what, std::string_view prefix,
                                int count) {
  throw InputError({"topology.unknown-node", shown(path), what,
                    count == 1 ? fmt::format("there is {}0 alone", prefix)
                               : fmt::format("{0}0 to {0}{1}", prefix, count - 1)});
}

}  // namespace

std::string_view to_string(NodeKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string_view to_string(Side side) {
  constexpr std::array<std::string_view, 4> kNames = {"N", "E", "S", "W"};
  return kNames[static_cast<std::size_t>(side)];
}

Graph::Graph(const Machine& machine)
    : sips_(machine.sips()),
      pes_(machine.pes()),
      connections_(static_cast<int>(machine.at("cube.ucie").integer("connections"))),
      mesh_(machine.cube_mesh()),
      cube_(std::make_unique<const CubePlan>(machine)),
      pcie_bw_(machine.at("system.pcie").bandwidth("bw_gbs")),
      io_bw_(machine.at("sip.io.io_noc").bandwidth("bw_gbs")),
      ucie_bw_(machine.at("cube.ucie").bandwidth("bw_gbs")),
      overheads_{
          machine.at("system.host").time("overhead_ns"),    machine.at("system.switch").time("overhead_ns"),
          machine.at("sip.io.pcie_ep").time("overhead_ns"), machine.at("sip.io.io_cpu").time("overhead_ns"),
          machine.at("sip.io.io_noc").time("overhead_ns"),  machine.at("cube.ucie").time("overhead_ns")} {
  number_crossings();
  io_nodes_ = kIoCores + mesh_.x * connections_;
  sip_nodes_ = io_nodes_ + cubes() * static_cast<int>(cube_->nodes().size());
  io_links_ = kEndpointLinks + static_cast<int>(kIoCoreLinks.size()) + 2 * mesh_.x * connections_;
  sip_links_ = io_links_ + cubes() * static_cast<int>(cube_->links().size()) +
               static_cast<int>(crossings_.size()) * connections_;
}

Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

/// Every UCIe port that faces another one: cubes their neighbours, the top row the IO chiplet.
void Graph::number_crossings() {
  crossing_of_cube_.assign(static_cast<std::size_t>(cubes() * 4), -1);
  const auto add = [&](Crossing crossing) {
    crossings_.push_back(crossing);
    return static_cast<int>(crossings_.size()) - 1;
  };
  for (int cube = 0; cube < cubes(); ++cube) {
    const MeshCoord at = MeshCoord::of(cube, mesh_.x);
    for (const Side side : kSides) {
      const MeshCoord to{at.x + (side == Side::E) - (side == Side::W),
                         at.y + (side == Side::S) - (side == Side::N)};
      const int index = cube * 4 + static_cast<int>(side);
      const bool inside = to.x >= 0 && to.x < mesh_.x && to.y >= 0 && to.y < mesh_.y;
      if (inside)
        crossing_of_cube_[static_cast<std::size_t>(index)] =
            add({cube, static_cast<int>(side), to.id(mesh_.x), static_cast<int>(opposite(side))});
      else if (side == Side::N)
        crossing_of_cube_[static_cast<std::size_t>(index)] = add({cube, static_cast<int>(side), -1, at.x});
    }
  }
  for (int col = 0; col < mesh_.x; ++col)
    crossing_of_io_.push_back(add({-1, col, col, static_cast<int>(Side::N)}));
}

std::uint32_t Graph::node_count() const {
  return static_cast<std::uint32_t>(kSystemNodes + sips_ * sip_nodes_);
}
std::uint32_t Graph::link_count() const {
  return static_cast<std::uint32_t>(kSystemLinks) +
         static_cast<std::uint32_t>(sips_) * static_cast<std::uint32_t>(sip_links_);
}

Graph::Local Graph::locate(NodeId id) const {
  KB_ASSERT(id.index < node_count(), "node {} of {}", id.index, node_count());
  const int index = static_cast<int>(id.index);
  if (index < kSystemNodes) return {-1, -1, index};
  const int in_sip = (index - kSystemNodes) % sip_nodes_;
  const int sip = (index - kSystemNodes) / sip_nodes_;
  if (in_sip < io_nodes_) return {sip, -1, in_sip};
  const int per_cube = static_cast<int>(cube_->nodes().size());
  return {sip, (in_sip - io_nodes_) / per_cube, (in_sip - io_nodes_) % per_cube};
}

Node Graph::node(NodeId id) const {
  const auto [sip, cube, index] = locate(id);
  Node node{};
  if (cube >= 0) {
    node = cube_->nodes()[static_cast<std::size_t>(index)];
    node.cube = cube;
  } else if (sip < 0) {
    node.kind = index == 0 ? NodeKind::host : NodeKind::switch_;
  } else if (index < kIoCores) {
    node.kind = static_cast<NodeKind>(static_cast<int>(NodeKind::pcie_ep) + index);
  } else {
    node.kind = NodeKind::io_ucie;
    node.col = (index - kIoCores) / connections_;
    node.conn = (index - kIoCores) % connections_;
  }
  node.sip = sip;
  if (cube < 0) node.overhead = overheads_[static_cast<std::size_t>(node.kind)];
  return node;
}

std::string Graph::path(NodeId id) const {
  const auto [sip, cube, index] = locate(id);
  if (cube >= 0) return fmt::format("sip{}.cube{}.{}", sip, cube, cube_->name(index));
  const Node n = node(id);
  if (n.kind == NodeKind::io_ucie) return fmt::format("sip{}.io_ucie{}.conn{}", sip, n.col, n.conn);
  return sip < 0 ? std::string(to_string(n.kind)) : fmt::format("sip{}.{}", sip, to_string(n.kind));
}

NodeId Graph::find(std::string_view path) const {
  std::vector<std::string> known = {"host",        "switch",      "sip0.pcie_ep",
                                    "sip0.io_cpu", "sip0.io_noc", "sip0.cube0.pe0"};
  const auto refuse = [&](const std::string& what) -> NodeId {
    throw InputError({"topology.unknown-node", shown(path), what, suggest(path, known, "nodes")});
  };
  if (path == "host") return host();
  if (path == "switch") return system_switch();
  std::string_view rest = path;
  const auto sip = take_number(rest, "sip");
  if (!sip) return refuse("no such node");
  if (*sip >= sips_) refuse_number(path, fmt::format("there are {} SIPs", sips_), "sip", sips_);
  for (const NodeKind kind : {NodeKind::pcie_ep, NodeKind::io_cpu, NodeKind::io_noc})
    if (rest == to_string(kind)) return io(*sip, kind);
  if (const auto col = take_number(rest, "io_ucie")) {
    const auto conn = take_number(rest, "conn");
    if (*col < mesh_.x && conn && *conn < connections_ && rest.empty()) return io_ucie(*sip, *col, *conn);
    return refuse(
        fmt::format("the IO chiplet has ports io_ucie0…{} of conn0…{}", mesh_.x - 1, connections_ - 1));
  }
  const auto cube = take_number(rest, "cube");
  if (!cube) return refuse("no such node");
  if (*cube >= cubes()) refuse_number(path, fmt::format("a SIP has {} cubes", cubes()), "cube", cubes());
  if (std::string_view part = rest; const auto pe = take_number(part, "pe"))
    if (*pe >= pes_) refuse_number(path, fmt::format("a cube has {} PEs", pes_), "pe", pes_);
  const std::string local = rest.starts_with("pe") && rest.find('.') == rest.npos
                                ? std::string(rest) + ".pe_dma"
                                : std::string(rest);
  const auto& names = cube_->names();
  const auto found = std::find(names.begin(), names.end(), local);
  if (found != names.end()) return cube_node({*sip, *cube}, static_cast<int>(found - names.begin()));
  known.clear();
  for (const std::string& name : names) known.push_back(fmt::format("sip{}.cube{}.{}", *sip, *cube, name));
  const std::vector<std::string> near = nearest(path, known);
  throw InputError({"topology.unknown-node", shown(path), "no such node in a cube",
                    near.empty()
                        ? "a cube has r0c0 …, m_cpu, sram, hbm_ctrl.pe0 …, ucie_N.conn0 …, pe0.pe_dma …"
                        : fmt::format("did you mean '{}'?", join(near, "' or '"))});
}

NodeId Graph::cube_node(CubeCoord cube, int index) const {
  const int per_cube = static_cast<int>(cube_->nodes().size());
  return {static_cast<std::uint32_t>(kSystemNodes + cube.sip * sip_nodes_ + io_nodes_ + cube.cube * per_cube +
                                     index)};
}

NodeId Graph::io(int sip, NodeKind kind) const {
  const int which = static_cast<int>(kind) - static_cast<int>(NodeKind::pcie_ep);
  return {static_cast<std::uint32_t>(kSystemNodes + sip * sip_nodes_ + which)};
}

NodeId Graph::io_ucie(int sip, int col, int conn) const {
  return {static_cast<std::uint32_t>(kSystemNodes + sip * sip_nodes_ + kIoCores + col * connections_ + conn)};
}

bool Graph::has_router(int row, int col) const { return cube_->router(row, col) >= 0; }

NodeId Graph::router(CubeCoord cube, int row, int col) const {
  KB_ASSERT(has_router(row, col), "r{}c{} is in the hole", row, col);
  return cube_node(cube, cube_->router(row, col));
}

NodeId Graph::m_cpu(CubeCoord cube) const { return cube_node(cube, cube_->m_cpu()); }
NodeId Graph::sram(CubeCoord cube) const { return cube_node(cube, cube_->sram()); }
NodeId Graph::ucie(CubeCoord cube, Side side, int conn) const {
  return cube_node(cube, cube_->ucie(side, conn));
}
NodeId Graph::hbm_ctrl(PeCoord pe) const { return cube_node(pe.in_cube(), cube_->hbm_ctrl(pe.pe)); }
NodeId Graph::pe(PeCoord pe, NodeKind part) const { return cube_node(pe.in_cube(), cube_->pe(pe.pe, part)); }

int Graph::partition(NodeId id) const { return locate(id).sip + 1; }

int Graph::connection(NodeId from, NodeId to) const {
  for (const LinkId id : route(from, to))
    if (const Node next = node(link(id).to); next.conn >= 0) return next.conn;
  return -1;
}

LinkId Graph::sip_link(int sip, int index) const {
  return {static_cast<std::uint32_t>(kSystemLinks) +
          static_cast<std::uint32_t>(sip) * static_cast<std::uint32_t>(sip_links_) +
          static_cast<std::uint32_t>(index)};
}

Link Graph::link(LinkId id) const {
  KB_ASSERT(id.index < link_count(), "link {} of {}", id.index, link_count());
  if (id.index == 0) return {host(), system_switch(), pcie_bw_, 1_ps};
  if (id.index == 1) return {system_switch(), host(), pcie_bw_, 1_ps};
  const auto per_sip = static_cast<std::uint32_t>(sip_links_);
  const int sip = static_cast<int>((id.index - kSystemLinks) / per_sip);
  int index = static_cast<int>((id.index - kSystemLinks) % per_sip);
  if (index < io_links_) return io_link(sip, index);
  index -= io_links_;
  const int per_cube = static_cast<int>(cube_->links().size());
  if (index >= cubes() * per_cube) return crossing_link(sip, index - cubes() * per_cube);
  const CubeCoord cube{sip, index / per_cube};
  const auto& local = cube_->links()[static_cast<std::size_t>(index % per_cube)];
  return {cube_node(cube, local.from), cube_node(cube, local.to), local.bandwidth, local.wire};
}

/// In order: endpoint → switch, switch → endpoint, the cores among themselves, connections ↔ io_noc.
Link Graph::io_link(int sip, int index) const {
  const auto core = [&](int which) {
    return io(sip, static_cast<NodeKind>(static_cast<int>(NodeKind::pcie_ep) + which));
  };
  if (index == 0) return {core(0), system_switch(), pcie_bw_, 1_ps};
  if (index == 1) return {system_switch(), core(0), pcie_bw_, 1_ps};
  index -= kEndpointLinks;
  if (index < static_cast<int>(kIoCoreLinks.size())) {
    const auto [from, to] = kIoCoreLinks[static_cast<std::size_t>(index)];
    return {core(from), core(to), io_bw_, 1_ps};
  }
  index -= static_cast<int>(kIoCoreLinks.size());
  const NodeId port = io_ucie(sip, index / 2 / connections_, index / 2 % connections_);
  const NodeId noc = io(sip, NodeKind::io_noc);
  return index % 2 == 0 ? Link{noc, port, ucie_bw_, 1_ps} : Link{port, noc, ucie_bw_, 1_ps};
}

Link Graph::crossing_link(int sip, int index) const {
  const Crossing& crossing = crossings_[static_cast<std::size_t>(index / connections_)];
  const int conn = index % connections_;
  const auto port = [&](int cube, int side) {
    return cube < 0 ? io_ucie(sip, side, conn) : ucie({sip, cube}, static_cast<Side>(side), conn);
  };
  return {port(crossing.cube, crossing.side), port(crossing.to_cube, crossing.to_side), ucie_bw_, 1_ps};
}

}  // namespace kernbench::topology
