// The examples of docs/kernels.md, compiled and run.
#include "tl/recording.hpp"

namespace kernbench::guide::guide_test {
namespace {

using namespace dtypes;
using namespace matchers;
using tl::ElementsAre;

#include "kernels_guide.inc"

template <class Kernel, class... Args>
std::string last_command(Kernel kernel, Args... args) {
  tl::Context tl({.shards = {{.tensor = tl::Ptr(0x1000), .ptr = tl::Ptr(0x1400)}}});
  run_kernel(kernel, tl, args...);
  return to_string(tl.commands().back());
}

constexpr tl::Ptr kX{0x1000}, kY{0x2000};

TEST(Guide, ExamplesRecordWhatTheySay) {
  EXPECT_EQ(last_command(scale, kX, 8, 2.0f), "dma_write 0x1400 %2:f16[8]");
  EXPECT_EQ(last_command(gelu, kX, kY, 8), "dma_write 0x1000 %10:f16[4, 8]");
  EXPECT_EQ(last_command(copy_block, kX, kY, 2, 8, 6), "dma_write 0x2000 lanes [0:6, 8:14] %7:f16[2, 8]");
  EXPECT_EQ(
      last_command(linear, kX, kY, kX, kY, 64, 64, 32),
      "composite gemm @0x1000:f16[64, 64], @0x2000:f16[64, 32] -> @0x2000:f16[64, 32] then add %0:f32[32] "
      "then maximum 0:f32");
  EXPECT_EQ(last_command(pick_rows, kX, kY, std::vector{5, 2}, 16), "dma_write 0x2000 %0:f16[2, 16]");
}

}  // namespace
}  // namespace kernbench::guide::guide_test
