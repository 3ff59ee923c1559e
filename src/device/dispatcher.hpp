// The dispatcher of a partition: which packets move as trains, and what becomes of them when something comes
// between.
//
// The plan is never wrong, only sometimes changed: a train's packets are where it says, for nobody who comes to
// a link of its stretch is served without a look at its passages. Who finds a gap takes it. Who does not, goes
// when it is its turn, and the train's packets from there on reach that link one by one. Nothing that has
// happened is ever undone, for every link takes at least a picosecond: packets that have not yet reached the
// link have not reached any later one.
#pragma once

#include "device/pool.hpp"
#include "device/train.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::device {

class FabricDomain;
struct LinkState;
struct LinkUse;

/// What one partition lets the next one know of a message's packets: they will come as a train; or those of a
/// train that was announced will not. It travels a picosecond ahead of them.
class Notice : public sim::Event {
 public:
  Notice() : Event(&fire) {}

  Message* message = nullptr;
  const Hop* hop = nullptr;  // the link that leads there
  Run run;
  bool cut = false;  // from `run.first` on, packets of the train that ended with `run.end` come alone
  int home = 0;      // the partition whose pool it is from
  Notice* next = nullptr;

 private:
  static void fire(sim::Event& e);
};

class Dispatcher {
 public:
  Dispatcher(Fabric& fabric, FabricDomain& domain, sim::Partition& partition)
      : fabric_(fabric), domain_(domain), partition_(partition) {}

  /// Plans packets that come at known times as a train, from the first hop of a leg as far as it gets. At a
  /// source (which may know that the first link is free for them) that may be nowhere: false.
  bool dispatch(Message& message, const Hop& from, const Run& run, bool first_link_is_free = false);
  /// Packets from `from` on will not come from the source after all.
  void recall(Message& message, std::int64_t from);
  /// The message is delivered; none of its trains is left.
  void finish(Message& message);

  /// Whoever reaches a link at `at` goes before the heads of that instant whose messages have a larger key. When
  /// have the trains' packets before it passed?
  Time busy_until(LinkState& link, Time at, std::uint64_t key);
  /// It takes the link until `until`: trains' packets that are to have it earlier, behind it, will come alone.
  void make_way(LinkState& link, Time at, std::uint64_t key, Time until);
  /// The same without those that come alone: only for links at which no train queues.
  static Time through_before(const LinkState& link, Time at, std::uint64_t key);
  /// Whether the link is free of trains' packets for it from `at` to `until`.
  static bool has_room(const LinkState& link, Time at, std::uint64_t key, Time until);
  /// Whether none of the trains' packets behind it is to have the link before `until`.
  static bool leaves_room(const LinkState& link, Time at, std::uint64_t key, Time until);
  /// Whether all trains' packets will have passed the link by then.
  static bool is_clear(const LinkState& link, Time by);
  /// A head that queues and comes at this instant comes alone, so that it is put in order with others: whether there is one.
  bool bring_heads(LinkState& link);
  /// What the packets of a passage that queues have done up to `now`, as far as the link has not noted it.
  void look_at_queue(const Passage& passage, Time now, LinkUse& use) const;
  /// Whether trains can start on the route at all.
  bool can_start(const Route& route) const;

 private:
  friend class Train;
  friend class Notice;

  bool can_cross(const Hop& hop) const;
  Time hold_at(const Train& train, const Hop& hop) const;
  bool enter(Train& train, const Hop& hop, Time hold);
  void link(Passage& passage);
  void extend(Train& train, const Hop* free);

  // Packets that wait for a port (queueing.cpp)
  bool may_queue(const Train& train, const Hop& hop) const;
  bool can_queue(const Train& train, const Hop& hop, std::int64_t next) const;
  bool enter_queue(Train& train, const Hop& hop);
  void queue(Passage& passage, std::int64_t next);
  void catch_up(LinkState& link, Time before);
  void serve_queued(Passage& passage, std::int64_t end);
  void line_up(LinkState& link, Time at, std::uint64_t key, Time free);
  bool give_way(Passage& passage, std::int64_t next, Time at);
  void deliver_at(Train& train, Time tail);

  void go_on(Train& train);
  void announce(Train& train);
  void fire(Train& train) { train.feeds ? feed(train) : remove(train); }
  void feed(Train& train);
  void try_whole(Train& train);
  void displace(Passage& passage, std::int64_t from);
  void release_dependents(const Passage& passage, std::int64_t lost);
  void shorten(Train& train, std::int64_t end, const Hop& hop);
  void cut(Train*& trains, std::int64_t from, std::int64_t end);
  void cut_beyond(Train& train, std::int64_t end);
  void settle(Train& train, std::int64_t end);
  void remove(Train& train);
  void receive(Notice& notice);
  void post(Train& train, const Run& run, bool cut);
  Train& take(Message& message, const Run& run, const Hop& begin);

  Fabric& fabric_;
  FabricDomain& domain_;
  sim::Partition& partition_;
  Pool<Train> trains_;
  Pool<Notice> notices_;
  int holds_ = 0;  // passages that hold their packets
};

}  // namespace kernbench::device
