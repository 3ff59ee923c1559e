// The matrix unit and the vector unit of a PE, as models: how many cycles a piece of work takes.
//
//   class Systolic : public models::MatrixModel {
//    public:
//     explicit Systolic(const ParamSet& params) : fill_(params.integer("fill_cycles")), … {}
//     models::TileShape tile() const override { return {64, 64, 64}; }
//     double cycles(const models::Product& p) const override { return fill_ + … ; }
//   };
//   registry.components.add_impl("pe_gemm", {"acme.systolic", "…", {…}, models::matrix_unit<Systolic>()});
//
// Contract. One model serves all PEs of a machine, from several threads: every function is const and depends on its
// arguments and the parameters alone. Cycles are those of the PE's clock (`pe.clock_ghz`) and not negative; they are
// rounded to whole picoseconds. `at_least` never gives more than the unit takes. kernbench/testing/model_contracts.hpp
// checks all of this for any model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "kernbench/dtype.hpp"
#include "kernbench/math_op.hpp"
#include "kernbench/param.hpp"
#include "kernbench/units.hpp"

namespace kernbench::models {

/// Rows, depth and columns of a tile.
struct TileShape {
  std::int64_t m = 1, k = 1, n = 1;
};

/// out[m, n] = a[m, k] · b[k, n]. An extent may be 0.
struct Product {
  std::int64_t m = 0, k = 0, n = 0;
  DType a = DType::f16, b = DType::f16, out = DType::f16;
  bool goes_on = false;  // a step of a composite behind its first: the unit is full of the same product
};

/// A unit moves operands from the TCM before it computes and the result to the TCM afterwards: these are the bytes.
struct Moved {
  Bytes fetch, store;
};

class MatrixModel {
 public:
  virtual ~MatrixModel() = default;
  /// What the scheduler cuts a composite into: every step is at most so large. Every extent is at least 1.
  virtual TileShape tile() const = 0;
  /// What a product takes in one piece: a `dot` of any size, or a step of a composite. Those of a batch follow each other.
  virtual double cycles(const Product& product) const = 0;
  /// What it moves of the bytes that operands and result have; by default all of them, once. `all` is that of a whole batch.
  virtual Moved moved(const Product& /*product*/, const Moved& all) const { return all; }
  /// The fewest cycles in which the product can be done, in one piece or cut into tiles: for the lower bound of a launch.
  /// None: this unit has no part in the bound, and results say so.
  virtual std::optional<double> at_least(const Product& /*product*/) const { return std::nullopt; }
  /// Its peak in operands of a type, for `topology show` and shares of the peak: multiply-adds a cycle.
  virtual double peak_macs(DType type) const {
    const TileShape t = tile();
    const double tile_cycles = cycles({t.m, t.k, t.n, type, type, type, true});
    const auto macs = static_cast<double>(t.m * t.k * t.n);
    return tile_cycles > 0 ? macs / tile_cycles : macs;
  }
};

/// An operation on so many elements; `widest` is the largest of the types it reads and writes.
struct VectorWork {
  MathOp op = MathOp::add;
  std::int64_t elements = 0;
  DType widest = DType::f16;
};

class VectorModel {
 public:
  virtual ~VectorModel() = default;
  virtual double cycles(const VectorWork& work) const = 0;
  /// As of the matrix unit.
  virtual Moved moved(const VectorWork& /*work*/, const Moved& all) const { return all; }
  virtual std::optional<double> at_least(const VectorWork& /*work*/) const { return std::nullopt; }
  /// Its peak, for `topology show`: additions a cycle.
  virtual double peak_elements(DType type) const {
    constexpr std::int64_t kMany = 1 << 20;
    const double all = cycles({MathOp::add, kMany, type});
    return all > 0 ? static_cast<double>(kMany) / all : static_cast<double>(kMany);
  }
};

using MatrixFactory = std::function<std::unique_ptr<MatrixModel>(const ParamSet&)>;
using VectorFactory = std::function<std::unique_ptr<VectorModel>(const ParamSet&)>;

/// For models that are made from their parameters.
template <class Model>
MatrixFactory matrix_unit() {
  return [](const ParamSet& params) { return std::make_unique<Model>(params); };
}
template <class Model>
VectorFactory vector_unit() {
  return [](const ParamSet& params) { return std::make_unique<Model>(params); };
}

/// Cycles of a clock as time, rounded to whole picoseconds.
Time cycles_time(double cycles, Time cycle);

}  // namespace kernbench::models
