// hold: 10,000 processes wait for pseudo-random times of 1 … 2²⁰ ps. Unit: a timeout.
#include <kernbench/sim.hpp>

#include <deque>
#include <queue>
#include <tuple>

#include "workload.hpp"

namespace kernbench::bench {

namespace {

constexpr int kProcesses = 10'000;
constexpr int kTimeouts = 50;

struct World {
  Lcg lcg{1};
  std::uint64_t checksum = 0;

  Time next_delay() { return Time::from_ps(1 + (lcg.next() >> 11)); }
  void note(Time now, int id) {
    checksum += static_cast<std::uint64_t>(now.ps()) ^ static_cast<std::uint64_t>(id);
  }
};

sim::Process holder(sim::Partition& here, World& world, int id) {
  for (int i = 0; i < kTimeouts; ++i) {
    co_await sim::delay(world.next_delay());
    world.note(here.now(), id);
  }
}

template <class Queue>
struct Holder : sim::Event {
  Holder(Queue& queue_, World& world_, int id_) : Event(&step), queue(queue_), world(world_), id(id_) {}

  static void step(Event& e) {
    auto& self = static_cast<Holder&>(e);
    if (self.left < kTimeouts) self.world.note(self.queue.now(), self.id);
    if (self.left-- > 0) self.queue.push(self, self.queue.now() + self.world.next_delay());
  }

  Queue& queue;
  World& world;
  int id;
  int left = kTimeouts;
};

/// The queue that the timing wheel is measured against: a binary heap of plain entries.
class HeapQueue {
 public:
  Time now() const { return now_; }
  void push(sim::Event& e, Time at) { heap_.push({at, pushed_++, &e}); }
  sim::Event* pop(Time limit) {
    if (heap_.empty() || heap_.top().at > limit) return nullptr;
    const Entry first = heap_.top();
    heap_.pop();
    now_ = first.at;
    return first.event;
  }

 private:
  struct Entry {
    Time at;
    std::uint64_t seq;
    sim::Event* event;
    bool operator<(const Entry& other) const { return std::tie(at, seq) > std::tie(other.at, other.seq); }
  };
  Time now_;
  std::uint64_t pushed_ = 0;
  std::priority_queue<Entry> heap_;
};

template <class Queue>
Result hold_on() {
  Queue queue;
  World world;
  std::deque<Holder<Queue>> holders;
  for (int id = 0; id < kProcesses; ++id) queue.push(holders.emplace_back(queue, world, id), Time());
  const double seconds = seconds_of([&] {
    while (sim::Event* e = queue.pop(Time::never())) e->fire();
  });
  return {kProcesses * kTimeouts, world.checksum, seconds};
}

}  // namespace

Result hold() {
  sim::Simulation simulation;
  World world;
  for (int id = 0; id < kProcesses; ++id)
    simulation.partition().spawn(holder(simulation.partition(), world, id));
  const double seconds = seconds_of([&] { simulation.run(); });
  return {kProcesses * kTimeouts, world.checksum, seconds};
}

Result hold_bare() { return hold_on<sim::EventQueue>(); }
Result hold_heap() { return hold_on<HeapQueue>(); }

}  // namespace kernbench::bench
