#include "isa/scratch.hpp"

#include <algorithm>

namespace kernbench::isa {
namespace {

// Granules that the tiles read by command `i` give back with it. A tile that it reads twice counts once.
std::int64_t given_back(const Program& program, CommandIndex i, std::span<const ValueId> reads) {
  std::int64_t granules = 0;
  for (std::size_t k = 0; k < reads.size(); ++k) {
    const auto base = program.base(reads[k]);
    const auto& tile = program.value(base);
    if (tile.last_reader != i || tile.granules == 0) continue;
    const auto before = reads.first(k);
    if (std::ranges::any_of(before, [&](ValueId id) { return program.base(id) == base; })) continue;
    granules += tile.granules;
  }
  return granules;
}

}  // namespace

ScratchUse measure_scratch(const Program& program, std::int64_t limit_granules) {
  ScratchUse use;
  std::int64_t live = 0;
  const auto& commands = program.commands();
  for (CommandIndex i = 0; i < commands.size(); ++i) {
    const auto& c = commands[i];
    const Value* result = c.result == kNone ? nullptr : &program.value(c.result);
    if (result != nullptr) live += result->granules;
    use.peak_granules = std::max(use.peak_granules, live);
    if (live > limit_granules) {
      use.first_above_limit = i;
      return use;
    }
    live -= given_back(program, i, program.reads(c));
    if (result != nullptr && result->last_reader == i) live -= result->granules;
  }
  return use;
}

std::vector<ValueId> live_tiles(const Program& program, CommandIndex at) {
  std::vector<ValueId> live;
  const auto& values = program.values();
  for (ValueId id = 0; id < values.size(); ++id) {
    const auto& v = values[id];
    if (v.granules > 0 && v.producer <= at && at <= v.last_reader) live.push_back(id);
  }
  std::ranges::stable_sort(live,
                           [&](ValueId a, ValueId b) { return values[a].granules > values[b].granules; });
  return live;
}

}  // namespace kernbench::isa
