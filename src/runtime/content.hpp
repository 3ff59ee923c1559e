// What the host writes.
#pragma once

#include "kernbench/ndarray.hpp"
#include "kernbench/torch.hpp"
#include "runtime/engine.hpp"

namespace kernbench::runtime {

Engine::Fill array_content(NdArray array);
Engine::Fill value_content(DType dtype, double value);
/// `fill` makes row by row of the whole tensor.
Engine::Fill row_content(Torch::RowBytes fill);

}  // namespace kernbench::runtime
