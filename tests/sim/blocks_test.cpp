#include <gmock/gmock.h>
#include <kernbench/sim.hpp>

#include <memory>
#include <string>
#include <vector>

namespace kernbench::sim::blocks_test {
namespace {

using ::testing::ElementsAre;

struct Blocks : ::testing::Test {
  Simulation sim;
  Partition& here = sim.partition();
  std::vector<std::string> log;

  void note(const std::string& what) { log.push_back(std::to_string(here.now().ps()) + " " + what); }
};

using FifoTest = Blocks;
using ServerTest = Blocks;
using LinkTest = Blocks;
using SignalTest = Blocks;
using ResourceTest = Blocks;

Process producer(Blocks& t, Fifo<int>& fifo, int first, int count, Time period) {
  for (int i = first; i < first + count; ++i) {
    co_await fifo.put(i);
    t.note("put " + std::to_string(i));
    if (period > 0_ps) co_await delay(period);
  }
}

Process consumer(Blocks& t, Fifo<int>& fifo, std::string name, int count, Time period) {
  for (int i = 0; i < count; ++i) {
    if (period > 0_ps) co_await delay(period);
    const int item = co_await fifo.get();
    t.note(name + " got " + std::to_string(item));
  }
}

TEST_F(FifoTest, APutWaitsForRoom) {
  Fifo<int> fifo(here, 2);
  here.spawn(producer(*this, fifo, 1, 4, 0_ps));
  here.spawn(consumer(*this, fifo, "c", 4, 10_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 put 1", "0 put 2", "10 c got 1", "10 put 3", "20 c got 2", "20 put 4",
                               "30 c got 3", "40 c got 4"));
}

TEST_F(FifoTest, AGetWaitsForAnItemAndTheFirstToWaitIsServedFirst) {
  Fifo<int> fifo(here, 4);
  here.spawn(consumer(*this, fifo, "a", 2, 0_ps));
  here.spawn(consumer(*this, fifo, "b", 2, 0_ps));
  here.spawn(producer(*this, fifo, 1, 4, 5_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 put 1", "0 a got 1", "5 put 2", "5 b got 2", "10 put 3", "10 a got 3",
                               "15 put 4", "15 b got 4"));
}

TEST_F(FifoTest, PuttersAreServedInOrderOfArrival) {
  Fifo<int> fifo(here, 1);
  for (int i = 1; i <= 4; ++i) here.spawn(producer(*this, fifo, i, 1, 0_ps));
  here.spawn(consumer(*this, fifo, "c", 4, 3_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 put 1", "3 c got 1", "3 put 2", "6 c got 2", "6 put 3", "9 c got 3",
                               "9 put 4", "12 c got 4"));
}

TEST_F(FifoTest, WithCapacityZeroPutAndGetMeet) {
  Fifo<int> fifo(here, 0);
  here.spawn(producer(*this, fifo, 1, 2, 0_ps));
  here.spawn(consumer(*this, fifo, "c", 2, 6_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("6 c got 1", "6 put 1", "12 c got 2", "12 put 2"));
}

TEST_F(FifoTest, HandlersTryWithoutWaiting) {
  Fifo<int> fifo(here, 2);
  int item = 0;
  EXPECT_FALSE(fifo.try_get(item));
  EXPECT_TRUE(fifo.try_put(7));
  EXPECT_TRUE(fifo.try_put(8));
  EXPECT_FALSE(fifo.try_put(9));
  EXPECT_TRUE(fifo.try_get(item));
  EXPECT_EQ(item, 7);
  EXPECT_EQ(fifo.size(), 1U);
}

TEST_F(FifoTest, KeepsOrderWhileItGrows) {
  Fifo<int> fifo(here);
  int next = 0;
  int expected = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(fifo.try_put(next++));
    int item = -1;
    EXPECT_TRUE(fifo.try_get(item));
    EXPECT_EQ(item, expected++);
  }
  EXPECT_EQ(fifo.size(), 100U);  // 150 put, 50 taken
  for (int item = -1; fifo.try_get(item);) EXPECT_EQ(item, expected++);
  EXPECT_EQ(expected, 150);
}

TEST_F(FifoTest, CarriesItemsThatOnlyMove) {
  Fifo<std::unique_ptr<int>> fifo(here, 1);
  int seen = 0;
  here.spawn([](Fifo<std::unique_ptr<int>>& f) -> Process {
    auto item = std::make_unique<int>(42);
    co_await f.put(std::move(item));
  }(fifo));
  here.spawn([](Fifo<std::unique_ptr<int>>& f, int& out) -> Process {
    const auto item = co_await f.get();
    out = *item;
  }(fifo, seen));
  sim.run();
  EXPECT_EQ(seen, 42);
}

Process customer(Blocks& t, Server& server, std::string name, Time arrival, Time service) {
  co_await delay(arrival);
  co_await server.serve(service);
  t.note(name);
}

TEST_F(ServerTest, ServesInOrderOfArrivalOneAtATime) {
  Server server(here);
  here.spawn(customer(*this, server, "a", 10_ps, 5_ps));
  here.spawn(customer(*this, server, "b", 12_ps, 1_ps));
  here.spawn(customer(*this, server, "c", 30_ps, 2_ps));
  sim.run();
  // a: 10 + 5; b waits for a: 15 + 1; c finds the server free: 30 + 2
  EXPECT_THAT(log, ElementsAre("15 a", "16 b", "32 c"));
  EXPECT_EQ(server.free_at(), 32_ps);
}

Process traveller(Blocks& t, Link& link, std::string name, Time arrival, Time occupancy) {
  co_await delay(arrival);
  co_await link.cross(occupancy);
  t.note(name);
}

TEST_F(LinkTest, MessagesSerialiseAndThenFly) {
  Link link(here, 100_ps);
  here.spawn(traveller(*this, link, "a", 0_ps, 20_ps));
  here.spawn(traveller(*this, link, "b", 0_ps, 20_ps));
  here.spawn(traveller(*this, link, "c", 39_ps, 5_ps));
  sim.run();
  // a: 0 + 20 + 100; b starts at 20: 40 + 100; c starts at 40: 45 + 100
  EXPECT_THAT(log, ElementsAre("120 a", "140 b", "145 c"));
  EXPECT_EQ(sim.counters().events, 3U * 3U) << "start, delay and one event per crossing";
}

Process listener(Blocks& t, Signal& signal, std::string name, int times) {
  for (int i = 0; i < times; ++i) {
    co_await signal.wait();
    t.note(name);
  }
}

TEST_F(SignalTest, NotifyWakesThoseWhoWaitNowInOrder) {
  Signal signal(here);
  here.spawn(listener(*this, signal, "a", 2));
  here.spawn(listener(*this, signal, "b", 1));
  here.spawn([](Signal& s) -> Process {
    co_await delay(5_ps);
    s.notify();
    s.notify();  // nobody waits at this moment: lost
    co_await delay(5_ps);
    s.notify();
  }(signal));
  sim.run();
  EXPECT_THAT(log, ElementsAre("5 a", "5 b", "10 a"));
}

// The listener goes on in the midst of the one who resumes it, also where that is its end.
TEST_F(SignalTest, ResumeLetsOneGoOnWithinTheEvent) {
  Signal signal(here);
  here.spawn(listener(*this, signal, "heard", 2));
  here.spawn([](SignalTest& t, Signal& s) -> Process {
    co_await delay(5_ps);
    for (int i = 0; i < 3; ++i) {  // the third time nobody waits
      s.resume();
      t.note("resumed");
    }
  }(*this, signal));
  sim.run();
  EXPECT_THAT(log, ElementsAre("5 heard", "5 resumed", "5 heard", "5 resumed", "5 resumed"));
  EXPECT_EQ(sim.counters().events, 3U) << "two starts and a delay";
}
TEST_F(SignalTest, ResumeIsForOneWhoWaits) {
  Signal signal(here);
  here.spawn(listener(*this, signal, "a", 1));
  here.spawn(listener(*this, signal, "b", 1));
  sim.run();
  EXPECT_THROW(signal.resume(), InternalError);
}

Process user(Blocks& t, Resource& resource, std::string name, std::int64_t n, Time length) {
  const auto hold = co_await resource.hold(n);
  t.note(name + " has " + std::to_string(n));
  co_await delay(length);
}

TEST_F(ResourceTest, UnitsAreGrantedInOrderOfArrivalAndALargeRequestIsNotOvertaken) {
  Resource resource(here, 3);
  here.spawn(user(*this, resource, "a", 2, 10_ps));
  here.spawn(user(*this, resource, "b", 3, 10_ps));
  here.spawn(user(*this, resource, "c", 1, 10_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 a has 2", "10 b has 3", "20 c has 1"));
  EXPECT_EQ(resource.free(), 3);
}

TEST_F(ResourceTest, ReleasesMayBeExplicitAndComeFromElsewhere) {
  Resource credits(here, 1);
  here.spawn([](Blocks& t, Resource& r) -> Process {
    for (int i = 0; i < 3; ++i) {
      co_await r.acquire();
      t.note("send");
    }
  }(*this, credits));
  here.spawn([](Resource& r) -> Process {
    for (int i = 0; i < 2; ++i) {
      co_await delay(4_ps);
      r.release();
    }
  }(credits));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 send", "4 send", "8 send"));
  EXPECT_EQ(credits.free(), 0);
}

TEST_F(ResourceTest, MisuseIsAnAssertion) {
  Resource resource(here, 2);
  EXPECT_THROW(resource.release(), InternalError);
  Resource other(here, 2);
  EXPECT_THROW((void)other.acquire(3), InternalError);
}

TEST_F(ResourceTest, AHoldOfADestroyedProcessDoesNotTouchAResourceThatIsGone) {
  auto resource = std::make_unique<Resource>(here, 1);
  here.spawn(user(*this, *resource, "a", 1, 1_ms));
  here.spawn(user(*this, *resource, "b", 1, 1_ms));
  sim.run({.until = 5_ps});
  resource.reset();
  sim.reset();
  EXPECT_THAT(log, ElementsAre("0 a has 1"));
}

TEST(BlocksOfPartitions, AProcessCannotWaitInAnotherPartition) {
  Simulation sim(2, 10_ps);
  Fifo<int> fifo(sim.partition(1), 1);
  sim.partition(0).spawn([](Fifo<int>& f) -> Process { co_await f.get(); }(fifo));
  EXPECT_THROW(sim.run(), InternalError);
}

}  // namespace
}  // namespace kernbench::sim::blocks_test
