#include "device/probe_formula.hpp"
#include "topology/ejection.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

namespace kernbench::device {
namespace {

using topology::Graph;
using topology::Link;
using topology::LinkId;
using topology::Machine;
using topology::Node;
using topology::NodeId;
using topology::NodeKind;

/// Components whose links have models.
constexpr std::array kLinkComponents = {"system.switch", "sip.io.pcie_ep", "sip.io.io_noc", "cube.routers",
                                        "cube.ucie"};

/// What messages take on a link, as the machine file has it.
class Sizes {
 public:
  explicit Sizes(const Machine& machine)
      : packet_(machine.at("fabric").integer("packet_bytes")),
        header_(machine.at("fabric").integer("header_bytes")),
        request_(machine.at("fabric").integer("request_bytes")),
        ack_(machine.at("fabric").integer("ack_bytes")) {}

  /// Every packet has a header.
  Bytes on_link(Bytes message) const {
    return Bytes(message.count() + (message.count() + packet_ - 1) / packet_ * header_);
  }
  Bytes request() const { return on_link(Bytes(request_)); }
  Bytes ack() const { return on_link(Bytes(ack_)); }

 private:
  std::int64_t packet_, header_, request_, ack_;
};

bool is_cpu(NodeKind kind) { return kind == NodeKind::io_cpu || kind == NodeKind::m_cpu; }

/// One way through the graph, walked link by link.
struct Way {
  Time wire, overhead;
  Time service;  // of a control CPU at the end
  Bandwidth slowest;
  std::vector<ProbeHop> hops;
  Time total() const { return wire + overhead + service; }
};

Way walk(const Graph& graph, NodeId from, NodeId to, ProbeLeg leg, Time start) {
  Way way;
  way.hops.push_back({from, leg, start});
  bool first = true;
  for (const LinkId id : graph.route(from, to)) {
    const Link link = graph.link(id);
    const Node node = graph.node(link.to);
    if (first || link.bandwidth < way.slowest) way.slowest = link.bandwidth;
    first = false;
    if (is_ejection_port(link)) continue;
    way.wire += link.wire;
    (is_cpu(node.kind) ? way.service : way.overhead) += node.overhead;
    way.hops.push_back({link.to, leg, start + way.wire + way.overhead});
  }
  return way;
}

/// A burst's time on its pseudo-channel: burst_bytes / (hbm_to_router_bw_gbs / num_pcs).
Time burst_time(const ParamSet& hbm) {
  const double channel_gbs = hbm.number("hbm_to_router_bw_gbs") / static_cast<double>(hbm.integer("num_pcs"));
  return Bandwidth::from_gbs(channel_gbs).time_for(hbm.bytes("burst_bytes"));
}

/// What the memory adds at least, as its impl says; nothing if that says nothing.
models::MemoryFormula memory_formula(const Machine& machine, NodeKind kind) {
  if (kind != NodeKind::hbm_ctrl) return {};
  const auto& hbm = machine.behaviour<models::MemoryBehaviour>("cube.hbm");
  return hbm.formula ? hbm.formula(machine.at("cube.hbm")) : models::MemoryFormula{};
}

std::unique_ptr<models::DmaModel> dma_model(const Machine& machine) {
  return machine.behaviour<models::DmaFactory>("pe.pe_dma")(machine.at("pe.pe_dma"));
}

/// The impl of a component on the way that no formula is known of; empty if there is none.
std::string without_formula(const Machine& machine, const Graph& graph, const ProbeCase& what, bool by_dma) {
  const bool is_hbm = what.op && graph.node(what.to).kind == NodeKind::hbm_ctrl;
  if (is_hbm && !machine.behaviour<models::MemoryBehaviour>("cube.hbm").formula)
    return machine.group("cube.hbm").impl;
  const auto dma = dma_model(machine);
  if (by_dma && !dma->whole() && !dma->window()) return machine.group("pe.pe_dma").impl;
  for (const char* path : kLinkComponents)
    if (!machine.behaviour<models::LinkFactory>(path)(machine.at(path))->regular())
      return machine.group(path).impl;
  return {};
}

/// Whether the slice's channels never hold up an access, so that only its first (read) or last (write) burst
/// shows. A group is one burst of every channel. No packet may straddle two groups, the fabric must not bring
/// or fetch a group faster than the channels serve it, and a write must not end with a short packet or burst
/// that comes before its channel is free.
bool channels_keep_up(const Machine& machine, const ProbeCase& what, Bandwidth slowest) {
  const ParamSet& hbm = machine.at("cube.hbm");
  const std::int64_t burst = hbm.bytes("burst_bytes").count();
  const std::int64_t group = burst * hbm.integer("num_pcs");
  const std::int64_t packet = machine.at("fabric").bytes("packet_bytes").count();
  const std::int64_t bytes = what.bytes.count();
  if (what.offset % burst != 0 || group % packet != 0) return false;
  if (bytes <= group) return true;
  const Bytes on_link = Sizes(machine).on_link(Bytes(group));
  const Time group_time = slowest.time_for(on_link);
  const Time at_least = slowest.is_whole_time(on_link) ? group_time : group_time - Time::from_ps(1);
  if (at_least < burst_time(hbm)) return false;
  return *what.op == Direction::read || (bytes % packet == 0 && bytes % burst == 0);
}

/// Whether finite buffers never hold up a lone message: all of it has room, or the places that are taken while a credit comes back
/// carry as much as the slowest link.
bool buffers_keep_up(const Machine& machine, const Graph& graph, const ProbeCase& what, Bandwidth slowest) {
  const ParamSet& routers = machine.at("cube.routers");
  if (routers.text("flow") != "credits") return true;
  const std::int64_t places = routers.integer("buffer_packets");
  const Bytes packet = machine.at("fabric").bytes("packet_bytes");
  if (what.bytes <= packet * places) return true;
  const Time taken = slowest.time_for(Sizes(machine).on_link(packet));
  for (const bool back : {false, true})
    for (const LinkId id : graph.route(back ? what.to : what.from, back ? what.from : what.to)) {
      const Link link = graph.link(id);
      const Node node = graph.node(link.to);
      const bool into_router = node.kind == NodeKind::router && !is_ejection_port(link);
      if (into_router && taken + node.overhead + link.wire + link.wire > taken * places) return false;
    }
  return true;
}

void append(std::vector<ProbeHop>& hops, const Way& way) {
  hops.insert(hops.end(), way.hops.begin(), way.hops.end());
}

ProbeFormula message_formula(const Graph& graph, const Sizes& sizes, const ProbeCase& what) {
  const Way way = walk(graph, what.from, what.to, ProbeLeg::data, Time());
  return {.parts = {.wire = way.wire,
                    .overhead = way.overhead + way.service,
                    .serialization = way.slowest.time_for(sizes.on_link(what.bytes)),
                    .memory = {},
                    .ack = {}},
          .hops = way.hops,
          .bottleneck = way.slowest};
}

/// Request there, memory, data back.
ProbeFormula read_formula(const Graph& graph, const Sizes& sizes, const ProbeCase& what, Time issue,
                          Time memory) {
  const Way there = walk(graph, what.from, what.to, ProbeLeg::request, issue);
  const Time request = there.slowest.time_for(sizes.request());
  const Way back = walk(graph, what.to, what.from, ProbeLeg::data, issue + there.total() + request + memory);
  ProbeFormula formula{.parts = {.wire = there.wire + back.wire,
                                 .overhead = issue + there.overhead + back.overhead + back.service,
                                 .serialization = request + back.slowest.time_for(sizes.on_link(what.bytes)),
                                 .memory = memory,
                                 .ack = {}},
                       .hops = there.hops,
                       .bottleneck = back.slowest};
  append(formula.hops, back);
  return formula;
}

/// Data there, memory, acknowledgement back.
ProbeFormula write_formula(const Graph& graph, const Sizes& sizes, const ProbeCase& what, Time issue,
                           Time memory) {
  const Way there = walk(graph, what.from, what.to, ProbeLeg::data, issue);
  const Time serialization = there.slowest.time_for(sizes.on_link(what.bytes));
  const Way back =
      walk(graph, what.to, what.from, ProbeLeg::ack, issue + there.total() + serialization + memory);
  ProbeFormula formula{.parts = {.wire = there.wire,
                                 .overhead = issue + there.overhead,
                                 .serialization = serialization,
                                 .memory = memory,
                                 .ack = back.total() + back.slowest.time_for(sizes.ack())},
                       .hops = there.hops,
                       .bottleneck = there.slowest};
  append(formula.hops, back);
  return formula;
}

/// Requests of a transfer go out within a window, and end in order: each its round trip after it went out, and its own time on
/// the slowest link after the one before it.
class Windowed {
 public:
  Windowed(const models::DmaModel& model, const Sizes& sizes, Time latency, Bandwidth slowest)
      : model_(model), sizes_(sizes), latency_(latency), slowest_(slowest) {}

  /// When the last one ends.
  Time end(const std::vector<models::DmaRows>& requests) {
    for (const models::DmaRows& request : requests) {
      const Bytes bytes = request.bytes();
      while (!open_.empty() && !model_.may_request(load_, bytes)) oldest_ends();
      open_.push_back({bytes, std::max(now_ + round_trip(bytes), last_ + time_on_link(bytes))});
      last_ = open_.back().end;
      ++load_.requests;
      load_.bytes += bytes;
      most_ = std::max(most_, load_.bytes);
    }
    return last_;
  }
  Time time_on_link(Bytes bytes) const { return slowest_.time_for(sizes_.on_link(bytes)); }
  Time round_trip(Bytes bytes) const { return latency_ + time_on_link(bytes); }
  Bytes most_in_flight() const { return most_; }

 private:
  struct Open {
    Bytes bytes;
    Time end;
  };
  void oldest_ends() {
    now_ = open_.front().end;
    load_.bytes -= open_.front().bytes;
    --load_.requests;
    open_.pop_front();
  }

  const models::DmaModel& model_;
  const Sizes& sizes_;
  const Time latency_;
  const Bandwidth slowest_;
  std::deque<Open> open_;
  models::DmaLoad load_{.transfers = 1};
  Time now_, last_;
  Bytes most_;
};

/// What the window adds to a transfer that would otherwise take as long as `formula` says. Every request has the same way, and
/// pays the memory once; where bursts are not alike, it may find open what the first one opened, and pay nothing.
void add_window(const Machine& machine, const ProbeCase& what, Time issue, bool bursts_alike,
                ProbeFormula& formula) {
  const auto model = dma_model(machine);
  if (model->whole()) return;
  std::vector<models::DmaRows> requests;
  model->split({.offset = what.offset, .row_bytes = what.bytes.count()}, requests);
  const Sizes sizes(machine);
  const Time alone = formula.parts.total() - issue;
  const Time data = formula.bottleneck.time_for(sizes.on_link(what.bytes));
  const Time least_memory = bursts_alike ? formula.parts.memory : Time();
  Windowed windowed(*model, sizes, alone - data - formula.parts.memory + least_memory, formula.bottleneck);
  const Time end = windowed.end(requests);
  if (end > alone) formula.parts.window = end - alone;
  for (ProbeHop& hop : formula.hops)
    if (hop.leg == ProbeLeg::ack) hop.head += formula.parts.window;
  const std::int64_t packet = machine.at("fabric").bytes("packet_bytes").count();
  Bytes longest;
  for (const models::DmaRows& request : requests) {
    longest = std::max(longest, request.bytes());
    formula.exact &=
        requests.size() == 1 ||
        (request.row_bytes % packet == 0 && formula.bottleneck.is_whole_time(sizes.on_link(request.bytes())));
  }
  if (requests.size() > 1) formula.window = {windowed.most_in_flight(), windowed.round_trip(longest)};
}

}  // namespace

bool is_memory(NodeKind kind) {
  return kind == NodeKind::hbm_ctrl || kind == NodeKind::sram || kind == NodeKind::pe_tcm;
}

ProbeFormula probe_formula(const Machine& machine, const Graph& graph, const ProbeCase& what) {
  const Sizes sizes(machine);
  if (!what.op) {
    ProbeFormula formula = message_formula(graph, sizes, what);
    formula.without = without_formula(machine, graph, what, false);
    formula.exact = formula.without.empty() && buffers_keep_up(machine, graph, what, formula.bottleneck);
    return formula;
  }
  const bool by_dma = graph.node(what.from).kind == NodeKind::pe_dma;
  const Time issue =
      by_dma ? machine.at("pe.pe_dma").time("overhead_ns") + machine.at("pe.pe_mmu").time("overhead_ns")
             : Time();
  const NodeKind kind = graph.node(what.to).kind;
  const models::MemoryFormula adds = memory_formula(machine, kind);
  const Time memory = *what.op == Direction::read ? adds.read : adds.write;
  ProbeFormula formula = *what.op == Direction::read ? read_formula(graph, sizes, what, issue, memory)
                                                     : write_formula(graph, sizes, what, issue, memory);
  formula.without = without_formula(machine, graph, what, by_dma);
  formula.exact = kind != NodeKind::hbm_ctrl ||
                  (adds.bursts_alike && channels_keep_up(machine, what, formula.bottleneck));
  if (by_dma && formula.without.empty()) add_window(machine, what, issue, adds.bursts_alike, formula);
  formula.exact &= formula.without.empty() && buffers_keep_up(machine, graph, what, formula.bottleneck);
  return formula;
}

}  // namespace kernbench::device
