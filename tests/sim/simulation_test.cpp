#include <gmock/gmock.h>
#include <kernbench/sim.hpp>

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace kernbench::sim::simulation_test {
namespace {

/// A world without meaning but with much traffic: per partition some processes that work pseudo-random times,
/// meet in a FIFO, and send letters to other partitions, many at equal instants. Every event is folded into
/// its partition's hash, so that the hashes are equal only if the order of events is.
class Traffic {
 public:
  static constexpr int kPartitions = 6;
  static constexpr int kProcesses = 5;

  explicit Traffic(std::int64_t letters_per_partition = 400)
      : sim_(kPartitions, 16_ps), left_(letters_per_partition) {
    for (int p = 0; p < kPartitions; ++p) sites_.emplace_back(*this, p);
    for (auto& site : sites_)
      for (int i = 0; i < kProcesses; ++i) site.here.spawn(work(site, i));
    for (auto& site : sites_) site.here.spawn(collect(site));
  }

  Simulation& sim() { return sim_; }
  void stop_at_letter(int partition, std::int64_t letter) {
    sites_[static_cast<std::size_t>(partition)].stop_at = letter;
  }
  std::vector<std::uint64_t> hashes() const {
    std::vector<std::uint64_t> all;
    for (const auto& site : sites_) all.push_back(site.hash);
    return all;
  }
  std::uint64_t hash() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t h : hashes()) sum = (sum ^ h) * 0x100000001b3;
    return sum;
  }

 private:
  struct Site;

  struct Parcel : Event {
    explicit Parcel(int from_, int id_) : Event(&arrive), from(from_), id(id_) {}
    static void arrive(Event& e) {
      auto& parcel = static_cast<Parcel&>(e);
      parcel.at->fold(parcel.from * 1000 + parcel.id);
      parcel.at->inbox.try_put(&parcel);
    }
    int from;
    int id;
    Site* at = nullptr;
  };

  struct Site {
    Site(Traffic& traffic, int id_)
        : here(traffic.sim_.partition(id_)),
          id(id_),
          inbox(here),
          free(here),
          left(traffic.left_),
          all(traffic.sites_) {
      for (int i = 0; i < 3 * kProcesses; ++i) free.try_put(&parcels.emplace_back(id, i));
    }
    void fold(std::int64_t what) {
      hash = (hash ^ static_cast<std::uint64_t>(what)) * 0x100000001b3;
      hash = (hash ^ static_cast<std::uint64_t>(here.now().ps())) * 0x100000001b3;
    }
    std::uint32_t random() { return seed = (seed * 1103515245U + 12345U) & 0x7fffffffU; }

    Partition& here;
    int id;
    std::deque<Parcel> parcels;
    Fifo<Parcel*> inbox;
    Fifo<Parcel*> free;
    std::int64_t left;
    std::int64_t stop_at = INT64_MIN;
    std::deque<Site>& all;
    std::uint64_t hash = 0xcbf29ce484222325;
    std::uint32_t seed = static_cast<std::uint32_t>(id) + 1;
  };

  static Process work(Site& site, int id) {
    while (site.left > 0) {
      co_await delay(Time::from_ps(site.random() >> 20));  // up to 2 ns
      site.fold(id);
      Parcel* parcel = co_await site.free.get();
      if (--site.left == site.stop_at) site.here.stop();
      parcel->at = &site.all[site.random() / 7 % kPartitions];
      // Arrivals on multiples of 8 ps: ties within and across partitions.
      const std::int64_t arrival = (site.here.now().ps() + 16 + (site.random() >> 24)) / 8 * 8 + 8;
      site.here.post(parcel->at->here, *parcel, Time::from_ps(arrival) - site.here.now());
    }
  }
  // Parcels stay where they arrive and are sent on from there.
  static Process collect(Site& site) {
    while (true) {
      Parcel* parcel = co_await site.inbox.get();
      co_await delay(8_ps);
      site.fold(-1);
      co_await site.free.put(parcel);
    }
  }

  Simulation sim_;
  std::int64_t left_;
  std::deque<Site> sites_;
};

// The one golden number of the event kernel: the same in every build type, with every number of threads, on
// every machine.
constexpr std::uint64_t kGoldenHash = 16860560244058867081U;

TEST(Simulation, TheOrderOfEventsIsTheSameInEveryBuildAndOnEveryMachine) {
  Traffic traffic;
  EXPECT_EQ(traffic.sim().run(), Outcome::drained);
  EXPECT_EQ(traffic.hash(), kGoldenHash);
}

TEST(Simulation, TheOrderOfEventsIsTheSameWithAnyNumberOfThreads) {
  Traffic reference;
  reference.sim().run();
  const auto events = reference.sim().counters().events;
  EXPECT_GT(events, 6U * 400U * 3U);
  for (const int threads : {2, 3, 4, 6, 16})
    for (const Sharing sharing : {Sharing::always, Sharing::unless_crowded, Sharing::where_it_pays}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, sharing " << static_cast<int>(sharing));
      Traffic traffic;
      EXPECT_EQ(traffic.sim().run({.threads = threads, .sharing = sharing}), Outcome::drained);
      EXPECT_EQ(traffic.hashes(), reference.hashes());
      EXPECT_EQ(traffic.sim().counters().events, events);
      EXPECT_EQ(traffic.sim().now(), reference.sim().now());
    }
}

/// Every partition ticks, a hundred times at each instant; in the second half of the time only the first one does.
class Crowd {
 public:
  static constexpr int kPartitions = 3, kTickers = 100, kTicks = 50;
  Crowd() {
    for (int p = 0; p < kPartitions; ++p)
      for (int i = 0; i < kTickers; ++i)
        sim.partition(p).spawn(tick(sim.partition(p), *this, p == 0 ? 2 * kTicks : kTicks));
  }

  Simulation sim{kPartitions, 10_ps};
  std::array<std::set<std::thread::id>, kPartitions> ran_on;

 private:
  static Process tick(Partition& here, Crowd& crowd, int ticks) {
    for (int i = 0; i < ticks; ++i) {
      co_await delay(10_ps);
      crowd.ran_on[static_cast<std::size_t>(here.id())].insert(std::this_thread::get_id());
    }
  }
};

TEST(Simulation, WhereItPaysWindowsAreSharedWhileSeveralPartitionsAreBusy) {
  Crowd crowd;
  EXPECT_EQ(crowd.sim.run({.threads = 3, .sharing = Sharing::where_it_pays}), Outcome::drained);
  // 300 events a window, of which the others take 200 off the caller: each partition has a thread.
  EXPECT_GE(crowd.ran_on[1].size(), 2U) << "the caller at first, then a thread";
  EXPECT_GE(crowd.ran_on[2].size(), 2U);
  // 100 tickers start; 100, 50 and 50 ticks each.
  EXPECT_EQ(crowd.sim.counters().events, 300U + 100U * (100U + 50U + 50U));
  EXPECT_EQ(crowd.sim.now(), 1000_ps);
}

TEST(Simulation, WhereItDoesNotPayNobodyIsWoken) {
  Simulation sim(3, 10_ps);
  std::set<std::thread::id> threads;
  for (int p = 0; p < 3; ++p)
    sim.partition(p).spawn([](std::set<std::thread::id>& ran_on) -> Process {
      for (int i = 0; i < 100; ++i) {
        co_await delay(10_ps);
        ran_on.insert(std::this_thread::get_id());
      }
    }(threads));
  EXPECT_EQ(sim.run({.threads = 3, .sharing = Sharing::where_it_pays}), Outcome::drained);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

Process waits_for_ever() { co_await delay(Time::from_ps(std::int64_t{1} << 61)); }

/// Spawns, within a run, a process that is still there when the simulation goes.
Process makes_another(Partition& here) {
  co_await delay(1_ps);
  here.spawn(waits_for_ever());
}

// Threads of a run make frames; the thread that destroys the simulation frees them.
TEST(Simulation, LeavesNoMemoryBehindWhateverThreadsItRanOn) {
  const auto in_use = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  const auto live_once = [] {
    Simulation sim(3, 10_ps);
    for (int p = 0; p < 3; ++p) sim.partition(p).spawn(makes_another(sim.partition(p)));
    EXPECT_EQ(sim.run({.until = 1_ns, .threads = 3}), Outcome::limit);
  };
  live_once();
  const auto before = in_use();
  for (int i = 0; i < 50; ++i) live_once();
  EXPECT_LT(in_use(), before + 10 * 65'536) << "each time two threads make a slab of 64 KiB";
}

// Threads without a core would wait for each other in every window.
TEST(Simulation, OnMoreThreadsThanCoresMostWindowsAreRunByOne) {
  const int partitions = 2 * static_cast<int>(std::thread::hardware_concurrency()) + 2;
  constexpr int kWindows = 2000;
  Simulation sim(partitions, 10_ps);
  std::vector<std::vector<std::thread::id>> ran_on(static_cast<std::size_t>(partitions));
  for (int p = 0; p < partitions; ++p)
    sim.partition(p).spawn([](std::vector<std::thread::id>& threads) -> Process {
      for (int i = 0; i < kWindows; ++i) {
        co_await delay(10_ps);
        threads.push_back(std::this_thread::get_id());
      }
    }(ran_on[static_cast<std::size_t>(p)]));
  EXPECT_EQ(sim.run({.threads = partitions, .sharing = Sharing::unless_crowded}), Outcome::drained);
  int shared = 0;
  for (std::size_t i = 0; i < kWindows; ++i) shared += ran_on.front().at(i) != ran_on.back().at(i);
  EXPECT_LT(shared, kWindows / 4);
}

TEST(Simulation, RunningInSlicesOfTimeChangesNothing) {
  Traffic reference;
  reference.sim().run();
  Traffic traffic;
  Time until;
  for (int i = 0; traffic.sim().run({.until = until, .threads = 1 + i % 3}) != Outcome::drained; ++i)
    until += 777_ps;
  EXPECT_EQ(traffic.hashes(), reference.hashes());
}

TEST(Simulation, AStopEndsTheRunAtTheSamePlaceWithAnyNumberOfThreadsAndTheNextRunGoesOnExactly) {
  Traffic reference;
  reference.sim().run();
  std::vector<std::vector<std::uint64_t>> at_stop;
  for (const int threads : {1, 2, 4}) {
    Traffic traffic;
    traffic.stop_at_letter(2, 200);
    traffic.stop_at_letter(5, 100);
    EXPECT_EQ(traffic.sim().run({.threads = threads}), Outcome::stopped);
    at_stop.push_back(traffic.hashes());
    EXPECT_EQ(traffic.sim().run({.threads = 5 - threads}), Outcome::stopped);
    EXPECT_EQ(traffic.sim().run({.threads = threads}), Outcome::drained);
    EXPECT_EQ(traffic.hashes(), reference.hashes());
  }
  EXPECT_EQ(at_stop[0], at_stop[1]);
  EXPECT_EQ(at_stop[0], at_stop[2]);
  EXPECT_NE(at_stop[0], reference.hashes());
}

TEST(Simulation, TwoSimulationsSideBySideDoNotDisturbEachOther) {
  Traffic reference;
  reference.sim().run();
  Traffic a, b;
  Time until;
  while (a.sim().run({.until = until}) != Outcome::drained) b.sim().run({.until = until += 500_ps});
  b.sim().run();
  EXPECT_EQ(a.hashes(), reference.hashes());
  EXPECT_EQ(b.hashes(), reference.hashes());
}

Process ticker(Partition& here, int ticks, int stop_at) {
  for (int i = 1; i <= ticks; ++i) {
    co_await delay(10_ps);
    if (i == stop_at) here.stop();
  }
}

TEST(Simulation, RunsEveryEventUpToAndIncludingTheLimit) {
  Simulation sim;
  sim.partition().spawn(ticker(sim.partition(), 5, 0));
  EXPECT_EQ(sim.run({.until = 29_ps}), Outcome::limit);
  EXPECT_EQ(sim.now(), 29_ps);
  EXPECT_EQ(sim.counters().events, 3U);  // the start, 10, 20
  EXPECT_EQ(sim.run({.until = 30_ps}), Outcome::limit);
  EXPECT_EQ(sim.counters().events, 4U);
  EXPECT_EQ(sim.run({.until = 1_us}), Outcome::drained);
  EXPECT_EQ(sim.now(), 50_ps) << "nothing happens after the last event";
}

TEST(Simulation, AStopEndsTheRunRightAfterThePresentEvent) {
  Simulation sim;
  sim.partition().spawn(ticker(sim.partition(), 5, 2));
  EXPECT_EQ(sim.run(), Outcome::stopped);
  EXPECT_EQ(sim.now(), 20_ps);
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_EQ(sim.now(), 50_ps);
}

Process forever(std::atomic<bool>& interrupt, int set_at) {
  for (int i = 0;; ++i) {
    if (i == set_at) interrupt = true;
    co_await delay(1_ps);
  }
}

TEST(Simulation, AnInterruptFromOutsideEndsARunThatNeverEnds) {
  for (const int partitions : {1, 2}) {
    std::atomic<bool> interrupt = false;
    Simulation sim(partitions, 1_us);
    for (int p = 0; p < partitions; ++p) sim.partition(p).spawn(forever(interrupt, p == 0 ? 5000 : -1));
    EXPECT_EQ(sim.run({.threads = 2, .interrupt = &interrupt}), Outcome::interrupted);
    EXPECT_GE(sim.now(), 5000_ps);
    const Time then = sim.now();
    interrupt = false;
    EXPECT_EQ(sim.run({.until = then + 1_ns, .interrupt = &interrupt}), Outcome::limit);
  }
}

/// Chooses again in every round of one instant, so that the clock stands still for ever.
struct Undecided : Event {
  Undecided(Partition& here_, std::atomic<bool>& interrupt_)
      : Event(&again), here(here_), interrupt(interrupt_) {}
  static void again(Event& e) {
    auto& self = static_cast<Undecided&>(e);
    if (++self.rounds == 5000) self.interrupt = true;
    self.here.choose(self, 0);
  }
  Partition& here;
  std::atomic<bool>& interrupt;
  int rounds = 0;
};

// 5,000 rounds before the interrupt, and at most 1,024 events until it is looked for.
TEST(Simulation, RunThatOnlyChoosesAtOneInstantAnswersAnInterrupt) {
  std::atomic<bool> interrupt = false;
  Simulation sim(1, 1_us);
  Undecided undecided(sim.partition(0), interrupt);
  sim.partition(0).schedule(undecided, 3_ps);
  EXPECT_EQ(sim.run({.interrupt = &interrupt}), Outcome::interrupted);
  EXPECT_LE(undecided.rounds, 5000 + 1024);
  EXPECT_EQ(sim.now(), 3_ps);
}

/// One event, then one choice, and so on: with two kinds of events no kind alone reaches every count.
Process chooses_at_each_instant(std::atomic<bool>& interrupt) {
  for (int i = 0;; ++i) {
    if (i == 5000) interrupt = true;
    co_await delay(1_ps);
    co_await choice(0);
  }
}

TEST(Simulation, RunOfEventsAndChoicesByTurnsAnswersAnInterrupt) {
  std::atomic<bool> interrupt = false;
  Simulation sim(1, 1_us);
  sim.partition(0).spawn(chooses_at_each_instant(interrupt));
  EXPECT_EQ(sim.run({.interrupt = &interrupt}), Outcome::interrupted);
  EXPECT_LE(sim.now(), 6100_ps);
}

Process sleeps_for_good(bool& woken, Time length) {
  co_await delay(5_ps);
  co_await delay(length);
  woken = true;
}

TEST(Simulation, DelayOfNeverSleepsUntilTheSimulationIsDestroyed) {
  for (const Time length :
       {Time::never(), Time::never() - 3_ps}) {  // from 5 ps on both are beyond every instant
    bool woken = false;
    Simulation sim(1, 1_us);
    sim.partition(0).spawn(sleeps_for_good(woken, length));
    EXPECT_EQ(sim.run(), Outcome::drained);
    EXPECT_FALSE(woken);
    EXPECT_EQ(sim.now(), 5_ps);
    EXPECT_TRUE(sim.idle());
  }
}

struct Bomb : Event {
  explicit Bomb(const char* what_) : Event(&explode), what(what_) {}
  static void explode(Event& e) { throw std::runtime_error(static_cast<Bomb&>(e).what); }
  const char* what;
};

TEST(Simulation, EventForNeverIsNotScheduledInAnyPartition) {
  Simulation sim(2, 10_ps);
  Bomb own("own"), other("other"), at("at");
  sim.partition(0).schedule(own, Time::never());
  sim.partition(0).schedule_at(at, Time::never());
  sim.partition(0).post(sim.partition(1), other, Time::never());
  EXPECT_FALSE(own.scheduled() || other.scheduled() || at.scheduled());
  EXPECT_EQ(sim.run(), Outcome::drained);
  sim.partition(0).schedule(own, 1_ps);  // it can be scheduled for an instant afterwards
  EXPECT_THROW(sim.run(), std::runtime_error);
}

TEST(Simulation, OfSeveralExceptionsTheEarliestComesOutOfRunWithAnyNumberOfThreads) {
  for (const int threads : {1, 3}) {
    Simulation sim(3, 100_ps);
    Bomb late("late"), early("early"), same("same time, higher partition");
    sim.partition(0).schedule(late, 60_ps);
    sim.partition(1).schedule(early, 50_ps);
    sim.partition(2).schedule(same, 50_ps);
    try {
      sim.run({.threads = threads});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "early");
    }
    EXPECT_EQ(sim.run({.threads = threads}), Outcome::drained);
  }
}

TEST(Simulation, WhatIsScheduledBetweenRunsCannotReachIntoAnothersPast) {
  Simulation sim(2, 10_ps);
  sim.partition(1).spawn(ticker(sim.partition(1), 100, 0));
  sim.run();
  EXPECT_EQ(sim.partition(0).now(), 1000_ps) << "an idle partition keeps up";
  Bomb bomb("arrives");
  sim.partition(0).post(sim.partition(1), bomb, 10_ps);
  EXPECT_THROW(sim.run(), std::runtime_error);
  EXPECT_EQ(sim.now(), 1010_ps);
}

TEST(Simulation, IdlePartitionsTakeNoPartInTheRun) {
  Simulation sim(257, 100_ns);
  sim.partition(17).spawn(ticker(sim.partition(17), 1000, 0));
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_EQ(sim.counters().events, 1001U);
  EXPECT_EQ(sim.partition(16).events(), 0U);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need address space themselves
/// Runs on eight threads where there is room for the stacks of but a few.
void run_short_of_threads() {
  constexpr std::size_t kStack = 64 << 20;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_setattr_default_np(&attributes);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t room = pages * static_cast<std::size_t>(::getpagesize()) + 3 * kStack;
  const rlimit limit{room, room};
  ::setrlimit(RLIMIT_AS, &limit);
  ::alarm(60);  // rather than hang

  Simulation sim(8, 10_ps);
  for (int p = 0; p < 8; ++p)
    for (int i = 0; i < 50; ++i) sim.partition(p).spawn(ticker(sim.partition(p), 100, 0));
  const Outcome outcome = sim.run({.threads = 8});
  std::fprintf(stderr, "%d of 8 threads were missing", sim.counters().threads_missing);
  std::exit(outcome == Outcome::drained && sim.now() == 1000_ps ? 0 : 1);
}

TEST(Simulation, DoesWithoutThreadsThatCannotBeStartedAndCountsThem) {
  EXPECT_EXIT(run_short_of_threads(), ::testing::ExitedWithCode(0), "[5-7] of 8 threads were missing");
}
#endif

TEST(Simulation, NeedsAPartitionAndALookahead) {
  EXPECT_THROW(Simulation(0), InternalError);
  EXPECT_THROW(Simulation(2, 0_ps), InternalError);
}

}  // namespace
}  // namespace kernbench::sim::simulation_test
