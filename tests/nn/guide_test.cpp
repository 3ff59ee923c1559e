// The examples of docs/models.md, compiled and run.
#include "kernbench/dtensor.hpp"
#include "kernbench/tp.hpp"
#include "nn/nn_world.hpp"

namespace kernbench::guide::guide_test {
namespace {

using namespace dtypes;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "models_guide.inc"
#pragma GCC diagnostic pop

TEST(ModelsGuide, ExamplesDoWhatTheySay) {
  using nn::plain;
  const NdArray a = nn::random_array({8, 64}, f16, 1), b = nn::random_array({64, 96}, f16, 2);
  Torch torch(runtime::small());
  EXPECT_LT(nn::worst(product_of(torch, a, b).numpy(), nn::times(plain(a), plain(b))), 1e-2);
  const Tensor x = torch.full({4, 32}, 1, f16, DPPolicy{}, "x");
  const DPPolicy columns = nn::spread(torch, Split::column_wise, 32);
  const Tensor w = torch.full({32, 32}, 0.25, f16, columns, "w");  // gelu(8) is 8, and 8 · 32 / 4 is 64
  EXPECT_EQ(plain(two_layers(x, w, w).numpy()).at(3, 31), 64);

  Torch four(runtime::small({"system.sips.count=4"}));
  NdArray ones(f16, {2, 32});
  for (F16& e : ones.view<F16>()) e = F16(1.0f);
  EXPECT_EQ(plain(tensor_parallel_mlp(four, ones, 32, 64)).at(1, 7), 64);  // 32 / 8 = 4; 64 · 4 / 4
  Torch mesh(runtime::small({"system.sips.count=4"}));
  const nn::Plain expected =
      nn::mapped(nn::times(plain(a), plain(b)), [](double v) { return std::max(v, 0.0); });
  EXPECT_LT(nn::worst(on_a_mesh(mesh, a, b), expected), 1e-2);
}

}  // namespace
}  // namespace kernbench::guide::guide_test
