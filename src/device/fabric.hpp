// The fabric: links, and packets that cross them cut-through, hop by hop (docs/model.md has the formulas).
//
// A message is cut into packets. Where messages enter, they take turns packet by packet, and none is offered
// faster than the slowest link of its route can carry. At a link packets are served in order of the arrival
// of their heads; heads that arrive at one instant in the order of their senders, then of age. This order
// does not depend on how the simulation happens to be carried out, which is what allows the shortcut: packets
// whose times are known move as trains (train.hpp), with the same times to the picosecond.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/dispatcher.hpp"
#include "device/link_notes.hpp"
#include "device/message.hpp"
#include "device/pool.hpp"
#include "device/port.hpp"
#include "device/route.hpp"
#include "device/source.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/link_model.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::device {

struct FabricOptions {
  bool shortcuts = true;  // take every shortcut that changes no result: trains, leaps, CPUs that run ahead
};

/// What a link has carried.
struct LinkUse {
  Bytes bytes;        // with `note.overhead`
  Time deepest_wait;  // the longest a packet had to wait: where hardware would push back
  LinkNote note;
};

struct FabricCounters {
  std::uint64_t packet_hops = 0;
  std::uint64_t train_hops = 0;  // of these, made by packets in trains
  std::uint64_t messages = 0;
  std::uint64_t in_one_piece = 0;  // messages that arrived as one train
  FabricCounters& operator+=(const FabricCounters& other);
  FabricCounters& operator-=(const FabricCounters& other);
};

/// Sees every packet that takes a link on its own. A listener for studies of a few messages: it is called in
/// the link's partition, and does not see trains.
class FabricWatcher {
 public:
  virtual ~FabricWatcher() = default;
  /// From `start` to `end`. Called again, if heads that arrive at one instant change places: the last call
  /// of a packet and hop counts.
  virtual void on_link(const Message& message, std::int64_t packet, const Hop& hop, Time start, Time end) = 0;
};

class FabricDomain;
class LinkGate;
class CreditLink;

/// A message that stands for an event at the end of its way: a request or an acknowledgement that has a size.
class Errand final : public Message {
 public:
  Errand* next = nullptr;  // in a pool
  /// The key of the data that it acknowledges: of acknowledgements to one issuer at one instant, that of the older data goes first.
  std::uint64_t about() const { return about_; }

 private:
  friend class Fabric;
  void on_delivered() override;

  sim::Event* event_ = nullptr;
  std::uint64_t about_ = 0;
};

/// Makes the models of links that are not regular, by the kind of the node they leave; none: the link is regular.
class LinkModels {
 public:
  using Make = std::function<std::unique_ptr<models::LinkModel>()>;
  Make& of(topology::NodeKind kind) { return make_[static_cast<std::size_t>(kind)]; }
  bool none() const {
    return std::ranges::none_of(make_, [](const Make& make) { return static_cast<bool>(make); });
  }

 private:
  std::array<Make, topology::kNodeKinds> make_;
};

/// A link at work. One cache line.
struct alignas(64) LinkState : LinkTimes {
  Time passed_until;               // by trains that are no longer entered
  Packet* last = nullptr;          // the packet that took it last, of those that are not at its end yet
  FabricDomain* domain = nullptr;  // of the node it leaves
  Passage* passages = nullptr;     // the trains that are entered
  Bytes bytes;                     // but for theirs

  /// When all are through that go before one who reaches it at `at`, of a message with that key.
  Time busy_until(Time at, std::uint64_t key) {
    return passages ? busy_with_trains(at, key) : std::max(free_at, passed_until);
  }
  /// That one has it until `until`: packets of trains that were to have it earlier, behind it, come alone.
  void take_until(Time at, std::uint64_t key, Time until) {
    if (passages) [[unlikely]]
      displace_trains(at, key, until);
  }

 private:  // in dispatcher.cpp
  Time busy_with_trains(Time at, std::uint64_t key);
  void displace_trains(Time at, std::uint64_t key, Time until);
};
static_assert(sizeof(LinkState) == 64);

class Fabric {
 public:
  Fabric(sim::Simulation& simulation, const topology::Graph& graph, const FabricSpec& spec,
         FabricOptions options = {}, LinkModels models = {});
  ~Fabric();

  /// What the simulation must be made with: the least delay of a link between partitions, less the picosecond
  /// that a packet stays on this side, where it can still be taken back.
  static Time lookahead(const topology::Graph& graph);

  const topology::Graph& graph() const { return graph_; }
  Bytes packet_bytes() const { return spec_.packet.payload; }
  sim::Partition& partition_of(topology::NodeId node) {
    return simulation_.partition(graph_.partition(node));
  }

  /// The way between two nodes. Keep the reference: it is a look-up.
  Route& route(topology::NodeId from, topology::NodeId to);
  /// All that messages of no bytes need of it, which most ways of a large machine are for. Keep the reference, too.
  SignalRoute& signal_route(topology::NodeId from, topology::NodeId to);
  /// The way past a third node, which passes on what comes.
  Route& route(topology::NodeId from, topology::NodeId via, topology::NodeId to);
  /// Sends a message of at least one byte, without a lane. Called in the partition of the sender.
  void send(Message& message) {
    message.lane_ = nullptr;
    enter(message);
  }
  /// Packets of a message that waits for them may leave: `ready` has more times than before. Called in the partition of the sender.
  void more_is_ready(Message& message);
  /// It is no longer known when packets from this one on may leave; none of them has. The message waits for them again.
  void less_is_ready(Message& message, std::int64_t from);
  /// Sends a message of no bytes: it pays wires and overheads, waits for nobody, and fires `event` on
  /// arrival.
  void signal(const SignalRoute& route, sim::Event& event);
  // What a memory is asked, and what it answers when it has been written. With a size they are messages like others, of a class
  // and with a rank (see Message); without one they are signals. Called in the partition of the sender, with a route of theirs.
  SignalRoute& request_route(topology::NodeId from, topology::NodeId to) {
    return spec_.request == 0_B ? signal_route(from, to) : route(from, to);
  }
  SignalRoute& acknowledgement_route(topology::NodeId from, topology::NodeId to) {
    return spec_.acknowledgement == 0_B ? signal_route(from, to) : route(from, to);
  }
  void request(SignalRoute& route, sim::Event& event, Channel channel, std::uint32_t rank) {
    if (spec_.request == 0_B) return signal(route, event);
    run_errand(static_cast<Route&>(route), event, {spec_.request, Purpose::request, channel, rank});
  }
  /// Sends the acknowledgement of a write that will be in the memory at `at`, now already. Until `at` it is
  /// taken back by cancelling `event`. False, and nothing sent, if it could not be taken back.
  bool acknowledge_ahead(const SignalRoute& route, sim::Event& event, Time at);
  void acknowledge(SignalRoute& route, sim::Event& event, Channel channel, std::uint32_t rank,
                   std::uint64_t about) {
    if (spec_.acknowledgement == 0_B) return signal(route, event);
    run_errand(static_cast<Route&>(route), event,
               {spec_.acknowledgement, Purpose::acknowledgement, channel, rank, about});
  }

  // Uses of a link that are no messages: fetches and stores of a PE take the ports of its TCM.
  /// For a link that messages enter by: in turn with their packets.
  void take_turn(const Route& first_of, const PortUse& use) { first_of.source->take_turn(use); }
  /// A link that messages arrive over. Keep the reference: it is a look-up.
  Port& port(topology::LinkId link);

  /// Null: nobody watches. The watcher must outlive the runs it watches.
  void watch(FabricWatcher* watcher) { watcher_ = watcher; }

  LinkUse use(topology::LinkId link) const;
  FabricCounters counters() const;

  /// Whether nothing is under way and every link is free, from `now` on, whatever happened before.
  bool at_rest(Time now) const;
  /// What each link has carried; and as if it had carried more, at rest.
  std::vector<Bytes> carried() const;
  void add(const std::vector<Bytes>& carried, const FabricCounters& counters);

 private:
  friend class Message;
  friend class Packet;
  friend class Source;
  friend class Port;
  friend class Dispatcher;
  friend class Notice;
  friend class LinkGate;
  friend class CreditLink;
  friend class Errand;
  friend class Lane;

  struct ErrandFacts {
    Bytes bytes;
    Purpose purpose;
    Channel channel;
    std::uint32_t rank;
    std::uint64_t about = 0;
  };
  void run_errand(Route& route, sim::Event& event, const ErrandFacts& facts);

  FabricDomain& domain(int partition) { return *domains_[static_cast<std::size_t>(partition)]; }
  void enter(Message& message);
  void prepare(Route& route);
  Source& source_for(Route& route);

  Packet& take_packet(Message& message, std::int64_t index, FabricDomain& here);
  void release(Packet& packet, int partition);
  static void load_links(const Route& route, const Hop* from);
  void start_packet(Message& message, Time now);
  void leaves(Message& message, Time at);
  void stays(Message& message);
  void arrive(Packet& packet);
  Time serve(Packet& packet, const Hop& hop, Time head_arrival);
  Time serve_in_order(Packet& packet, const Hop& hop, Time now);
  Time serve_among(Packet& packet, const Hop& hop);
  void note_wait(topology::LinkId link, Time wait) {
    if (wait > deepest_waits_[link.index]) deepest_waits_[link.index] = wait;
  }

  // Packets that cross links without a stop (leap.cpp).
  Time leap(Packet& packet);
  Time enter_links(Packet& packet, const Hop& from, Time now);
  Packet* book(Message& message, Time at);
  void unbook(Packet& packet);
  /// What somebody finds who comes to a link at some instant, between its guests; and when the next guest
  /// comes.
  struct Gap {
    LinkTimes* found;
    Time until;
  };
  static Gap gap_at(LinkState& link, Time at);
  static LinkTimes* room_for_guest(const Packet& packet, const Hop& hop, Time head, Time length, Time now);
  static bool may_go_among_trains(const Hop& hop);
  static bool can_be_crossed(const Hop& hop);
  void land(Packet& packet);
  static void end_leap(Packet& packet);
  static void leave_as_guest(Packet& packet, const Hop& hop);
  std::optional<Time> serve_between_guests(Packet& packet, const Hop& hop, Time now);
  bool fits(const Packet& packet, const Hop& hop, const Gap& gap, Time now) const;
  Time serve_in_gap(Packet& packet, const Hop& hop, LinkTimes& found, Time now);
  void take_off_guests(topology::LinkId id, Time now, LinkUse& use) const;
  bool turn_out(LinkState& link);
  void stop_before(Packet& packet, const Hop& stop);
  void leave_links(Packet& packet, const Hop& from);
  /// Somebody else comes to the link, or is to: who were to cross it without a stop come alone. Whether one does at this instant.
  bool clear(LinkState& link) { return link.guest && turn_out(link); }

  LinkGate& gate(const Hop& hop);
  CreditLink& credit_link(const Hop& hop);
  std::unique_ptr<LinkGate> make_gate(const Hop& hop);
  bool is_arbitrated(topology::LinkId link);
  bool is_credited(topology::LinkId link) const;
  void number_layers(Route& route) const;
  Packet* take_back_behind(LinkState& link, std::uint64_t key);
  void serve_again(Packet* first);
  void take_back(Packet& packet);
  void follow_up(Packet& packet, LinkState& link);
  static void leave_link(Packet& packet);
  static Time occupancy(const Packet& packet, const Hop& hop) {
    if (packet.full && hop.full != Time::never()) return hop.full;
    return packet.message->occupancy(hop, packet.index);
  }
  bool is_silent(const Packet& packet, const Hop& hop) const;
  void cross(Packet& packet);
  void arrive_at_destination(Packet& packet);

  sim::Simulation& simulation_;
  const topology::Graph& graph_;
  const FabricSpec spec_;
  const Bytes full_;  // a full packet, on a link
  const FabricOptions options_;
  const Time grace_;  // between the start of a packet on a link to another partition and its going there
  FabricWatcher* watcher_ = nullptr;
  LinkModels models_;
  std::vector<LinkState> links_;
  std::vector<Time> deepest_waits_;  // of links, by id
  LinkNotes notes_;
  std::vector<std::unique_ptr<FabricDomain>> domains_;
};

/// What belongs to one partition, and so to one thread.
class FabricDomain {
 public:
  ~FabricDomain();
  Dispatcher& dispatcher() { return dispatcher_; }

 private:
  friend class Fabric;
  friend class Dispatcher;
  friend class Errand;

  FabricDomain(Fabric& fabric, sim::Partition& partition, const topology::Graph& graph, PacketFormat packet);
  friend class LinkGate;

  sim::Partition& partition_;
  FabricCounters counters_;
  Pool<Packet> packets_;
  Pool<Leap> leaps_;
  Pool<Errand> errands_;
  RouteBook routes_;
  Dispatcher dispatcher_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::unordered_map<std::uint32_t, Source*> source_of_link_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Port>> ports_;
  std::unordered_map<std::uint32_t, std::unique_ptr<LinkGate>>
      gates_;  // of links that are not just first come
};

}  // namespace kernbench::device
