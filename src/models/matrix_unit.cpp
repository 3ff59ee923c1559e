#include <algorithm>
#include <cmath>

#include "models/shipped.hpp"

namespace kernbench::models {

Time cycles_time(double cycles, Time cycle) {
  return Time::from_ps(std::llround(cycles * static_cast<double>(cycle.ps())));
}

namespace {

class TiledMatrixUnit final : public MatrixModel {
 public:
  explicit TiledMatrixUnit(const ParamSet& params)
      : tile_{params.integer("tile_m"), params.integer("tile_k"), params.integer("tile_n")},
        tile_cycles_(static_cast<double>(params.integer("tile_cycles"))) {}

  TileShape tile() const override { return tile_; }
  double cycles(const Product& p) const override {
    const std::int64_t tiles = count(p.m, tile_.m) * count(p.k, tile_.k) * count(p.n, tile_.n);
    return static_cast<double>(tiles) * tile_cycles_;
  }
  /// Cut into tiles it takes as long.
  std::optional<double> at_least(const Product& p) const override { return cycles(p); }

 private:
  static std::int64_t count(std::int64_t extent, std::int64_t tile) {
    return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
  }
  const TileShape tile_;
  const double tile_cycles_;
};

}  // namespace

MatrixFactory tiled_matrix_unit() { return matrix_unit<TiledMatrixUnit>(); }

}  // namespace kernbench::models
