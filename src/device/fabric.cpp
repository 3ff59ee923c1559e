#include "device/fabric.hpp"

#include <algorithm>
#include <utility>

#include "device/arbiter.hpp"
#include "device/credit_link.hpp"
#include "device/instant.hpp"
#include "device/prefetch.hpp"
#include "kernbench/error.hpp"
#include "topology/ejection.hpp"

namespace kernbench::device {

using topology::LinkId;
using topology::NodeId;

namespace {

constexpr Time kGrace = Time::from_ps(1);
constexpr std::size_t kLooksAhead = 12;  // links of a way that are loaded before they are needed

/// The least delay of a link between partitions.
Time least_border(const topology::Graph& graph) {
  const NodeId endpoint = graph.io(0, topology::NodeKind::pcie_ep);
  const std::vector<LinkId> out = {graph.route(endpoint, graph.host())[0]};
  const std::vector<LinkId> in = {graph.route(graph.system_switch(), endpoint)[0]};
  return std::min(graph.latency(out), graph.latency(in));
}

LinkState link_of(FabricDomain& domain) {
  LinkState link;
  link.domain = &domain;
  return link;
}

/// A border of a single picosecond leaves no time.
Time grace_at(Time border) { return border > kGrace ? kGrace : Time(); }

}  // namespace

FabricCounters& FabricCounters::operator+=(const FabricCounters& other) {
  packet_hops += other.packet_hops;
  train_hops += other.train_hops;
  messages += other.messages;
  in_one_piece += other.in_one_piece;
  return *this;
}

FabricCounters& FabricCounters::operator-=(const FabricCounters& other) {
  packet_hops -= other.packet_hops;
  train_hops -= other.train_hops;
  messages -= other.messages;
  in_one_piece -= other.in_one_piece;
  return *this;
}

Fabric::Fabric(sim::Simulation& simulation, const topology::Graph& graph, const FabricSpec& spec,
               FabricOptions options, LinkModels models)
    : simulation_(simulation),
      graph_(graph),
      spec_(spec),
      full_(spec.packet.wire()),
      options_(options),
      grace_(grace_at(least_border(graph))),
      models_(std::move(models)),
      notes_(graph, spec) {
  KB_ASSERT(simulation.partitions() == graph.partition_count(), "{} partitions for a machine of {}",
            simulation.partitions(), graph.partition_count());
  for (int i = 0; i < simulation.partitions(); ++i)
    domains_.emplace_back(new FabricDomain(*this, simulation.partition(i), graph_, spec_.packet));
  links_.reserve(
      graph.link_count());  // and each is touched once: of a large machine they are most of the memory
  links_.resize(graph.first_link(0).index, link_of(*domains_.front()));
  for (int sip = 0; sip < graph.sips(); ++sip) {
    links_.resize(graph.first_link(sip).index + graph.links_per_sip(), link_of(domain(sip + 1)));
    const NodeId endpoint = graph.io(sip, topology::NodeKind::pcie_ep);
    for (const LinkId id :
         {graph.route(endpoint, graph.host())[0], graph.route(graph.system_switch(), endpoint)[0]}) {
      links_[id.index].domain = &domain(graph.partition(graph.link(id).from));
    }
  }
  deepest_waits_.resize(links_.size());
}

Fabric::~Fabric() = default;

FabricDomain::FabricDomain(Fabric& fabric, sim::Partition& partition, const topology::Graph& graph,
                           PacketFormat packet)
    : partition_(partition), routes_(graph, packet), dispatcher_(fabric, *this, partition) {}
FabricDomain::~FabricDomain() = default;

Time Fabric::lookahead(const topology::Graph& graph) {
  const Time border = least_border(graph);
  return border - grace_at(border);
}

Route& Fabric::route(NodeId from, NodeId to) {
  Route& route = domain(graph_.partition(from)).routes_.route(from, to);
  if (!route.source) prepare(route);
  return route;
}

SignalRoute& Fabric::signal_route(NodeId from, NodeId to) {
  return domain(graph_.partition(from)).routes_.signal_route(from, to);
}

Route& Fabric::route(NodeId from, NodeId via, NodeId to) {
  Route& route = domain(graph_.partition(from)).routes_.route(from, via, to);
  if (route.source) return route;
  prepare(route);
  for (const Hop& hop : route.hops)
    KB_ASSERT(std::ranges::count(route.hops, hop.link, &Hop::link) == 1,
              "a way from {} over {} takes a link twice", graph_.path(from), graph_.path(via));
  return route;
}

/// Gives a new route what packets will look for.
void Fabric::prepare(Route& route) {
  for (Hop& hop : route.hops) {
    hop.fabric = this;
    hop.state = &links_[hop.link.index];
    hop.arbitrated = is_arbitrated(hop.link);
    hop.open = can_be_crossed(hop);
    hop.port = graph_.node(graph_.link(hop.link).to).kind == topology::NodeKind::pe_tcm;
  }
  if (spec_.credits) number_layers(route);
  route.source = &source_for(route);
}

bool Fabric::is_arbitrated(LinkId link) {
  const topology::Link l = graph_.link(link);
  return is_ejection_port(l) || is_credited(link) || static_cast<bool>(models_.of(graph_.node(l.from).kind));
}

bool Fabric::is_credited(LinkId id) const {
  if (!spec_.credits) return false;
  const topology::Link link = graph_.link(id);
  const auto is_router = [&](NodeId node) { return graph_.node(node).kind == topology::NodeKind::router; };
  return is_router(link.from) || is_router(link.to);
}

/// In the partition of the link.
LinkGate& Fabric::gate(const Hop& hop) {
  std::unique_ptr<LinkGate>& gate = hop.state->domain->gates_[hop.link.index];
  if (!gate) gate = make_gate(hop);
  return *gate;
}

std::unique_ptr<LinkGate> Fabric::make_gate(const Hop& hop) {
  const auto& make = models_.of(graph_.node(graph_.link(hop.link).from).kind);
  if (is_credited(hop.link)) return std::make_unique<CreditLink>(*this, hop, make ? make() : nullptr);
  return std::make_unique<Arbiter>(*this, hop, make ? make() : std::make_unique<models::RegularLink>());
}

/// Of a link into or out of a router, where these have finite buffers.
CreditLink& Fabric::credit_link(const Hop& hop) { return static_cast<CreditLink&>(gate(hop)); }

/// A packet enters a grid of routers in layer 0, and goes one up whenever it turns from Y to X (ADR 41).
void Fabric::number_layers(Route& route) const {
  enum class Axis : std::uint8_t { none, x, y };
  Axis before = Axis::none;
  std::uint8_t layer = 0;
  for (Hop& hop : route.hops) {
    const topology::Link link = graph_.link(hop.link);
    const topology::Node from = graph_.node(link.from), to = graph_.node(link.to);
    const bool inside = from.kind == topology::NodeKind::router && to.kind == topology::NodeKind::router &&
                        !is_ejection_port(link);
    const Axis axis = !inside ? Axis::none : from.row == to.row ? Axis::x : Axis::y;
    if (axis == Axis::none) layer = 0;
    if (before == Axis::y && axis == Axis::x) ++layer;
    hop.layer = layer;
    before = axis;
  }
}

Source& Fabric::source_for(Route& route) {
  FabricDomain& here = domain(route.partition);
  const Hop& first = route.hops.front();
  Source*& source = here.source_of_link_[first.link.index];
  if (!source) {
    here.sources_.push_back(std::make_unique<Source>(*this, here.dispatcher_, here.partition_, *first.state,
                                                     first.link.index, first.arbitrated));
    source = here.sources_.back().get();
  }
  return *source;
}

void Fabric::enter(Message& message) {
  Route& route = *message.route;
  FabricDomain& here = domain(route.partition);
  prefetch(route.hops.data(), std::min<std::size_t>(route.hops.size(), kLooksAhead) * sizeof(Hop));
  prefetch(route.first().state);
  KB_ASSERT(message.bytes > 0_B, "a message of {} bytes to {}", message.bytes.count(), graph_.path(route.to));
  const std::int64_t payload = spec_.packet.payload.count();
  message.packets_ = static_cast<std::int32_t>((message.bytes.count() + payload - 1) / payload);
  message.next_packet_ = 0;
  message.key_ = route.source->next_key();
  message.measure_tail();
  ++here.counters_.messages;
  route.source->open(message);
}

void Fabric::more_is_ready(Message& message) {
  if (message.lane_ && !message.lane_->sends(message)) return;  // its turn has not come
  message.route->source->hear_of(message);
}

void Fabric::less_is_ready(Message& message, std::int64_t from) {
  const bool is_open = !message.lane_ || message.lane_->sends(message);
  if (is_open) message.route->source->take_back();
  message.ready.shrink(from);
  message.wait_for_packets();
}

void Fabric::signal(const SignalRoute& route, sim::Event& event) {
  simulation_.partition(route.partition)
      .post(simulation_.partition(route.last_partition), event, route.latency);
}

bool Fabric::acknowledge_ahead(const SignalRoute& route, sim::Event& event, Time at) {
  if (!options_.shortcuts || spec_.acknowledgement > 0_B || route.partition != route.last_partition)
    return false;
  simulation_.partition(route.partition).schedule_at(event, at + route.latency);
  return true;
}

void Fabric::run_errand(Route& route, sim::Event& event, const ErrandFacts& facts) {
  Errand& errand = domain(route.partition).errands_.take();
  errand.event_ = &event;
  errand.route = &route;
  errand.bytes = facts.bytes;
  errand.purpose = facts.purpose;
  errand.channel = facts.channel;
  errand.rank = facts.rank;
  errand.about_ = facts.about;
  errand.followed = false;
  send(errand);
}

void Errand::on_delivered() {
  sim::Event& event = *event_;
  Pool<Errand>& home = route->first().fabric->domain(route->partition).errands_;
  route->partition == route->last_partition ? home.give_back(*this) : home.hand_back(*this);
  event.fire();
}

Port& Fabric::port(LinkId id) {
  LinkState& link = links_[id.index];
  std::unique_ptr<Port>& port = link.domain->ports_[id.index];
  if (!port) port = std::make_unique<Port>(*this, link.domain->partition_, link, id.index);
  return *port;
}

Packet& Fabric::take_packet(Message& message, std::int64_t index, FabricDomain& here) {
  Packet& packet = here.packets_.take();
  packet.message = &message;
  packet.index = static_cast<std::int32_t>(index);
  packet.home = static_cast<std::int16_t>(here.partition_.id());
  packet.full = message.route->is_full(index, message.bytes);
  packet.landing = nullptr;
  return packet;
}

/// The packet has ended its way in a partition.
void Fabric::release(Packet& packet, int partition) {
  Pool<Packet>& home = domain(packet.home).packets_;
  packet.home == partition ? home.give_back(packet) : home.hand_back(packet);
}

/// A packet that starts looks at the links of its way at once, as far as they are free (leap.cpp).
void Fabric::load_links(const Route& route, const Hop* from) {
  const Hop* end = std::min(from + kLooksAhead, route.hops.data() + route.hops.size());
  for (const Hop* hop = from; hop < end; ++hop) prefetch(hop->state);
}

/// The next packet of a message takes the first link, which is free. Who comes at this instant has come: it is not taken back.
void Fabric::start_packet(Message& message, Time now) {
  Route& route = *message.route;
  const Hop& first = route.first();
  LinkState& l = *first.state;
  const std::int64_t p = message.next_packet_++;
  Packet& packet = take_packet(message, p, *l.domain);
  packet.tail = now;
  load_links(route, route.hops.data() + 1);
  route.next_offer = now + message.pace(p);
  if (first.arbitrated) [[unlikely]] {
    gate(first).arrive(packet, first);
    return;
  }
  l.instant = now;
  serve(packet, first, now);
  packet.came = Time::never();
  if (packet.is_last()) leaves(message, std::max(l.free_at, now + kGrace));
}

/// The last byte of a message will leave its sender at `at`. That is an event if somebody waits for it; else
/// the lane only remembers the time.
void Fabric::leaves(Message& message, Time at) {
  if (message.leaving_matters() || (message.lane_ && !options_.shortcuts))
    message.route->first().state->domain->partition_.schedule_at(message.leaving(), at);
  else if (message.lane_)
    message.lane_->left_at_ = at;
}

/// Takes `leaves` back: not all packets of the message have started.
void Fabric::stays(Message& message) {
  message.route->first().state->domain->partition_.cancel(message.leaving());
  if (message.lane_) message.lane_->left_at_ = Time::never();
}

/// Undoes what `serve` did at this instant.
void Fabric::take_back(Packet& packet) {
  LinkState& l = *packet.hop->state;
  const bool is_first = packet.next == nullptr;
  if (packet.landing) {
    leave_links(packet, packet.hop[1]);
    end_leap(packet);
  }
  const bool cancelled = l.last == &packet && (!is_first || l.domain->partition_.cancel(packet));
  l.last = packet.next;
  if (!is_first) packet.next->behind = nullptr;
  if (notes_.kept()) {
    const Time started = packet.due - (packet.hop->crosses ? grace_ : packet.hop->forward);
    notes_.take_back(packet.hop->link, *packet.message, 1, packet.bytes(), started - l.instant);
  }
  KB_ASSERT(cancelled, "a packet to {} has moved on already", graph_.path(packet.message->route->to));
  l.free_at = packet.link_was_free_at;
  l.bytes -= packet.bytes();
  packet.tail = packet.tail_before_link;
  --l.domain->counters_.packet_hops;
}

void Packet::arrive(sim::Event& e) {
  auto& packet = static_cast<Packet&>(e);
  packet.hop->fabric->arrive(packet);
}

/// The head of a packet is at the end of the link it took.
void Fabric::arrive(Packet& packet) {
  if (packet.crossing) [[unlikely]]
    return cross(packet);
  if (packet.landing)
    land(packet);
  else if (!packet.hop->crosses && !packet.hop->arbitrated)
    leave_link(packet);
  if (packet.hop->last) return arrive_at_destination(packet);
  serve_in_order(packet, packet.hop[1], packet.time());
}

/// Links serve heads as they arrive. How long this one has to wait.
Time Fabric::serve_in_order(Packet& packet, const Hop& hop, Time now) {
  LinkState& l = *hop.state;
  if (hop.arbitrated) [[unlikely]]
    return gate(hop).arrive(packet, hop), Time();
  if (l.guest)
    if (const auto wait = serve_between_guests(packet, hop, now)) return *wait;
  if (hop.port && l.passages) l.domain->dispatcher().bring_heads(l);
  if (l.instant == now) return serve_among(packet, hop);
  l.instant = now;
  return serve(packet, hop, now);
}

/// When heads of packets arrive at one instant, the one with the smaller key goes first. The others were
/// served before it came, but nobody has seen that yet: take it back and serve them again, behind it.
Time Fabric::serve_among(Packet& packet, const Hop& hop) {
  LinkState& l = *hop.state;
  Packet* behind = take_back_behind(l, packet.message->key_);
  const Time wait = serve(packet, hop, l.instant);
  serve_again(behind);
  return wait;
}

/// Takes back the heads of this instant that have larger keys: first to last. Packets of one message keep their
/// order. None has started here: sources choose when all heads have come.
Packet* Fabric::take_back_behind(LinkState& l, std::uint64_t key) {
  Packet* behind = nullptr;
  while (Packet* again = l.last) {
    if (again->came != l.instant || again->message->key_ <= key) break;
    take_back(*again);
    again->next = behind;
    behind = again;
  }
  return behind;
}

void Fabric::serve_again(Packet* first) {
  while (first) {
    Packet& packet = *first;
    LinkState& l = *packet.hop->state;
    first = packet.next;
    serve(packet, *packet.hop, l.instant);
  }
}

/// Whether nothing happens when the head of the packet is at the end of this hop: only the last byte of the
/// message matters there. A receiver that looks at packets is told of this one when all of it is there.
bool Fabric::is_silent(const Packet& packet, const Hop& hop) const {
  return hop.last && !hop.crosses && packet.is_last() && !notes_.kept() &&
         (options_.shortcuts || !packet.message->is_looked_at());
}

namespace {

/// What a packet will need at the end of a link that it takes.
void prefetch_behind(const Hop& hop) {
  if (hop.last) return;
  const Hop& next = (&hop)[1];
  prefetch(next.state);
  if (!next.last) prefetch(&next + 1);
}

}  // namespace

/// The formula of a link. How long the packet has to wait. Until it is at the next link, others have pushed that out of the
/// caches: of 1,024 PEs that hand on small messages, a sixth of the time went into waiting for links to be loaded.
Time Fabric::serve(Packet& packet, const Hop& hop, Time head_arrival) {
  LinkState& l = *hop.state;
  prefetch_behind(hop);
  const Time tail_arrival = packet.tail;
  const std::uint64_t key = hop.is_first() ? kLastOfInstant : packet.message->key_;

  const Time start = std::max(head_arrival, l.busy_until(head_arrival, key));
  const Time end = std::max(start + occupancy(packet, hop), tail_arrival);
  packet.link_was_free_at = l.free_at;
  packet.tail_before_link = tail_arrival;
  l.free_at = end;
  if (start > head_arrival) note_wait(hop.link, start - head_arrival);
  const Bytes bytes = packet.full ? full_ : packet.bytes();
  l.bytes += bytes;
  if (notes_.kept()) notes_.add(hop.link, *packet.message, 1, bytes, start - head_arrival);
  ++l.domain->counters_.packet_hops;
  if (watcher_) [[unlikely]]
    watcher_->on_link(*packet.message, packet.index, hop, start, end);
  l.take_until(head_arrival, key, end);

  packet.hop = &hop;
  packet.tail = end + hop.forward;
  packet.crossing = hop.crosses;
  packet.due = hop.crosses ? start + grace_ : is_silent(packet, hop) ? packet.tail : start + hop.forward;
  packet.came = head_arrival;
  follow_up(packet, l);
  return start - head_arrival;
}

/// Behind those that are on the link, but for one that goes on without a stop. If that came at this instant, too, it may have to be
/// taken back with this one: it stops behind the link.
void Fabric::follow_up(Packet& packet, LinkState& l) {
  Packet* ahead = std::exchange(l.last, &packet);
  if (ahead && ahead->landing && ahead->came == packet.came) stop_before(*ahead, ahead->hop[1]);
  packet.behind = packet.next = nullptr;
  if (!ahead || ahead->landing) return l.domain->partition_.schedule_at(packet, leap(packet));
  packet.next = ahead;
  ahead->behind = &packet;
}

/// The first packet on a link is at its end: the one behind it is the first now.
void Fabric::leave_link(Packet& packet) {
  LinkState& l = *packet.hop->state;
  Packet* behind = packet.behind;
  if (!behind) {
    if (l.last == &packet) l.last = nullptr;
    return;
  }
  prefetch(behind->behind);
  behind->next = nullptr;
  l.domain->partition_.schedule_at(*behind, behind->due);
}

/// On to another partition.
void Fabric::cross(Packet& packet) {
  const Hop& hop = *packet.hop;
  packet.crossing = false;
  leave_link(packet);
  hop.state->domain->partition_.post(simulation_.partition(hop.next_partition), packet, hop.forward - grace_);
}

void Fabric::arrive_at_destination(Packet& packet) {
  Message& message = *packet.message;
  const int here = message.route->last_partition;
  if (message.is_looked_at()) message.on_packet(packet.index, packet.tail);
  const bool is_last = packet.is_last();
  const Time tail = packet.tail;
  const bool is_there = tail == packet.time();
  release(packet, here);
  if (!is_last) return;
  is_there ? message.deliver() : domain(here).partition_.schedule_at(message.delivery(), tail);
}

Message::Uneven& Message::uneven() {
  if (!uneven_) uneven_ = std::make_unique<Uneven>();
  return *uneven_;
}

void Message::measure_tail() {
  short_tail_ = !route->is_full(packets_ - 1, bytes);
  if (!short_tail_) return;
  Uneven& times = uneven();
  prefetch(times.tail.data(), times.tail.size() * sizeof(Uneven::TailTimes));  // it starts soon
  if (times.tail_route == route && times.tail_bytes == bytes) return;
  times.tail_route = route;
  times.tail_bytes = bytes;
  times.tail.clear();
  Time longest;
  for (const Hop& hop : route->hops) {
    const Time occupancy = route->occupancy(hop, packets_ - 1, bytes);
    longest = std::max(longest, occupancy);
    times.tail.push_back({occupancy, longest});
  }
}

/// The next one of the lane will need its source at once.
void Message::leave() {
  if (lane_) {
    prefetch(next_in_lane_);
    prefetch(route->source, Source::kOfLoneMessage);
    prefetch(route->hops.data(), std::min<std::size_t>(route->hops.size(), 4) * sizeof(Hop));
  }
  Fabric& fabric = *route->first().fabric;
  Lane* lane = std::exchange(lane_, nullptr);
  if (followed && wants_leaving_) on_left();
  if (lane) lane->advance(fabric);
}

void Lane::send(Fabric& fabric, Message& message) {
  message.lane_ = this;
  message.next_in_lane_ = nullptr;
  if (left_at_ <= message.route->source->now()) first_ = nullptr, left_at_ = Time::never();
  const bool idle = first_ == nullptr;
  (idle ? first_ : last_->next_in_lane_) = &message;
  last_ = &message;
  if (idle) return fabric.enter(message);
  if (left_at_ != Time::never()) fabric.leaves(*first_, std::exchange(left_at_, Time::never()));
}

/// A message that waits is not touched for long: of 2,048 PEs reading, its cache lines are back in memory by then. The one
/// after this one is loaded a message's time ahead, which made a packet-hop a sixth faster there.
void Lane::advance(Fabric& fabric) {
  first_ = first_->next_in_lane_;
  if (!first_) return;
  prefetch(first_->next_in_lane_);
  fabric.enter(*first_);
}

void Message::deliver() {
  prefetch(this);
  if (route->partition == route->last_partition)
    prefetch(trains_[0]);  // others' trains are not ours to look at
  const Hop& last = route->hops.back();
  if (!last.crosses) last.state->domain->dispatcher().finish(*this);
  on_delivered();
}

LinkUse Fabric::use(LinkId id) const {
  const LinkState& l = links_[id.index];
  LinkUse use{l.bytes, deepest_waits_[id.index], notes_.of(id)};
  const Time now = l.domain->partition_.now();
  take_off_guests(id, now, use);
  for (const Passage* p = l.passages; p;
       p = p->next) {  // what trains have carried that the link has not noted yet
    if (p->queues()) {
      l.domain->dispatcher().look_at_queue(*p, now, use);
      continue;
    }
    const std::int64_t end = p->after(now);
    if (end == p->train->run.first) continue;
    const Bytes bytes = p->train->bytes(p->train->run.first, end);
    use.bytes += bytes;
    notes_.add(use.note, id, *p->train->message, end - p->train->run.first, bytes, p->hold);
    use.deepest_wait = std::max(use.deepest_wait, p->hold);
  }
  return use;
}

/// Links with models may remember: they are never at rest. Nor are those of which more is noted than what they carried.
bool Fabric::at_rest(Time now) const {
  return models_.none() && !notes_.kept() && watcher_ == nullptr &&
         std::ranges::all_of(links_, [now](const LinkState& link) {
           return !link.passages && link.free_at <= now && link.passed_until <= now && link.instant < now;
         });
}

std::vector<Bytes> Fabric::carried() const {
  std::vector<Bytes> carried;
  carried.reserve(links_.size());
  for (const LinkState& link : links_) carried.push_back(link.bytes);
  return carried;
}

void Fabric::add(const std::vector<Bytes>& carried, const FabricCounters& counters) {
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i].bytes += carried[i];
  domains_.front()->counters_ += counters;
}

FabricCounters Fabric::counters() const {
  FabricCounters sum;
  for (const auto& d : domains_) sum += d->counters_;
  return sum;
}

}  // namespace kernbench::device
