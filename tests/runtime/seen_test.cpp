#include "runtime/seen.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

namespace kernbench::runtime::seen_test {
namespace {

using ::testing::ElementsAre;

TEST(Seen, TellsWhatIsNews) {
  Seen seen;
  EXPECT_TRUE(seen.note({7, 3}));
  EXPECT_FALSE(seen.note({7, 3}));
  EXPECT_FALSE(seen.note({7, 2}));
  EXPECT_TRUE(seen.note({7, 4}));
  EXPECT_TRUE(seen.note({2, 0}));
}

TEST(Seen, WhatIsSharedIsKeptOnce) {
  Seen host;
  for (int stream = 0; stream < 1000; ++stream) host.note({stream, 10});
  host.share();
  Seen rank = host;
  EXPECT_EQ(rank.base(), host.base());
  EXPECT_TRUE(rank.own().empty());
  EXPECT_FALSE(rank.note({500, 10}));
  EXPECT_TRUE(rank.note({500, 11}));
  EXPECT_EQ(rank.own().size(), 1u);
  EXPECT_TRUE(host.own().empty());
}

TEST(Seen, AStreamIsToldOfABaseOnce) {
  Seen host, stream;
  host.note({1, 4});
  host.note({3, 2});
  host.share();
  EXPECT_TRUE(stream.begin_with(host.base()));
  EXPECT_FALSE(stream.begin_with(host.base()));
  EXPECT_THAT(host.base()->requests, ElementsAre(4u, 2u));
}

/// Against a plain map of stream to request, whenever somebody shares.
TEST(Seen, RandomNotes) {
  std::mt19937 random(1);
  Seen seen;
  std::map<int, std::uint32_t> reference;
  for (int i = 0; i < 20'000; ++i) {
    const Seen::Last last{static_cast<int>(random() % 300), static_cast<std::uint32_t>(random() % (i + 1))};
    const auto known = reference.find(last.stream);
    const bool news = known == reference.end() || known->second < last.request;
    ASSERT_EQ(seen.note(last), news) << i;
    if (news) reference[last.stream] = last.request;
    if (seen.is_long() || random() % 1000 == 0) seen.share();
  }
  seen.share();
  std::map<int, std::uint32_t> found;
  for (const auto& [stream, request] : seen.base()->last) found[stream] = request;
  EXPECT_EQ(found, reference);
}

}  // namespace
}  // namespace kernbench::runtime::seen_test
