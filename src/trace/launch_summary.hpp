// The summary of one request alone.
#pragma once

#include <cstdint>

#include "kernbench/trace.hpp"

namespace kernbench::trace {

struct Recording;

/// As `summarize`, of the records of request number `request` and the PEs that it ran on.
Summary summarize_launch(const Recording& run, std::uint32_t request);

}  // namespace kernbench::trace
