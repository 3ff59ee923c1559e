#include "device/ready_times.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kernbench::device::ready_times_test {
namespace {

TEST(ReadyTimes, KeepOneStepForPacketsOfOneTime) {
  ReadyTimes ready;
  EXPECT_TRUE(ready.empty());
  for (const Time at : {10_ns, 10_ns, 10_ns, 18_ns, 18_ns}) ready.push_back(at);
  ASSERT_EQ(ready.steps().size(), 2u);
  EXPECT_EQ(ready.steps()[0].end, 3);
  EXPECT_EQ(ready.steps()[1].end, 5);
  EXPECT_EQ(ready.packets(), 5);
  EXPECT_EQ(ready.front(), 10_ns);
  EXPECT_EQ(ready.back(), 18_ns);
}

TEST(ReadyTimes, WaitForMoreUntilCleared) {
  ReadyTimes ready;
  EXPECT_FALSE(ready.waits_for_more());
  ready.wait_for_more();
  for (const Time at : {10_ns, 18_ns}) ready.push_back(at);
  ready.shrink(1);
  EXPECT_TRUE(ready.waits_for_more());
  ready.clear();
  EXPECT_FALSE(ready.waits_for_more());
}

TEST(ReadyTimes, AnswerInAnyOrder) {
  std::mt19937 random(7);
  ReadyTimes ready;
  for (int round = 0; round < 20; ++round) {
    std::vector<Time> plain;
    ready.clear();
    Time at;
    for (int p = 0; p < 50; ++p) {
      at += Time::from_ps(static_cast<std::int64_t>(random() % 3 / 2));
      plain.push_back(at);
      ready.push_back(at);
    }
    for (int i = 0; i < 200; ++i) {
      const auto p = static_cast<std::size_t>(random() % plain.size());
      ASSERT_EQ(ready[static_cast<std::int64_t>(p)], plain[p]);
    }
  }
}

TEST(ReadyTimes, BeginAnewWhenCleared) {
  ReadyTimes ready;
  for (const Time at : {1_ns, 2_ns, 3_ns, 4_ns}) ready.push_back(at);
  EXPECT_EQ(ready[3], 4_ns);
  ready.clear();
  EXPECT_TRUE(ready.empty());
  ready.push_back(5_ns);
  EXPECT_EQ(ready[0], 5_ns);
  EXPECT_EQ(ready.packets(), 1);
}

/// The same as a plain vector, within itself and beyond.
TEST(SmallVector, InsertsAndErasesAnywhere) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    SmallVector<int, 2> small;
    std::vector<int> plain;
    for (int i = 0; i < 60; ++i) {
      if (plain.empty() || random() % 3 > 0) {
        const auto at = static_cast<std::size_t>(random() % (plain.size() + 1));
        small.insert(at, i);
        plain.insert(plain.begin() + static_cast<std::ptrdiff_t>(at), i);
      } else {
        const auto at = static_cast<std::size_t>(random() % plain.size());
        small.erase(at);
        plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
      }
      ASSERT_EQ(std::vector<int>(small.begin(), small.end()), plain);
    }
    small.shrink(plain.size() / 2);
    EXPECT_EQ(small.size(), plain.size() / 2);
  }
}

TEST(SmallVector, TakesOneOfItsOwnElements) {
  SmallVector<int, 1> small;
  small.push_back(3);
  small.push_back(small.front());  // has to grow
  EXPECT_EQ(small.back(), 3);
  EXPECT_EQ(small.size(), 2u);
}

}  // namespace
}  // namespace kernbench::device::ready_times_test
