// Shares as people read them.
#pragma once

#include <fmt/format.h>

#include <string>

namespace kernbench::cli {

/// "48.4 %"
inline std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace kernbench::cli
