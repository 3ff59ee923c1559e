// Transfers whose lanes may lie anywhere.
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
