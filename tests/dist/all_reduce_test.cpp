#include "dist/dist_world.hpp"

namespace kernbench::dist::all_reduce_test {
namespace {

const DPPolicy kCopies{.cube = Split::replicate, .pe = Split::replicate};
const DPPolicy kRowsAndCopies{.cube = Split::row_wise, .pe = Split::replicate};
const DPPolicy kTiles{.cube = Split::tiled_row_major, .pe = Split::tiled_row_major, .tile = TileSize{4, 8}};

TEST(AllReduce, OverSipsAddsElementByElementHoweverTheTensorLies) {
  const Shape shape{64, 32};
  for (const auto& dp : {std::optional<DPPolicy>(), std::optional(kColumns), std::optional(kCopies),
                         std::optional(kRowsAndCopies), std::optional(kTiles)}) {
    Torch torch(machine(3));
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.from_numpy(numbers(shape, rank), dp, "x");
      const Work work = all_reduce(x);
      EXPECT_EQ(work.algorithm(), "intersip_allreduce");
      EXPECT_TRUE(work.is_completed());
      EXPECT_EQ(x.numpy(), sum_of(shape, {0, 1, 2}));
    });
    EXPECT_TRUE(torch.hazards().empty());
  }
}

TEST(AllReduce, OverCubesAddsTheCubesOfAllSips) {
  const Shape shape{4, 96};
  std::vector<std::int32_t> sum(96);
  for (int rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < 4 * 96; ++i) sum[i % 96] += numbers(shape, rank).view<std::int32_t>()[i];
  const DPPolicy every_pe{.cube = Split::row_wise, .pe = Split::column_wise};
  for (const auto& [dp, algorithm] : {std::pair(kRowPerCube, "intercube_allreduce"),
                                      {every_pe, "intercube_allreduce_allpe"},
                                      {kRowsAndCopies, "intercube_allreduce"}}) {
    Torch torch(machine(2));
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.from_numpy(numbers(shape, rank), dp, "x");
      EXPECT_EQ(all_reduce(x, ReduceOp::SUM, torch.ahbm.cubes).algorithm(), algorithm);
      const NdArray result = x.numpy();
      for (std::size_t i = 0; i < 4 * 96; ++i) ASSERT_EQ(result.view<std::int32_t>()[i], sum[i % 96]) << i;
    });
    EXPECT_TRUE(torch.hazards().empty());
  }
}

// Every cube holds a copy of the whole, which counts for each.
TEST(AllReduce, OverCubesThatHoldCopiesCountsThemAll) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({4, 96}, rank), kCopies, "x");
    all_reduce(x, ReduceOp::SUM, torch.ahbm.cubes);
    NdArray expected = sum_of({4, 96}, {0, 1});
    for (auto& element : expected.view<std::int32_t>()) element *= 4;
    EXPECT_EQ(x.numpy(), expected);
  });
  EXPECT_TRUE(torch.hazards().empty());
}

TEST(AllReduce, ByDefaultOverCubesIfTheFileSaysSo) {
  Torch torch(machine(2));
  configure_further(torch, {"defaults.group=cube"});
  on_all_ranks(torch, [&](int) {
    Tensor x = torch.from_numpy(filled({4, 16}, 1), kRowPerCube, "x");
    all_reduce(x);
    EXPECT_EQ(x.numpy(), filled({4, 16}, 8));  // 2 SIPs of 4 cubes
  });
}

TEST(AllReduce, OverPesWhereARankIsOne) {
  Torch torch(machine(2));
  use_pes(torch, 35);  // 32 PEs of the first SIP and 3 of the second
  EXPECT_EQ(get_world_size(torch), 35);
  EXPECT_TRUE(ranks_are_pes(torch));
  std::vector<int> ranks(35);
  std::iota(ranks.begin(), ranks.end(), 0);
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({50}, rank), {}, "x");
    EXPECT_EQ(x.shards().front().at(), (PeCoord{rank / 32, rank / 8 % 4, rank % 8}));
    all_reduce(x);
    EXPECT_EQ(x.numpy(), sum_of({50}, ranks));
  });
  EXPECT_TRUE(torch.hazards().empty());
}

TEST(AllReduce, CombinesAsTheOperationSays) {
  Torch torch(machine(3));
  const auto result = [&](ReduceOp op, DType dtype, std::vector<double> values) {
    double got = 0;
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.full({8}, values[static_cast<std::size_t>(rank)], dtype, {}, "x");
      all_reduce(x, op);
      got = dtype == f32 ? static_cast<double>(x.numpy().at<float>({3})) : x.numpy().at<std::int32_t>({3});
    });
    return got;
  };
  EXPECT_EQ(result(ReduceOp::SUM, i32, {3, -5, 7}), 5);
  EXPECT_EQ(result(ReduceOp::MAX, i32, {3, -5, 7}), 7);
  EXPECT_EQ(result(ReduceOp::MIN, i32, {3, -5, 7}), -5);
  EXPECT_EQ(result(ReduceOp::PROD, i32, {3, -5, 7}), -105);
  EXPECT_EQ(result(ReduceOp::AVG, f32, {3, -5, 8}), 2);
}

TEST(AllReduce, OverSomeRanksLeavesTheOthersAlone) {
  Torch torch(machine(4));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
    if (rank != 1) all_reduce(x, ReduceOp::SUM, Group::of({3, 0, 2}));
    EXPECT_EQ(x.numpy(), rank == 1 ? numbers({64}, 1) : sum_of({64}, {0, 2, 3}));
  });
}

TEST(AllReduce, OfSeveralGroupsOneAfterTheOtherIsTheirs) {
  Torch torch(machine(4));
  const std::vector<std::vector<int>> groups = {{0, 1}, {2, 3}, {1, 2, 3}, {3, 0}, {0, 1, 2, 3}, {0, 1}};
  on_all_ranks(torch, [&](int rank) {
    for (const auto& ranks : groups) {
      if (std::ranges::find(ranks, rank) == ranks.end()) continue;
      Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
      all_reduce(x, ReduceOp::SUM, Group::of(ranks));
      EXPECT_EQ(x.numpy(), sum_of({64}, ranks));
    }
  });
  EXPECT_TRUE(torch.hazards().empty());
}

// Rank 0 has called both before any other has called one.
TEST(AllReduce, OverPesSeveralAtOnceStayApart) {
  Torch torch(machine(2));
  use_pes(torch, 5);
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({50}, rank), {}, "x"),
           y = torch.from_numpy(numbers({9}, rank), {}, "y");
    Work first = all_reduce(x, ReduceOp::SUM, {}, true), second = all_reduce(y, ReduceOp::SUM, {}, true);
    first.wait(), second.wait();
    EXPECT_EQ(x.numpy(), sum_of({50}, {0, 1, 2, 3, 4}));
    EXPECT_EQ(y.numpy(), sum_of({9}, {0, 1, 2, 3, 4}));
  });
}

// The queues of SIP 1 are installed when its long launch is over; the first message must not come before.
TEST(AllReduce, BeginsWhenTheQueuesOfAllSipsAreThere) {
  Torch torch(machine(2));
  const auto busy = [](tl::Context& tl, tl::Ptr x) {
    auto tile = tl.load(x, {64}, i32);
    for (int i = 0; i < 2000; ++i) tile = tile + 1;
    tl.store(x, tile - 2000);
  };
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
    if (rank == 1) torch.launch("busy", busy, x);
    all_reduce(x);
    EXPECT_EQ(x.numpy(), sum_of({64}, {0, 1}));
  });
}

TEST(AllReduce, WaitsOnlyWhenAskedTo) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
    const Work work = all_reduce(x, ReduceOp::SUM, {}, true);
    EXPECT_FALSE(work.is_completed());
    work.wait();
    EXPECT_TRUE(work.is_completed());
    all_reduce(x, ReduceOp::MAX, {}, true);
    EXPECT_EQ(x.numpy(), sum_of({64}, {0, 1}));  // a read waits for what it needs: never a stale value
  });
}

/// Rank 1 is inside a collective that rank 0 has not called yet; what rank 0 wants of rank 1 has nothing to do with it.
TEST(HostReads, OfAnotherRanksTensorWaitForNoCollectiveThatThisOneHasNotCalled) {
  Torch torch(machine(2));
  std::vector<Tensor> done(2);
  on_all_ranks(torch, [&](int rank) {
    done[static_cast<std::size_t>(rank)] = torch.from_numpy(numbers({64}, rank), {}, "done");
    Tensor x = torch.from_numpy(numbers({64}, rank), {}, "x");
    x.numpy();  // both ranks are here
    if (rank == 0) {
      Tensor later = torch.zeros({64}, i32);
      later.numpy();  // rank 1 has called the all-reduce meanwhile
      EXPECT_EQ(done[1].numpy(), numbers({64}, 1));
    }
    all_reduce(x);
    EXPECT_EQ(x.numpy(), sum_of({64}, {0, 1}));
  });
}

TEST(HostReads, OfAnotherRanksTensorSeeWhatItHasSubmittedBefore) {
  Torch torch(machine(2));
  const auto add_one = [](tl::Context& tl, tl::Ptr x) { tl.store(x, tl.load(x, {64}, i32) + 1); };
  Tensor shared;
  on_all_ranks(torch, [&](int rank) {
    if (rank == 0) {
      shared = torch.from_numpy(numbers({64}, 0), {}, "shared");
      torch.launch("add_one", add_one, shared);
    } else {
      NdArray expected = numbers({64}, 0);
      for (auto& x : expected.view<std::int32_t>()) ++x;
      EXPECT_EQ(shared.numpy(), expected);
    }
  });
  EXPECT_TRUE(torch.hazards().empty());
}

TEST(AllReduce, OfTensorsLargerThanASlotIsRight) {
  Torch torch(machine(2));
  const Shape shape{32, 8192};  // 32 KiB on each of 32 PEs, slots of 4 KiB
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers(shape, rank), kColumns, "x");
    all_reduce(x);
    EXPECT_EQ(x.numpy(), sum_of(shape, {0, 1}));
  });
}

TEST(AllReduce, OneSipAloneIsRight) {
  Torch torch(machine(1));
  init_process_group(torch);
  Tensor x = torch.from_numpy(numbers({4, 16}, 0), kRowPerCube, "x");
  all_reduce(x);
  EXPECT_EQ(x.numpy(), numbers({4, 16}, 0));
  Tensor y = torch.from_numpy(filled({4, 16}, 5), kRowPerCube, "y");
  all_reduce(y, ReduceOp::SUM, torch.ahbm.cubes);
  EXPECT_EQ(y.numpy(), filled({4, 16}, 20));
}

TEST(AllReduce, UsesTheConfiguredAlgorithmWhereItFits) {
  Torch torch(machine(3));
  configure_further(torch, {"defaults.algorithm=tree_allreduce"});
  on_all_ranks(torch, [&](int rank) {
    Tensor whole = torch.from_numpy(numbers({32}, rank)),
           spread = torch.from_numpy(numbers({32}, rank), kColumns);
    EXPECT_EQ(all_reduce(whole).algorithm(), "tree_allreduce");
    EXPECT_EQ(all_reduce(spread).algorithm(), "intersip_allreduce");  // the tree takes one shard per rank
    EXPECT_EQ(whole.numpy(), sum_of({32}, {0, 1, 2}));
    EXPECT_EQ(spread.numpy(), sum_of({32}, {0, 1, 2}));
  });
}

TEST(AllReduce, WithoutDataTakesTheSameTime) {
  std::vector<Time> ends;
  for (const bool data : {true, false}) {
    Torch torch(machine(2), {.data = data});
    on_all_ranks(torch, [&](int rank) { all_reduce(torch.from_numpy(numbers({64, 32}, rank), kColumns)); });
    torch.synchronize();
    ends.push_back(torch.now());
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(AllReduce, IsTheSameToTheBitWhateverTheThreads) {
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2}) {
    Torch torch(machine(3), {.threads = threads});
    on_all_ranks(torch, [&](int rank) {
      Tensor x = torch.from_numpy(numbers({4, 512}, rank), kRowPerCube);
      all_reduce(x, ReduceOp::SUM, torch.ahbm.cubes);
      all_reduce(x);
    });
    torch.synchronize();
    hashes.push_back(torch.log().hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace kernbench::dist::all_reduce_test
