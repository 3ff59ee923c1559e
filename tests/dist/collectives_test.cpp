// The collectives beside all_reduce.
#include "dist/dist_world.hpp"

namespace kernbench::dist::collectives_test {
namespace {

const DPPolicy kCopies{.cube = Split::replicate, .pe = Split::replicate};

/// Row by row one after the other.
NdArray concatenated(const std::vector<NdArray>& arrays, const Shape& shape) {
  NdArray all(i32, shape);
  auto at = all.view<std::int32_t>().begin();
  for (const NdArray& a : arrays) at = std::ranges::copy(a.view<std::int32_t>(), at).out;
  return all;
}

/// Rows [first, first + rows) of a matrix.
NdArray rows_of(const NdArray& array, std::int64_t first, std::int64_t rows) {
  NdArray part(i32, {rows, array.shape()[1]});
  const auto from = array.view<std::int32_t>().subspan(static_cast<std::size_t>(first * array.shape()[1]));
  std::copy_n(from.begin(), part.elements(), part.view<std::int32_t>().begin());
  return part;
}

/// Everything below holds for SIPs and for PEs as ranks; where a rank is a PE, tensors have no policy.
class Collectives : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) use_pes(torch, 3);
  }
  void TearDown() override { torch.synchronize(); }
  std::optional<DPPolicy> dp(const DPPolicy& policy) const {
    return GetParam() ? std::optional<DPPolicy>() : policy;
  }
  void each(const std::function<void(int)>& fn) { on_all_ranks(torch, fn); }
  std::unique_ptr<Torch> owned = std::make_unique<Torch>(machine(3));
  Torch& torch = *owned;
};

TEST_P(Collectives, BroadcastGivesAllTheTensorOfOne) {
  for (const auto& policy : {kColumns, kCopies, DPPolicy::whole()})
    each([&](int rank) {
      Tensor x = torch.from_numpy(numbers({6, 64}, rank), dp(policy));
      broadcast(x, 1);
      EXPECT_EQ(x.numpy(), numbers({6, 64}, 1));
    });
}

TEST_P(Collectives, ReduceGivesOneTheCombination) {
  for (const auto& policy : {kColumns, kCopies})
    each([&](int rank) {
      Tensor x = torch.from_numpy(numbers({6, 64}, rank), dp(policy));
      reduce(x, 2, ReduceOp::SUM);
      const NdArray result = x.numpy();
      if (rank == 2) {
        EXPECT_EQ(result, sum_of({6, 64}, {0, 1, 2}));
      }
    });
}

TEST_P(Collectives, AllGatherPutsTheInputsOneAfterTheOther) {
  for (const auto& policy : {kColumns, kCopies, DPPolicy::whole()})
    each([&](int rank) {
      Tensor in = torch.from_numpy(numbers({2, 64}, rank), dp(policy)),
             out = torch.empty({6, 64}, i32, dp(policy));
      all_gather_into_tensor(out, in);
      EXPECT_EQ(out.numpy(),
                concatenated({numbers({2, 64}, 0), numbers({2, 64}, 1), numbers({2, 64}, 2)}, {6, 64}));
    });
}

TEST_P(Collectives, VectorsOnOnePeAreGatheredToo) {
  each([&](int rank) {
    Tensor in = torch.from_numpy(numbers({10}, rank)), out = torch.empty({30}, i32),
           rows = torch.empty({3, 10}, i32);
    const std::vector<NdArray> all = {numbers({10}, 0), numbers({10}, 1), numbers({10}, 2)};
    all_gather_into_tensor(out, in);
    EXPECT_EQ(out.numpy(), concatenated(all, {30}));
    all_gather_into_tensor(rows, in);
    EXPECT_EQ(rows.numpy(), concatenated(all, {3, 10}));
  });
}

TEST_P(Collectives, ReduceScatterGivesEachItsPart) {
  for (const auto& policy : {kColumns, kCopies})
    each([&](int rank) {
      Tensor in = torch.from_numpy(numbers({6, 64}, rank), dp(policy)),
             out = torch.empty({2, 64}, i32, dp(policy));
      reduce_scatter_tensor(out, in);
      EXPECT_EQ(out.numpy(), rows_of(sum_of({6, 64}, {0, 1, 2}), 2 * rank, 2));
    });
}

TEST_P(Collectives, AllToAllTransposesParts) {
  for (const auto& policy : {kColumns, kCopies})
    each([&](int rank) {
      Tensor in = torch.from_numpy(numbers({6, 64}, rank), dp(policy)),
             out = torch.empty({6, 64}, i32, dp(policy));
      all_to_all_single(out, in);
      std::vector<NdArray> parts;
      for (int from = 0; from < 3; ++from) parts.push_back(rows_of(numbers({6, 64}, from), 2 * rank, 2));
      EXPECT_EQ(out.numpy(), concatenated(parts, {6, 64}));
    });
}

TEST_P(Collectives, SendAndRecvMatchInOrder) {
  each([&](int rank) {
    Tensor x = torch.from_numpy(numbers({4, 64}, rank), dp(kColumns)),
           y = torch.from_numpy(numbers({64}, rank + 10));
    if (rank == 0) {
      send(x, 2);
      send(y, 2);
    } else if (rank == 2) {
      recv(x, 0);
      recv(y, 0);
      EXPECT_EQ(x.numpy(), numbers({4, 64}, 0));
      EXPECT_EQ(y.numpy(), numbers({64}, 10));
    }
  });
}

TEST_P(Collectives, NobodyLeavesABarrierBeforeAllHaveCome) {
  const auto busy = [](tl::Context& tl, tl::Ptr x) {
    auto tile = tl.load(x, {64}, i32);
    for (int i = 0; i < 1000; ++i) tile = tile + 1;
    tl.store(x, tile);
  };
  Time came;
  std::vector<Time> left;
  each([&](int rank) {
    Tensor x = torch.zeros({64}, i32);
    if (rank == 1) torch.wait(torch.launch("busy", busy, x)), came = torch.now();
    barrier(torch);
    left.push_back(torch.now());
  });
  for (const Time t : left) EXPECT_GT(t, came);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Bool(),
                         [](const auto& by_pe) { return by_pe.param ? "ArePes" : "AreSips"; });

TEST(Groups, NumberTheirMembersInTheOrderGiven) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank));
    broadcast(x, 0, Group::of({1, 0}));  // its first member is rank 1
    EXPECT_EQ(x.numpy(), numbers({64}, 1));
    Tensor y = torch.from_numpy(numbers({64}, rank + 5));
    rank == 1 ? send(y, 0) : recv(y, 1);
    EXPECT_EQ(y.numpy(), numbers({64}, 6));
  });
}

/// The SIPs on which copies were renewed.
std::vector<int> renewed(const Torch& torch) {
  std::vector<int> sips;
  for (const auto& trace : torch.traces())
    if (trace.name == "copy_inside" && trace.phase == runtime::Phase::launch) sips.push_back(trace.sip);
  return sips;
}

TEST(Reduce, OfCopiesRenewsThoseOfTheRootAlone) {
  Torch torch(machine(3));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank), kCopies);
    reduce(x, 1);
    EXPECT_EQ(x.numpy(), rank == 1 ? sum_of({64}, {0, 1, 2}) : numbers({64}, rank));
  });
  EXPECT_THAT(renewed(torch), ElementsAre(1));
}

TEST(SendAndRecv, OfCopiesRenewThoseOfTheReceiverAlone) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({64}, rank), kCopies);
    rank == 0 ? send(x, 1) : recv(x, 0);
    EXPECT_EQ(x.numpy(), numbers({64}, 0));
  });
  EXPECT_THAT(renewed(torch), ElementsAre(1));
}

TEST(CollectivesOverCubes, CountCubesAsMembers) {
  Torch torch(machine(2));  // 8 cubes
  on_all_ranks(torch, [&](int rank) {
    Tensor x = torch.from_numpy(numbers({4, 16}, rank), kRowPerCube);
    broadcast(x, 5, torch.ahbm.cubes);  // cube 1 of SIP 1
    for (std::int64_t cube = 0; cube < 4; ++cube)
      EXPECT_EQ(rows_of(x.numpy(), cube, 1), rows_of(numbers({4, 16}, 1), 1, 1));
    Tensor in = torch.from_numpy(numbers({4, 16}, rank), kRowPerCube),
           out = torch.empty({4, 128}, i32, kRowPerCube);
    all_gather_into_tensor(out, in, torch.ahbm.cubes);
    const NdArray all = concatenated({numbers({4, 16}, 0), numbers({4, 16}, 1)}, {1, 128});
    for (std::int64_t cube = 0; cube < 4; ++cube) EXPECT_EQ(rows_of(out.numpy(), cube, 1), all);
    barrier(torch, torch.ahbm.cubes);
  });
}

TEST(CollectiveLayouts, ThatCannotBeAreRefused) {
  Torch torch(machine(2));
  const DPPolicy rows{.cube = Split::row_wise, .pe = Split::row_wise};
  const auto refused = [&](const std::function<void()>& call) {
    std::string text;
    on_all_ranks(torch, [&](int) { text = complaint(call); });
    return text;
  };
  EXPECT_THAT(refused([&] {
                all_gather_into_tensor(torch.empty({64, 8}, i32, rows), torch.empty({32, 8}, i32, rows));
              }),
              HasSubstr("split the columns alike and no rows"));
  EXPECT_THAT(refused([&] {
                all_gather_into_tensor(torch.empty({3, 8}, i32), torch.empty({2, 8}, i32));
              }),
              HasSubstr("the output has 2 times the elements of the input"));
  EXPECT_THAT(refused([&] { reduce_scatter_tensor(torch.empty({8}, f16), torch.empty({16}, i32)); }),
              HasSubstr("the same dtype"));
  EXPECT_THAT(refused([&] { all_to_all_single(torch.empty({3}, i32), torch.empty({3}, i32)); }),
              HasSubstr("dist.layout"));
  EXPECT_THAT(refused([&] { all_reduce(torch.empty({8}, i32), ReduceOp::SUM, torch.ahbm.cubes); }),
              HasSubstr("every cube a shard of the same size"));
  EXPECT_THAT(refused([&] { broadcast(torch.empty({8}, i32), 2); }), HasSubstr("its members are 0 to 1"));
  EXPECT_THAT(refused([&] { all_reduce(Tensor()); }), HasSubstr("none"));
  EXPECT_THAT(refused([&] {
                all_reduce(torch.empty({8}, i32), ReduceOp::SUM, Group::of({0, 2}));
              }),
              HasSubstr("ranks are 0 to 1"));
  EXPECT_THAT(refused([&] {
                all_reduce(torch.empty({8}, i32), ReduceOp::SUM, Group::of({1, 0, 1}));
              }),
              HasSubstr("it has rank 1 twice"));
  EXPECT_THAT(refused([&] { all_reduce(torch.empty({8}, i32), ReduceOp::SUM, Group::of({})); }),
              HasSubstr("it has no ranks"));
  EXPECT_THAT(refused([&] { send(torch.empty({8}, i32), 5); }), HasSubstr("two ranks of 0 to 1"));
}

}  // namespace
}  // namespace kernbench::dist::collectives_test
