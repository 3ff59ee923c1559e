// Numbers beside dtypes: what a dtype makes of a number, and whether it can hold it.
#pragma once

#include "kernbench/dtype.hpp"

namespace kernbench {

/// The nearest value of the dtype: integers wrap, floats round to nearest even. A double holds integers up to 2⁵³.
double round_to(DType dtype, double number);

/// Whether a number may stand for an element of the dtype: integers must be whole and in range, truth values
/// 0 or 1; floats are rounded, but must not become infinite.
bool fits(DType dtype, double number);

}  // namespace kernbench
