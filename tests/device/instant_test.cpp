// Who chooses first at an instant: by class, then by number, whoever asked first.
#include "device/instant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <vector>

#include "kernbench/sim.hpp"

namespace kernbench::device::instant_test {
namespace {

constexpr std::array kInOrder = {Chooser::memory, Chooser::sends,  Chooser::cpu, Chooser::stream,
                                 Chooser::port,   Chooser::source, Chooser::link};

TEST(ChoiceRank, ClassesComeInTheirOrderWhateverTheNumbers) {
  for (std::size_t i = 1; i < kInOrder.size(); ++i)
    EXPECT_LT(choice_rank(kInOrder[i - 1], UINT32_MAX), choice_rank(kInOrder[i], 0)) << i;
}

TEST(ChoiceRank, OneClassIsByNumber) {
  for (const Chooser chooser : kInOrder) {
    EXPECT_LT(choice_rank(chooser, 0), choice_rank(chooser, 1));
    EXPECT_LT(choice_rank(chooser, 7), choice_rank(chooser, UINT32_MAX));
  }
}

/// Writes down when it is asked.
class Asked : public sim::Event {
 public:
  Asked(std::uint64_t rank, int number, std::vector<std::pair<std::uint64_t, int>>& order)
      : Event(&fire), rank_(rank), number_(number), order_(order) {}

 private:
  static void fire(sim::Event& e) {
    auto& asked = static_cast<Asked&>(e);
    asked.order_.emplace_back(asked.rank_, asked.number_);
  }
  const std::uint64_t rank_;
  const int number_;
  std::vector<std::pair<std::uint64_t, int>>& order_;
};

// Rounds short and long, many of one rank: these in the order in which they asked.
TEST(ChoiceRank, DecidesInRoundsOfAllSizes) {
  std::mt19937 random(1);
  for (const int count : {1, 2, 10, 100, 255, 256, 257, 1000}) {
    sim::Simulation simulation;
    std::vector<std::pair<std::uint64_t, int>> order, expected;
    std::vector<std::unique_ptr<Asked>> all;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t rank =
          choice_rank(kInOrder[random() % kInOrder.size()], static_cast<std::uint32_t>(random() % 5));
      expected.emplace_back(rank, i);
      all.push_back(std::make_unique<Asked>(rank, i, order));
      simulation.partition().choose(*all.back(), rank);
    }
    simulation.run();
    std::ranges::sort(expected);
    EXPECT_EQ(order, expected) << count;
  }
}

}  // namespace
}  // namespace kernbench::device::instant_test
