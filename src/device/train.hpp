// Trains: packets of a message that follow each other at known times.
//
// A train stands for its packets on a stretch of their route, within one partition. On every link of the
// stretch it is entered as a passage, from which follows when the link is busy: nothing happens there. Where
// the stretch ends before the partition does, packets go on one by one. The dispatcher (dispatcher.hpp) plans
// trains, and changes the plan when something comes between.
#pragma once

#include <cstdint>

#include "device/message.hpp"
#include "device/small_vector.hpp"

namespace kernbench::device {

class Dispatcher;

/// A train on a link. Links serve packets in order of arrival.
struct Passage {
  Train* train = nullptr;
  const Hop* hop = nullptr;
  Passage* next = nullptr;  // of the same link, in no order
  Time offset;              // from the start of a packet to its arrival here
  Time hold;                // every packet waits so long, for one of another train that is always before it
  Time length;              // how long a full packet has the link; `never` if they differ
  Time through;             // no packet has the link any more; `never`: its packets queue (queueing.cpp)
  Passage* previous = nullptr;  // whose next it is

  Time arrival(std::int64_t p) const;
  Time begin(std::int64_t p) const { return arrival(p) + hold; }
  Time end(std::int64_t p) const;
  /// No packet has the link for longer.
  Time most() const;
  /// The first packet that arrives after `at`; `run.end` if none does.
  std::int64_t after(Time at) const;
  /// The first packet that goes behind one that reaches the link at `at`, of a message with that key. A source
  /// waits for whoever comes.
  std::int64_t behind(Time at, std::uint64_t key) const;

  /// Its packets wait for the link, at the end of their route, each as long as it has to: those before `Train::fed` have been
  /// served, the others will be as they come.
  bool queues() const { return through == Time::never(); }
  /// When the link is free again, if at `free` it is free for packet `first`: packets up to `end` follow.
  Time served(Time free, std::int64_t first, std::int64_t end) const;

  /// Whether all its packets have had the link before `by`. A last packet that comes at `by` itself, and
  /// takes no time, has not.
  bool is_over(Time by) const;
  bool waits_for(std::uint64_t key) const;
  /// Whether packet `p` cannot have the link as planned, if a packet of the message with that key has it
  /// until `until`. A packet of the same message that takes no time must not share that instant: the two must
  /// keep their order.
  bool is_in_way(std::int64_t p, std::uint64_t key, Time until) const;
  // Another train, whose first packet would reach the link at `first`:
  /// how long each of its packets would have to wait for packets of this one; `never` if not all alike;
  Time delays(const Train& other, Time first) const;
  /// whether none of these would have to wait for its packets, which would be through after `time`.
  bool leaves_room(const Train& other, Time first, Time time) const;
};

/// Its event: the next packet goes on alone, at the end of the stretch; or the last packet has passed.
class alignas(64) Train : public sim::Event {
 public:
  Train() : Event(&fire) {}

  Message* message = nullptr;
  Dispatcher* dispatcher = nullptr;
  Run run;           // its packets: as they come to `begin`, but with their length behind the stretch
  Time came_length;  // how they come to `begin`
  const Hop* begin = nullptr;  // its stretch,
  const Hop* stop = nullptr;   // this hop excluded
  Time held;                   // Σ hold of its passages
  std::int64_t fed = 0;      // the first packet that has not gone on alone; or not been served, if it queues
  Time last_wait;            // of the packet before that
  int calm = 0;              // how many waited as long as the one before them, one after the other
  int patience = 0;          // how many of these it takes before the rest tries to go on as a train
  std::uint32_t serial = 0;  // counts the trains that this object has been
  bool feeds = false;        // from `stop` on, packets go alone
  Train* next = nullptr;     // in a pool; or the message's next train in the same partition
  SmallVector<Passage, 3> passages;  // as many as a PE's way to its own slice has

  const Route& route() const { return *message->route; }
  bool empty() const { return run.first == run.end; }
  std::int64_t last() const { return run.end - 1; }
  /// Behind its stretch.
  Time arrival(std::int64_t p) const {
    const Time before = stop == begin ? begin->before : stop[-1].before + stop[-1].forward;
    return run.timing.start(p) + before + held;
  }
  /// When the last packet's head is there.
  Time through() const { return arrival(last()); }
  bool is_full(std::int64_t p) const { return route().is_full(p, message->bytes); }
  Bytes bytes(std::int64_t first, std::int64_t end) const;

 private:
  static void fire(sim::Event& e);
};
static_assert(sizeof(Train) == 384);

inline Time Passage::arrival(std::int64_t p) const { return train->run.timing.start(p) + offset; }

inline Time Passage::end(std::int64_t p) const {
  const bool alike = length != Time::never() && train->is_full(p);
  return begin(p) + (alike ? length : train->message->length(*hop, p));
}

inline Time Passage::most() const { return length != Time::never() ? length : train->route().pace.most(); }

inline std::int64_t Passage::after(Time at) const {
  return train->run.timing.after(at - offset, train->run.first, train->run.end);
}

}  // namespace kernbench::device
