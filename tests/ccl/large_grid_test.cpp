#include "ccl/grid.hpp"

namespace kernbench::ccl::large_grid_test {
namespace {

class LargeGrid : public ::testing::TestWithParam<GridCase> {};
INSTANTIATE_TEST_SUITE_P(Of, LargeGrid, grid_of({64, 256}), kGridName);

TEST_P(LargeGrid, IsTheSameAsFunctionalInEveryKindOfBuffer) {
  expect_like_functional_in_every_buffer(GetParam(), 8);  // half a tile
}

}  // namespace
}  // namespace kernbench::ccl::large_grid_test
