// Who takes part: PEs, some ranks, rows and columns of a mesh, and what ccl.yaml says of it.
#include <filesystem>
#include <fstream>

#include "dist_world.hpp"
#include "temp_folder.hpp"

namespace kernbench::dist::group_test {
namespace {

const DPPolicy kRowPerPe{.cube = Split::row_wise, .pe = Split::row_wise};

NdArray all_of(const Shape& shape, std::int32_t value) {
  NdArray array(i32, shape);
  for (auto& x : array.view<std::int32_t>()) x = value;
  return array;
}

// ── PEs ──

/// 2 SIPs × 4 cubes × 8 PEs, each with rank + 1: 32 · (1 + 2) = 96.
TEST(PeGroup, AddsUpWhatEveryPeHolds) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.full({32, 24}, rank + 1, i32, kRowPerPe);
    const Work work = all_reduce(x, ReduceOp::SUM, torch.ahbm.pes);
    EXPECT_EQ(work.algorithm(), "hierarchical_allreduce");
    EXPECT_EQ(x.numpy(), all_of({32, 24}, 96));
  });
}

/// Shards on PE 0 of each cube alone: 2 · 4 members.
TEST(PeGroup, IsThePesThatHoldAShard) {
  Torch torch(machine(2));
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.full({4, 24}, rank + 1, i32, kRowPerCube);
    all_reduce(x, ReduceOp::SUM, torch.ahbm.pes);
    EXPECT_EQ(x.numpy(), all_of({4, 24}, 12));
  });
}

/// Member m is PE m in (sip, cube, pe) order, and holds m.
TEST(PeGroup, HasAllTheOtherCollectives) {
  constexpr int kPes = 8, kMembers = 2 * kPes;
  const DPPolicy columns{.cube = Split::replicate, .pe = Split::column_wise, .num_cubes = 1};
  Torch torch(machine(2, "1x1"));
  on_all_ranks(torch, [&](int rank) {
    NdArray own(i32, {1, kPes});
    for (int pe = 0; pe < kPes; ++pe)
      own.view<std::int32_t>()[static_cast<std::size_t>(pe)] = kPes * rank + pe;
    Tensor x = torch.from_numpy(own, columns);
    broadcast(x, 11, torch.ahbm.pes);
    EXPECT_EQ(x.numpy(), all_of({1, kPes}, 11));
    x.copy_(own);
    reduce(x, 3, ReduceOp::MAX, torch.ahbm.pes);
    if (rank == 0) {
      EXPECT_EQ(x.numpy().at<std::int32_t>({0, 3}), kMembers - 1);
    }
    x.copy_(own);
    const Tensor all = torch.zeros({kMembers, kPes}, i32, columns);
    all_gather_into_tensor(all, x, torch.ahbm.pes);
    for (int m = 0; m < kMembers; ++m) EXPECT_EQ(all.numpy().at<std::int32_t>({m, 5}), m);
    reduce_scatter_tensor(x, all, ReduceOp::SUM, torch.ahbm.pes);
    EXPECT_EQ(x.numpy().at<std::int32_t>({0, 5}), kMembers * (kPes * rank + 5));
    barrier(torch, torch.ahbm.pes);
  });
}

// ── some ranks ──

/// Six ranks as two rows of three: rows add up their rank, then columns.
TEST(SomeRanks, RowsAndColumnsOfAMeshDoNotDisturbEachOther) {
  Torch torch(machine(6, "1x1"));
  on_all_ranks(torch, [&](int rank) {
    const int row = rank / 3, column = rank % 3;
    const Group of_row = new_group(torch, {3 * row, 3 * row + 1, 3 * row + 2});
    const Group of_column = new_group(torch, {column, column + 3});
    EXPECT_EQ(get_rank(torch, of_row), column);
    EXPECT_EQ(get_world_size(torch, of_column), 2);
    const DPPolicy all_pes{.cube = Split::column_wise, .pe = Split::column_wise};
    const Tensor x = torch.full({4, 4096}, 1 << rank, i32, all_pes);
    const Tensor y = torch.full({4, 4096}, 1 << rank, i32, all_pes);
    const Work in_row = all_reduce(x, ReduceOp::SUM, of_row, true);
    const Work in_column = all_reduce(y, ReduceOp::SUM, of_column, true);
    in_column.wait();
    in_row.wait();
    EXPECT_EQ(x.numpy(), all_of({4, 4096}, 0b111 << (3 * row)));
    EXPECT_EQ(y.numpy(), all_of({4, 4096}, 0b1001 << column));
  });
}

/// Groups that have nothing to do with each other take no longer together than one alone.
TEST(SomeRanks, GroupsRunAtTheSameTime) {
  const auto time_of = [](int ranks) {
    Torch torch(machine(4, "1x1"));
    Time longest;
    on_all_ranks(torch, [&](int rank) {
      if (rank >= ranks) return;
      const Tensor x = torch.empty({4096}, i32);
      const Work work = all_reduce(x, ReduceOp::SUM, new_group(torch, {rank / 2 * 2, rank / 2 * 2 + 1}));
      longest = std::max(longest, work.trace().pe_exec);
    });
    return longest;
  };
  EXPECT_EQ(time_of(2), time_of(4));
}

TEST(SomeRanks, HaveEveryCollective) {
  Torch torch(machine(4, "1x1"));
  const std::vector<int> members = {3, 1};
  on_all_ranks(torch, [&](int rank) {
    const Group group = new_group(torch, members);
    const int me = get_rank(torch, group);
    EXPECT_EQ(me, rank == 3 ? 0 : rank == 1 ? 1 : -1);
    if (me < 0) return;
    const Tensor x = torch.from_numpy(numbers({64}, rank));
    const Tensor all = torch.zeros({128}, i32);
    all_gather_into_tensor(all, x, group);
    EXPECT_EQ(all.numpy().at<std::int32_t>({64}), numbers({64}, 1).at<std::int32_t>({0}));
    const Tensor turned = torch.zeros({128}, i32);
    all_to_all_single(turned, all, group);  // both hold the same: part `me` of each
    EXPECT_EQ(turned.numpy().at<std::int32_t>({0}),
              numbers({64}, members[static_cast<std::size_t>(me)]).at<std::int32_t>({0}));
    reduce_scatter_tensor(x, all, ReduceOp::MAX, group);
    EXPECT_EQ(x.numpy(), numbers({64}, rank));
    broadcast(x, 0, group);
    EXPECT_EQ(x.numpy(), numbers({64}, 3));
    reduce(x, 1, ReduceOp::SUM, group);
    barrier(torch, group);
  });
}

TEST(SomeRanks, MayBePes) {
  Torch torch(machine(2, "1x1"));
  use_pes(torch, 12);
  on_all_ranks(torch, [&](int rank) {
    const bool odd = rank % 2 == 1;
    const Group group =
        new_group(torch, odd ? std::vector{1, 3, 5, 7, 9, 11} : std::vector{0, 2, 4, 6, 8, 10});
    const Tensor x = torch.full({2048}, rank, i32);
    all_reduce(x, ReduceOp::SUM, group);
    EXPECT_EQ(x.numpy(), all_of({2048}, odd ? 36 : 30));
  });
}

TEST(SomeRanks, AreCheckedWhenTheGroupIsMade) {
  const Torch torch(machine(2, "1x1"));
  EXPECT_THAT(complaint([&] { new_group(torch, {0, 2}); }), HasSubstr("ranks are 0 to 1"));
  EXPECT_THAT(complaint([&] { new_group(torch, {1, 1}); }), HasSubstr("rank 1 twice"));
}

// ── ccl.yaml ──

/// A current folder with this ccl.yaml, for as long as it lives.
class Folder {
 public:
  explicit Folder(const std::string& ccl) {
    std::ofstream(folder_.file("ccl.yaml")) << ccl;
    std::filesystem::current_path(folder_.path());
  }
  ~Folder() { std::filesystem::current_path(before_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const testing::TempFolder folder_;
};

TEST(CclFile, OfTheCurrentFolderIsUsedUnlessAnotherIsNamed) {
  const Folder folder("defaults: {algorithm: ring_allreduce}\n");
  Torch torch(machine(2));
  EXPECT_EQ(config_source(torch), "ccl.yaml");
  EXPECT_EQ(configured_all_reduce(torch).name, "ring_allreduce");
  configure(torch, "default");
  EXPECT_EQ(config_source(torch), "default ccl.yaml");
  EXPECT_EQ(configured_all_reduce(torch).name, "intercube_allreduce");
}

/// One shard in each cube: over cubes, 4 · (1 + 2) = 12. All columns of a SIP on one PE: over SIPs, 1 + 2.
TEST(CclFile, ThatNamesAnAlgorithmBetweenCubesAndNoGroupMeansCubes) {
  const Folder folder("defaults: {algorithm: intercube_allreduce}\n");
  Torch torch(machine(2));
  ::testing::internal::CaptureStderr();
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.full({4, 24}, rank + 1, i32, kRowPerCube), y = torch.full({24}, rank + 1, i32);
    all_reduce(x);
    all_reduce(y);
    EXPECT_EQ(x.numpy(), all_of({4, 24}, 12));
    EXPECT_EQ(y.numpy(), all_of({24}, 3));
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string note = "ccl.yaml names intercube_allreduce and no group";
  EXPECT_THAT(said, HasSubstr(note));
  EXPECT_EQ(said.find(note, said.find(note) + 1), said.npos);  // once
}

TEST(CclFile, ThatShipsMeansSips) {
  Torch torch(machine(2));
  configure(torch, "default");
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.full({4, 24}, rank + 1, i32, kRowPerCube);
    all_reduce(x);
    EXPECT_EQ(x.numpy(), all_of({4, 24}, 3));
  });
}

TEST(CclFile, MayGiveTheWorldSizeForAllAlgorithms) {
  Torch torch(machine(2, "1x1"));
  configure(torch, "default", {"defaults.world_size=5", "defaults.algorithm=ring_allreduce"});
  EXPECT_EQ(get_world_size(torch), 5);
  on_all_ranks(torch, [&](int rank) {
    const Tensor x = torch.full({24}, rank, i32);
    all_reduce(x);
    EXPECT_EQ(x.numpy(), all_of({24}, 10));
  });
}

TEST(CclFile, MayLeaveTheNeighboursToEveryAlgorithm) {
  for (const std::string name : {"ring_allreduce", "ring_allreduce_rs", "mesh_allreduce", "tree_allreduce",
                                 "intersip_allreduce", "intercube_allreduce", "hierarchical_allreduce"}) {
    Torch torch(machine(2));
    configure(torch, "default", {"defaults.algorithm=" + name, "algorithms." + name + ".topology=none"});
    on_all_ranks(torch, [&](int rank) {
      const Tensor x = torch.full({4, 24}, rank + 1, i32, kRowPerCube);
      const bool cubes = configured_all_reduce(torch).group != ccl::Group::sip;
      all_reduce(x, ReduceOp::SUM, cubes ? Group(torch.ahbm.cubes) : Group());
      EXPECT_EQ(x.numpy(), all_of({4, 24}, cubes ? 12 : 3)) << name;
    });
  }
}

TEST(ProcessGroup, TellsItsBackend) {
  Torch torch(machine(2, "1x1"));
  EXPECT_THAT(complaint([&] { get_backend(torch); }), HasSubstr("there is no process group"));
  init_process_group(torch);
  EXPECT_EQ(get_backend(torch), "ahbm");
}

}  // namespace
}  // namespace kernbench::dist::group_test
