#include <algorithm>
#include <array>
#include <bit>

#include "models/shipped.hpp"

namespace kernbench::models {
namespace {

class LaneVectorUnit final : public VectorModel {
 public:
  explicit LaneVectorUnit(const ParamSet& params)
      : vector_bytes_(params.integer("vector_bytes")),
        cycles_{params.number("simple_cycles"), params.number("divide_cycles"),
                params.number("transcendental_cycles")} {}

  double cycles(const VectorWork& work) const override {
    const std::int64_t lanes = std::max<std::int64_t>(1, vector_bytes_ / itemsize(work.widest));
    const std::int64_t vectors = (work.elements + lanes - 1) / lanes;
    const MathOpInfo& what = info(work.op);
    const double all = static_cast<double>(vectors) * cycles_[static_cast<std::size_t>(what.cost)];
    return what.kind == MathKind::reduction ? all + fold_cycles(lanes) : all;
  }
  std::optional<double> at_least(const VectorWork& work) const override { return cycles(work); }
  /// A unit that takes no cycles is a model without a cost; its peak is what one cycle would give.
  double peak_elements(DType type) const override {
    return static_cast<double>(vector_bytes_) / itemsize(type) / std::max(1.0, cycles_[0]);
  }

 private:
  /// Lanes fold in halves.
  static double fold_cycles(std::int64_t lanes) {
    return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(lanes)) - 1);
  }
  const std::int64_t vector_bytes_;
  const std::array<double, 3> cycles_;  // by MathCost
};

}  // namespace

VectorFactory lane_vector_unit() { return vector_unit<LaneVectorUnit>(); }

}  // namespace kernbench::models
