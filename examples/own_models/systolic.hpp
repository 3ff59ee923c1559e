#pragma once

#include <kernbench/registry.hpp>

namespace acme {

namespace models = kernbench::models;

class Systolic : public models::MatrixModel {
 public:
  explicit Systolic(const kernbench::ParamSet& params)
      : edge_(params.integer("edge")), fill_(params.integer("fill_cycles")) {}

  models::TileShape tile() const override { return {edge_, edge_, edge_}; }
  double cycles(const models::Product& p) const override {
    const auto tiles = [&](std::int64_t extent) { return (extent + edge_ - 1) / edge_; };
    return static_cast<double>(tiles(p.k) * tiles(p.n) * (p.m + fill_));
  }
  std::optional<double> at_least(const models::Product& p) const override {
    return static_cast<double>(p.m * p.k * p.n) / static_cast<double>(edge_ * edge_);
  }

 private:
  const std::int64_t edge_, fill_;
};

inline kernbench::topology::Impl systolic() {
  using kernbench::Param;
  return {"acme.systolic",
          "a weight-stationary array",
          {Param::integer("edge", 64, {1, 1024}, "rows and columns of cells"),
           Param::integer("fill_cycles", 64, {0, 10000}, "cycles to fill in a tile of B")},
          models::matrix_unit<Systolic>()};
}

}  // namespace acme
