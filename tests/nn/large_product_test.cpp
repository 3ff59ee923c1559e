// Products that take a minute to simulate.
#include "nn/timed_product.hpp"

namespace kernbench::nn::large_product_test {
namespace {

// 64 rows of B take 4 us to read; 512 · 8192 partial products in f32 leave a PE in 32.8 us.
TEST(LargeMatmul, WithKSplitTakesAtMostTwiceTheProductAndTheCut) { expect_near_cut(512, 8192, 8192); }

}  // namespace
}  // namespace kernbench::nn::large_product_test
