// What gemm and math commands compute.
#pragma once

#include "data/tiles.hpp"

namespace kernbench::data {

/// The result of a gemm or math command. Uses up to `threads` threads; the bits do not depend on it.
Buffer compute(const LiveTiles& tiles, const isa::Program& program, const isa::Command& command, int threads);

/// The same elements as another dtype; the array itself if it has it already.
Dense as_dtype(const Dense& array, DType dtype);

}  // namespace kernbench::data
