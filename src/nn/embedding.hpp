// Rows of a table by their numbers.
#pragma once

#include "nn/operation.hpp"

namespace kernbench::nn {

/// The same for a table that begins with row `first` of a longer one: ids outside of it give zeros.
Tensor embedding_part(const Tensor& ids, const Tensor& table, std::int64_t first, const OpOptions& options);

}  // namespace kernbench::nn
