// What is said when hundreds of ranks fail: who did what in a few lines, of few ranks each one's.
#include "dist/dist_world.hpp"

namespace kernbench::dist::many_ranks_test {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

/// What `spawn` throws when `n` ranks, each a PE of the default machine, run `fn`.
std::string complaint_of(int n, const std::function<void(Torch&, int rank)>& fn,
                         const std::vector<std::string>& set = {}) {
  Torch torch(load({}));
  use_pes(torch, n);
  if (!set.empty()) configure_further(torch, set);
  try {
    on_all_ranks(torch, [&](int rank) { fn(torch, rank); });
  } catch (const SpawnException& e) {
    return e.what();
  }
  return "nothing";
}

Tensor tensor_of(Torch& torch, const std::string& name = "x", int elements = 64) {
  return torch.zeros({elements}, i32, {}, name);
}

std::int64_t lines(const std::string& text) { return 1 + std::ranges::count(text, '\n'); }

TEST(ManyRanks, ThatCalledTheSameAreOneLine) {
  EXPECT_EQ(complaint_of(256,
                         [](Torch& torch, int rank) {
                           if (rank == 255) return void(barrier(torch));
                           all_reduce(tensor_of(torch));
                         }),
            "spawn: rank 255: collective 1 of 256 ranks: its members have called what does not fit together\n"
            "    each of ranks 0-254 called all_reduce(SUM) of 'x' i32[64]\n"
            "    rank 255 called barrier\n"
            "  hint: all members call the same collectives in the same order");
}

TEST(ManyRanks, OfWhichOneEndsStillNameIt) {
  const auto text = complaint_of(256, [](Torch& torch, int rank) {
    if (rank != 63) all_reduce(tensor_of(torch));
  });
  EXPECT_THAT(text,
              StartsWith("spawn: rank 63: collective 1 of 256 ranks: a member has ended and will not join\n"
                         "    each of ranks 0-62 called all_reduce(SUM) of 'x' i32[64]\n"
                         "    rank 63 has ended\n"
                         "    each of ranks 64-255 has not called it yet\n"));
}

// 63 tensors of different names: one line for all, in which the names are left out.
TEST(ManyRanks, ThatDifferInNamesAloneAreOneLine) {
  const auto text = complaint_of(64, [](Torch& torch, int rank) {
    all_reduce(tensor_of(torch, fmt::format("x{}", rank), rank == 63 ? 32 : 64));
  });
  EXPECT_THAT(text, HasSubstr("\n    each of ranks 0-62 called all_reduce(SUM) of '…' i32[64]\n"
                              "    rank 63 called all_reduce(SUM) of '…' i32[32]\n"));
  EXPECT_EQ(lines(text), 4);
}

TEST(FewRanks, AreListedOneByOne) {
  const auto text = complaint_of(8, [](Torch& torch, int rank) {
    if (rank == 7) return void(barrier(torch));
    all_reduce(tensor_of(torch, fmt::format("x{}", rank)));
  });
  for (int rank = 0; rank < 7; ++rank)
    EXPECT_THAT(text,
                HasSubstr(fmt::format("\n    rank {0} called all_reduce(SUM) of 'x{0}' i32[64]\n", rank)));
  EXPECT_THAT(text, HasSubstr("\n    rank 7 called barrier\n"));
}

// A tile that came holds the only slot until it has been sent on, on all 256 PEs alike.
TEST(ManyRanks, InADeadlockAreShownByOneThatWaitsAtTheSameLines) {
  const auto text =
      complaint_of(256, [](Torch& torch, int) { all_reduce(tensor_of(torch)); }, {"defaults.n_slots=1"});
  EXPECT_THAT(text, StartsWith("spawn: ranks 0-255: 256 programs cannot go on\n"
                               "  sip0.cube0.pe0 in kernel 'ring_allreduce', and 255 more at the same lines "
                               "(sip0.cube0.pe1 … sip1.cube15.pe7)\n"
                               "    send E at ring_allreduce.cpp:"));
  EXPECT_THAT(text, HasSubstr("slot 0 of W holds the tile received at ring_allreduce.cpp:"));
  EXPECT_THAT(text, HasSubstr(" → … (256 PEs) → sip0.cube0.pe0\n"));
  EXPECT_LT(lines(text), 10);
}

TEST(ManyRanks, ThatEachFailInTheirOwnWayAreShownUpToEight) {
  const auto text = complaint_of(64,
                                 [](Torch& torch, int rank) {
                                   Tensor x = tensor_of(torch);
                                   try {
                                     all_reduce(x);
                                   } catch (const std::exception&) {
                                     throw std::runtime_error(fmt::format("failure {}", rank / 2));
                                   }
                                 },
                                 {"defaults.n_slots=1"});
  EXPECT_THAT(text, StartsWith("spawn: ranks 0, 1: failure 0\nranks 2, 3: failure 1\n"));
  EXPECT_THAT(text, EndsWith("\nranks 14, 15: failure 7\n… and 24 other failures"));
}

// Every odd rank receives from the one before, which has called something else: 32 pairs and the group of all.
TEST(ManyRanks, InManyGroupsThatWaitAreShownByOneGroup) {
  const auto text = complaint_of(64, [](Torch& torch, int rank) {
    Tensor x = tensor_of(torch);
    if (rank % 2 == 0) return void(all_reduce(x));
    recv(x, rank - 1);
  });
  EXPECT_EQ(
      text,
      "spawn: ranks 0-63: collective 1 of messages from rank 0 to rank 1: not all members have joined, and "
      "nobody can go on; 32 more groups are in the same case\n"
      "    rank 0 waits for launch 'ring_allreduce'\n"
      "    rank 1 called recv from rank 0 of 'x' i32[64]\n"
      "  hint: all members call the same collectives in the same order");
}

}  // namespace
}  // namespace kernbench::dist::many_ranks_test
