#include "device/fabric.hpp"

#include <algorithm>
#include <utility>

#include "device/run_mode.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::LinkId;
using topology::NodeId;

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
      links_(graph.link_count()) {
  KB_ASSERT(simulation.partitions() == graph.partition_count(), "{} partitions for a machine of {}",
            simulation.partitions(), graph.partition_count());
  for (int i = 0; i < simulation.partitions(); ++i)
    domains_.push_back(std::make_unique<Domain>(simulation.partition(i), graph_, packet_));
  for (int sip = 0; sip < graph.sips(); ++sip) {
    const NodeId endpoint = graph.io(sip, topology::NodeKind::pcie_ep);
    for (const LinkId id :
         {graph.route(endpoint, graph.host())[0], graph.route(graph.system_switch(), endpoint)[0]}) {
      Domain& from = domain(graph.partition(graph.link(id).from));
      from.borders[id.index] = std::make_unique<Border>(*this, from.partition);
    }
  }
}

Fabric::~Fabric() = default;

Time Fabric::lookahead(const topology::Graph& graph) {
  const NodeId endpoint = graph.io(0, topology::NodeKind::pcie_ep);
  const std::vector<LinkId> out = {graph.route(endpoint, graph.host())[0]};
  const std::vector<LinkId> in = {graph.route(graph.system_switch(), endpoint)[0]};
  return std::min(graph.latency(out), graph.latency(in));
}

Route& Fabric::route(NodeId from, NodeId to) {
  Route& route = domain(graph_.partition(from)).routes.route(from, to);
  if (!route.source) route.source = &source_for(route);
  return route;
}

Source& Fabric::source_for(Route& route) {
  Domain& here = domain(route.partition);
  Source*& source = here.source_of_link[route.hops.front().link.index];
  if (!source) {
    here.sources.push_back(std::make_unique<Source>(*this, here.partition, route.hops.front().link.index));
    source = here.sources.back().get();
  }
  return *source;
}

void Fabric::send(Message& message) {
  Route& route = *message.route;
  Domain& here = domain(route.partition);
  KB_ASSERT(message.bytes > 0_B, "a message of {} bytes to {}", message.bytes.count(), graph_.path(route.to));
  message.fabric_ = this;
  message.packets_ = (message.bytes.count() + packet_.count() - 1) / packet_.count();
  message.next_packet_ = 0;
  message.key_ = route.source->next_key();
  message.opened_ = here.partition.now();
  ++here.counters.messages;
  if (options_.runs && RunMode(*this).try_start(message)) return;
  enter_leg(message, 0);
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
  LinkState& l = link(first_of.hops.front());
  if (l.owner && l.owner->runs) RunMode(*this).take_apart(*l.owner);
  first_of.source->take_turn(duration, done);
}

template <class Action>
void Fabric::for_leg(const Route& route, std::size_t hop, Action&& action) {
  const int partition = route.hops[hop].partition;
  std::size_t first = hop;
  while (first > 0 && route.hops[first - 1].partition == partition) --first;
  for (std::size_t i = first; i < route.hops.size() && route.hops[i].partition == partition; ++i)
    action(link(route.hops[i]));
}

/// Claims the links of the message's way through this partition; whoever moved there in one piece no longer
/// can.
void Fabric::enter_leg(Message& message, std::size_t first_hop) {
  RunMode runs(*this);
  for_leg(*message.route, first_hop, [&](LinkState& l) {
    if (l.owner && l.owner->runs) runs.take_apart(*l.owner);
    if (l.claims++ == 0)
      l.owner = message.route;
    else if (l.owner != message.route)
      l.owner = nullptr;
  });
}

void Fabric::leave_leg(Message& message, std::size_t last_hop) {
  for_leg(*message.route, last_hop, [](LinkState& l) {
    if (--l.claims == 0) l.owner = nullptr;
  });
  if (message.route->hops[last_hop].partition == message.route->partition) --message.route->taken_apart;
}

/// The next packet of a message takes the first link, which is free.
Packet& Fabric::start_packet(Message& message) {
  Route& route = *message.route;
  Domain& here = domain(route.partition);
  const std::int64_t p = message.next_packet_++;
  Packet& packet = here.packets.take();
  packet.message = &message;
  packet.index = static_cast<std::int32_t>(p);
  packet.hop = 0;
  packet.tail = here.partition.now();
  route.next_offer = here.partition.now() + route.pace.of(p, message.bytes);
  serve(packet, here);
  if (p + 1 == message.packets_) here.partition.schedule_at(message.left_, link(route.hops.front()).free_at);
  return packet;
}

void Fabric::take_back_start(Packet& packet) {
  Domain& here = domain(packet.message->route->partition);
  take_back(packet, here);
  --packet.message->next_packet_;
  PacketPool::give_back(packet, here.packets);
}

/// Undoes what `serve` did at this instant.
void Fabric::take_back(Packet& packet, Domain& here) {
  const bool cancelled = here.partition.cancel(packet);
  KB_ASSERT(cancelled, "a packet to {} has moved on already", graph_.path(packet.message->route->to));
  LinkState& l = link(packet.message->route->hops[static_cast<std::size_t>(--packet.hop)]);
  l.free_at = packet.link_was_free_at;
  l.bytes -= size(packet);
  packet.tail = packet.tail_before_link;
  --here.counters.packet_hops;
}

void Packet::arrive(sim::Event& e) {
  auto& packet = static_cast<Packet&>(e);
  packet.message->fabric_->arrive(packet);
}

/// The head of a packet is at the node where its next hop begins.
void Fabric::arrive(Packet& packet) {
  const Route& route = *packet.message->route;
  const auto hop = static_cast<std::size_t>(packet.hop);
  const bool at_end = hop == route.hops.size();
  Domain& here = domain(at_end ? route.last_partition : route.hops[hop].partition);
  if (packet.index == 0 && !at_end && route.hops[hop - 1].partition != route.hops[hop].partition)
    enter_leg(*packet.message, hop);
  if (at_end)
    arrive_at_destination(packet, here);
  else if (route.hops[hop].partition != route.hops[hop].next_partition)
    here.borders.at(route.hops[hop].link.index)->add(packet);
  else
    serve_in_order(packet, here);
}

/// Of packets whose heads arrive at one instant, the one with the smaller key goes first. The others were
/// served before it came, but nobody has seen that yet: take it back and serve them again, behind it.
void Fabric::serve_in_order(Packet& packet, Domain& here) {
  LinkState& l = link(packet.message->route->hops[static_cast<std::size_t>(packet.hop)]);
  if (l.instant != here.partition.now()) {
    l.instant = here.partition.now();
    l.last = nullptr;
  }
  Packet* behind = nullptr;  // to be served again, first to last
  while (l.last && l.last->message->key_ > packet.message->key_) {
    Packet* again = l.last;
    l.last = again->next;
    take_back(*again, here);
    again->next = behind;
    behind = again;
  }
  const auto serve_next = [&](Packet& p) {
    p.next = l.last;
    l.last = &p;
    serve(p, here);
  };
  serve_next(packet);
  while (behind) {
    Packet& again = *behind;
    behind = again.next;
    serve_next(again);
  }
}

/// The formula of a link.
void Fabric::serve(Packet& packet, Domain& here) {
  Message& message = *packet.message;
  const Route& route = *message.route;
  const auto i = static_cast<std::size_t>(packet.hop);
  const Hop& hop = route.hops[i];
  LinkState& l = link(hop);
  const Time head_arrival = here.partition.now();
  const Time tail_arrival = packet.tail;

  const Time start = std::max(head_arrival, l.free_at);
  const Time end = std::max(start + route.occupancy(i, packet.index, message.bytes), tail_arrival);
  packet.link_was_free_at = l.free_at;
  packet.tail_before_link = tail_arrival;
  l.free_at = end;
  l.deepest_wait = std::max(l.deepest_wait, start - head_arrival);
  l.bytes += size(packet);
  ++here.counters.packet_hops;
  if (watcher_) [[unlikely]]
    watcher_->on_link(message, packet.index, i, start);

  packet.hop = static_cast<std::int32_t>(i + 1);
  packet.tail = end + hop.forward;
  forward(packet, hop, start + hop.forward, here);
}

void Fabric::forward(Packet& packet, const Hop& hop, Time head, Domain& here) {
  if (hop.partition == hop.next_partition) {
    here.partition.schedule_at(packet, head);
    return;
  }
  if (packet.index + 1 == packet.message->packets_)
    leave_leg(*packet.message, static_cast<std::size_t>(packet.hop) - 1);
  here.partition.post(simulation_.partition(hop.next_partition), packet, head - here.partition.now());
}

void Fabric::Border::add(Packet& packet) {
  if (arrived_.empty()) partition_.schedule(commit_, Time());
  arrived_.push_back(&packet);
}

void Fabric::Border::commit() {
  std::sort(arrived_.begin(), arrived_.end(),
            [](const Packet* a, const Packet* b) { return a->message->key_ < b->message->key_; });
  Domain& here = fabric_.domain(partition_.id());
  for (Packet* packet : arrived_) fabric_.serve(*packet, here);
  arrived_.clear();
}

void Fabric::arrive_at_destination(Packet& packet, Domain& here) {
  Message& message = *packet.message;
  message.on_packet(packet.index, packet.tail);
  if (packet.index + 1 == message.packets_) {
    leave_leg(message, message.route->hops.size() - 1);
    here.partition.schedule_at(message.delivered_, packet.tail);
  }
  PacketPool::give_back(packet, here.packets);
}

void Message::leave() {
  Lane* lane = std::exchange(lane_, nullptr);
  on_left();
  if (lane) lane->advance();
}

void Lane::send(Message& message) {
  message.lane_ = this;
  message.next_in_lane_ = nullptr;
  const bool idle = first_ == nullptr;
  (idle ? first_ : last_->next_in_lane_) = &message;
  last_ = &message;
  if (idle) fabric_->send(message);
}

void Lane::advance() {
  first_ = first_->next_in_lane_;
  if (first_) fabric_->send(*first_);
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
  for (const auto& d : domains_) sum += d->counters;
  return sum;
}

std::size_t Fabric::packets_made() const {
  std::size_t sum = 0;
  for (const auto& d : domains_) sum += d->packets.made();
  return sum;
}

PacketPool::~PacketPool() {
  for (Packet* list : {free_, returned_.load()})
    while (list) delete std::exchange(list, list->next);
}

Packet& PacketPool::take() {
  if (!free_) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (!free_) {
    ++made_;
    auto* packet = new Packet;
    packet->home = this;
    return *packet;
  }
  return *std::exchange(free_, free_->next);
}

void PacketPool::give_back(Packet& packet, PacketPool& here) {
  PacketPool& home = *packet.home;
  if (&home == &here) {
    packet.next = home.free_;
    home.free_ = &packet;
    return;
  }
  packet.next = home.returned_.load(std::memory_order_relaxed);
  while (!home.returned_.compare_exchange_weak(packet.next, &packet, std::memory_order_release)) {
  }
}

}  // namespace kernbench::device
