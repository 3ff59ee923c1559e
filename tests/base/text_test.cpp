#include "base/text.hpp"

#include <gtest/gtest.h>

namespace kernbench {
namespace {

const std::vector<std::string> kKnown = {"overhead_ns", "queue_depth", "impl", "attrs"};

TEST(Nearest, FindsTheNameWithFewestEdits) {
  EXPECT_EQ(nearest("overhaed_ns", kKnown), std::vector<std::string>{"overhead_ns"});
  EXPECT_EQ(nearest("que_depth", kKnown), std::vector<std::string>{"queue_depth"});
  EXPECT_EQ(nearest("impl", kKnown), std::vector<std::string>{"impl"});
}

TEST(Nearest, CountsASwapOfNeighboursAsOneEdit) {
  const std::vector<std::string> kinds = {"sram", "hbm"};
  EXPECT_EQ(nearest("hmb", kinds), std::vector<std::string>{"hbm"});
  EXPECT_TRUE(nearest("mbh", kinds).empty());
}

TEST(Nearest, TakesDashAndUnderscoreAndCaseAsAlike) {
  EXPECT_EQ(nearest("Queue-Depth", kKnown), std::vector<std::string>{"queue_depth"});
}

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_TRUE(nearest("zzzzzz", kKnown).empty());
  EXPECT_TRUE(nearest("", kKnown).empty());
}

TEST(Suggest, NamesTheNearestElseAll) {
  EXPECT_EQ(suggest("ovrhead_ns", kKnown, "keys"), "did you mean 'overhead_ns'?");
  EXPECT_EQ(suggest("zzzzzz", kKnown, "keys"), "known keys: overhead_ns, queue_depth, impl, attrs");
}

}  // namespace
}  // namespace kernbench
