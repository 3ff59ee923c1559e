// How much scratch a program's tiles take, in program order.
//
// A tile is live from the command that makes it to its last reader, both included; one that nobody reads, at
// its own command only. That is what a PE needs that completes each command before it issues the next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernbench/program.hpp"

namespace kernbench::isa {

struct ScratchUse {
  std::int64_t peak_granules = 0;
  std::optional<CommandIndex> first_above_limit;
};

/// Stops at the first command at which the live tiles take more than `limit_granules`.
ScratchUse measure_scratch(const Program& program, std::int64_t limit_granules);

/// The tiles that are live at a command, largest first.
std::vector<ValueId> live_tiles(const Program& program, CommandIndex at);

}  // namespace kernbench::isa
