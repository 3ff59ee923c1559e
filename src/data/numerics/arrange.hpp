// Operations that put elements in other places and change none.
#pragma once

#include <span>

#include "data/numerics/array.hpp"

namespace kernbench::data {

/// The arrays one after the other along an axis. They have the dtype of `out` and its extents along the others.
void concatenate(std::span<const ConstArray> arrays, int axis, const Array& out);

}  // namespace kernbench::data
