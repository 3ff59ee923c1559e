// From the virtual bytes of a command to memories.
#include "device/address_map.hpp"

#include <gtest/gtest.h>

#include "device/device_world.hpp"

namespace kernbench::device {
namespace {

using address::MmuMap;
using address::VirtAddr;
using testing::Machine;

constexpr std::uint64_t kBase = 0x1'0000'0000;

struct Rows {
  std::uint64_t address;
  std::int64_t row_bytes, rows, stride;
  bool operator==(const Rows&) const = default;
  friend void PrintTo(const Rows& r, std::ostream* out) {
    *out << r.rows << " rows of " << r.row_bytes << " B, " << r.stride << " apart, at " << r.address;
  }
};
Rows rows(std::int64_t count, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
  const VirtualRows r = rows_of(kBase, count, cols, row_stride, col_stride, 2);
  return {r.address, r.row_bytes, r.rows, r.stride};
}

TEST(RowsOf, FollowTheContiguousAxis) {
  EXPECT_EQ(rows(4, 8, 8, 1), (Rows{kBase, 4 * 8 * 2, 1, 0}));      // all of it is contiguous
  EXPECT_EQ(rows(4, 8, 100, 1), (Rows{kBase, 8 * 2, 4, 100 * 2}));  // row by row
  EXPECT_EQ(rows(4, 8, 1, 100), (Rows{kBase, 4 * 2, 8, 100 * 2}));  // column by column
  EXPECT_EQ(rows(1, 8, 100, 1), (Rows{kBase, 8 * 2, 1, 0}));        // a row
  EXPECT_EQ(rows(4, 1, 100, 7), (Rows{kBase, 2, 4, 100 * 2}));  // a column: its column stride says nothing
  EXPECT_EQ(rows(1, 8, 7, 100), (Rows{kBase, 2, 8, 100 * 2}));  // a row of scattered elements
}

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
  std::vector<DmaTransfer::Piece> pieces(const VirtualRows& rows) {
    std::vector<DmaTransfer::Piece> out;
    translate(m.device, map, rows, {"kernel.cpp", 7}, out);
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
  const auto all = pieces({.address = kBase + 16, .row_bytes = 64, .rows = 3, .stride = 256});
  ASSERT_EQ(all.size(), 1u);
  expect(all[0], 0, {.offset = 4096 + 16, .row_bytes = 64, .rows = 3, .stride = 256});
  // Up to the last byte: the last row begins at 16 + 3 · 256 = 784 and ends at 1024.
  EXPECT_EQ(pieces({.address = kBase + 16, .row_bytes = 240, .rows = 4, .stride = 256}).size(), 1u);
}

TEST_F(Translate, RowsInSeveralMemoriesAreAPieceEach) {
  // Rows at 0, 640 and 1280; the second memory begins at 1024.
  const auto all = pieces({.address = kBase, .row_bytes = 64, .rows = 3, .stride = 640});
  ASSERT_EQ(all.size(), 3u);
  expect(all[0], 0, {.offset = 4096, .row_bytes = 64, .rows = 1, .stride = 0});
  expect(all[1], 0, {.offset = 4096 + 640, .row_bytes = 64, .rows = 1, .stride = 0});
  expect(all[2], 1, {.offset = 8192 + 1280 - 1024, .row_bytes = 64, .rows = 1, .stride = 0});
}

TEST_F(Translate, ARowThatGoesOnInAnotherMemoryIsCut) {
  const auto all = pieces({.address = kBase + 1000, .row_bytes = 100});
  ASSERT_EQ(all.size(), 2u);
  expect(all[0], 0, {.offset = 4096 + 1000, .row_bytes = 24, .rows = 1, .stride = 0});
  expect(all[1], 1, {.offset = 8192, .row_bytes = 76, .rows = 1, .stride = 0});
}

TEST_F(Translate, ARowThatNobodyMappedIsAFault) {
  // The second of two rows ends a byte too late: 1024 + 1025.
  try {
    pieces({.address = kBase, .row_bytes = 1025, .rows = 2, .stride = 1024});
    FAIL();
  } catch (const address::MmuFault& e) {
    EXPECT_EQ(e.address(), VirtAddr(kBase + 2048));
    EXPECT_NE(std::string(e.what()).find("kernel.cpp:7"), std::string::npos);
  }
}

}  // namespace
}  // namespace kernbench::device
