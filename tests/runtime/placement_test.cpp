#include <algorithm>
#include <map>
#include <set>

#include "runtime/host_world.hpp"
#include "runtime/layout.hpp"
#include "runtime/random_placement.hpp"

namespace kernbench::runtime::placement_test {
namespace {

/// One of every policy, of one to four axes.
std::vector<Placement> random_cases(unsigned seed) {
  RandomPlacement random(seed);
  std::vector<Placement> all;
  for (const int rank : {1, 2, 3, 4})
    for (const Placement& one : random.every_policy(rank)) all.push_back(one);
  return all;
}

/// How many copies of each piece there should be.
std::size_t copies_of(const DPPolicy& p) {
  return static_cast<std::size_t>((p.cube == Split::replicate ? *p.num_cubes : 1) *
                                  (p.pe == Split::replicate ? *p.num_pes : 1));
}

TEST(Placement, ShardsAreDisjointAndCoverTheTensorOrReplicateItExactly) {
  for (unsigned seed = 1; seed <= 50; ++seed)
    for (const auto& [policy, shape] : random_cases(seed)) {
      SCOPED_TRACE(::testing::Message() << to_string(policy.cube) << " " << to_string(policy.pe) << " "
                                        << to_string(shape) << " seed " << seed);
      const auto specs = resolve_dp_policy(policy, shape, 2, 8, 4, 0);
      std::map<std::int64_t, std::pair<std::int64_t, std::size_t>> pieces;  // by offset: size, copies
      std::set<std::pair<PeCoord, std::int64_t>> places;
      for (const ShardSpec& s : specs) {
        auto& [size, copies] = pieces[s.offset_bytes.count()];
        EXPECT_TRUE(copies == 0 || size == s.nbytes.count());
        size = s.nbytes.count(), ++copies;
        EXPECT_TRUE(places.emplace(s.at(), s.offset_bytes.count()).second);  // no PE has a piece twice
      }
      std::int64_t covered = 0;
      for (const auto& [offset, piece] : pieces) {
        ASSERT_EQ(offset, covered);
        covered += piece.first;
        EXPECT_EQ(piece.second, copies_of(policy));
      }
      EXPECT_EQ(covered, shape.elements() * 2);
    }
}

TEST(Placement, TilesOfTheLayoutCoverEveryElementOnce) {
  for (unsigned seed = 1; seed <= 50; ++seed)
    for (const auto& [policy, shape] : random_cases(seed)) {
      const Layout layout(policy, shape, 2, 8, 4);
      std::vector<int> seen(static_cast<std::size_t>(shape.elements()));
      for (const LayoutTile& tile : layout.tiles())
        for (std::int64_t r = 0; r < tile.rect.rows; ++r)
          for (std::int64_t c = 0; c < tile.rect.cols; ++c)
            ++seen[static_cast<std::size_t>((tile.rect.row + r) * shape[shape.rank() - 1] + tile.rect.col +
                                            c)];
      ASSERT_TRUE(std::ranges::all_of(seen, [](int n) { return n == 1; }));
    }
}

template <class Policy>
constexpr bool kNamesASip = requires(Policy p) {
  p.sip;
}
|| requires(Policy p) { p.num_sips; };
static_assert(!kNamesASip<DPPolicy>, "which SIP is no matter of the policy");

TEST(Placement, TheTargetSipChangesOnlyTheSip) {
  for (const auto& [policy, shape] : random_cases(7)) {
    const auto here = resolve_dp_policy(policy, shape, 2, 8, 4, 0);
    auto there = resolve_dp_policy(policy, shape, 2, 8, 4, 3);
    for (ShardSpec& s : there) {
      EXPECT_EQ(s.sip, 3);
      s.sip = 0;
    }
    EXPECT_EQ(here, there);
  }
}

// 4 columns over 2 cubes, then over 2 PEs: one column of 2 rows each, 4 bytes, in the order cube, PE.
TEST(Placement, CubesAreSplitFirstThenPes) {
  const DPPolicy columns{.cube = Split::column_wise, .pe = Split::column_wise};
  EXPECT_EQ(resolve_dp_policy(columns, {2, 4}, 2, 2, 2, 0),
            (std::vector<ShardSpec>{
                {0, 0, 0, 0_B, 4_B}, {0, 0, 1, 4_B, 4_B}, {0, 1, 0, 8_B, 4_B}, {0, 1, 1, 12_B, 4_B}}));
  const Layout mixed({.cube = Split::column_wise, .pe = Split::row_wise}, {2, 4}, 2, 2, 2);
  EXPECT_EQ(mixed.tiles()[1].rect,
            (Rect{1, 0, 1, 2}));  // cube 0, PE 1: the second row of the first two columns
  EXPECT_EQ(mixed.tiles()[2].rect, (Rect{0, 2, 1, 2}));
}

// A 4 × 6 matrix in tiles of 2 × 2: 2 rows of 3 tiles, dealt to 2 PEs. Column-major counts along a row of tiles fastest:
// PE 0 gets tiles 0, 2, 4, which are (0,0), (0,2), (1,1). Row-major counts down a column of tiles first: (0,0), (0,1),
// (0,2), for the tiles of a column alternate. These are the names that existing programs know.
TEST(Placement, TilesAreDealtRoundRobin) {
  const auto dealt_to_pe0 = [](Split order) {
    const Layout layout({.pe = order, .num_cubes = 1, .tile = TileSize{2, 2}}, {4, 6}, 2, 2, 4);
    std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
    for (const LayoutTile& tile : layout.tiles(layout.blocks()[0]))
      tiles.emplace_back(tile.rect.row / 2, tile.rect.col / 2);
    return tiles;
  };
  using Tiles = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(dealt_to_pe0(Split::tiled_column_major), (Tiles{{0, 0}, {0, 2}, {1, 1}}));
  EXPECT_EQ(dealt_to_pe0(Split::tiled_row_major), (Tiles{{0, 0}, {0, 1}, {0, 2}}));
  const DPPolicy rows{.pe = Split::tiled_row_major, .num_cubes = 1, .tile = TileSize{2, 2}};
  const auto specs = resolve_dp_policy(rows, {4, 6}, 2, 2, 4, 0);
  ASSERT_EQ(specs.size(), 6u);  // one per tile, a PE's own following each other
  EXPECT_EQ(specs[2], (ShardSpec{0, 0, 0, 16_B, 8_B}));
  EXPECT_EQ(specs[3], (ShardSpec{0, 0, 1, 24_B, 8_B}));
}

TEST(Placement, FewerTilesThanPesLeaveTheLastOnesEmpty) {
  const DPPolicy policy{.pe = Split::tiled_row_major, .num_cubes = 1, .tile = TileSize{1, 4}};
  const auto specs = resolve_dp_policy(policy, {1, 12}, 2, 8, 4, 0);
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs.back().at(), (PeCoord{0, 0, 2}));
  EXPECT_EQ(Layout(policy, {1, 12}, 2, 8, 4).holders().size(), 3u);  // so a launch runs on three PEs
}

TEST(Placement, AVectorHasOneAxisWhicheverIsNamed) {
  for (const Split split : {Split::column_wise, Split::row_wise}) {
    const auto specs = resolve_dp_policy({.pe = split, .num_cubes = 1}, {16}, 2, 8, 4, 0);
    ASSERT_EQ(specs.size(), 8u);
    EXPECT_EQ(specs[3], (ShardSpec{0, 0, 3, 12_B, 4_B}));
  }
}

TEST(Placement, LeadingDimensionsAreTheRows) {
  const DPPolicy rows{.pe = Split::row_wise, .num_cubes = 1};
  EXPECT_EQ(resolve_dp_policy(rows, {2, 4, 3}, 4, 8, 4, 0), resolve_dp_policy(rows, {8, 3}, 4, 8, 4, 0));
}

std::string refusal(const DPPolicy& policy, const Shape& shape) {
  return complaint([&] { resolve_dp_policy(policy, shape, 2, 8, 4, 0); });
}

TEST(Placement, AnUnevenSplitNamesAxisDivisorAndTheNearestShapes) {
  // 4 cubes of 8 PEs: 32 divides neither 100 nor anything between 96 and 128.
  const std::string text = refusal({.cube = Split::column_wise, .pe = Split::column_wise}, {32, 100});
  EXPECT_THAT(text, HasSubstr("placement.uneven"));
  EXPECT_THAT(
      text,
      HasSubstr("column_wise over 4 cubes, column_wise over 8 PEs: axis 1 of [32, 100] has 100 columns, "
                "which 32 does not divide"));
  EXPECT_THAT(text, HasSubstr("nearest shapes that work: [32, 96] and [32, 128]"));
  EXPECT_THAT(refusal({.pe = Split::row_wise}, {3, 5}),
              HasSubstr("axis 0 of [3, 5] has 3 rows, which 8 does not divide"));
  EXPECT_THAT(refusal({.pe = Split::row_wise}, {3, 5}), HasSubstr("nearest shapes that work: [8, 5]"));
  // Rows are 3 · 4 = 12; with 4 of them in the second axis every even first axis works.
  EXPECT_THAT(refusal({.pe = Split::row_wise}, {3, 4, 5}), HasSubstr("[2, 4, 5] and [4, 4, 5]"));
  EXPECT_THAT(refusal({.pe = Split::tiled_row_major, .tile = TileSize{4, 4}}, {10, 8}),
              HasSubstr("tiles of 4 rows: axis 0 of [10, 8] has 10 rows, which 4 does not divide"));
}

TEST(Placement, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(refusal({.num_cubes = 5}, {8}), HasSubstr("num_cubes is 5"));
  EXPECT_THAT(refusal({.num_pes = 0}, {8}), HasSubstr("num_pes is 0"));
  EXPECT_THAT(refusal({.pe = Split::tiled_row_major}, {8, 8}), HasSubstr("tiled_row_major without a tile"));
  EXPECT_THAT(refusal({.tile = TileSize{2, 2}}, {8, 8}), HasSubstr("neither axis is tiled"));
  EXPECT_THAT(
      refusal({.cube = Split::tiled_row_major, .pe = Split::row_wise, .tile = TileSize{1, 1}}, {8, 8}),
      HasSubstr("no rectangle"));
  EXPECT_THAT(refusal({}, {8, 0}), HasSubstr("has no elements"));
  EXPECT_THAT(complaint([] { parse_split("colum_wise"); }), HasSubstr("column_wise"));
}

}  // namespace
}  // namespace kernbench::runtime::placement_test
