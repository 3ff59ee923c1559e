#include "device/fabric.hpp"

#include <algorithm>
#include <utility>

#include "device/run_mode.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::LinkId;
using topology::NodeId;

namespace {

constexpr Time kGrace = Time::from_ps(1);

/// The least delay of a link between partitions.
Time least_border(const topology::Graph& graph) {
  const NodeId endpoint = graph.io(0, topology::NodeKind::pcie_ep);
  const std::vector<LinkId> out = {graph.route(endpoint, graph.host())[0]};
  const std::vector<LinkId> in = {graph.route(graph.system_switch(), endpoint)[0]};
  return std::min(graph.latency(out), graph.latency(in));
}

/// A border of a single picosecond leaves no time.
Time grace_at(Time border) { return border > kGrace ? kGrace : Time(); }

}  // namespace

FabricCounters& FabricCounters::operator+=(const FabricCounters& other) {
  packet_hops += other.packet_hops;
  messages += other.messages;
  in_one_piece += other.in_one_piece;
  return *this;
}

Fabric::Fabric(sim::Simulation& simulation, const topology::Graph& graph, Bytes packet_bytes,
               FabricOptions options)
    : simulation_(simulation),
      graph_(graph),
      packet_(packet_bytes),
      options_(options),
      grace_(grace_at(least_border(graph))),
      links_(graph.link_count()) {
  KB_ASSERT(simulation.partitions() == graph.partition_count(), "{} partitions for a machine of {}",
            simulation.partitions(), graph.partition_count());
  for (int i = 0; i < simulation.partitions(); ++i)
    domains_.emplace_back(new FabricDomain(simulation.partition(i), graph_, packet_));
  for (LinkState& l : links_) l.domain = domains_.front().get();
  for (int sip = 0; sip < graph.sips(); ++sip) {
    for (std::uint32_t i = 0; i < graph.links_per_sip(); ++i)
      links_[graph.first_link(sip).index + i].domain = &domain(sip + 1);
    const NodeId endpoint = graph.io(sip, topology::NodeKind::pcie_ep);
    for (const LinkId id :
         {graph.route(endpoint, graph.host())[0], graph.route(graph.system_switch(), endpoint)[0]}) {
      links_[id.index].domain = &domain(graph.partition(graph.link(id).from));
    }
  }
}

Fabric::~Fabric() = default;

Time Fabric::lookahead(const topology::Graph& graph) {
  const Time border = least_border(graph);
  return border - grace_at(border);
}

Route& Fabric::route(NodeId from, NodeId to) {
  Route& route = domain(graph_.partition(from)).routes_.route(from, to);
  if (!route.source) prepare(route);
  return route;
}

/// Gives a new route what packets will look for.
void Fabric::prepare(Route& route) {
  for (Hop& hop : route.hops) hop.state = &links_[hop.link.index];
  route.source = &source_for(route);
}

Source& Fabric::source_for(Route& route) {
  FabricDomain& here = domain(route.partition);
  const Hop& first = route.hops.front();
  Source*& source = here.source_of_link_[first.link.index];
  if (!source) {
    here.sources_.push_back(std::make_unique<Source>(*this, here.partition_, *first.state, first.link.index));
    source = here.sources_.back().get();
  }
  return *source;
}

void Fabric::send(Message& message) {
  Route& route = *message.route;
  FabricDomain& here = domain(route.partition);
  KB_ASSERT(message.bytes > 0_B, "a message of {} bytes to {}", message.bytes.count(), graph_.path(route.to));
  message.fabric_ = this;
  message.packets_ = (message.bytes.count() + packet_.count() - 1) / packet_.count();
  message.next_packet_ = 0;
  message.key_ = route.source->next_key();
  message.opened_ = here.partition_.now();
  ++here.counters_.messages;
  if (options_.runs && RunMode(*this).try_start(message)) return;
  enter_leg(message, route.hops.front());
  ++route.taken_apart;
  route.source->open(message);
}

void Fabric::signal(const Route& route, sim::Event& event) {
  simulation_.partition(route.partition)
      .post(simulation_.partition(route.last_partition), event, route.latency);
}

Time Fabric::occupy(LinkId id, Time duration, sim::Partition& here) {
  LinkState& l = links_[id.index];
  if (l.owner && l.owner->runs) RunMode(*this).take_apart(*l.owner);
  return l.free_at = std::max(l.free_at, here.now()) + duration;
}

void Fabric::take_turn(const Route& first_of, Time duration, sim::Event& done) {
  LinkState& l = *first_of.hops.front().state;
  if (l.owner && l.owner->runs) RunMode(*this).take_apart(*l.owner);
  first_of.source->take_turn(duration, done);
}

template <class Action>
void Fabric::for_leg(const Route& route, const Hop& hop, Action&& action) {
  const Hop* first = &hop;
  while (first != route.hops.data() && (first - 1)->partition == hop.partition) --first;
  for (const Hop* h = first; h != route.hops.data() + route.hops.size() && h->partition == hop.partition; ++h)
    action(*h->state);
}

/// Claims the links of the message's way through this partition; whoever moved there in one piece no longer
/// can.
void Fabric::enter_leg(Message& message, const Hop& first_hop) {
  RunMode runs(*this);
  for_leg(*message.route, first_hop, [&](LinkState& l) {
    if (l.owner && l.owner->runs) runs.take_apart(*l.owner);
    if (l.claims++ == 0)
      l.owner = message.route;
    else if (l.owner != message.route)
      l.owner = nullptr;
  });
}

void Fabric::leave_leg(Message& message, const Hop& last_hop) {
  for_leg(*message.route, last_hop, [](LinkState& l) {
    if (--l.claims == 0) l.owner = nullptr;
  });
  if (last_hop.partition == message.route->partition) --message.route->taken_apart;
}

Packet& Fabric::take_packet(Message& message, std::int64_t index) {
  Packet& packet = domain(message.route->partition).packets_.take();
  packet.message = &message;
  packet.index = static_cast<std::int32_t>(index);
  packet.bytes = static_cast<std::int32_t>(std::min(packet_, message.bytes - packet_ * index).count());
  return packet;
}

/// The next packet of a message takes the first link, which is free.
Packet& Fabric::start_packet(Message& message, Time now) {
  Route& route = *message.route;
  const Hop& first = route.hops.front();
  const std::int64_t p = message.next_packet_++;
  Packet& packet = take_packet(message, p);
  packet.tail = now;
  route.next_offer = now + route.pace.of(p, message.bytes);
  serve(packet, first, now);
  if (p + 1 == message.packets_)
    domain(route.partition).partition_.schedule_at(message.left_, first.state->free_at);
  return packet;
}

void Fabric::take_back_start(Packet& packet) {
  take_back(packet);
  --packet.message->next_packet_;
  packet.hop->state->domain->packets_.give_back(packet);
}

/// Undoes what `serve` did at this instant.
void Fabric::take_back(Packet& packet) {
  LinkState& l = *packet.hop->state;
  const bool cancelled = l.domain->partition_.cancel(packet);
  KB_ASSERT(cancelled, "a packet to {} has moved on already", graph_.path(packet.message->route->to));
  l.free_at = packet.link_was_free_at;
  l.bytes -= Bytes(packet.bytes);
  packet.tail = packet.tail_before_link;
  --l.domain->counters_.packet_hops;
}

void Packet::arrive(sim::Event& e) {
  auto& packet = static_cast<Packet&>(e);
  packet.message->fabric_->arrive(packet);
}

/// The head of a packet is at the end of the link it took.
void Fabric::arrive(Packet& packet) {
  if (packet.crossing) [[unlikely]]
    return cross(packet);
  if (packet.hop->last) return arrive_at_destination(packet);
  const Hop& hop = packet.hop[1];
  if (packet.hop->crosses && packet.index == 0) enter_leg(*packet.message, hop);
  serve_in_order(packet, hop);
}

/// Links serve heads as they arrive.
void Fabric::serve_in_order(Packet& packet, const Hop& hop) {
  LinkState& l = *hop.state;
  const Time now = packet.time();
  if (l.instant == now) return serve_among(packet, hop);
  l.instant = now;
  l.last = &packet;
  packet.next = nullptr;
  serve(packet, hop, now);
}

/// Of packets whose heads arrive at one instant, the one with the smaller key goes first. The others were
/// served before it came, but nobody has seen that yet: take it back and serve them again, behind it.
void Fabric::serve_among(Packet& packet, const Hop& hop) {
  LinkState& l = *hop.state;
  Packet* behind = nullptr;  // to be served again, first to last
  while (l.last && l.last->message->key_ > packet.message->key_) {
    Packet* again = l.last;
    l.last = again->next;
    take_back(*again);
    again->next = behind;
    behind = again;
  }
  const auto serve_next = [&](Packet& p, const Hop& by) {
    p.next = l.last;
    l.last = &p;
    serve(p, by, l.instant);
  };
  serve_next(packet, hop);
  while (behind) {
    Packet& again = *behind;
    behind = again.next;
    serve_next(again, *again.hop);
  }
}

Time Fabric::occupancy(const Packet& packet, const Hop& hop) const {
  if (packet.bytes == packet_.count() && hop.full != Time::never()) return hop.full;
  return packet.message->route->occupancy(hop, packet.index, packet.message->bytes);
}

/// The formula of a link.
void Fabric::serve(Packet& packet, const Hop& hop, Time head_arrival) {
  LinkState& l = *hop.state;
  const Time tail_arrival = packet.tail;

  const Time start = std::max(head_arrival, l.free_at);
  const Time end = std::max(start + occupancy(packet, hop), tail_arrival);
  packet.link_was_free_at = l.free_at;
  packet.tail_before_link = tail_arrival;
  l.free_at = end;
  l.deepest_wait = std::max(l.deepest_wait, start - head_arrival);
  l.bytes += Bytes(packet.bytes);
  ++l.domain->counters_.packet_hops;
  if (watcher_) [[unlikely]]
    watcher_->on_link(*packet.message, packet.index, hop, start, end);

  packet.hop = &hop;
  packet.tail = end + hop.forward;
  packet.crossing = hop.crosses;
  l.domain->partition_.schedule_at(packet, start + (hop.crosses ? grace_ : hop.forward));
}

/// On to another partition.
void Fabric::cross(Packet& packet) {
  const Hop& hop = *packet.hop;
  packet.crossing = false;
  if (packet.index + 1 == packet.message->packets_) leave_leg(*packet.message, hop);
  hop.state->domain->partition_.post(simulation_.partition(hop.next_partition), packet, hop.forward - grace_);
}

void Fabric::arrive_at_destination(Packet& packet) {
  Message& message = *packet.message;
  const Route& route = *message.route;
  const Hop& hop = *packet.hop;
  message.on_packet(packet.index, packet.tail);
  if (packet.index + 1 == message.packets_) {
    if (!hop.crosses) leave_leg(message, hop);
    domain(route.last_partition).partition_.schedule_at(message.delivered_, packet.tail);
  }
  if (route.partition == route.last_partition)
    domain(route.partition).packets_.give_back(packet);
  else
    domain(route.partition).packets_.hand_back(packet);
}

void Message::leave() {
  Lane* lane = std::exchange(lane_, nullptr);
  on_left();
  if (lane) lane->advance(*fabric_);
}

void Lane::send(Fabric& fabric, Message& message) {
  message.lane_ = this;
  message.next_in_lane_ = nullptr;
  const bool idle = first_ == nullptr;
  (idle ? first_ : last_->next_in_lane_) = &message;
  last_ = &message;
  if (idle) fabric.send(message);
}

void Lane::advance(Fabric& fabric) {
  first_ = first_->next_in_lane_;
  if (first_) fabric.send(*first_);
}

void Message::deliver() {
  if (in_run_) RunMode(*fabric_).finish(*this);
  on_delivered();
}

LinkUse Fabric::use(LinkId id) const {
  const LinkState& l = links_[id.index];
  return {l.bytes, l.deepest_wait};
}

FabricCounters Fabric::counters() const {
  FabricCounters sum;
  for (const auto& d : domains_) sum += d->counters_;
  return sum;
}

std::size_t Fabric::packets_made() const {
  std::size_t sum = 0;
  for (const auto& d : domains_) sum += d->packets_.made();
  return sum;
}

void PacketPool::refill() {
  free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (free_) return;
  chunks_.push_back(std::make_unique<std::array<Packet, kChunk>>());
  for (Packet& packet : *chunks_.back()) give_back(packet);
}

void PacketPool::hand_back(Packet& packet) {
  packet.next = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(packet.next, &packet, std::memory_order_release)) {
  }
}

}  // namespace kernbench::device
