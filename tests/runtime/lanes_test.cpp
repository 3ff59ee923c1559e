// Gathers and scatters through a whole run: where each lane lies decides what is read and written.
#include <cstring>

#include "runtime/host_world.hpp"

namespace kernbench::runtime::lanes_test {
namespace {

using Addresses = std::vector<std::uint64_t>;

/// y[k, :] = x[rows[k], :], rows of `cols` i32.
void gather_rows(tl::Context& tl, tl::Ptr x, tl::Ptr y, const std::vector<int>& rows, int cols) {
  Addresses from;
  for (const int row : rows)
    for (int j = 0; j < cols; ++j)
      from.push_back(x.address() + static_cast<std::uint64_t>(4 * (row * cols + j)));
  const auto n = static_cast<std::int64_t>(rows.size());
  tl.store(y, tl.load_at({from}, {n, cols}, i32));
}

TEST(Lanes, AGatherOfRowsReadsEachRowWhereItLies) {
  const std::vector<int> rows = {7, 3, 3, 0, 15};
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({16, 8}), {}, "x"), y = torch.empty({5, 8}, i32);
  torch.launch("gather", gather_rows, x, y, rows, 8);
  const NdArray got = y.numpy();
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (std::int64_t j = 0; j < 8; ++j)
      EXPECT_EQ(got.at<std::int32_t>({static_cast<std::int64_t>(k), j}), rows[k] * 8 + j);
}

// Lane i goes to place order[i]; a lane that is off leaves its place alone.
void scatter(tl::Context& tl, tl::Ptr x, tl::Ptr y, const std::vector<int>& order,
             const std::vector<std::uint8_t>& on) {
  Addresses to;
  for (const int place : order) to.push_back(y.address() + static_cast<std::uint64_t>(4 * place));
  tl.store_at({to, on}, tl.load(x, {static_cast<std::int64_t>(order.size())}, i32));
}

TEST(Lanes, AScatterWritesTheLanesThatAreOn) {
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({6})), y = torch.full({6}, -1, i32);
  torch.launch("scatter", scatter, x, y, std::vector<int>{4, 2, 0, 5, 1, 3},
               std::vector<std::uint8_t>{1, 1, 1, 0, 1, 1});
  EXPECT_THAT(values(y.numpy()), ::testing::ElementsAre(2, 4, 1, 5, 0, -1));
  EXPECT_TRUE(torch.hazards().empty());
}

// 64 elements in one run are a read of 256 bytes, alone 64 reads of a burst of 256 bytes each in their channel.
TEST(Lanes, ScatteredElementsCostATransferEach) {
  const auto time = [](int step) {
    Torch torch(load({"cube.hbm.num_pcs=1", "cube.hbm.hbm_to_router_bw_gbs=32"}));
    Tensor x = torch.zeros({1 << 16}, i32);
    const auto handle = torch.launch(
        "read",
        [&](tl::Context& tl, tl::Ptr p) {
          Addresses from;
          for (int i = 0; i < 64; ++i)
            from.push_back(p.address() + static_cast<std::uint64_t>(4 * (i * step % 8191)));
          tl.load_at({from}, {64}, i32);
        },
        x);
    torch.wait(handle);
    return handle.trace().pe_exec;
  };
  // 63 bursts of 8 ns more; the last data on the way are 4 bytes (0.125 ns at 32 GB/s) instead of 256 (8 ns). The
  // remainders jump, so that the places are not affine.
  EXPECT_EQ((time(1777) - time(1)).ns(), 63 * 8.0 - (8.0 - 0.125));
}

// 64 elements of a permutation of 256 bytes are one request, as if they were read in order; a gap makes two of them.
TEST(Lanes, ScatteredLanesThatFillARangeOfMemoryAreOneRequest) {
  const auto time = [](auto place_of) {
    Torch torch(load({"cube.hbm.num_pcs=1", "cube.hbm.hbm_to_router_bw_gbs=32"}));
    Tensor x = torch.zeros({1 << 10}, i32);
    const auto handle = torch.launch(
        "read",
        [&](tl::Context& tl, tl::Ptr p) {
          Addresses from;
          for (int i = 0; i < 64; ++i)
            from.push_back(p.address() + static_cast<std::uint64_t>(4 * place_of(i)));
          tl.load_at({from}, {64}, i32);
        },
        x);
    torch.wait(handle);
    return handle.trace().pe_exec;
  };
  const Time in_order = time([](int i) { return i; });
  EXPECT_EQ(time([](int i) { return 63 - i; }), in_order);
  EXPECT_EQ(time([](int i) { return i * 5 % 64; }), in_order);
  EXPECT_GT(time([](int i) { return i * 5 % 64 < 32 ? i * 5 % 64 : i * 5 % 64 + 64; }), in_order);
}

// What the host wrote, and what a launch before left.
TEST(Lanes, PeekSeesWhatTheLaunchesBeforeLeft) {
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({8})), y = torch.zeros({1}, i32);
  std::vector<std::int32_t> seen;
  const auto look = [&](tl::Context& tl, tl::Ptr p) {
    const Addresses at = {p.address() + 4, p.address() + 20};
    const auto bytes = tl.peek({at}, i32);
    for (std::size_t i = 0; i < 2; ++i) {
      std::int32_t number = 0;
      std::memcpy(&number, bytes.data() + 4 * i, 4);
      seen.push_back(number);
    }
    tl.load_at({at}, {2}, i32);
  };
  torch.launch("look", look, x);
  torch.launch(
      "double", [](tl::Context& tl, tl::Ptr p) { tl.store(p, tl.load(p, {8}, i32) * 2); }, x);
  torch.launch("look", look, x);
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 5, 2, 10));
}

TEST(Lanes, PeekOutsideEveryTensorIsAnErrorWithLaneAndAddress) {
  Torch torch(small());
  Tensor x = torch.from_numpy(counting({8}));
  const auto look = [&](tl::Context& tl, tl::Ptr p) {
    const Addresses at = {p.address(), 0x10};
    tl.peek({at}, i32);
  };
  EXPECT_THAT(complaint([&] { torch.launch("look", look, x); }), HasSubstr("lane 1 at 0x10"));
}

// Two PEs that write one place through scattered lanes are in no order.
TEST(Lanes, HazardsAreFoundBetweenScatteredLanes) {
  Torch torch(small());
  Tensor x = torch.zeros({64}, i32);
  const auto write = [](tl::Context& tl, tl::Ptr p) {
    const auto mine = static_cast<std::uint64_t>(tl.program_id(0));
    const Addresses at = {p.address() + 4 * (8 + mine), p.address() + 4 * 3, p.address() + 4 * (40 - mine)};
    tl.store_at({at}, tl.full({3}, 1, i32));
  };
  torch.launch({.name = "write", .grid = Grid{2, 1}}, write, x);
  torch.synchronize();
  ASSERT_EQ(torch.hazards().size(), 1u);
  EXPECT_EQ(torch.hazards()[0].kind, "write-write");
  EXPECT_THAT(torch.hazards()[0].text, HasSubstr("touch 4 B"));
}

// One PE runs three instances; the first two meet in one element, the third stays away.
TEST(Instances, OfOnePeAreInNoOrder) {
  Torch torch(small());
  Tensor x = torch.zeros({64}, i32);
  const auto write = [](tl::Context& tl, tl::Ptr p) {
    for (const int first : {0, 7, 32}) {
      tl.begin_instance();
      tl.store(p + 4 * first, tl.full({8}, first, i32));
    }
  };
  torch.launch("write", write, x);
  torch.synchronize();
  ASSERT_EQ(torch.hazards().size(), 1u);
  EXPECT_THAT(torch.hazards()[0].text, HasSubstr("touch 4 B"));
}

TEST(Instances, MayReadWhatNobodyWrites) {
  Torch torch(small());
  Tensor x = torch.zeros({64}, i32);
  const auto read = [](tl::Context& tl, tl::Ptr p) {
    for (const int i : {1, 2, 3}) {
      tl.begin_instance();
      tl.store(p + 64 + 4 * i, tl.load(p, {1}, i32));
    }
  };
  torch.launch("read", read, x);
  torch.synchronize();
  EXPECT_TRUE(torch.hazards().empty());
}

}  // namespace
}  // namespace kernbench::runtime::lanes_test
