#include "dist/dist_world.hpp"

namespace kernbench::dist {
namespace {

/// i32 elements that depend on rank and place.
NdArray numbers(const Shape& shape, int rank) {
  NdArray array(i32, shape);
  std::int32_t i = 0;
  for (auto& x : array.view<std::int32_t>()) x = (i++ * 7 + rank * 13) % 101 - 50;
  return array;
}

TEST(AllReduce, OverSipsAddsElementByElement) {
  Torch torch(machine(2));
  init_process_group(torch);
  const Shape shape{64, 32};
  NdArray sum = numbers(shape, 0);
  for (std::size_t i = 0; i < 64 * 32; ++i)
    sum.view<std::int32_t>()[i] += numbers(shape, 1).view<std::int32_t>()[i];
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        Tensor x = torch.from_numpy(numbers(shape, rank), kColumns, "x");
        const Work work = all_reduce(x);
        EXPECT_EQ(work.algorithm(), "intersip_allreduce");
        EXPECT_TRUE(work.is_completed());
        EXPECT_EQ(x.numpy(), sum);
      },
      2);
  EXPECT_TRUE(torch.hazards().empty());
}

TEST(AllReduce, OverCubesAddsTheCubesOfAllSips) {
  Torch torch(machine(2));
  const Shape shape{4, 96};
  std::vector<std::int32_t> sum(96);
  for (int rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < 4 * 96; ++i) sum[i % 96] += numbers(shape, rank).view<std::int32_t>()[i];
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        init_process_group(torch);
        Tensor x = torch.from_numpy(numbers(shape, rank), kRowPerCube, "x");
        EXPECT_EQ(all_reduce(x, ReduceOp::SUM, torch.ahbm.cubes).algorithm(), "intercube_allreduce");
        const NdArray result = x.numpy();
        for (std::size_t i = 0; i < 4 * 96; ++i) ASSERT_EQ(result.view<std::int32_t>()[i], sum[i % 96]) << i;
      },
      2);
  EXPECT_TRUE(torch.hazards().empty());
}

}  // namespace
}  // namespace kernbench::dist
