// Which KernBench this is.
#pragma once

#include <string_view>

namespace kernbench {

/// `0.1.0`
std::string_view version();

}  // namespace kernbench
