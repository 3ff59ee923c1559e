// Where messages enter the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/message.hpp"
#include "device/small_vector.hpp"
#include "kernbench/sim.hpp"

namespace kernbench::device {

class Dispatcher;
struct LinkState;

/// A use of a port that is no message: a fetch or a store of one of a PE's engines.
struct PortUse {
  Time duration;
  sim::Event* done = nullptr;  // fired at its end
  int rank = 0;                // of uses that ask at one instant, the smaller goes first
  /// Where it takes turns: how long a turn is, the last one may be shorter. Whoever wants the link waits no longer.
  Time turn = Time::never();
};

/// The first link of routes: messages take turns on it packet by packet, traffic class by traffic class and message
/// by message, and with the engines that use it: a use holds the link for as long as no message can go, and leaves
/// it to one at the end of a turn. Uses go one after the other.
///
/// Who is there before an instant goes before who comes at it. It chooses when all who come at an instant have come (instant.hpp).
class alignas(64) Source {
 public:
  /// `number` tells senders apart, in the order in which links serve them.
  Source(Fabric& fabric, Dispatcher& dispatcher, sim::Partition& partition, LinkState& first_link,
         std::uint32_t number, bool arbitrated);

  void open(Message& message);
  /// An open message has packets that may leave and did not before.
  void hear_of(Message& message);
  /// Packets of an open message may leave later than was said: what has not started is open again.
  void take_back();
  /// Takes the link for something else, in turn with the packets.
  void take_turn(const PortUse& use);
  /// The head of somebody else's packet reaches the link: whatever was to start now, or later, waits for it.
  void yield();
  /// Somebody else comes to the link before this packet, which needed no choice, has started. True: the
  /// packet is taken back, and will be chosen among the others. False: its turn was before, it stands.
  bool give_up_start(const Packet& packet);
  /// So many bytes of a source are used for a message that is alone.
  static constexpr std::size_t kOfLoneMessage = 320;
  Time now() const { return partition_.now(); }
  std::uint64_t next_key() { return std::uint64_t{number_} << 32 | ++sequence_; }

 private:
  struct Ring {
    SmallVector<Message*, 1> messages;
    std::size_t next = 0;  // whose turn it is
  };
  struct Other {
    PortUse use;
    Time asked;
    Time left;  // of its duration
  };
  struct Turn {
    std::size_t channel = 0;
    std::size_t index = 0;
    Message* message = nullptr;
  };
  /// Messages whose packets start at known times, in turn. What a message did is written down when the plan ends:
  /// it may be delivered, and gone, by then.
  struct Plan {
    struct Slot {
      Message* message;
      Route* route;
      Bytes bytes;
      std::int64_t base;  // its first packet
      bool completes;     // its last packet is among them
      Time last_pace;     // of the last of them
    };
    SmallVector<Slot, 1> slots;  // empty: there is no plan
    std::size_t channel = 0;
    std::size_t index = 0;  // of the first slot's message in its ring
    std::int64_t first = 0;
    std::int64_t end = 0;
    Timing timing;  // of turns first … end − 1
    Time last_start;
    Time made;
  };

  Ring& ring_of(const Message& message) { return rings_[static_cast<std::size_t>(message.channel)]; }
  void add(Message& message);
  void put_in_order(Message& newcomer);
  void begin_anew();
  /// Whether it was opened at this instant.
  bool has_just_come(const Message& message) const;
  bool idle() const { return open_count_ == 0 && others_.empty(); }
  Time link_busy_until() const;
  std::uint64_t rank() const;
  void ask();
  void choose();
  void schedule();

  static Time offer(const Message& message);
  Time first_offer(Time enough) const;
  bool start_next(bool older_only);
  Turn find_turn(bool older_only) const;
  void start(const Turn& turn);
  void has_started(Channel channel);
  void start_other();
  Time turn_end(Time wanted) const;
  void hold_until(Time until);
  void let_go();
  void cut_held(const Message& newcomer);
  void messages_have_gone(Ring& ring);
  Message* find_sole() const;

  // A message that needs no choice (source_start.cpp).
  bool start_by_itself(Message& message);
  bool recall_start();
  void open_again(Packet& packet);

  // What it will do while nobody comes (source_plan.cpp).
  bool plan();
  bool plan_alone(Message& message);
  static Timing time_alone(Message& message, Time first_start);
  bool plan_turns();
  std::int64_t regular_rounds(const Ring& ring, std::size_t first);
  void settle();
  std::int64_t started_before(Time at) const;
  void recall(std::int64_t started);
  void commit(std::int64_t started);

  // In the order in which a message that is alone needs it: what it does not need is on cache lines of its own.
  Fabric& fabric_;
  Dispatcher& dispatcher_;
  sim::Partition& partition_;
  LinkState& first_link_;
  const std::uint32_t number_;
  const bool arbitrated_;  // the link has a model
  std::uint32_t sequence_ = 0;
  Message* sole_ = nullptr;  // the open message, if there is but one
  std::size_t open_count_ = 0;
  int pause_ = 0;       // packets before a plan is tried again
  int next_pause_ = 0;  // if that is in vain
  /// Messages that came at the latest instant at which any did: their keys are the largest.
  struct Newest {
    Time at = Time::from_ps(-1);
    std::uint64_t first_key = 0;
  };
  Newest newest_;
  /// The latest packet that needed no choice. It may be gone when `at` is over.
  struct Start {
    Packet* packet = nullptr;
    Time at;
    Time next_offer;          // of its route, before this packet: to be put back
    std::uint32_t round = 0;  // how many rounds of choices had begun at `at` when the message came
  };
  Start starts_;
  Plan plan_;
  std::vector<Other> others_;  // oldest first; before them what is left of the one that holds the link
  bool others_turn_ = false;
  std::size_t turn_ = 0;  // of the traffic classes
  sim::MemberEvent<&Source::ask> link_is_free_;
  sim::MemberEvent<&Source::choose> all_have_come_;
  std::array<Ring, kChannels> rings_;
  /// When the last packet of the last open message started, if it was not in a plan.
  Time emptied_at_ = Time::from_ps(-1);
  std::uint64_t mark_ = 0;
  /// The use that had the link last.
  struct Held {
    Other other;  // as it was when it took the link
    Time since, until;
  };
  Held held_;
};

}  // namespace kernbench::device
