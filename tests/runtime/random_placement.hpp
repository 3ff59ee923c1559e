// Random shapes of one to four axes, with policies that divide them.
#pragma once

#include <random>
#include <vector>

#include "kernbench/placement.hpp"

namespace kernbench::runtime {

struct Placement {
  DPPolicy policy;
  Shape shape;
};

class RandomPlacement {
 public:
  explicit RandomPlacement(unsigned seed) : random_(seed) {}

  /// 1 … n
  std::int64_t upto(std::int64_t n) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  /// Over at most 4 cubes of 8 PEs. A vector has one axis, which all divisors share.
  Placement draw(Split cube, Split pe, int rank) {
    DPPolicy policy{.cube = cube,
                    .pe = pe,
                    .num_cubes = static_cast<int>(upto(4)),
                    .num_pes = static_cast<int>(upto(8)),
                    .tile = {}};
    if (is_tiled(cube) || is_tiled(pe)) policy.tile = TileSize{rank == 1 ? 1 : upto(3), upto(3)};
    std::int64_t rows = 1, cols = 1;
    const auto divide = [&](Split split, int n) {
      if (split == Split::row_wise) (rank == 1 ? cols : rows) *= n;
      if (split == Split::column_wise) cols *= n;
    };
    divide(cube, *policy.num_cubes);
    divide(pe, *policy.num_pes);
    if (policy.tile) rows *= policy.tile->h, cols *= policy.tile->w;
    return {policy, shape_of(rank, rows, cols * upto(3))};
  }

  /// Every pair of splits that is one, each once.
  std::vector<Placement> every_policy(int rank) {
    std::vector<Placement> all;
    for (const Split cube : kAll)
      for (const Split pe : kAll)
        if (!is_tiled(cube) || pe == cube || pe == Split::replicate) all.push_back(draw(cube, pe, rank));
    return all;
  }

 private:
  static constexpr Split kAll[] = {Split::replicate, Split::column_wise, Split::row_wise,
                                   Split::tiled_column_major, Split::tiled_row_major};
  static bool is_tiled(Split s) { return s == Split::tiled_column_major || s == Split::tiled_row_major; }

  /// `rows` and more, spread over the leading axes in some way.
  Shape shape_of(int rank, std::int64_t rows, std::int64_t cols) {
    if (rank == 1) return Shape{cols};
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank - 1), 1);
    for (std::int64_t factor = 2; rows > 1;)
      rows % factor == 0 ? (extents[random_() % extents.size()] *= factor, rows /= factor) : ++factor;
    extents.front() *= upto(3);
    extents.push_back(cols);
    return Shape(extents);
  }

  std::mt19937_64 random_;
};

}  // namespace kernbench::runtime
