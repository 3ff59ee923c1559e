// Lanes of a transfer that are neighbours both in the tile and in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "kernbench/program.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::tl {

inline bool is_on(const Lanes& lanes, std::int64_t lane) {
  return lanes.on.empty() || lanes.on[static_cast<std::size_t>(lane)] != 0;
}

/// Lanes that follow each other, on, and at neighbouring addresses.
struct ScatteredRuns {
  std::vector<isa::LaneRange> lanes;
  std::vector<std::uint64_t> addresses;

  ScatteredRuns(const Lanes& of, std::int64_t count, int itemsize) {
    std::uint64_t next = 0;
    for (std::int64_t lane = 0; lane < count; ++lane) {
      if (!is_on(of, lane)) continue;
      const auto address = of.addresses[static_cast<std::size_t>(lane)];
      if (!lanes.empty() && lanes.back().end == lane && address == next) {
        ++lanes.back().end;
      } else {
        lanes.push_back({lane, lane + 1});
        addresses.push_back(address);
      }
      next = address + static_cast<std::uint64_t>(itemsize);
    }
  }
};

}  // namespace kernbench::tl
