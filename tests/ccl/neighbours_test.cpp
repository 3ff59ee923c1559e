#include "kernbench/neighbours.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernbench/error.hpp"
#include "kernbench/functional.hpp"

namespace kernbench::ccl::neighbours_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Links as `rank direction peer`, for ranks on the first PEs.
std::vector<std::string> texts(const Links& links) {
  std::vector<std::string> out;
  for (const auto& l : links) out.push_back(fmt::format("{} {} {}", l.pe.pe, l.direction, l.peer.pe));
  return out;
}

std::vector<std::string> pairs(const Links& links) {
  std::vector<std::string> out;
  for (const auto& l : paired(links))
    out.push_back(fmt::format("{} {} - {} {}", l.pe.pe, l.direction, l.peer.pe, l.peer_direction));
  return out;
}

TEST(Neighbours, OfARing) {
  EXPECT_THAT(texts(ring_1d(first_pes(3))),
              ElementsAre("0 E 1", "0 W 2", "1 E 2", "1 W 0", "2 E 0", "2 W 1"));
  EXPECT_THAT(ring_1d(first_pes(1)), IsEmpty());
}

TEST(Neighbours, OfTwoRanksInARingAreThoseOfBothSides) {
  const auto ring = ring_1d(first_pes(2));
  EXPECT_THAT(texts(ring), ElementsAre("0 E 1", "0 W 1", "1 E 0", "1 W 0"));
  EXPECT_THAT(pairs(ring), ElementsAre("0 E - 1 W", "0 W - 1 E", "1 E - 0 W", "1 W - 0 E"));
}

TEST(Neighbours, OfARingThatGoesOneWaySendEAndReceiveFromW) {
  const auto ring = ring_1d_unidir(first_pes(3));
  EXPECT_THAT(texts(ring), ElementsAre("0 E 1", "0 W 2", "1 E 2", "1 W 0", "2 E 0", "2 W 1"));
  for (const auto& link : ring) {
    EXPECT_EQ(link.sends, link.direction == "E");
    EXPECT_EQ(link.receives, link.direction == "W");
  }
  for (const auto& link : paired(ring)) {
    EXPECT_EQ(link.peer_direction, opposite(link.direction));
    EXPECT_EQ(link.sends, link.direction == "E");
    EXPECT_EQ(link.receives, link.direction == "W");
  }
  EXPECT_THAT(pairs(ring_1d_unidir(first_pes(2))),
              ElementsAre("0 E - 1 W", "0 W - 1 E", "1 E - 0 W", "1 W - 0 E"));
  EXPECT_THAT(ring_1d_unidir(first_pes(1)), IsEmpty());
}

TEST(Neighbours, OfGridsWithAndWithoutWrap) {
  // 0 1 2
  // 3 4 5
  const auto torus = torus_2d(first_pes(6), {3, 2});
  EXPECT_EQ(torus.size(), 24u);
  EXPECT_THAT(texts(torus), ::testing::IsSupersetOf({"2 E 0", "0 W 2", "0 S 3", "0 N 3", "4 N 1"}));
  const auto mesh = mesh_2d_no_wrap(first_pes(6), {3, 2});
  EXPECT_EQ(mesh.size(), 14u);  // 2 · (2 rows · 2 + 3 columns · 1)
  EXPECT_THAT(texts(mesh), ::testing::IsSupersetOf({"0 E 1", "0 S 3", "4 N 1", "5 W 4"}));
  EXPECT_THAT(texts(mesh), ::testing::Not(::testing::Contains("2 E 0")));
}

TEST(Neighbours, OfATreeAreParentAndChildren) {
  const auto tree = tree_binary(first_pes(4));
  EXPECT_THAT(texts(tree), ElementsAre("0 child_left 1", "0 child_right 2", "1 parent 0", "1 child_left 3",
                                       "2 parent 0", "3 parent 1"));
  EXPECT_THAT(pairs(tree), ::testing::IsSupersetOf({"0 child_right - 2 parent", "3 parent - 1 child_left"}));
}

TEST(Neighbours, OfAllPairs) {
  EXPECT_THAT(pairs(all_pairs(first_pes(3))),
              ElementsAre("0 rank1 - 1 rank0", "0 rank2 - 2 rank0", "1 rank0 - 0 rank1", "1 rank2 - 2 rank1",
                          "2 rank0 - 0 rank2", "2 rank1 - 1 rank2"));
}

TEST(Neighbours, TakeAPrefix) {
  const auto ring = ring_1d(first_pes(2), "global_");
  EXPECT_EQ(ring[0].direction, "global_E");
  EXPECT_THAT(pairs(ring), ::testing::Contains("0 global_E - 1 global_W"));
}

TEST(Neighbours, AreFoundByName) {
  const auto ranks = first_pes(6);
  EXPECT_EQ(neighbours("ring_1d", ranks), ring_1d(ranks));
  EXPECT_EQ(neighbours("ring_1d_unidir", ranks), ring_1d_unidir(ranks));
  EXPECT_EQ(neighbours("line_1d", ranks), mesh_2d_no_wrap(ranks, {6, 1}));
  EXPECT_EQ(neighbours("mesh_2d", ranks), torus_2d(ranks, {3, 2}));
  EXPECT_EQ(neighbours("torus_2d", ranks), torus_2d(ranks, {3, 2}));
  EXPECT_EQ(neighbours("mesh_2d_no_wrap", ranks), mesh_2d_no_wrap(ranks, {3, 2}));
  EXPECT_EQ(neighbours("tree_binary", ranks), tree_binary(ranks));
  EXPECT_EQ(neighbours("all_pairs", ranks), all_pairs(ranks));
  EXPECT_THAT(neighbours("none", ranks), IsEmpty());
  try {
    neighbours("torus_3d", ranks);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.id(), "ccl.unknown-topology");
    EXPECT_THAT(e.hint(), HasSubstr("torus_2d"));
  }
}

TEST(Neighbours, GridsAreNearlySquare) {
  EXPECT_EQ(nearest_grid(1), (MeshCoord{1, 1}));
  EXPECT_EQ(nearest_grid(7), (MeshCoord{7, 1}));
  EXPECT_EQ(nearest_grid(8), (MeshCoord{4, 2}));
  EXPECT_EQ(nearest_grid(256), (MeshCoord{16, 16}));
}

TEST(Opposite, IsTheOtherSideWithTheSamePrefix) {
  EXPECT_EQ(opposite("E"), "W");
  EXPECT_EQ(opposite("global_N"), "global_S");
  EXPECT_EQ(opposite("parent"), "");
  EXPECT_EQ(opposite("SE"), "");
  EXPECT_EQ(opposite("global_"), "");
}

TEST(Pairing, PrefersTheOppositeAndElseTakesWhatPointsBack) {
  const PeCoord a{0, 0, 0}, b{0, 0, 1};
  // b's N is offered first, but its W is the opposite of a's E.
  EXPECT_THAT(pairs({{a, "E", b}, {a, "up", b}, {b, "N", a}, {b, "W", a}}),
              ElementsAre("0 E - 1 W", "0 up - 1 N", "1 N - 0 up", "1 W - 0 E"));
}

// Both of b's lead to a, but only the second one receives; the opposite name does not help the first.
TEST(Pairing, JoinsOneThatSendsWithOneThatReceives) {
  const PeCoord a{0, 0, 0}, b{0, 0, 1};
  const Link sends{a, "E", b, true, false}, receives{a, "N", b, false, true};
  EXPECT_THAT(pairs({sends, receives, {b, "W", a, true, false}, {b, "up", a, false, true}}),
              ElementsAre("0 E - 1 up", "0 N - 1 W", "1 W - 0 N", "1 up - 0 E"));
}

TEST(Pairing, IsItsOwnInverse) {
  for (const int n : {2, 3, 4, 6, 12}) {
    const auto links = paired(torus_2d(first_pes(n), nearest_grid(n)));
    std::map<std::pair<PeCoord, std::string>, PairedLink> by_end;
    for (const auto& l : links) by_end[{l.pe, l.direction}] = l;
    for (const auto& l : links) {
      const auto& back = by_end.at({l.peer, l.peer_direction});
      EXPECT_EQ(back.peer, l.pe);
      EXPECT_EQ(back.peer_direction, l.direction);
    }
  }
}

TEST(Pairing, RefusesWhatCannotBe) {
  const PeCoord a{0, 0, 0}, b{0, 0, 1};
  const auto id_of = [](const Links& links) {
    try {
      paired(links);
    } catch (const InputError& e) {
      return e.id();
    }
    return std::string("fine");
  };
  EXPECT_EQ(id_of({{a, "E", b}}), "ccl.one-way");
  EXPECT_EQ(id_of({{a, "E", b}, {a, "N", b}, {b, "W", a}}), "ccl.one-way");
  EXPECT_EQ(id_of({{a, "E", b}, {b, "W", a}, {b, "N", a}}), "ccl.one-way");
  EXPECT_EQ(id_of({{a, "E", a}}), "ccl.self");
  EXPECT_EQ(id_of({{a, "E", b}, {a, "E", b}, {b, "W", a}, {b, "N", a}}), "ccl.direction");
  EXPECT_EQ(id_of({{a, "", b}, {b, "W", a}}), "ccl.direction");
  EXPECT_EQ(id_of({{a, "E", b}, {b, "W", a}}), "fine");
  const Link sends{a, "E", b, true, false};
  EXPECT_EQ(id_of({sends, {b, "W", a, false, true}}), "fine");
  EXPECT_EQ(id_of({sends, {b, "W", a, true, false}}), "ccl.one-way");  // both send
  EXPECT_EQ(id_of({sends, {b, "W", a}}), "ccl.one-way");               // what b sends goes nowhere
  EXPECT_EQ(id_of({{a, "E", b}, {b, "W", a, false, true}}), "ccl.one-way");
  EXPECT_EQ(id_of({{a, "E", b, false, false}, {b, "W", a, false, false}}), "ccl.direction");
}

}  // namespace
}  // namespace kernbench::ccl::neighbours_test
