#include "base/parse.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace kernbench::parse_test {
namespace {

TEST(ParseWhole, TakesAllOfTheText) {
  EXPECT_EQ(parse_whole<int>("42"), 42);
  EXPECT_EQ(parse_whole<int>("-7"), -7);
  EXPECT_EQ(parse_whole<double>("2.5e3"), 2500.0);
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "1_000", "+1", "one"})
    EXPECT_FALSE(parse_whole<int>(text)) << text;
}

// What does not fit is no number: it must not come out as 0, or as the largest one.
TEST(ParseWhole, RefusesWhatTheTypeCannotHold) {
  EXPECT_FALSE(parse_whole<int>("2147483648"));
  EXPECT_FALSE(parse_whole<std::int64_t>("9223372036854775808"));
  EXPECT_FALSE(parse_whole<double>("1e999"));
  EXPECT_EQ(parse_whole<std::int64_t>("9223372036854775807"), INT64_MAX);
}

}  // namespace
}  // namespace kernbench::parse_test
