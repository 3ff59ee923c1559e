#include "isa/transfer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "isa/program_builder.hpp"

namespace kernbench::isa::transfer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ProgramBuilder builder() { return ProgramBuilder("k", {}); }

// A load of `shape` at 0x1000; `strides` in elements, none given: row-major.
Command load(ProgramBuilder& b, const Shape& shape, std::vector<std::int64_t> strides,
             DType dtype = DType::f16) {
  Command c{.kind = CommandKind::dma_read, .place = b.address(0x1000)};
  c.result = b.tile(dtype, b.shape({shape.begin(), shape.end()}), 1);
  if (!strides.empty()) {
    Strides s{};
    std::ranges::copy(strides, s.begin());
    c.strides = b.strides(s);
  }
  return c;
}

std::vector<Segment> segments(ProgramBuilder& b, const Command& c) {
  const auto index = b.append(c, {});
  std::vector<Segment> all;
  for_each_segment(b.program(), b.program().command(index), [&](const Segment& s) { all.push_back(s); });
  return all;
}

std::vector<Access> accesses_of(ProgramBuilder& b, CommandIndex i) {
  std::array<Access, 3> some{};
  const int n = accesses(b.program(), b.program().command(i), some);
  return {some.begin(), some.begin() + n};
}

TEST(Segments, OfARowMajorTransferAreOne) {
  auto b = builder();
  EXPECT_THAT(segments(b, load(b, {4, 8}, {})), ElementsAre(Segment{0x1000, 0, 32}));
}

TEST(Segments, OfAStridedTransferAreItsRows) {
  auto b = builder();
  // rows of 8 f16 that lie 100 elements = 200 bytes apart
  EXPECT_THAT(segments(b, load(b, {3, 8}, {100, 1})),
              ElementsAre(Segment{0x1000, 0, 8}, Segment{0x1000 + 200, 8, 8}, Segment{0x1000 + 400, 16, 8}));
}

TEST(Segments, AreNotCutAtAxesOfOneElement) {
  auto b = builder();
  // the stride of an axis of one element does not matter
  EXPECT_THAT(segments(b, load(b, {4, 1, 8, 1}, {8, 77, 1, 5})), ElementsAre(Segment{0x1000, 0, 32}));
}

TEST(Segments, JoinRowsThatTouch) {
  auto b = builder();
  // [2][3][8]: the rows of a plane touch, planes are 100 elements apart
  EXPECT_THAT(segments(b, load(b, {2, 3, 8}, {100, 8, 1})),
              ElementsAre(Segment{0x1000, 0, 24}, Segment{0x1000 + 200, 24, 24}));
}

TEST(Segments, OfATransposedTransferAreSingleElements) {
  auto b = builder();
  EXPECT_THAT(segments(b, load(b, {2, 2}, {1, 50})),
              ElementsAre(Segment{0x1000, 0, 1}, Segment{0x1000 + 100, 1, 1}, Segment{0x1002, 2, 1},
                          Segment{0x1002 + 100, 3, 1}));
}

TEST(Segments, LeaveOutLanesThatAreOff) {
  auto b = builder();
  auto c = load(b, {3, 8}, {100, 1});
  c.detail = b.mask(std::vector<LaneRange>{{2, 10}, {17, 18}});
  // lanes 2–7 of row 0, 8–9 of row 1, 17 of row 2
  EXPECT_THAT(segments(b, c), ElementsAre(Segment{0x1004, 2, 6}, Segment{0x1000 + 200, 8, 2},
                                          Segment{0x1000 + 400 + 2, 17, 1}));
}

TEST(Segments, OfEmptyTransfersAreNone) {
  auto b = builder();
  EXPECT_THAT(segments(b, load(b, {0, 8}, {})), IsEmpty());
  auto c = load(b, {2, 8}, {});
  c.detail = b.mask({});
  EXPECT_THAT(segments(b, c), IsEmpty());
}

TEST(Segments, CoverEveryActiveLaneOnceAtItsAddress) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 500; ++round) {
    auto b = builder();
    const Shape shape{1 + pick(3), 1 + pick(4), 1 + pick(5)};
    const std::vector<std::int64_t> strides{pick(40), pick(10), pick(3)};
    auto c = load(b, shape, strides, DType::i8);
    std::vector<LaneRange> runs;
    for (auto lane = pick(3); lane < shape.elements(); lane += 1 + pick(4)) {
      const auto end = std::min(shape.elements(), lane + 1 + pick(6));
      runs.push_back({lane, end});
      lane = end;
    }
    c.detail = b.mask(runs);
    std::vector<std::uint64_t> wanted, got;
    for (const auto run : runs)
      for (auto lane = run.begin; lane < run.end; ++lane)
        wanted.push_back(static_cast<std::uint64_t>(0x1000 + lane / (shape[1] * shape[2]) * strides[0] +
                                                    lane / shape[2] % shape[1] * strides[1] +
                                                    lane % shape[2] * strides[2]));
    for (const auto& s : segments(b, c))
      for (std::int64_t i = 0; i < s.elements; ++i) got.push_back(s.address + static_cast<std::uint64_t>(i));
    ASSERT_EQ(got, wanted) << "round " << round;
  }
}

TEST(Accesses, OfATransferSpanItsFirstToItsLastByte) {
  auto b = builder();
  const auto i = b.append(load(b, {3, 8}, {100, 1}), {});
  EXPECT_THAT(accesses_of(b, i), ElementsAre(Access{0x1000, 0x1000 + (200 + 8) * 2, false}));
  auto masked = load(b, {3, 8}, {100, 1});
  masked.detail = b.mask(std::vector<LaneRange>{{2, 10}});
  const auto j = b.append(masked, {});
  EXPECT_THAT(accesses_of(b, j), ElementsAre(Access{0x1004, 0x1000 + (100 + 2) * 2, false}));
  auto off = load(b, {3, 8}, {});
  off.detail = b.mask({});
  EXPECT_THAT(accesses_of(b, b.append(off, {})), IsEmpty());
}

TEST(Accesses, OfAStoreAreWrites) {
  auto b = builder();
  const auto c = load(b, {8}, {});
  b.append(c, {});
  const auto i = b.append({.kind = CommandKind::dma_write, .place = b.address(0x2000)}, std::array{c.result});
  EXPECT_THAT(accesses_of(b, i), ElementsAre(Access{0x2000, 0x2010, true}));
}

TEST(Accesses, OfACompositeAreItsReferences) {
  auto b = builder();
  const auto shape = b.shape(std::array<std::int64_t, 2>{4, 4});
  const auto dense = row_major({4, 4});
  const auto c = load(b, {4, 4}, {});
  b.append(c, {});
  const auto r = b.reference(DType::f16, shape, 0x3000, dense);
  const auto out = b.reference(DType::f32, shape, 0x4000, dense);
  const auto spec = b.composite({CompositeOp::gemm, c.result, r, out, 0, 0}, {});
  const auto i = b.append({.kind = CommandKind::composite, .detail = spec}, std::array{c.result, r});
  EXPECT_THAT(accesses_of(b, i), ElementsAre(Access{0x3000, 0x3020, false}, Access{0x4000, 0x4040, true}));
}

TEST(Accesses, OfScalarsReceivesAndTheRest) {
  auto b = builder();
  const auto scalar = b.append({.kind = CommandKind::load_scalar,
                                .detail8 = static_cast<std::uint8_t>(DType::i32),
                                .place = b.address(0x5000)},
                               {});
  EXPECT_THAT(accesses_of(b, scalar), ElementsAre(Access{0x5000, 0x5004, false}));
  const auto shape = b.shape(std::array<std::int64_t, 1>{16});
  Command recv{.kind = CommandKind::ipcq_recv, .detail8 = 3, .place = b.address(0x6000)};
  recv.result = b.placed(DType::f16, shape, 0x6000);
  EXPECT_THAT(accesses_of(b, b.append(recv, {})), ElementsAre(Access{0x6000, 0x6020, true}));
  EXPECT_THAT(accesses_of(b, b.append({.kind = CommandKind::fence}, {})), IsEmpty());
}

}  // namespace
}  // namespace kernbench::isa::transfer_test
