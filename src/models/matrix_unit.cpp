#include <algorithm>
#include <array>
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
        fill_cycles_(static_cast<double>(params.integer("fill_cycles"))) {
    const auto tile_cycles = static_cast<double>(params.integer("tile_cycles"));
    tile_cycles_.fill(tile_cycles);
    for (const auto& [name, rate] : params.table("rates"))
      for (const DType type : kAllDTypes)
        if (name == to_string(type)) tile_cycles_[index(type)] = std::ceil(tile_cycles / rate);
  }

  TileShape tile() const override { return tile_; }
  double cycles(const Product& p) const override {
    const std::int64_t tiles = count(p.m, tile_.m) * count(p.k, tile_.k) * count(p.n, tile_.n);
    return static_cast<double>(tiles) * std::max(tile_cycles_[index(p.a)], tile_cycles_[index(p.b)]) +
           (p.goes_on ? 0 : fill_cycles_);
  }
  /// Cut into tiles it takes as long.
  std::optional<double> at_least(const Product& p) const override { return cycles(p); }

 private:
  static std::int64_t count(std::int64_t extent, std::int64_t tile) {
    return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
  }
  static std::size_t index(DType type) { return static_cast<std::size_t>(type); }
  const TileShape tile_;
  const double fill_cycles_;
  std::array<double, kAllDTypes.size()> tile_cycles_;  // by the type of an operand; the slower of two counts
};

}  // namespace

MatrixFactory tiled_matrix_unit() { return matrix_unit<TiledMatrixUnit>(); }

}  // namespace kernbench::models
