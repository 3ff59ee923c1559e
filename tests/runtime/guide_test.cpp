// The examples of docs/host-programs.md, compiled and run.
#include "runtime/host_world.hpp"

namespace kernbench::guide::guide_test {
namespace {

using namespace dtypes;
using ::testing::HasSubstr;

#include "host_programs_guide.inc"

TEST(HostGuide, ExamplesDoWhatTheySay) {
  NdArray array(f16, {4, 128});
  for (F16& x : array.view<F16>()) x = F16(1.5f);
  const NdArray result = scaled(runtime::load(), array);
  for (const F16 x : result.view<F16>()) EXPECT_EQ(static_cast<float>(x), 3.0f);

  Torch torch(runtime::load());
  const std::vector<std::int32_t> expected = {0, 0, 0, 0, 0, 0, 7, 7, 0, 0, 0, 0};  // row 3 from column 10 on
  EXPECT_EQ(runtime::values(patched(torch)), expected);
  EXPECT_GT(microseconds_on_both(torch), 0.0);
  for (const Tensor& x : placed(torch)) EXPECT_EQ(static_cast<float>(x.numpy().view<F16>()[0]), 0.0f);
  EXPECT_EQ(weights_on(torch, 1).shards().size(), 16u);
  EXPECT_EQ(static_cast<float>(ramp(torch).numpy().at<F16>({3, 32})), 3.5f);
  EXPECT_THAT(where_the_time_goes(runtime::load()), HasSubstr("write ramp"));
}

}  // namespace
}  // namespace kernbench::guide::guide_test
