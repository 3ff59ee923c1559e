#include "device/order_queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kernbench::device::order_queues_test {
namespace {

using ::testing::ElementsAre;

struct Queues : ::testing::Test {
  Queues() { queues.open(200); }

  /// The next command of the program.
  Order& order(std::size_t queue) {
    Order& made = all[count];
    made.index = static_cast<isa::CommandIndex>(count++);
    made.move_to(queue);
    return made;
  }
  std::vector<std::size_t> occupied() const {
    std::vector<std::size_t> found;
    queues.for_each_occupied([&](std::size_t queue) { found.push_back(queue); });
    return found;
  }
  std::vector<isa::CommandIndex> in(std::size_t queue) const {
    std::vector<isa::CommandIndex> found;
    for (const Order* o = queues[queue].first(); o; o = o->next) found.push_back(o->index);
    return found;
  }

  std::array<Order, 8> all;
  std::size_t count = 0;
  OrderQueues queues;
};

TEST_F(Queues, KnowWhichOfThemHoldCommands) {
  EXPECT_THAT(occupied(), ElementsAre());
  for (const std::size_t queue : {199, 3, 64, 3, 63}) queues.push_back(order(queue));
  EXPECT_THAT(occupied(), ElementsAre(3, 63, 64, 199));
  queues.pop_front(3);
  queues.pop_front(199);
  EXPECT_THAT(occupied(), ElementsAre(3, 63, 64));
  queues.pop_front(3);
  EXPECT_THAT(occupied(), ElementsAre(63, 64));
}

TEST_F(Queues, MayLoseCommandsWhileTheyAreVisited) {
  for (const std::size_t queue : {1, 2, 100}) queues.push_back(order(queue));
  queues.for_each_occupied([&](std::size_t queue) { queues.pop_front(queue); });
  EXPECT_THAT(occupied(), ElementsAre());
}

TEST_F(Queues, KeepTheOrderOfTheProgram) {
  Order& first = order(5);
  Order& second = order(5);
  Order& third = order(5);
  queues.insert(second);
  EXPECT_THAT(occupied(), ElementsAre(5));
  queues.insert(third);
  queues.insert(first);
  EXPECT_THAT(in(5), ElementsAre(0, 1, 2));
  EXPECT_EQ(queues[5].size(), 3u);
  EXPECT_EQ(&queues.pop_front(5), &first);
  EXPECT_THAT(in(5), ElementsAre(1, 2));
}

// Who comes first has not been tried yet; of an empty queue nobody waits for anything that retires.
TEST_F(Queues, TryANewFirstCommandAgain) {
  Order& first = order(5);
  queues.push_back(order(5));
  queues[5].waits_for = 17;
  queues.push_back(order(5));
  EXPECT_EQ(queues[5].waits_for, 17u);
  queues.insert(first);
  EXPECT_EQ(queues[5].waits_for, OrderQueue::kAnything);
  for (int i = 0; i < 3; ++i) queues.pop_front(5);
  EXPECT_EQ(queues[5].waits_for, OrderQueue::kOthers);
}

}  // namespace
}  // namespace kernbench::device::order_queues_test
