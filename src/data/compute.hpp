// What commands make of their operands.
#pragma once

#include "data/pieces.hpp"
#include "data/tiles.hpp"

namespace kernbench::data {

/// The result of a gemm or math command. Uses up to `threads` threads; the bits do not depend on it.
Buffer compute(const LiveTiles& tiles, const isa::Program& program, const isa::Command& command, int threads);

/// The result of a dma_read command whose bytes are in these pieces, checked before: lanes that are off hold
/// their `other`.
Buffer loaded(const MemoryStore& store, const isa::Program& program, const isa::Command& command,
              const Pieces& pieces);

/// What an atomic leaves in these pieces of memory, which it reads.
Buffer combined(const MemoryStore& store, const LiveTiles& tiles, const isa::Program& program,
                const isa::Command& command, const Pieces& pieces);

/// The same elements as another dtype; the array itself if it has it already.
Dense as_dtype(const Dense& array, DType dtype);

}  // namespace kernbench::data
