// ring: 256 ranks, 255 rounds. A message to the right neighbour crosses three links, each shared in order of
// arrival: one with the neighbouring rank, one with 8 ranks, one with the neighbour of the receiver; then it
// is put into the receiver's inbox. The rank then takes a message from its own inbox and works for a while.
// Unit: a message.
#include <kernbench/sim.hpp>

#include <deque>
#include <vector>

#include "workload.hpp"

namespace kernbench::bench {

namespace {

constexpr int kRanks = 256;
constexpr int kRounds = 255;
constexpr int kNear = 2;  // ranks per link at both ends
constexpr int kFar = 8;   // ranks per link in the middle
constexpr Time kLatency = 20_ns;
constexpr std::int64_t kMessages = std::int64_t{kRanks} * kRounds;

constexpr int right_of(int rank) { return (rank + 1) % kRanks; }

/// A rank's pseudo-random numbers, and what it has seen.
struct Rank {
  explicit Rank(int rank) : lcg(static_cast<std::uint32_t>(rank) + 1) {}
  Time occupancy() { return Time::from_ps(20'000 + (lcg.next() >> 15)); }  // 20 … 85 ns
  Time work() { return Time::from_ps(1 + (lcg.next() >> 12)); }            // up to 524 ns
  void note(Time sent, Time now) { checksum += static_cast<std::uint64_t>(now.ps() ^ sent.ps()); }

  Lcg lcg;
  std::uint64_t checksum = 0;
};

/// A message carries the time of its sending.
using Inbox = sim::Fifo<Time>;

struct Machine {
  explicit Machine(sim::Partition& here) {
    for (int i = 0; i < kRanks / kNear; ++i)
      up.emplace_back(here, kLatency), down.emplace_back(here, kLatency);
    for (int i = 0; i < kRanks / kFar; ++i) middle.emplace_back(here, kLatency);
    for (int i = 0; i < kRanks; ++i) inbox.emplace_back(here);
  }
  std::vector<sim::Link> up, middle, down;
  std::deque<Inbox> inbox;
};

/// Where a rank sits: the way to its right neighbour, and its own inbox.
struct Place {
  Place(sim::Partition& partition, Machine& machine, int rank)
      : here(partition),
        up(machine.up[static_cast<std::size_t>(rank / kNear)]),
        middle(machine.middle[static_cast<std::size_t>(rank / kFar)]),
        down(machine.down[static_cast<std::size_t>(right_of(rank) / kNear)]),
        right(machine.inbox[static_cast<std::size_t>(right_of(rank))]),
        own(machine.inbox[static_cast<std::size_t>(rank)]) {}
  sim::Partition& here;
  sim::Link &up, &middle, &down;
  Inbox &right, &own;
};

sim::Process run_rank(Place place, Rank& rank) {
  for (int round = 0; round < kRounds; ++round) {
    const Time sent = place.here.now();
    const Time occupancy = rank.occupancy();
    co_await place.up.cross(occupancy);
    co_await place.middle.cross(occupancy);
    co_await place.down.cross(occupancy);
    co_await place.right.put(sent);
    rank.note(co_await place.own.get(), place.here.now());
    co_await sim::delay(rank.work());
  }
}

struct BareLink {
  Time free_at;
  Time cross(Time now, Time occupancy) {
    free_at = std::max(now, free_at) + occupancy;
    return free_at + kLatency;
  }
};

struct BareRank;
struct BareMachine {
  sim::EventQueue queue;
  std::vector<BareLink> up = std::vector<BareLink>(kRanks / kNear);
  std::vector<BareLink> middle = std::vector<BareLink>(kRanks / kFar);
  std::vector<BareLink> down = std::vector<BareLink>(kRanks / kNear);
  std::deque<BareRank> ranks;
};

struct BareRank : sim::Event {
  BareRank(BareMachine& machine_, Rank& rank_, int id_)
      : Event(&step),
        machine(machine_),
        rank(rank_),
        id(static_cast<std::size_t>(id_)),
        right(static_cast<std::size_t>(right_of(id_))) {}

  enum class State { sending, middle, down, arrived, waiting };

  static void step(Event& e) { static_cast<BareRank&>(e).go_on(); }
  void go_on() {
    const Time now = machine.queue.now();
    switch (state) {
      case State::sending:
        if (round++ == kRounds) return;
        sent = now;
        occupancy = rank.occupancy();
        return cross(machine.up[id / kNear], State::middle);
      case State::middle:
        return cross(machine.middle[id / kFar], State::down);
      case State::down:
        return cross(machine.down[right / kNear], State::arrived);
      case State::arrived:
      case State::waiting:
        return exchange();
    }
  }
  void cross(BareLink& link, State then) {
    state = then;
    machine.queue.push(*this, link.cross(machine.queue.now(), occupancy));
  }
  void exchange() {
    BareRank& receiver = machine.ranks[right];
    receiver.inbox.push_back(sent);
    if (receiver.state == State::waiting) receiver.take();
    if (taken == inbox.size())
      state = State::waiting;
    else
      take();
  }
  void take() {
    const Time now = machine.queue.now();
    rank.note(inbox[taken++], now);
    state = State::sending;
    machine.queue.push(*this, now + rank.work());
  }

  BareMachine& machine;
  Rank& rank;
  std::size_t id;
  std::size_t right;
  State state = State::sending;
  int round = 0;
  Time sent;
  Time occupancy;
  std::vector<Time> inbox;
  std::size_t taken = 0;
};

std::deque<Rank> make_ranks() {
  std::deque<Rank> ranks;
  for (int id = 0; id < kRanks; ++id) ranks.emplace_back(id);
  return ranks;
}

std::uint64_t checksum_of(const std::deque<Rank>& ranks) {
  std::uint64_t sum = 0;
  for (const Rank& rank : ranks) sum += rank.checksum;
  return sum;
}

}  // namespace

Result ring() {
  sim::Simulation simulation;
  sim::Partition& here = simulation.partition();
  Machine machine(here);
  auto ranks = make_ranks();
  for (int id = 0; id < kRanks; ++id)
    here.spawn(run_rank(Place(here, machine, id), ranks[static_cast<std::size_t>(id)]));
  const double seconds = seconds_of([&] { simulation.run(); });
  return {kMessages, checksum_of(ranks), seconds};
}

Result ring_bare() {
  BareMachine machine;
  auto ranks = make_ranks();
  for (int id = 0; id < kRanks; ++id) {
    BareRank& rank = machine.ranks.emplace_back(machine, ranks[static_cast<std::size_t>(id)], id);
    rank.inbox.reserve(kRounds);
    machine.queue.push(rank, Time());
  }
  const double seconds = seconds_of([&] {
    while (sim::Event* e = machine.queue.pop(Time::never())) e->fire();
  });
  return {kMessages, checksum_of(ranks), seconds};
}

}  // namespace kernbench::bench
