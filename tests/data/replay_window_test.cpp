#include "data/replay_window.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "kernbench/address.hpp"

namespace kernbench::data::replay_window_test {
namespace {

Pieces bytes_at(std::int64_t offset, std::int64_t n) {
  return {{0, n, address::hbm_addr({0, 0}, Bytes(offset))}};
}

// Page 0 orders works 0 to 95, page 1 works 89 to 199: together all of them, though they are of five strands.
TEST(ReplayWindow, WorkThatMeetsInBytesKeepsItsOrder) {
  for (const int threads : {1, 2, 4}) {
    ReplayWindow window(threads);
    std::vector<int> written;
    for (int i = 0; i < 200; ++i) {
      const auto work = window.add(static_cast<std::uint32_t>(i % 5), [&written, i](int) {
        if (i % 7 == 0) std::this_thread::yield();
        written.push_back(i);
      });
      window.touches(work, bytes_at(4000 + i, 8), true);
    }
    window.run();
    ASSERT_EQ(written.size(), 200u);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(written[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(window.size(), 0u);
  }
}

TEST(ReplayWindow, ReadersOfAPageRunBetweenItsWriters) {
  ReplayWindow window(3);
  int value = 0;
  std::vector<int> seen(60, -1);
  for (int i = 0; i < 60; ++i) {
    const bool write = i % 6 == 0;
    const auto work = window.add(static_cast<std::uint32_t>(i % 4), [&value, &seen, i, write](int) {
      if (write) value = i;
      seen[static_cast<std::size_t>(i)] = value;
    });
    window.touches(work, bytes_at(0, 16), write);
  }
  window.run();
  for (int i = 0; i < 60; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i / 6 * 6);
}

TEST(ReplayWindow, TheEarliestErrorIsTheOneThatCounts) {
  for (int run = 0; run < 20; ++run) {
    ReplayWindow window(2);
    for (int i = 0; i < 40; ++i)
      window.add(static_cast<std::uint32_t>(i % 2), [i](int) {
        if (i == 11) std::this_thread::yield();
        if (i == 11 || i == 24) throw std::runtime_error(std::to_string(i));
      });
    try {
      window.run();
      FAIL() << "two pieces of work failed";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "11");
    }
    EXPECT_EQ(window.size(), 0u);
  }
}

}  // namespace
}  // namespace kernbench::data::replay_window_test
