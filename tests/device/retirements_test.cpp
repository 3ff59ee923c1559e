#include "device/retirements.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace kernbench::device::retirements_test {
namespace {

TEST(Retirements, KnowsTimesUntilTheyAreSpent) {
  Retirements retired;
  retired.begin(3);
  EXPECT_EQ(retired.first_missing(), 0u);
  retired.note(1, {20_ps, 7});
  EXPECT_FALSE(retired.has(0));
  EXPECT_TRUE(retired.has(1));
  EXPECT_EQ(retired.first_missing(), 0u);
  retired.note(0, {30_ps, 8});
  retired.spend(0);
  EXPECT_EQ(retired[1].at, 20_ps);
  EXPECT_EQ(retired[1].serial, 7u);
  retired.note(2, {40_ps, 9});
  EXPECT_EQ(retired.first_missing(), std::nullopt);
}

// Commands retire in an order of their own, up to 40 apart; some are asked for until the end. A map knows all there is to know.
TEST(Retirements, AgreeWithAMapForProgramsOfAnyLength) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](unsigned n) { return random() % n; };
    Retirements retired;
    for (const std::size_t commands : {5u, 1000u, 300u}) {
      retired.begin(commands);
      std::map<isa::CommandIndex, Time> live;
      std::vector<isa::CommandIndex> under_way;
      for (isa::CommandIndex issued = 0; issued < commands || !under_way.empty();) {
        if (issued < commands && (under_way.empty() || (under_way.size() < 40 && upto(2) == 0))) {
          under_way.push_back(issued++);
          continue;
        }
        const std::size_t at = upto(static_cast<unsigned>(under_way.size()));
        const isa::CommandIndex command = under_way[at];
        under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(at));
        ASSERT_FALSE(retired.has(command));
        live[command] = Time::from_ps(static_cast<std::int64_t>(upto(1'000'000)));
        retired.note(command, {live[command], command + 1});
        for (const auto& [known, when] : live) {
          ASSERT_EQ(retired[known].at, when) << known;
          ASSERT_EQ(retired[known].serial, known + 1);
        }
        while (live.size() > 24) {  // at most 11 of which stay
          auto spent = std::next(live.begin(), upto(static_cast<unsigned>(live.size())));
          if (spent->first % 97 == 0) continue;  // asked for until the end
          retired.spend(spent->first);
          live.erase(spent);
        }
      }
      EXPECT_EQ(retired.first_missing(), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace kernbench::device::retirements_test
