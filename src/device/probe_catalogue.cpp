#include "device/probe_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kernbench::device {

using topology::Graph;
using topology::Machine;
using topology::NodeId;
using topology::NodeKind;

namespace {

constexpr Bytes kUsual = 32_KiB;
constexpr std::array kGrowing = {4_KiB, 16_KiB, 64_KiB, 256_KiB, 1_MiB};

// Names tell the checks which distances to compare.
constexpr const char* kHostNear = "host to the nearest cube";
constexpr const char* kHostFar = "host to the farthest cube";
constexpr const char* kOwn = "PE to its own slice";
constexpr const char* kSameCorner = "PE to a slice of its corner";
constexpr const char* kOpposite = "PE to the opposite corner";
constexpr const char* kAdjacent = "PE to an adjacent cube";
constexpr const char* kFarthest = "PE to the farthest cube";
constexpr const char* kOtherSip = "PE to another SIP";

Time round_trip(const Graph& graph, NodeId a, NodeId b) {
  return graph.latency(graph.route(a, b)) + graph.latency(graph.route(b, a));
}

/// The nearest and the farthest of some nodes; the first of equals.
struct Ends {
  NodeId nearest, farthest;
};
Ends ends(const Graph& graph, NodeId from, const std::vector<NodeId>& nodes) {
  const auto nearer = [&](NodeId a, NodeId b) {
    return round_trip(graph, from, a) < round_trip(graph, from, b);
  };
  return {*std::min_element(nodes.begin(), nodes.end(), nearer),
          *std::max_element(nodes.begin(), nodes.end(), nearer)};
}

/// The slices of one corner of cube 0, but for PE 0's own; none if the machine has no PEs there.
std::vector<NodeId> corner_slices(const Machine& machine, const Graph& graph, const std::string& corner) {
  const ParamSet& layout = machine.at("cube.pe_layout");
  const std::vector<std::string>& corners = layout.words("corners");
  const auto each = static_cast<int>(layout.integer("pe_per_corner"));
  std::vector<NodeId> slices;
  for (int pe = 1; pe < graph.pes(); ++pe)
    if (corners[static_cast<std::size_t>(pe / each)] == corner) slices.push_back(graph.hbm_ctrl({0, 0, pe}));
  return slices;
}

std::string opposite(const std::string& corner) {
  return {corner[0] == 'N' ? 'S' : 'N', corner[1] == 'W' ? 'E' : 'W'};
}

/// The first slices of a SIP's cubes, from cube `first` on.
std::vector<NodeId> cube_slices(const Graph& graph, int first) {
  std::vector<NodeId> slices;
  for (int cube = first; cube < graph.cubes(); ++cube) slices.push_back(graph.hbm_ctrl({0, cube, 0}));
  return slices;
}

void check_order_along_routes(const Graph& graph, const std::string& name, const ProbeResult& result,
                              Invariant& invariant) {
  for (std::size_t i = 1; i < result.hops.size(); ++i)
    if (result.hops[i].head < result.hops[i - 1].head)
      invariant.broken.push_back(fmt::format("{}: {} at {}, but {} before it at {}", name,
                                             graph.path(result.hops[i].node), to_string(result.hops[i].head),
                                             graph.path(result.hops[i - 1].node),
                                             to_string(result.hops[i - 1].head)));
}

void check_formula(const std::string& name, const ProbeResult& result, Invariant& invariant) {
  if (result.agrees()) return;
  invariant.broken.push_back(fmt::format(
      "{}, {}: formula {}{}, simulated {}, packet by packet {}", name, to_string(result.what.bytes),
      result.formula.exact ? "" : "at least ", to_string(result.formula.parts.total()),
      to_string(result.total), to_string(result.packet_by_packet)));
}

/// Reads ask for all bursts at once, writes bring them one by one: where the channels do not keep up with the
/// fabric, or a row must be opened at the end, a write may well wait longer.
void check_read_and_write(const CatalogueCase& c, Invariant& invariant) {
  const Time write = c.write.formula.exact ? c.write.total : c.write.formula.parts.total();
  if (c.read.total >= write) return;
  invariant.broken.push_back(
      fmt::format("{}: read {}, write {}", c.distance.name, to_string(c.read.total), to_string(write)));
}

void check_near_and_far(const std::vector<CatalogueCase>& cases, Invariant& invariant) {
  const auto find = [&](std::string_view name) {
    return std::find_if(cases.begin(), cases.end(), [&](const auto& c) { return c.distance.name == name; });
  };
  const std::array<std::pair<const char*, const char*>, 7> pairs = {{{kHostNear, kHostFar},
                                                                     {kOwn, kSameCorner},
                                                                     {kSameCorner, kOpposite},
                                                                     {kOwn, kOpposite},
                                                                     {kOwn, kAdjacent},
                                                                     {kAdjacent, kFarthest},
                                                                     {kOwn, kOtherSip}}};
  for (const auto& [near_name, far_name] : pairs) {
    const auto near = find(near_name);
    const auto far = find(far_name);
    if (near == cases.end() || far == cases.end()) continue;
    for (const auto op : {&CatalogueCase::read, &CatalogueCase::write})
      if ((*near.*op).total >= (*far.*op).total)
        invariant.broken.push_back(fmt::format("{} {}, {} {}", near_name, to_string((*near.*op).total),
                                               far_name, to_string((*far.*op).total)));
  }
}

}  // namespace

std::vector<ProbeDistance> probe_distances(const Machine& machine, const Graph& graph) {
  std::vector<ProbeDistance> all;
  const Ends of_host = ends(graph, graph.host(), cube_slices(graph, 0));
  all.push_back({kHostNear, graph.host(), of_host.nearest});
  if (of_host.farthest != of_host.nearest) all.push_back({kHostFar, graph.host(), of_host.farthest});

  const NodeId pe = graph.pe({0, 0, 0}, NodeKind::pe_dma);
  all.push_back({kOwn, pe, graph.hbm_ctrl({0, 0, 0})});
  const std::string& corner = machine.at("cube.pe_layout").words("corners").front();
  if (const auto slices = corner_slices(machine, graph, corner); !slices.empty())
    all.push_back({kSameCorner, pe, slices.front()});
  if (const auto slices = corner_slices(machine, graph, opposite(corner)); !slices.empty())
    all.push_back({kOpposite, pe, ends(graph, pe, slices).farthest});
  if (graph.cubes() > 1) {
    const Ends of_sip = ends(graph, pe, cube_slices(graph, 1));
    all.push_back({kAdjacent, pe, of_sip.nearest});
    if (of_sip.farthest != of_sip.nearest) all.push_back({kFarthest, pe, of_sip.farthest});
  }
  if (graph.sips() > 1) all.push_back({kOtherSip, pe, graph.hbm_ctrl({1, 0, 0})});
  return all;
}

std::vector<Invariant> check_invariants(const Graph& graph, const std::vector<CatalogueCase>& cases) {
  Invariant order{"of two nodes on one route the farther is never faster", {}};
  Invariant slower_read{
      "a read takes at least as long as a write (as the formula, where that is a lower bound)", {}};
  Invariant near_and_far{"near is faster than far", {}};
  Invariant formula{"formula = simulation (or a lower bound of it, where so marked)", {}};
  for (const CatalogueCase& c : cases) {
    const std::string& name = c.distance.name;
    check_read_and_write(c, slower_read);
    for (const ProbeResult* result : {&c.read, &c.write}) {
      check_order_along_routes(graph, name, *result, order);
      check_formula(name, *result, formula);
    }
    for (const ProbeResult& result : c.growing) check_formula(name, result, formula);
  }
  check_near_and_far(cases, near_and_far);
  return {order, slower_read, near_and_far, formula};
}

bool Catalogue::holds() const {
  return std::all_of(invariants.begin(), invariants.end(), [](const Invariant& i) { return i.holds(); });
}

Catalogue run_catalogue(Prober& prober) {
  Catalogue catalogue;
  for (const ProbeDistance& distance : probe_distances(prober.machine(), prober.graph())) {
    const auto measure = [&](Direction op, Bytes bytes) {
      return prober.measure(prober.make_case(distance.from, distance.to, op, bytes));
    };
    CatalogueCase c{distance, measure(Direction::write, kUsual), measure(Direction::read, kUsual), {}};
    for (const Bytes bytes : kGrowing) c.growing.push_back(measure(Direction::read, bytes));
    catalogue.cases.push_back(std::move(c));
  }
  catalogue.invariants = check_invariants(prober.graph(), catalogue.cases);
  return catalogue;
}

}  // namespace kernbench::device
