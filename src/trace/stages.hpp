// How long each stage of composite commands was at work: tiles come from HBM, are fetched from the TCM, multiplied, and
// results go back.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "trace/recording.hpp"

namespace kernbench::trace {

/// Over all PEs; of one PE, `busy` is when at least one operation was in this stage. A fetched tile stays in its stage until
/// the matrix unit takes it.
struct Stage {
  std::uint64_t count = 0;
  Time busy;
};

struct CompositeStages {
  int pes = 0;  // that ran composites
  Time window;  // from a PE's first tile to its last, of the PE for which that is longest
  Stage dma_in, fetch, gemm, dma_out;
};

/// None if the run has no composites.
std::optional<CompositeStages> composite_stages(const Recording& run);
nlohmann::ordered_json json_of(const CompositeStages& stages);

}  // namespace kernbench::trace
