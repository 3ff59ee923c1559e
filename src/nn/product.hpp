// The product of one PE: which operand stays in its TCM, and what is streamed past it.
#pragma once

#include <vector>

#include "kernbench/nn.hpp"

namespace kernbench::nn {

/// Part of the product that a PE computes with one operand's panel in its TCM.
struct ProductPlan {
  enum class Keeps { a, b, neither } keeps = Keeps::neither;
  std::int64_t panel = 0;  // rows of A or columns of B that are kept at once
  std::int64_t bytes = 0;  // read in all
};
/// The plan that reads least. `room` is the kernel's scratch.
ProductPlan plan_product(std::int64_t m, std::int64_t k, std::int64_t n, int itemsize, Bytes room);

/// A matrix in memory.
struct Matrix {
  tl::Ptr ptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t stride = 0;  // of rows, in elements
  DType dtype = DType::f16;

  static Matrix of(const tl::Shard& shard);
  Matrix block(std::int64_t row, std::int64_t col, std::int64_t n_rows, std::int64_t n_cols) const;
  tl::Tile ref(tl::Context& tl) const;
  tl::Tile load(tl::Context& tl) const;
  void store(tl::Context& tl, const tl::Tile& tile) const;
};

/// An epilogue as the kernel sees it.
struct EpilogueStep {
  std::string op;
  tl::Ptr operand;  // a row of the result's width; null: a number, or nothing
  DType dtype = DType::f16;
  std::optional<double> number;
};

/// c = a · b, streamed by the scheduler.
void product(tl::Context& tl, const Matrix& a, const Matrix& b, const Matrix& c,
             const std::vector<EpilogueStep>& epilogue = {});

}  // namespace kernbench::nn
