#include "device/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernbench/error.hpp"
#include "topology/ejection.hpp"

namespace kernbench::device {

using topology::Node;
using topology::NodeId;
using topology::NodeKind;

double ProbeResult::effective_gbs() const {
  return total == Time() ? 0 : static_cast<double>(what.bytes.count()) / total.ns();
}

double ProbeResult::bottleneck_gbs() const {
  const double link = formula.bottleneck.gbs();
  return formula.window ? std::min(link, formula.window->gbs()) : link;
}

bool ProbeResult::agrees() const {
  const Time expected = formula.parts.total();
  return total == packet_by_packet && (formula.exact ? total == expected : total >= expected);
}

/// One transfer under way. It watches the fabric for the times of its hops.
class Prober::Travel final : public FabricWatcher {
 public:
  Travel(Device& device, const ProbeCase& what)
      : device_(device), what_(what), message_(*this), access_(*this), transfer_(*this), signal_(*this) {}
  Travel(const Travel&) = delete;
  Travel& operator=(const Travel&) = delete;

  /// Runs it alone; the time it took.
  Time run() {
    start_ = device_.simulation().now();
    begin();
    device_.simulation().run();
    KB_ASSERT(end_ != Time::never(), "a probe to {} never arrived", device_.graph().path(what_.to));
    return end_ - start_;
  }
  /// Watched, `run` leaves the times of hops here.
  std::vector<ProbeHop> hops() {
    std::vector<ProbeHop> all;
    const bool saw_request = !seen_.empty() && seen_.front().leg == ProbeLeg::request;
    const bool saw_ack = !seen_.empty() && seen_.back().leg == ProbeLeg::ack;
    if (what_.op == Direction::read && !saw_request)
      append_signal(all, what_.from, what_.to, ProbeLeg::request, issue());
    if (what_.bytes == 0_B)
      append_signal(all, what_.from, what_.to, ProbeLeg::data, Time());
    else
      all.insert(all.end(), seen_.begin(), seen_.end());
    if (what_.op == Direction::write && !saw_ack) {
      const Route& back = device_.fabric().route(what_.to, what_.from);
      append_signal(all, what_.to, what_.from, ProbeLeg::ack, done_ - start_ - back.latency);
    }
    return all;
  }

 private:
  struct Plain final : Message {
    explicit Plain(Travel& t) : travel(t) {}
    void on_delivered() override { travel.arrive(travel.what_.to); }
    Travel& travel;
  };
  struct Direct final : Access {
    explicit Direct(Travel& t) : travel(t) {}
    void on_done() override { travel.arrive(travel.what_.from); }
    Travel& travel;
  };
  struct Dma final : DmaTransfer {
    explicit Dma(Travel& t) : travel(t) {}
    void on_retired() override { travel.arrive(travel.what_.from); }
    Travel& travel;
  };

  void begin() {
    Fabric& fabric = device_.fabric();
    const Node from = device_.graph().node(what_.from);
    const Extent extent{.offset = what_.offset, .row_bytes = what_.bytes.count()};
    if (!what_.op && what_.bytes == 0_B) return fabric.signal(fabric.route(what_.from, what_.to), signal_);
    if (!what_.op) {
      message_.route = &fabric.route(what_.from, what_.to);
      message_.bytes = what_.bytes;
      return fabric.send(message_);
    }
    if (from.kind != NodeKind::pe_dma)
      return access_.start(memory(), what_.from, what_.from, *what_.op, extent);
    transfer_.direction = *what_.op;
    transfer_.end = what_.from;
    transfer_.held = Time();
    transfer_.pieces = {{&memory(), extent}};
    device_.dma({from.sip, from.cube, from.pe}).issue(transfer_);
  }

  Memory& memory() {
    const Node node = device_.graph().node(what_.to);
    if (node.kind == NodeKind::sram) return device_.sram({node.sip, node.cube});
    const PeCoord pe{node.sip, node.cube, node.pe};
    return node.kind == NodeKind::hbm_ctrl ? device_.hbm(pe) : device_.tcm(pe);
  }

  /// Control CPUs then work on what has come, each message for its overhead.
  void arrive(NodeId at) {
    const Node node = device_.graph().node(at);
    done_ = device_.fabric().partition_of(at).now();
    end_ = done_ + node.service();
  }
  void arrive_signal() { arrive(what_.to); }

  Time issue() const {
    const bool by_dma = device_.graph().node(what_.from).kind == NodeKind::pe_dma;
    const DmaSpec spec = DmaSpec::of(device_.machine());
    return by_dma ? spec.overhead + spec.look_up : Time();
  }

  /// The way of the first packet. An engine may split the transfer: then of the first request and its data, and of the last
  /// acknowledgement.
  void on_link(const Message& message, std::int64_t packet, const Hop& hop, Time start, Time) override {
    if (packet != 0 || is_ejection_port(device_.graph().link(hop.link))) return;
    const ProbeLeg leg = leg_of(message);
    std::optional<std::uint64_t>& shown = shown_[static_cast<std::size_t>(leg)];
    if (shown != message.key()) {
      const bool begins = &hop == message.route->hops.data();
      if (shown && !(begins && leg == ProbeLeg::ack)) return;
      std::erase_if(seen_, [&](const ProbeHop& known) { return known.leg == leg; });
      seen_.push_back({message.route->from, leg, start - start_});
      shown = message.key();
    }
    seen_.push_back({device_.graph().link(hop.link).to, leg, start + hop.forward - start_});
  }

  static ProbeLeg leg_of(const Message& message) {
    switch (message.purpose) {
      case Purpose::data:
        return ProbeLeg::data;
      case Purpose::request:
        return ProbeLeg::request;
      case Purpose::acknowledgement:
        return ProbeLeg::ack;
    }
    KB_ASSERT(false, "a message without a purpose");
  }

  void append_signal(std::vector<ProbeHop>& hops, NodeId from, NodeId to, ProbeLeg leg, Time start) {
    hops.push_back({from, leg, start});
    for (const Hop& hop : device_.fabric().route(from, to).hops)
      if (const topology::Link link = device_.graph().link(hop.link); !is_ejection_port(link))
        hops.push_back({link.to, leg, start + hop.before + hop.forward});
  }

  Device& device_;
  const ProbeCase what_;
  Time start_, done_;
  Time end_ = Time::never();
  std::vector<ProbeHop> seen_;                         // the hops of messages with a size, in order
  std::array<std::optional<std::uint64_t>, 3> shown_;  // per leg, the message they are of
  Plain message_;
  Direct access_;
  Dma transfer_;
  sim::MemberEvent<&Travel::arrive_signal> signal_;
};

namespace {

/// Whether a transfer may leave something behind that the next one feels: open rows, say.
bool has_state(const topology::Machine& machine) {
  const auto& hbm = machine.behaviour<models::MemoryBehaviour>("cube.hbm");
  return !hbm.formula || !hbm.formula(machine.at("cube.hbm")).bursts_alike;
}

}  // namespace

Prober::Prober(const topology::Machine& machine)
    : machine_(machine), graph_(machine_), has_state_(has_state(machine_)) {}

Prober::~Prober() = default;

Bytes Prober::capacity(NodeKind kind) const {
  if (kind == NodeKind::hbm_ctrl) return machine_.hbm_slice();
  return machine_.at(kind == NodeKind::sram ? "cube.sram" : "pe.pe_tcm").bytes("capacity_mb");
}

ProbeCase Prober::make_case(NodeId from, NodeId to, Direction op, Bytes bytes, std::int64_t offset) const {
  constexpr Bytes kMost = 256_MiB;
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw InputError({"probe.case", graph_.path(to), what, hint});
  };
  if (from == to) refuse("a probe needs two different nodes", "a way to oneself takes no time");
  const NodeKind kind = graph_.node(to).kind;
  if (bytes > kMost) refuse("a probe carries at most " + to_string(kMost), "give a smaller --bytes");
  if (!is_memory(kind)) return {.from = from, .to = to, .op = {}, .bytes = bytes};
  if (bytes < 1_B) refuse("an access has at least one byte", "give --bytes 1 or more");
  if (offset < 0 || offset > capacity(kind).count() - bytes.count())
    refuse(
        fmt::format("{} at offset {} go beyond its {}", to_string(bytes), offset, to_string(capacity(kind))),
        "give smaller --bytes or --offset");
  return {.from = from, .to = to, .op = op, .bytes = bytes, .offset = offset};
}

Device& Prober::device(std::unique_ptr<Device>& slot, FabricOptions options) {
  if (!slot || has_state_) slot = std::make_unique<Device>(machine_, options);
  return *slot;
}

Time Prober::time(const ProbeCase& what) { return Travel(device(fast_, {}), what).run(); }

ProbeResult Prober::measure(const ProbeCase& what) {
  ProbeResult result{.what = what};
  result.total = time(what);
  result.formula = probe_formula(machine_, graph_, what);
  result.parts = result.formula.parts;
  result.parts.memory += result.total - result.parts.total();
  Device& watched = device(watched_, {.shortcuts = false});
  Travel travel(watched, what);
  watched.fabric().watch(&travel);
  result.packet_by_packet = travel.run();
  watched.fabric().watch(nullptr);
  result.hops = travel.hops();
  return result;
}

}  // namespace kernbench::device
