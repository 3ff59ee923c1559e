#include "nn/nn_world.hpp"
#include "runtime/random_placement.hpp"

namespace kernbench::nn::redistribute_test {
namespace {

/// Policies that fit any matrix of so many rows and columns.
std::vector<DPPolicy> policies(const Torch& torch, std::int64_t rows, std::int64_t cols,
                               runtime::RandomPlacement& random) {
  const auto some = [&](int there) {
    const int begin = static_cast<int>(random.upto(there)) - 1;
    return IndexRange{begin, begin + static_cast<int>(random.upto(there - begin))};
  };
  std::vector<ShardSpec> halves = {{0, 1, 1, 0_B, Bytes(2 * cols)}};
  if (rows > 1) halves.push_back({0, 3, 0, Bytes(2 * cols), Bytes(2 * cols * (rows - 1))});
  return {DPPolicy::whole_on({static_cast<int>(random.upto(4)) - 1, static_cast<int>(random.upto(8)) - 1}),
          DPPolicy{},
          DPPolicy{}.on(some(4), some(8)),
          spread(torch, Split::column_wise, cols),
          spread(torch, Split::row_wise, rows),
          DPPolicy::dealt({random.upto(5), random.upto(9)}, zigzag).on(some(4), some(8)),
          DPPolicy::dealt({random.upto(5), random.upto(9)}, {{0, 0}, {2, 5}, {3, 7}}),
          DPPolicy::given(halves)};
}

TEST(Redistribute, BetweenAllPairsNothingChanges) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    runtime::RandomPlacement random(seed);
    const std::int64_t rows = random.upto(40), cols = random.upto(70);
    Torch torch(small());
    const NdArray array = random_array({rows, cols}, f16, seed);
    for (const DPPolicy& from : policies(torch, rows, cols, random))
      for (const DPPolicy& to : policies(torch, rows, cols, random)) {
        SCOPED_TRACE(fmt::format("[{}, {}] {} → {}", rows, cols, to_string(from), to_string(to)));
        const Tensor y = redistribute(torch.from_numpy(array, from, "x"), to);
        EXPECT_EQ(y.dp(), to);
        ASSERT_EQ(y.numpy(), array);
      }
    EXPECT_TRUE(torch.hazards().empty());
  }
}

TEST(Redistribute, FromAndToOtherMemoriesAndDtypes) {
  Torch torch(small());
  const NdArray array = runtime::counting({12, 32});
  const Tensor tcm = torch.from_numpy(array, spread(torch, Split::column_wise, 32), "x", MemorySpace::Tcm);
  EXPECT_EQ(redistribute(tcm, DPPolicy{}).numpy(), array);
  const Tensor sram = torch.from_numpy(array, DPPolicy{.cube = Split::row_wise}, "y", MemorySpace::Sram);
  EXPECT_EQ(redistribute(sram, DPPolicy::whole()).numpy(), array);
  EXPECT_THAT(complaint([&] { redistribute(tcm, DPPolicy::interleaved()); }), HasSubstr("no shards"));
}

// 1 MiB from one PE to all 128: the slice that has it needs 4.096 µs to read it, and so does every slice to write it. By the
// host it would be 128 MiB over its link of 128 GB/s, over 1 ms.
TEST(Redistribute, WholeToAllPesIsFarFasterThanTheHost) {
  Torch torch(runtime::load(), {.data = false});
  const Tensor x = torch.zeros({512, 1024}, f16, {}, "x");
  redistribute(x, DPPolicy{});
  const runtime::Trace first = last_launch(torch);
  EXPECT_EQ(first.compulsory, Time::from_ns(8192));  // PE 0 reads and writes 1 MiB
  // Everybody reads its 8 KiB of the one slice, then all gather: three times the 4.1 us in which a slice takes 1 MiB.
  EXPECT_LT(first.pe_exec, Time::from_ns(3 * 4096));
  const Time before = torch.now();
  const Tensor by_host = torch.zeros({512, 1024}, f16, DPPolicy{}, "y");
  torch.synchronize();
  EXPECT_GT((torch.now() - before).ns(), 30 * first.total.ns());
}

TEST(Redistribute, ReplicatedToSplitIsLocal) {
  Torch torch(small());
  const Tensor x = torch.zeros({32, 64}, f16, DPPolicy{}, "x");
  redistribute(x, spread(torch, Split::column_wise, 64));
  EXPECT_LT(last_launch(torch).pe_exec, 200_ns);  // 32 × 2 elements of its own slice, there and back
}

}  // namespace
}  // namespace kernbench::nn::redistribute_test
