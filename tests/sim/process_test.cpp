#include <gmock/gmock.h>
#include <kernbench/sim.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace kernbench::sim::process_test {
namespace {

using ::testing::ElementsAre;
using Log = std::vector<std::string>;

std::string at(const Partition& here, const std::string& what) {
  return std::to_string(here.now().ps()) + " " + what;
}

Process sleeper(Partition& here, Log& log, std::string name, Time first, Time second) {
  log.push_back(at(here, name));
  co_await delay(first);
  log.push_back(at(here, name));
  co_await delay(second);
  log.push_back(at(here, name));
}

TEST(Process, DelaysAddUpAndProcessesInterleaveByTimeThenInsertion) {
  Simulation sim;
  Log log;
  sim.partition().spawn(sleeper(sim.partition(), log, "a", 5_ps, 5_ps));
  sim.partition().spawn(sleeper(sim.partition(), log, "b", 4_ps, 6_ps));
  EXPECT_EQ(sim.run(), Outcome::drained);
  // At 10 ps b comes first: its second delay was scheduled at 4 ps, a's at 5 ps.
  EXPECT_THAT(log, ElementsAre("0 a", "0 b", "4 b", "5 a", "10 b", "10 a"));
}

TEST(Process, ADelayOfZeroLetsOthersOfThisInstantGoFirst) {
  Simulation sim;
  Log log;
  sim.partition().spawn(sleeper(sim.partition(), log, "a", 0_ps, 0_ps));
  sim.partition().spawn(sleeper(sim.partition(), log, "b", 0_ps, 0_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 a", "0 b", "0 a", "0 b", "0 a", "0 b"));
}

Process chooser(Partition& here, Log& log, std::string name, std::uint64_t rank) {
  co_await choice(rank);
  log.push_back(at(here, name));
}

TEST(Process, AChoiceIsMadeWhenEverythingOfThisInstantHasComeByRank) {
  Simulation sim;
  Log log;
  sim.partition().spawn(chooser(sim.partition(), log, "second", 2));
  sim.partition().spawn(chooser(sim.partition(), log, "first", 1));
  sim.partition().spawn(sleeper(sim.partition(), log, "a", 0_ps, 1_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("0 a", "0 a", "0 first", "0 second", "1 a"));
}

TEST(Process, ANegativeDelayIsAnAssertion) {
  Simulation sim;
  Log log;
  sim.partition().spawn(sleeper(sim.partition(), log, "a", 0_ps - 1_ps, 0_ps));
  EXPECT_THROW(sim.run(), InternalError);
}

Task<int> add_slowly(int a, int b) {
  co_await delay(3_ps);
  co_return a + b;
}

Task<int> sum_to(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum = co_await add_slowly(sum, i);
  co_return sum;
}

TEST(Task, ResultsAndTimePassThroughNestedTasks) {
  Simulation sim;
  int result = 0;
  sim.partition().spawn([](int& out) -> Process { out = co_await sum_to(4); }(result));
  sim.run();
  EXPECT_EQ(result, 10);
  EXPECT_EQ(sim.now(), 12_ps);  // 4 additions of 3 ps
}

Task<int> at_once(int i) { co_return i; }

Process await_at_once(int n, std::int64_t& sum) {
  for (int i = 0; i < n; ++i) sum += co_await at_once(1);
}

TEST(Task, AMillionAwaitsThatCompleteAtOnceNeedNoStack) {
  Simulation sim;
  std::int64_t sum = 0;
  sim.partition().spawn(await_at_once(1'000'000, sum));
  sim.run();
  EXPECT_EQ(sum, 1'000'000);
  EXPECT_EQ(sim.counters().events, 1U);
}

Task<int> depth(int n) {
  if (n == 0) {
    co_await delay(1_ps);
    co_return 0;
  }
  co_return 1 + co_await depth(n - 1);
}

Process await_suspended(int n, std::int64_t& sum) {
  for (int i = 0; i < n; ++i) sum += co_await depth(3);
}

TEST(Task, AHundredThousandAwaitsThatSuspendNeedNoStack) {
  Simulation sim;
  std::int64_t sum = 0;
  sim.partition().spawn(await_suspended(100'000, sum));
  sim.run();
  EXPECT_EQ(sum, 300'000);
  EXPECT_EQ(sim.now(), 100'000_ps);
}

TEST(Task, AMillionPutsAndGetsWithoutWaitingNeedNoStack) {
  Simulation sim;
  Fifo<int> fifo(sim.partition(), 1);
  std::int64_t sum = 0;
  sim.partition().spawn([](Fifo<int>& f, std::int64_t& out) -> Process {
    for (int i = 0; i < 1'000'000; ++i) {
      co_await f.put(1);
      out += co_await f.get();
    }
  }(fifo, sum));
  sim.run();
  EXPECT_EQ(sum, 1'000'000);
}

Task<int> failing(Time after) {
  if (after > 0_ps) co_await delay(after);
  throw std::runtime_error("burnt out");
}

Process catching(Log& log, Time after) {
  try {
    co_await failing(after);
  } catch (const std::runtime_error& e) {
    log.emplace_back(e.what());
  }
}

TEST(Task, AnExceptionReachesTheOneWhoAwaits) {
  Simulation sim;
  Log log;
  sim.partition().spawn(catching(log, 0_ps));
  sim.partition().spawn(catching(log, 7_ps));
  sim.run();
  EXPECT_THAT(log, ElementsAre("burnt out", "burnt out"));
}

Process not_catching(Time after) { co_await failing(after); }

TEST(Process, AnEscapingExceptionComesOutOfRunAndTheRestCanGoOn) {
  Simulation sim;
  Log log;
  sim.partition().spawn(not_catching(7_ps));
  sim.partition().spawn(sleeper(sim.partition(), log, "a", 7_ps, 1_ps));
  EXPECT_THROW(sim.run(), std::runtime_error);
  EXPECT_EQ(sim.now(), 7_ps);
  EXPECT_THAT(log, ElementsAre("0 a"));
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_THAT(log, ElementsAre("0 a", "7 a", "8 a"));
}

/// Counts how many of it exist: what a frame holds must be given back.
struct Counted {
  explicit Counted(int& n) : alive(n) { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& alive;
};

Task<> hold_while(Signal& signal, int& alive) {
  const Counted counted(alive);
  co_await signal.wait();
}

Process waits_forever(Signal& signal, int& alive) {
  const Counted counted(alive);
  co_await hold_while(signal, alive);
}

Process waits_long(int& alive) {
  const Counted counted(alive);
  co_await delay(1_ms);
}

TEST(Process, DestroyingTheSimulationDestroysSuspendedProcessesAndTheirTasks) {
  int alive = 0;
  {
    Simulation sim;
    Signal signal(sim.partition());  // gone before the processes that wait for it
    sim.partition().spawn(waits_forever(signal, alive));
    sim.partition().spawn(waits_forever(signal, alive));
    sim.partition().spawn(waits_long(alive));
    sim.run({.until = 1_us});
    EXPECT_EQ(alive, 5);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Process, OneThatIsNeverSpawnedIsDestroyed) {
  int alive = 0;
  { const Process never_spawned = waits_long(alive); }
  EXPECT_EQ(alive, 0);
}

TEST(Process, AfterAResetTheSimulationStartsAnewAtTimeZero) {
  int alive = 0;
  Simulation sim;
  Signal signal(sim.partition());
  sim.partition().spawn(waits_forever(signal, alive));
  sim.partition().spawn(waits_long(alive));
  sim.run({.until = 1_us});
  sim.reset();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(sim.now(), 0_ps);
  EXPECT_EQ(sim.counters().events, 0U);
  signal.notify();  // nobody is left to be woken
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_EQ(sim.counters().events, 0U);
  sim.partition().spawn(waits_long(alive));
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_EQ(sim.now(), 1_ms);
}

TEST(Process, ProcessesSpawnProcesses) {
  Simulation sim;
  Log log;
  sim.partition().spawn([](Partition& here, Log& out) -> Process {
    co_await delay(2_ps);
    here.spawn(sleeper(here, out, "child", 1_ps, 1_ps));
    out.push_back(at(here, "parent"));
  }(sim.partition(), log));
  sim.run();
  EXPECT_THAT(log, ElementsAre("2 parent", "2 child", "3 child", "4 child"));
}

}  // namespace
}  // namespace kernbench::sim::process_test
