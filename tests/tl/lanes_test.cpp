// Transfers whose lanes may lie anywhere.
#include <algorithm>
#include <array>
#include <random>

#include "isa/transfer.hpp"
#include "tl/recording.hpp"

namespace kernbench::tl::lanes_test {
namespace {

using Addresses = std::vector<std::uint64_t>;

/// base + i · step of n lanes.
Addresses every(std::uint64_t base, std::int64_t step, int n) {
  Addresses addresses;
  for (int i = 0; i < n; ++i) addresses.push_back(base + static_cast<std::uint64_t>(i * step));
  return addresses;
}

/// base + i · row + j · col.
Addresses grid(std::uint64_t base, int rows, std::int64_t row, int cols, std::int64_t col) {
  Addresses addresses;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) addresses.push_back(base + static_cast<std::uint64_t>(i * row + j * col));
  return addresses;
}

TEST(LoadAt, AffineAddressesAreOneStridedTransfer) {
  EXPECT_THAT(recorded([](Context& tl) {
                tl.load_at({every(0x1000, 2, 8)}, {8}, f16);
                tl.load_at({every(0x1000, 6, 8)}, {8}, f16);            // every third element
                tl.load_at({grid(0x1000, 4, 256, 8, 2)}, {4, 8}, f16);  // rows 128 elements apart
                tl.load_at({grid(0x1000, 4, 0, 8, 2)}, {4, 8}, f16);    // one row four times
              }),
              ElementsAre("%0:f16[8] = dma_read 0x1000", "%1:f16[8] = dma_read 0x1000 strides [3]",
                          "%2:f16[4, 8] = dma_read 0x1000 strides [128, 1]",
                          "%3:f16[4, 8] = dma_read 0x1000 strides [0, 1]"));
}

// Element (i, j) lies at 2 i + 256 j: 8 rows of 4 elements in memory, and the tile is another look at them.
TEST(LoadAt, ATileStoredByColumnsIsReadAsRowsAndTurned) {
  Context tl;
  tl.begin();
  const Tile tile = tl.load_at({grid(0x1000, 4, 2, 8, 256)}, {4, 8}, f16);
  EXPECT_EQ(tile.shape(), Shape({4, 8}));
  ASSERT_EQ(tl.commands().size(), 1u);
  EXPECT_EQ(to_string(tl.commands()[0]), "%0:f16[8, 4] = dma_read 0x1000 strides [128, 1]");
  const auto& program = tl.program();
  EXPECT_EQ(program.layout(tile.id()).strides[0], 1);  // within a row that was read
  EXPECT_EQ(program.layout(tile.id()).strides[1], 4);
}

// Element (i, j, k) lies at 4 · (2 i + j + 6 k), i < 3, j < 2, k < 5: memory has the axes k, i, j, without a gap.
TEST(LoadAt, ATileOfThreeAxesIsReadInTheOrderOfMemory) {
  Addresses addresses;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 5; ++k)
        addresses.push_back(0x1000 + static_cast<std::uint64_t>(4 * (2 * i + j + 6 * k)));
  EXPECT_THAT(recorded([&](Context& tl) {
                EXPECT_EQ(tl.load_at({addresses}, {3, 2, 5}, f32).shape(), Shape({3, 2, 5}));
              }),
              ElementsAre("%0:f32[5, 3, 2] = dma_read 0x1000"));
}

// 4 × 3 by columns; of the first column only two elements are on, the second is on, the last is off.
TEST(LoadAt, AMaskIsTurnedWithItsTile) {
  std::vector<std::uint8_t> on;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) on.push_back(j == 1 || (j == 0 && i < 2));
  EXPECT_THAT(recorded([&](Context& tl) {
                tl.load_at({grid(0x1000, 4, 4, 3, 64), on}, {4, 3}, f32, -1);
              }),
              ElementsAre("%1:f32[3, 4] = dma_read 0x1000 strides [16, 1] lanes [0:2, 4:8] other -1"));
}

// A mask leaves one column, so the distance of columns is not known: its elements are one run all the same.
TEST(LoadAt, TheOnlyColumnThatIsOnIsOneRun) {
  std::vector<std::uint8_t> on;
  for (int lane = 0; lane < 4 * 3; ++lane) on.push_back(lane % 3 == 1);
  Context tl;
  tl.begin();
  tl.load_at({grid(0x1000, 4, 4, 3, 64), on}, {4, 3}, f32);
  std::vector<isa::Segment> segments;
  isa::for_each_segment(tl.program(), tl.program().command(0),
                        [&](const isa::Segment& s) { segments.push_back(s); });
  EXPECT_THAT(segments, ElementsAre(isa::Segment{0x1040, 4, 4}));
}

// Columns that lie anywhere, as the blocks of a paged cache: each is a run.
TEST(LoadAt, ScatteredColumnsAreRunsOfTheirElements) {
  Addresses addresses;
  for (std::uint64_t i = 0; i < 16; ++i)
    for (const std::uint64_t column : {5, 0, 2}) addresses.push_back(0x1000 + 32 * column + 2 * i);
  Context tl;
  tl.begin();
  const Tile tile = tl.load_at({addresses}, {16, 3}, f16);
  EXPECT_EQ(tile.shape(), Shape({16, 3}));
  const auto read = tl.commands()[0].as<isa::DmaRead>();
  EXPECT_EQ(read.result.shape, Shape({3, 16}));
  EXPECT_EQ(read.places, (Addresses{0x10a0, 0x1000, 0x1040}));
}

TEST(StoreAt, ATileStoredByColumnsIsTurnedAndWrittenAsRows) {
  Context tl;
  tl.begin();
  tl.store_at({grid(0x1000, 4, 2, 8, 256)}, tl.zeros({4, 8}, f16));
  const auto write = tl.commands()[1].as<isa::DmaWrite>();
  EXPECT_EQ(write.tile.shape, Shape({8, 4}));
  EXPECT_EQ(write.strides, (std::vector<std::int64_t>{128, 1}));
}

// Elements (0, 1) and (1, 0) share a place: (1, 0) is later in the tile and stays, so the order is not changed.
TEST(StoreAt, ColumnsThatOverlapKeepTheOrderOfTheTile) {
  Context tl;
  tl.begin();
  tl.store_at({Addresses{0x1000, 0x1008, 0x1004, 0x1004, 0x1008, 0x1000}}, tl.zeros({3, 2}, f32));
  EXPECT_EQ(tl.commands()[1].as<isa::DmaWrite>().tile.shape, Shape({3, 2}));
}

// Lanes 2 … 5 are on and affine; what stands in the others does not matter.
TEST(LoadAt, OnlyLanesThatAreOnDecide) {
  Addresses addresses = every(0x1000, 4, 8);
  addresses[0] = 7, addresses[1] = 0, addresses[6] = UINT64_MAX, addresses[7] = 1;
  const std::vector<std::uint8_t> on = {0, 0, 1, 1, 1, 1, 0, 0};
  EXPECT_THAT(recorded([&](Context& tl) {
                tl.load_at({addresses, on}, {8}, f32, -1);
              }),
              ElementsAre("%1:f32[8] = dma_read 0x1000 lanes [2:6] other -1"));
}

// Rows 5, 0 and 2 of 16 elements, each a run.
TEST(LoadAt, OtherAddressesAreMovedRunByRun) {
  Context tl;
  tl.begin();
  Addresses addresses;
  for (const std::uint64_t row : {5, 0, 2})
    for (std::uint64_t j = 0; j < 16; ++j) addresses.push_back(0x1000 + 32 * row + 2 * j);
  tl.load_at({addresses}, {3, 16}, f16);
  const auto read = tl.commands()[0].as<isa::DmaRead>();
  EXPECT_EQ(read.places, (Addresses{0x10a0, 0x1000, 0x1040}));
  EXPECT_EQ(*read.lanes, (std::vector<isa::LaneRange>{{0, 16}, {16, 32}, {32, 48}}));
  EXPECT_EQ(to_string(tl.commands()[0]), "%0:f16[3, 16] = dma_read 0x10a0 and 2 more places");
}

TEST(LoadAt, BackwardAddressesAreRunsOfOne) {
  Context tl;
  tl.begin();
  tl.load_at({Addresses{0x100c, 0x1008, 0x1004}}, {3}, f32);
  EXPECT_EQ(tl.commands()[0].as<isa::DmaRead>().places, (Addresses{0x100c, 0x1008, 0x1004}));
}

TEST(LoadAt, WithoutAnyLaneMovesNothing) {
  const std::vector<std::uint8_t> none(4, 0);
  Context tl;
  tl.begin();
  tl.load_at({Addresses(4, 0), none}, {4}, f32);
  const auto read = tl.commands()[0].as<isa::DmaRead>();
  ASSERT_TRUE(read.lanes.has_value());
  EXPECT_TRUE(read.lanes->empty());
}

// Two lanes of a store at one place are not affine: each is a run, and the later one is what stays.
TEST(StoreAt, LanesAtOnePlaceAreWrittenInOrder) {
  Context tl;
  tl.begin();
  tl.store_at({Addresses{0x1000, 0x1000}}, tl.zeros({2}, f32));
  EXPECT_EQ(tl.commands()[1].as<isa::DmaWrite>().places, (Addresses{0x1000, 0x1000}));
}

TEST(StoreAt, RandomPlacesAreRecordedExactly) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Addresses addresses(24);
    std::vector<std::uint8_t> on(24);
    for (std::size_t i = 0; i < 24; ++i) {
      addresses[i] = 0x1000 + 4 * (random() % 64);
      on[i] = random() % 4 != 0;
    }
    Context tl;
    tl.begin();
    tl.store_at({addresses, on}, tl.zeros({2, 3, 4}, f32));
    const auto& program = tl.program();
    std::vector<std::uint64_t> seen(24, 0);
    isa::for_each_segment(program, program.command(1), [&](const isa::Segment& s) {
      for (std::int64_t i = 0; i < s.elements; ++i)
        seen[static_cast<std::size_t>(s.lane + i)] = s.address + static_cast<std::uint64_t>(4 * i);
    });
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(seen[i], on[i] ? addresses[i] : 0) << seed << " " << i;
  }
}

// Whatever the order of axes in memory: each lane of the tile is read from its own address.
TEST(LoadAt, RandomLayoutsAreReadExactly) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const std::array<int, 3> extents = {1 + static_cast<int>(random() % 4),
                                        1 + static_cast<int>(random() % 4),
                                        1 + static_cast<int>(random() % 4)};
    std::array<int, 3> order = {0, 1, 2};
    std::shuffle(order.begin(), order.end(), random);
    std::array<int, 3> steps{};
    for (int step = 1, i = 2; i >= 0; --i) {
      steps[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = step;
      step = step * extents[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] +
             static_cast<int>(random() % 3);
    }
    Addresses addresses;
    std::vector<std::uint8_t> on;
    for (int i = 0; i < extents[0]; ++i)
      for (int j = 0; j < extents[1]; ++j)
        for (int k = 0; k < extents[2]; ++k) {
          const bool elsewhere = seed % 3 == 2 && random() % 4 == 0;
          const int element =
              elsewhere ? 1000 + static_cast<int>(random() % 99) : i * steps[0] + j * steps[1] + k * steps[2];
          addresses.push_back(0x1000 + 4 * static_cast<std::uint64_t>(element));
          on.push_back(seed % 2 == 0 || random() % 4 != 0);
        }
    Context tl;
    tl.begin();
    const Tile tile = tl.load_at({addresses, on}, {extents[0], extents[1], extents[2]}, f32);
    const auto& program = tl.program();
    std::vector<std::uint64_t> in_tile(addresses.size(), 0);  // of the elements as they were read
    isa::for_each_segment(program, program.command(0), [&](const isa::Segment& s) {
      for (std::int64_t i = 0; i < s.elements; ++i)
        in_tile[static_cast<std::size_t>(s.lane + i)] = s.address + static_cast<std::uint64_t>(4 * i);
    });
    const auto strides = program.layout(tile.id()).strides;
    std::size_t lane = 0;
    for (int i = 0; i < extents[0]; ++i)
      for (int j = 0; j < extents[1]; ++j)
        for (int k = 0; k < extents[2]; ++k, ++lane) {
          const auto element = static_cast<std::size_t>(i * strides[0] + j * strides[1] + k * strides[2]);
          EXPECT_EQ(in_tile[element], on[lane] ? addresses[lane] : 0) << seed << " " << lane;
        }
  }
}

TEST(LoadAt, WantsAnAddressForEachLane) {
  Context tl;
  tl.begin();
  EXPECT_THAT([&] { tl.load_at({every(0x1000, 4, 3)}, {4}, f32); },
              ::testing::ThrowsMessage<KernelError>(HasSubstr("load_at of 4 lanes with 3 addresses")));
}

TEST(Peek, ReadsWhatLiesAtThePlacesThatAreOn) {
  Context tl({.memory = [](std::uint64_t address, std::span<std::byte> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(address + i);
  }});
  tl.begin();
  const std::vector<std::uint8_t> on = {1, 1, 0, 1};
  const auto bytes = tl.peek({Addresses{0x10, 0x11, 0, 0x20}, on}, i8);
  EXPECT_THAT(bytes, ElementsAre(std::byte{0x10}, std::byte{0x11}, std::byte{0}, std::byte{0x20}));
  EXPECT_TRUE(tl.commands().empty());
}

}  // namespace
}  // namespace kernbench::tl::lanes_test
