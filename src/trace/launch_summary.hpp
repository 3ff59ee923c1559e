// The summary of one request alone.
#pragma once

#include <cstdint>

#include "device/origins.hpp"
#include "kernbench/trace.hpp"
#include "trace/records.hpp"

namespace kernbench::trace {

/// As `summarize`, of the records of request number `request` and the PEs that it ran on. The request was at work from
/// `begin` to `end`: only records of that time are looked at, so that all launches of a run together cost about one
/// look at its log.
Summary summarize_launch(const Records& all, const device::Origins& origins, std::uint32_t request,
                         Time begin, Time end);

}  // namespace kernbench::trace
