// From the virtual bytes of a command to memories.
#include "device/address_map.hpp"

#include <gtest/gtest.h>

#include "device/device_world.hpp"

namespace kernbench::device::address_map_test {
namespace {

using address::MmuMap;
using address::VirtAddr;
using testing::Machine;

constexpr std::uint64_t kBase = 0x1'0000'0000;

/// 1 KiB in the slice of PE 0 at 4096, then 1 KiB in that of PE 1 at 8192.
class Translate : public ::testing::Test {
 protected:
  Translate() {
    map.insert(std::make_shared<const address::MapSegment>(
        VirtAddr(kBase),
        std::vector<address::PhysPiece>{{address::pe_hbm_addr({0, 0, 0}, 6_GiB, 4_KiB), 1_KiB},
                                        {address::pe_hbm_addr({0, 0, 1}, 6_GiB, 8_KiB), 1_KiB}},
        "x"));
  }
  template <class Shape>
  std::vector<DmaTransfer::Piece> pieces(const Shape& shape) {
    std::vector<DmaTransfer::Piece> out;
    translate(m.device, map, shape, {}, out);
    return out;
  }
  void expect(const DmaTransfer::Piece& piece, int pe, const Extent& extent) {
    EXPECT_EQ(piece.memory, &m.device.hbm({0, 0, pe}));
    EXPECT_EQ(piece.extent.offset, extent.offset);
    EXPECT_EQ(piece.extent.row_bytes, extent.row_bytes);
    EXPECT_EQ(piece.extent.rows, extent.rows);
    EXPECT_EQ(piece.extent.stride, extent.stride);
  }
  Machine m;
  MmuMap map{PeCoord{0, 0, 0}};
};

TEST_F(Translate, RowsInOneMemoryAreOnePiece) {
  const auto all = pieces(VirtualRows{.address = kBase + 16, .row_bytes = 64, .rows = 3, .stride = 256});
  ASSERT_EQ(all.size(), 1u);
  expect(all[0], 0, {.offset = 4096 + 16, .row_bytes = 64, .rows = 3, .stride = 256});
  // Up to the last byte: the last row begins at 16 + 3 · 256 = 784 and ends at 1024.
  EXPECT_EQ(pieces(VirtualRows{.address = kBase + 16, .row_bytes = 240, .rows = 4, .stride = 256}).size(),
            1u);
}

TEST_F(Translate, RowsInSeveralMemoriesAreAPieceEach) {
  // Rows at 0, 640 and 1280; the second memory begins at 1024.
  const auto all = pieces(VirtualRows{.address = kBase, .row_bytes = 64, .rows = 3, .stride = 640});
  ASSERT_EQ(all.size(), 3u);
  expect(all[0], 0, {.offset = 4096, .row_bytes = 64, .rows = 1, .stride = 0});
  expect(all[1], 0, {.offset = 4096 + 640, .row_bytes = 64, .rows = 1, .stride = 0});
  expect(all[2], 1, {.offset = 8192 + 1280 - 1024, .row_bytes = 64, .rows = 1, .stride = 0});
}

TEST_F(Translate, ARowThatGoesOnInAnotherMemoryIsCut) {
  const auto all = pieces(VirtualRows{.address = kBase + 1000, .row_bytes = 100});
  ASSERT_EQ(all.size(), 2u);
  expect(all[0], 0, {.offset = 4096 + 1000, .row_bytes = 24, .rows = 1, .stride = 0});
  expect(all[1], 1, {.offset = 8192, .row_bytes = 76, .rows = 1, .stride = 0});
}

TEST_F(Translate, RectanglesFollowTheirContiguousAxis) {
  const auto expect_one = [&](std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
                              std::int64_t col_stride, const Extent& extent) {
    const auto all = pieces(Rectangle{kBase, rows, cols, row_stride, col_stride, 2});
    ASSERT_EQ(all.size(), 1u);
    expect(all[0], 0, extent);
  };
  // 4 × 8 elements of 2 B: all of it contiguous; row by row; column by column.
  expect_one(4, 8, 8, 1, {.offset = 4096, .row_bytes = 64, .rows = 1, .stride = 0});
  expect_one(4, 8, 100, 1, {.offset = 4096, .row_bytes = 16, .rows = 4, .stride = 200});
  expect_one(4, 8, 1, 50, {.offset = 4096, .row_bytes = 8, .rows = 8, .stride = 100});
  // A row, a column (its column stride says nothing), a row of scattered elements.
  expect_one(1, 8, 100, 1, {.offset = 4096, .row_bytes = 16, .rows = 1, .stride = 0});
  expect_one(4, 1, 100, 7, {.offset = 4096, .row_bytes = 2, .rows = 4, .stride = 200});
  expect_one(1, 8, 7, 50, {.offset = 4096, .row_bytes = 2, .rows = 8, .stride = 100});
}

TEST_F(Translate, ARectangleWithoutAContiguousAxisIsTakenElementByElement) {
  // 3 rows, 200 B apart, of 8 elements of 2 B, 6 B apart.
  const auto all = pieces(Rectangle{kBase, 3, 8, 100, 3, 2});
  ASSERT_EQ(all.size(), 3u);
  for (std::int64_t r = 0; r < 3; ++r)
    expect(all[static_cast<std::size_t>(r)], 0,
           {.offset = 4096 + r * 200, .row_bytes = 2, .rows = 8, .stride = 6});
}

}  // namespace
}  // namespace kernbench::device::address_map_test
