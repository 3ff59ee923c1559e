// hold: 10,000 processes wait for pseudo-random times of 1 … 2²⁰ ps. Unit: a timeout.
#include <kernbench/sim.hpp>

#include <deque>

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

struct Holder : sim::Event {
  Holder(sim::EventQueue& queue_, World& world_, int id_)
      : Event(&fire), queue(queue_), world(world_), id(id_) {}

  static void fire(Event& e) {
    auto& self = static_cast<Holder&>(e);
    if (self.left < kTimeouts) self.world.note(self.queue.now(), self.id);
    if (self.left-- > 0) self.queue.push(self, self.queue.now() + self.world.next_delay());
  }

  sim::EventQueue& queue;
  World& world;
  int id;
  int left = kTimeouts;
};

}  // namespace

Result hold() {
  sim::Simulation simulation;
  World world;
  for (int id = 0; id < kProcesses; ++id)
    simulation.partition().spawn(holder(simulation.partition(), world, id));
  const double seconds = seconds_of([&] { simulation.run(); });
  return {kProcesses * kTimeouts, world.checksum, seconds};
}

Result hold_bare() {
  sim::EventQueue queue;
  World world;
  std::deque<Holder> holders;
  for (int id = 0; id < kProcesses; ++id) queue.push(holders.emplace_back(queue, world, id), Time());
  const double seconds = seconds_of([&] {
    while (sim::Event* e = queue.pop(Time::never())) e->fire();
  });
  return {kProcesses * kTimeouts, world.checksum, seconds};
}

}  // namespace kernbench::bench
