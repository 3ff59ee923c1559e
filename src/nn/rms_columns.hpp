// rms_norm where rows are split: PEs exchange their sums of squares.
#pragma once

#include "nn/operation.hpp"

namespace kernbench::nn {

/// x column-wise over a rectangle of PEs, or row-wise over its cubes and column-wise over the PEs of each. Every PE has its
/// columns of the weight.
Tensor rms_norm_columns(const Call& call, const Tensor& x, const Tensor& weight, double eps,
                        const OpOptions& options);

}  // namespace kernbench::nn
