// The fabric: links, and packets that cross them cut-through, hop by hop (docs/model.md has the formulas).
//
// A message is cut into packets. Where messages enter, they take turns packet by packet, and none is offered
// faster than the slowest link of its route can carry. At a link packets are served in order of the arrival
// of their heads; heads that arrive at one instant in the order of their senders, then of age. This order
// does not depend on how the simulation happens to be carried out, which is what allows the shortcut: a
// message that has its route to itself moves in one piece (run_mode.hpp), with the same times to the
// picosecond.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "device/message.hpp"
#include "device/route.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::device {

struct FabricOptions {
  bool runs = true;  // move messages in one piece where nothing can disturb them
};

/// What a link has carried.
struct LinkUse {
  Bytes bytes;
  Time deepest_wait;  // the longest a packet had to wait: where hardware would push back
};

struct FabricCounters {
  std::uint64_t packet_hops = 0;
  std::uint64_t messages = 0;
  std::uint64_t in_one_piece = 0;  // messages that were never taken apart
  FabricCounters& operator+=(const FabricCounters& other);
};

/// Sees every packet that takes a link on its own. A listener for studies of a few messages: it is called in
/// the link's partition, and does not see messages that move in one piece.
class FabricWatcher {
 public:
  virtual ~FabricWatcher() = default;
  /// From `start` to `end`. Called again, if heads that arrive at one instant change places: the last call
  /// of a packet and hop counts.
  virtual void on_link(const Message& message, std::int64_t packet, const Hop& hop, Time start, Time end) = 0;
};

class FabricDomain;

/// A link at work. One cache line.
struct alignas(64) LinkState {
  Time free_at;
  Time instant = Time::from_ps(-1);  // of the latest arrival
  Packet* last = nullptr;            // the packet served last at that instant
  FabricDomain* domain = nullptr;    // of the node it leaves
  Route* owner = nullptr;            // whose messages are under way here, if of one route alone
  std::int32_t claims = 0;           // messages under way here
  Bytes bytes;
  Time deepest_wait;
};

class Fabric {
 public:
  Fabric(sim::Simulation& simulation, const topology::Graph& graph, Bytes packet_bytes,
         FabricOptions options = {});
  ~Fabric();

  /// What the simulation must be made with: the least delay of a link between partitions, less the picosecond
  /// that a packet stays on this side, where it can still be taken back.
  static Time lookahead(const topology::Graph& graph);

  const topology::Graph& graph() const { return graph_; }
  Bytes packet_bytes() const { return packet_; }
  sim::Partition& partition_of(topology::NodeId node) {
    return simulation_.partition(graph_.partition(node));
  }

  /// The way between two nodes. Keep the reference: it is a look-up.
  Route& route(topology::NodeId from, topology::NodeId to);
  /// Sends a message of at least one byte. Called in the partition of the sender.
  void send(Message& message);
  /// Sends a message of no bytes: it pays wires and overheads, waits for nobody, and fires `event` on
  /// arrival.
  void signal(const Route& route, sim::Event& event);

  // Uses of a link that are no messages: fetches and stores of a PE take the ports of its TCM.
  /// Of a link that messages arrive over: in order of asking. Returns the end.
  Time occupy(topology::LinkId link, Time duration, sim::Partition& here);
  /// Of a link that messages enter by: in turn with their packets. Fires `done` at the end.
  void take_turn(const Route& first_of, Time duration, sim::Event& done);

  /// Null: nobody watches. The watcher must outlive the runs it watches.
  void watch(FabricWatcher* watcher) { watcher_ = watcher; }

  LinkUse use(topology::LinkId link) const;
  FabricCounters counters() const;
  std::size_t packets_made() const;

 private:
  friend class Message;
  friend class Packet;
  friend class Source;
  friend class RunMode;
  friend class FabricDomain;

  FabricDomain& domain(int partition) { return *domains_[static_cast<std::size_t>(partition)]; }
  void prepare(Route& route);
  Source& source_for(Route& route);

  Packet& take_packet(Message& message, std::int64_t index);
  Packet& start_packet(Message& message, Time now);
  void take_back_start(Packet& packet);
  void arrive(Packet& packet);
  void serve(Packet& packet, const Hop& hop, Time head_arrival);
  void serve_in_order(Packet& packet, const Hop& hop);
  void serve_among(Packet& packet, const Hop& hop);
  void take_back(Packet& packet);
  Time occupancy(const Packet& packet, const Hop& hop) const;
  void cross(Packet& packet);
  void arrive_at_destination(Packet& packet);

  void enter_leg(Message& message, const Hop& first_hop);
  void leave_leg(Message& message, const Hop& last_hop);
  template <class Action>
  void for_leg(const Route& route, const Hop& hop, Action&& action);

  sim::Simulation& simulation_;
  const topology::Graph& graph_;
  const Bytes packet_;
  const FabricOptions options_;
  const Time grace_;  // between the start of a packet on a link to another partition and its going there
  FabricWatcher* watcher_ = nullptr;
  std::vector<LinkState> links_;
  std::vector<std::unique_ptr<FabricDomain>> domains_;
};

/// What belongs to one partition, and so to one thread.
class FabricDomain {
 private:
  friend class Fabric;
  friend class RunMode;

  FabricDomain(sim::Partition& p, const topology::Graph& graph, Bytes packet)
      : partition_(p), routes_(graph, packet) {}

  sim::Partition& partition_;
  FabricCounters counters_;
  PacketPool packets_;
  RouteBook routes_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::unordered_map<std::uint32_t, Source*> source_of_link_;
  // Working space of RunMode.
  std::vector<Message*> messages_apart_;
  std::vector<Packet*> packets_apart_;
};

/// Where messages enter a first link: they take turns, traffic class by class and message by message.
class Source {
 public:
  /// `number` tells senders apart, in the order in which links serve them.
  Source(Fabric& fabric, sim::Partition& partition, LinkState& first_link, std::uint32_t number)
      : fabric_(fabric), partition_(partition), first_link_(first_link), number_(number), serve_(*this) {}

  void open(Message& message);
  /// Opens a message of which packets have already left, the last of all that left here.
  void resume(Message& message);
  /// Takes the link for something else, in turn with the packets.
  void take_turn(Time duration, sim::Event& done);
  bool idle() const { return open_count_ == 0 && others_.empty(); }
  std::uint64_t next_key() { return std::uint64_t{number_} << 32 | sequence_++; }

 private:
  struct Ring {
    std::vector<Message*> messages;
    std::size_t next = 0;  // whose turn it is
  };

  struct Other {
    Time duration;
    sim::Event* done;
  };

  Ring& ring_of(const Message& message) { return rings_[static_cast<std::size_t>(message.channel)]; }
  void serve();
  void schedule();
  void reschedule();
  Message* pick();
  Message* pick(bool older_only);
  Message* find_sole() const;
  void start(const Other& other);
  static Time offer(const Message& message);
  void start(Message& message);
  void take_back();
  void close(Message& message);

  Fabric& fabric_;
  sim::Partition& partition_;
  LinkState& first_link_;
  const std::uint32_t number_;
  std::uint32_t sequence_ = 0;
  std::size_t open_count_ = 0;
  Message* sole_ = nullptr;    // the open message, if there is but one
  std::vector<Other> others_;  // oldest first
  bool others_turn_ = false;
  std::size_t turn_ = 0;  // of the traffic classes
  std::array<Ring, kChannels> rings_;
  struct {
    Packet* packet = nullptr;  // the last packet, if its message came at the instant it left
    Time at;
    Time offer_before;
    std::size_t ring_index = 0;
  } latest_;
  sim::MemberEvent<&Source::serve> serve_;
};

}  // namespace kernbench::device
