// RunInfo as bytes and back.
#pragma once

#include <span>
#include <string>

#include "trace/run_info.hpp"

namespace kernbench::trace {

/// Thrown by `info_from_bytes`: the bytes are not what `to_bytes` wrote.
struct BadBytes {};

std::string to_bytes(const RunInfo& info);
RunInfo info_from_bytes(std::span<const std::byte> bytes);

}  // namespace kernbench::trace
