// The mesh kernels over every kind of line, every number of ranks, heads, widths and lengths together: hours, so that each
// combination but the last two is a test of its own.
#include "nn/mesh_world.hpp"

namespace kernbench::nn::mesh_grid_test {
namespace {

std::vector<MeshCase> grid_cases() {
  std::vector<MeshCase> cases;
  for (const auto line : {LineKind::pes, LineKind::cubes, LineKind::sips})
    for (const bool prefill : {true, false})
      for (const int ranks : {1, 2, 3, 4, 8, 16})
        for (const auto& [h_q, h_kv] : {std::pair{1, 1}, {2, 1}, {8, 2}, {64, 8}})
          for (const int d : {64, 128})
            for (const int S_q : {1, 16, 33})
              cases.push_back({.prefill = prefill,
                               .line = line,
                               .ranks = ranks,
                               .h_q = h_q,
                               .h_kv = h_kv,
                               .d = d,
                               .S_q = S_q});
  return cases;
}

std::string name_of(const MeshCase& c) {
  static constexpr std::array kLines = {"pes", "cubes", "cubes_of_sips", "sips"};
  return fmt::format("{}_{}_{}_heads_{}_{}_d_{}_S_{}", c.prefill ? "prefill" : "decode", c.ranks,
                     kLines[static_cast<std::size_t>(c.line)], c.h_q, c.h_kv, c.d, c.S_q);
}

}  // namespace

void PrintTo(const MeshCase& c, std::ostream* out) { *out << name_of(c); }

namespace {

class MeshGrid : public ::testing::TestWithParam<MeshCase> {};
INSTANTIATE_TEST_SUITE_P(Lines, MeshGrid, ::testing::ValuesIn(grid_cases()),
                         [](const auto& of) { return name_of(of.param); });

TEST_P(MeshGrid, IsRightWithoutHazards) {
  for (const int S_kv : {16, 31, 128})
    for (const int slots : {4, 8}) {
      MeshCase c = GetParam();
      c.S_kv = S_kv;
      c.ccl = {fmt::format("defaults.n_slots={}", slots)};
      expect_right(c);
    }
}

}  // namespace
}  // namespace kernbench::nn::mesh_grid_test
