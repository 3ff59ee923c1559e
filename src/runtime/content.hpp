// What the host writes.
#pragma once

#include <string_view>

#include "kernbench/ndarray.hpp"
#include "kernbench/torch.hpp"
#include "runtime/engine.hpp"

namespace kernbench::runtime {

Engine::Fill array_content(NdArray array);
/// InputError if the dtype has no such number; `tensor` is its name, for the message.
Engine::Fill value_content(DType dtype, double value, std::string_view tensor);
/// `fill` makes row by row of the whole tensor.
Engine::Fill row_content(Torch::RowBytes fill);

}  // namespace kernbench::runtime
