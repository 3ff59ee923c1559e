// What is said of a trace that was written.
#pragma once

#include <string>

#include "report/trace_events.hpp"

namespace kernbench::cli {

std::string trace_text(const std::string& path, const report::TraceSize& size);

}  // namespace kernbench::cli
