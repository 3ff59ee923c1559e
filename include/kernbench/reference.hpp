// Numbers to run benches with, and references to compare their results with.
//
//   const Eighths a{{M, K}, 1}, b{{K, N}, 2};
//   Tensor x = a.tensor(torch, f16, dp, "a");          // made only when somebody wants the numbers
//   …
//   report.compare("c", c.numpy(), product(a, b, f16));
//
// All are multiples of 1/8 from −1 to 1. Products of two of them, and sums of up to 2¹⁸ products, are exact in f32
// whatever their order, so that a matrix product has one right answer, to the bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernbench/torch.hpp"

namespace kernbench::bench {

/// A matrix, or a vector as one row, of numbers that look random and depend on the seed and their place alone.
struct Eighths {
  Shape shape;
  std::uint64_t seed = 0;

  std::int64_t rows() const { return shape.rank() == 0 ? 1 : shape.elements() / columns(); }
  std::int64_t columns() const { return shape.rank() == 0 ? 1 : shape[shape.rank() - 1]; }
  /// The numbers [first, first + out.size()) of a row, times 8: −8 … 8.
  void row(std::int64_t row, std::int64_t first, std::span<std::int8_t> out) const;

  /// On the current device. `dtype` is a float type.
  Tensor tensor(Torch& torch, DType dtype, const DPPolicy& dp, std::string name) const;
  NdArray array(DType dtype) const;
};

/// a[M, K] · b[K, N], rounded once. Computed in another order than kernels do, on all cores.
NdArray product(const Eighths& a, const Eighths& b, DType dtype, int threads = 0);

}  // namespace kernbench::bench

namespace kernbench {
using bench::Eighths;
using bench::product;
}  // namespace kernbench
