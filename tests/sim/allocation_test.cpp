// No allocation per event in the steady state: counted by replacing the global operator new of this test
// program.
#include <gtest/gtest.h>
#include <kernbench/sim.hpp>

#include <utility>

#include "counting_new.hpp"

namespace kernbench::sim::allocation_test {
namespace {

Task<int> hop(Link& link, int item) {
  co_await link.cross(3_ps);
  co_return item;
}

Process forward(Fifo<int>& in, Fifo<int>& out, Link& link, Resource& credits) {
  while (true) {
    const int item = co_await in.get();
    const auto hold = co_await credits.hold();
    co_await delay(2_ps);
    const int same = co_await hop(link, item);
    co_await out.put(same);
  }
}

Process feed(Fifo<int>& out) {
  for (int i = 0;; ++i) {
    co_await delay(1_ps);
    co_await out.put(i);
  }
}

Process drain(Fifo<int>& in) {
  while (true) co_await in.get();
}

TEST(Allocation, ProcessesTasksAndBlocksAllocateNothingOnceTheyRun) {
  Simulation sim;
  Partition& here = sim.partition();
  Fifo<int> a(here, 4), b(here, 4);
  Link link(here, 10_ps);
  Resource credits(here, 2);
  here.spawn(feed(a));
  for (int i = 0; i < 3; ++i) here.spawn(forward(a, b, link, credits));
  here.spawn(drain(b));
  sim.run({.until = 1_ns});
  const auto events = sim.counters().events;
  const auto before = kernbench::testing::allocations();
  sim.run({.until = 100_ns});
  const auto allocated = kernbench::testing::allocations() - before;
  EXPECT_GT(sim.counters().events - events, 50'000U);
  EXPECT_LE(allocated, 4) << "the call of run itself may allocate";
}

/// A message that travels back and forth between two partitions.
struct Ball : Event {
  Ball(Partition& a_, Partition& b_) : Event(&hit), a(&a_), b(&b_) {}
  static void hit(Event& e) {
    auto& ball = static_cast<Ball&>(e);
    std::swap(ball.a, ball.b);
    ball.a->post(*ball.b, ball, 10_ps);
  }
  Partition* a;
  Partition* b;
};

TEST(Allocation, LettersBetweenPartitionsAllocateNothingOnceTheyRun) {
  for (const int threads : {1, 2}) {
    Simulation sim(2, 10_ps);
    Ball ball(sim.partition(0), sim.partition(1));
    sim.partition(1).schedule(ball, 0_ps);
    sim.run({.until = 1_ns, .threads = threads});
    const auto before = kernbench::testing::allocations();
    sim.run({.until = 100_ns, .threads = threads});
    EXPECT_GT(sim.counters().events, 9'000U);
    EXPECT_LE(kernbench::testing::allocations() - before, 40)
        << "for the run and its threads, with " << threads;
  }
}

}  // namespace
}  // namespace kernbench::sim::allocation_test
