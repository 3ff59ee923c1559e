#include "ccl/grid.hpp"

namespace kernbench::ccl::grid_test {
namespace {

class Grid : public ::testing::TestWithParam<GridCase> {};
INSTANTIATE_TEST_SUITE_P(Of, Grid, grid_of({1, 2, 3, 4, 7, 8, 16}), kGridName);

TEST_P(Grid, IsTheSameAsFunctionalInEveryKindOfBuffer) {
  expect_like_functional_in_every_buffer(GetParam(), 40);  // three tiles
}

}  // namespace
}  // namespace kernbench::ccl::grid_test
