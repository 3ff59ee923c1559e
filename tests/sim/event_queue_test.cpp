#include <gmock/gmock.h>
#include <kernbench/sim/event_queue.hpp>

#include <deque>
#include <map>
#include <random>
#include <vector>

namespace kernbench::sim::event_queue_test {
namespace {

using ::testing::ElementsAre;

struct Item : Event {
  explicit Item(int name_) : Event([](Event&) {}), name(name_) {}
  int name;
};

int pop_name(EventQueue& queue, Time limit = Time::never()) {
  Event* e = queue.pop(limit);
  return e != nullptr ? static_cast<Item*>(e)->name : -1;
}

std::vector<int> drain(EventQueue& queue) {
  std::vector<int> names;
  for (int name = pop_name(queue); name >= 0; name = pop_name(queue)) names.push_back(name);
  return names;
}

TEST(EventQueue, PopsInOrderOfTime) {
  EventQueue queue;
  std::deque<Item> items;
  for (int i = 0; i < 5; ++i) items.emplace_back(i);
  queue.push(items[0], 70_us);
  queue.push(items[1], 3_ps);
  queue.push(items[2], 1_ms);
  queue.push(items[3], 300_ps);
  queue.push(items[4], 0_ps);
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_THAT(drain(queue), ElementsAre(4, 1, 3, 0, 2));
  EXPECT_EQ(queue.now(), 1_ms);
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.peak_size(), 5U);
}

// The first of the two is pushed from afar and stands at a high level, the second from near by at a low one.
TEST(EventQueue, EqualTimesPopInOrderOfInsertionWhereverTheyWerePushedFrom) {
  EventQueue queue;
  Item far(1), other(2), step(3), near(4);
  const Time t = 0x12345_ps;
  queue.push(far, t);
  queue.push(other, t);
  queue.push(step, t - 1_ps);
  EXPECT_EQ(pop_name(queue), 3);
  queue.push(near, t);
  EXPECT_THAT(drain(queue), ElementsAre(1, 2, 4));
}

TEST(EventQueue, PopLeavesWhatIsLaterThanTheLimit) {
  EventQueue queue;
  Item a(1), b(2), c(3);
  queue.push(a, 1000_ps);
  queue.push(b, 1001_ps);
  EXPECT_EQ(pop_name(queue, 999_ps), -1);
  queue.push(c, 999_ps);  // the limit itself is still open
  EXPECT_EQ(pop_name(queue, 999_ps), 3);
  EXPECT_EQ(pop_name(queue, 1000_ps), 1);
  EXPECT_EQ(pop_name(queue, 1000_ps), -1);
  EXPECT_EQ(pop_name(queue, 1001_ps), 2);
}

TEST(EventQueue, AdvanceKeepsTheOrderOfWhatIsStillToCome) {
  EventQueue queue;
  Item a(1), b(2), c(3);
  queue.push(a, 0x20005_ps);
  queue.push(b, 0x20005_ps);
  queue.push(c, 0x20003_ps);
  queue.advance(0x20003_ps);
  EXPECT_EQ(queue.now(), 0x20003_ps);
  EXPECT_THAT(drain(queue), ElementsAre(3, 1, 2));
}

TEST(EventQueue, AdvanceRefusesToPassAnEvent) {
  EventQueue queue;
  Item a(1), b(2);
  queue.push(a, 500_ps);
  queue.push(b, 510_ps);
  EXPECT_THROW(queue.advance(505_ps), InternalError);
  EXPECT_THROW(queue.advance(499_ps), InternalError) << "the clock stands at 500 ps by now";
}

TEST(EventQueue, BoundIsNeverLaterThanTheNextEvent) {
  EventQueue queue;
  Item a(1), b(2);
  EXPECT_EQ(queue.bound(), Time::never());
  queue.push(a, 0x345_ps);
  EXPECT_EQ(queue.bound(), 0x345_ps) << "exact for a lone event";
  queue.push(b, 0x344_ps);
  EXPECT_EQ(queue.bound(), 0x300_ps) << "the start of the slot that the two share";
  EXPECT_EQ(pop_name(queue), 2);
  EXPECT_EQ(queue.bound(), 0x345_ps);
}

TEST(EventQueue, CancelTakesOutOneEventAndItCanBePushedAgain) {
  EventQueue queue;
  Item a(1), b(2), c(3);
  for (Item* item : {&a, &b, &c}) queue.push(*item, 40_ps);
  EXPECT_TRUE(queue.cancel(b));
  EXPECT_FALSE(queue.cancel(b));
  EXPECT_FALSE(b.scheduled());
  EXPECT_TRUE(queue.cancel(c));
  queue.push(b, 40_ps);
  EXPECT_THAT(drain(queue), ElementsAre(1, 2));
  EXPECT_FALSE(queue.cancel(a));
}

/// How often the members of a list are looked at cannot be seen from outside; that 400,000 events in one slot are
/// cancelled at all, from either end and from the middle, can: a walk for each would take minutes.
TEST(EventQueue, CancelDoesNotDependOnHowManyEventsShareASlot) {
  constexpr int kEvents = 400'000;
  EventQueue queue;
  std::deque<Item> items;
  for (int i = 0; i < kEvents; ++i) queue.push(items.emplace_back(i), 0x10000_ps + Time::from_ps(i % 100));
  for (int i = kEvents / 2; i < kEvents - 1; ++i)
    EXPECT_TRUE(queue.cancel(items[static_cast<std::size_t>(i)]));
  for (int i = kEvents / 2 - 1; i > 0; --i) EXPECT_TRUE(queue.cancel(items[static_cast<std::size_t>(i)]));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_THAT(drain(queue), ElementsAre(0, kEvents - 1));
}

// Partitions run up to their bounds: one that stayed at the start of a range would be waited for for ever.
TEST(EventQueue, BoundIsExactAgainOnceCancelLeavesALoneEvent) {
  EventQueue queue;
  Item a(1), b(2);
  queue.push(a, 0x345_ps);
  queue.push(b, 0x344_ps);
  EXPECT_TRUE(queue.cancel(b));
  EXPECT_EQ(queue.bound(), 0x345_ps);
  queue.push(b, 0x346_ps);
  EXPECT_TRUE(queue.cancel(a));
  EXPECT_EQ(queue.bound(), 0x346_ps);
}

TEST(EventQueue, AnEventCanNeitherBePushedTwiceNorIntoThePast) {
  EventQueue queue;
  Item a(1), b(2);
  queue.push(a, 10_ps);
  EXPECT_THROW(queue.push(a, 11_ps), InternalError);
  EXPECT_EQ(pop_name(queue), 1);
  EXPECT_THROW(queue.push(b, 9_ps), InternalError);
}

TEST(EventQueue, ClearDropsEverythingAndTheEventsCanBeUsedAnew) {
  EventQueue queue;
  Item a(1), b(2);
  queue.push(a, 10_ns);
  queue.push(b, 10_ms);
  EXPECT_EQ(pop_name(queue), 1);
  queue.clear();
  EXPECT_EQ(queue.now(), 0_ps);
  EXPECT_FALSE(b.scheduled());
  queue.push(b, 1_ps);
  queue.push(a, 1_ps);
  EXPECT_THAT(drain(queue), ElementsAre(2, 1));
}

/// The queue beside a model that is plainly right: a multimap keeps equal keys in order of insertion.
class ModelCheck {
 public:
  explicit ModelCheck(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < 300; ++i) items_.emplace_back(i);
  }

  void step() {
    Item& item = items_[pick(items_.size())];
    const std::size_t action = pick(10);
    if (action < 5 && !item.scheduled()) push(item);
    if (action == 5 && item.scheduled()) cancel(item);
    if (action > 5 && action < 9) pop(random_instant());
    if (action == 9) advance();
    ASSERT_EQ(queue_.size(), model_.size());
    ASSERT_LE(queue_.bound(), model_.empty() ? Time::never() : model_.begin()->first);
  }
  void finish() {
    while (!model_.empty()) pop(Time::never());
    ASSERT_EQ(queue_.pop(Time::never()), nullptr);
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  // Instants from now on at every distance, with many ties among the near ones.
  Time random_instant() {
    const auto distance = static_cast<std::int64_t>(random_() >> (4 + pick(60)));
    const Time end = std::max(queue_.now(), Time::from_ps(std::int64_t{1} << 62));
    return std::min(queue_.now() + Time::from_ps(distance), end);
  }

  void push(Item& item) {
    const Time at = random_instant();
    queue_.push(item, at);
    model_.emplace(at, item.name);
  }
  void cancel(Item& item) {
    ASSERT_TRUE(queue_.cancel(item));
    auto entry = model_.lower_bound(item.time());
    while (entry->second != item.name) ++entry;
    ASSERT_EQ(entry->first, item.time());
    model_.erase(entry);
  }
  void pop(Time limit) {
    const bool due = !model_.empty() && model_.begin()->first <= limit;
    const int name = pop_name(queue_, limit);
    ASSERT_EQ(name, due ? model_.begin()->second : -1);
    ASSERT_LE(queue_.now(), limit);
    if (!due) return;
    ASSERT_EQ(queue_.now(), model_.begin()->first);
    model_.erase(model_.begin());
  }
  void advance() {
    const Time next = model_.empty() ? queue_.now() : model_.begin()->first;
    const std::int64_t room = std::min<std::int64_t>((next - queue_.now()).ps(), 1 << 20);
    queue_.advance(queue_.now() +
                   Time::from_ps(static_cast<std::int64_t>(pick(static_cast<std::size_t>(room) + 1))));
  }

  std::mt19937_64 random_;
  EventQueue queue_;
  std::deque<Item> items_;
  std::multimap<Time, int> model_;
};

TEST(EventQueue, AgreesWithAMultimapUnderRandomUse) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    ModelCheck check(seed);
    for (int i = 0; i < 3000; ++i) ASSERT_NO_FATAL_FAILURE(check.step());
    ASSERT_NO_FATAL_FAILURE(check.finish());
  }
}

}  // namespace
}  // namespace kernbench::sim::event_queue_test
