#include <gmock/gmock.h>
#include <kernbench/sim.hpp>

#include <atomic>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace kernbench::sim::partition_test {
namespace {

using ::testing::ElementsAre;

/// An event that writes its name down where it fires.
struct Note : Event {
  Note(std::vector<std::string>& log_, std::string name_)
      : Event(&write), log(log_), name(std::move(name_)) {}
  static void write(Event& e) {
    auto& self = static_cast<Note&>(e);
    self.log.push_back(std::to_string(self.time().ps()) + " " + self.name);
  }
  std::vector<std::string>& log;
  std::string name;
};

TEST(Partition, OwnEventsOfOneInstantFireAsTheyWereScheduled) {
  Simulation sim;
  std::vector<std::string> log;
  Note a(log, "a"), b(log, "b"), c(log, "c");
  sim.partition().schedule(b, 5_ps);
  sim.partition().schedule(a, 5_ps);
  sim.partition().schedule_at(c, 4_ps);
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_THAT(log, ElementsAre("4 c", "5 b", "5 a"));
  EXPECT_EQ(sim.counters().events, 3U);
  EXPECT_EQ(sim.counters().peak_queue, 3U);
}

/// Asks to choose when it fires.
struct Asker : Event {
  Asker(Partition& p, Note& n, std::uint64_t r) : Event(&ask), partition(p), note(n), rank(r) {}
  static void ask(Event& e) {
    auto& self = static_cast<Asker&>(e);
    self.partition.choose(self.note, self.rank);
  }
  Partition& partition;
  Note& note;
  std::uint64_t rank;
};

TEST(Partition, WhoChoosesDoesSoWhenEverythingOfTheInstantHasComeByRank) {
  Simulation sim;
  Partition& here = sim.partition();
  std::vector<std::string> log;
  Note first(log, "rank 1"), second(log, "rank 2"), equal(log, "rank 2 again"), a(log, "a"), b(log, "b"),
      later(log, "later");
  Asker asks_second(here, second, 2), asks_equal(here, equal, 2), asks_first(here, first, 1);
  here.schedule(asks_second, 5_ps);
  here.schedule(a, 5_ps);
  here.schedule(asks_equal, 5_ps);
  here.schedule(asks_first, 5_ps);
  here.schedule(b, 5_ps);
  here.schedule(later, 6_ps);
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_THAT(log, ElementsAre("5 a", "5 b", "5 rank 1", "5 rank 2", "5 rank 2 again", "6 later"));
}

TEST(Partition, WhatAChoiceSchedulesForTheSameInstantOpensAnotherRound) {
  Simulation sim;
  Partition& here = sim.partition();
  std::vector<std::string> log;
  Note last(log, "chosen in the second round"), other(log, "chosen in the first"), event(log, "event");
  Asker asks_again(here, last, 0);
  struct Chooser : Event {
    Chooser(Partition& p, Event& n, Event& m) : Event(&fire), partition(p), next(n), more(m) {}
    static void fire(Event& e) {
      auto& self = static_cast<Chooser&>(e);
      self.partition.schedule(self.next, Time());
      self.partition.schedule(self.more, Time());
    }
    Partition& partition;
    Event &next, &more;
  } chooser(here, asks_again, event);
  here.choose(chooser, 0);
  here.choose(other, 1);
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_THAT(log, ElementsAre("0 chosen in the first", "0 event", "0 chosen in the second round"));
}

// A component of rank 5 did not ask. In the first round, rank 3 has it ask after all: it fires between 3 and
// 7. After its turn, and in later rounds, it counts as one that has chosen.
TEST(Partition, WhoDidNotAskMayAskAfterAllUntilItsTurn) {
  Simulation sim;
  Partition& here = sim.partition();
  std::vector<std::string> log;
  Note late(log, "5, after all");
  struct Looker : Event {
    Looker(Partition& p, std::vector<std::string>& l, std::uint64_t r, Event* n)
        : Event(&fire), partition(p), log(l), rank(r), next(n) {}
    static void fire(Event& e) {
      auto& self = static_cast<Looker&>(e);
      const bool over = self.partition.would_have_chosen(5, 0);
      self.log.push_back(std::to_string(self.rank) + (over ? " over" : " open"));
      if (self.rank == 3) self.partition.choose_after_all(*self.next, 5, 0);
      if (self.rank == 7) self.partition.schedule(*self.next, Time());
    }
    Partition& partition;
    std::vector<std::string>& log;
    std::uint64_t rank;
    Event* next;
  } before(here, log, 0, nullptr), again(here, log, 9, nullptr), three(here, log, 3, &late),
      seven(here, log, 7, &again);
  here.schedule(before, Time());
  here.choose(seven, 7);
  here.choose(three, 3);
  EXPECT_EQ(here.round(), 0U);
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_THAT(log, ElementsAre("0 open", "3 open", "0 5, after all", "7 over", "9 over"));
  EXPECT_EQ(here.round(), 1U);
}

TEST(Partition, AChoiceThatARunLeftOpenIsMadeInTheNext) {
  Simulation sim;
  Partition& here = sim.partition();
  std::vector<std::string> log;
  Note choice(log, "choice");
  struct Stop : Event {
    explicit Stop(Partition& p) : Event(&fire), partition(p) {}
    static void fire(Event& e) { static_cast<Stop&>(e).partition.stop(); }
    Partition& partition;
  } stop(here);
  Asker asks(here, choice, 0);
  here.schedule(asks, 5_ps);
  here.schedule(stop, 5_ps);
  EXPECT_EQ(sim.run(), Outcome::stopped);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(sim.run(), Outcome::drained);
  EXPECT_THAT(log, ElementsAre("5 choice"));
}

// Others may be ahead within the window in which a partition stopped. If nothing is left to do, a run up to that instant still leaves
// the clock of the partition there: where the others are depends on where windows began.
TEST(Partition, ARunUpToAnInstantDoesNotMoveClocksBeyondItWhenNothingIsLeft) {
  struct Stop : Event {
    explicit Stop(Partition& p) : Event(&fire), partition(p) {}
    static void fire(Event& e) { static_cast<Stop&>(e).partition.stop(); }
    Partition& partition;
  };
  for (const Time ahead : {4_ps, 9_ps, 10_ps, 40_ps}) {
    Simulation sim(2, 10_ps);
    std::vector<std::string> log;
    Note other(log, "other");
    Stop stop(sim.partition(0));
    sim.partition(0).schedule(stop, 50_ps);
    sim.partition(1).schedule(other, 50_ps + ahead);
    EXPECT_EQ(sim.run(), Outcome::stopped);
    sim.run({.until = 50_ps});
    EXPECT_EQ(sim.partition(0).now(), 50_ps) << "the other one is " << ahead.ps() << " ps ahead";
  }
}

TEST(Partition, LettersComeBeforeOwnEventsByPartitionThenSequence) {
  Simulation sim(4, 10_ps);
  std::vector<std::string> log;
  Note own1(log, "own1"), own2(log, "own2"), from2a(log, "2a"), from2b(log, "2b"), from1(log, "1"),
      from3(log, "3");
  Partition& target = sim.partition(0);
  target.schedule(own1, 50_ps);
  sim.partition(3).post(target, from3, 50_ps);
  sim.partition(2).post(target, from2a, 50_ps);
  target.schedule(own2, 50_ps);
  sim.partition(2).post(target, from2b, 50_ps);
  sim.partition(1).post(target, from1, 50_ps);
  sim.run();
  EXPECT_THAT(log, ElementsAre("50 1", "50 2a", "50 2b", "50 3", "50 own1", "50 own2"));
}

/// Posts a note to partition 0 when it fires.
struct Sender : Event {
  Sender(Partition& from_, Partition& to_, Note& note_, Time delay_)
      : Event(&send), from(from_), to(to_), note(note_), travel(delay_) {}
  static void send(Event& e) {
    auto& self = static_cast<Sender&>(e);
    self.from.post(self.to, self.note, self.travel);
  }
  Partition& from;
  Partition& to;
  Note& note;
  Time travel;
};

TEST(Partition, ALetterSentLaterFromALowerPartitionStillComesFirst) {
  Simulation sim(3, 10_ps);
  std::vector<std::string> log;
  Note early(log, "sent at 1 by 2"), late(log, "sent at 30 by 1"), own(log, "own");
  Sender from2(sim.partition(2), sim.partition(0), early, 49_ps);
  Sender from1(sim.partition(1), sim.partition(0), late, 20_ps);
  sim.partition(2).schedule(from2, 1_ps);
  sim.partition(1).schedule(from1, 30_ps);
  sim.partition(0).schedule(own, 50_ps);
  sim.run();
  EXPECT_THAT(log, ElementsAre("50 sent at 30 by 1", "50 sent at 1 by 2", "50 own"));
}

TEST(Partition, AMessageBelowTheLookaheadIsAnAssertion) {
  Simulation sim(2, 10_ps);
  std::vector<std::string> log;
  Note a(log, "a");
  EXPECT_THROW(sim.partition(0).post(sim.partition(1), a, 9_ps), InternalError);
  sim.partition(0).post(sim.partition(1), a, 10_ps);
  sim.run();
  EXPECT_THAT(log, ElementsAre("10 a"));
}

TEST(Partition, APostToItselfIsAnOwnEvent) {
  Simulation sim(2, 10_ps);
  std::vector<std::string> log;
  Note a(log, "a"), b(log, "b");
  sim.partition(0).schedule(a, 3_ps);
  sim.partition(0).post(sim.partition(0), b, 3_ps);
  sim.run();
  EXPECT_THAT(log, ElementsAre("3 a", "3 b"));
}

TEST(Partition, CancelledEventsDoNotFire) {
  Simulation sim;
  std::vector<std::string> log;
  Note a(log, "a"), b(log, "b");
  sim.partition().schedule(a, 5_ps);
  sim.partition().schedule(b, 5_ps);
  EXPECT_TRUE(sim.partition().cancel(a));
  EXPECT_FALSE(sim.partition().cancel(a));
  sim.run();
  EXPECT_THAT(log, ElementsAre("5 b"));
}

TEST(Partition, APostedLetterCannotBeCancelled) {
  Simulation sim(2, 10_ps);
  std::vector<std::string> log;
  Note a(log, "a");
  sim.partition(0).post(sim.partition(1), a, 10_ps);
  EXPECT_FALSE(sim.partition(0).cancel(a));
  EXPECT_FALSE(sim.partition(1).cancel(a));
  sim.run();
  EXPECT_THAT(log, ElementsAre("10 a"));
}

/// A component with a timer, as plain handlers are written.
struct Watchdog {
  explicit Watchdog(Partition& partition) : here(partition) { rearm(); }
  void rearm() {
    here.cancel(expire_event);
    here.schedule(expire_event, 100_ps);
  }
  void expire() { expired_at = here.now(); }

  Partition& here;
  Time expired_at;
  MemberEvent<&Watchdog::expire> expire_event{*this};
};

TEST(MemberEvent, CallsItsOwnerAndCanBeRearmed) {
  Simulation sim;
  Watchdog watchdog(sim.partition());
  sim.run({.until = 60_ps});
  watchdog.rearm();
  sim.run();
  EXPECT_EQ(watchdog.expired_at, 160_ps);
}

}  // namespace
}  // namespace kernbench::sim::partition_test
