// What the DRAM of a saved run did with its time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// The slice that had most to do.
struct SavedDram {
  struct Part {
    std::string_view name;  // data, rows, bank groups, turns of the bus, refresh
    double share = 0;       // of the time in which something waited for the slice
  };
  std::string slice;
  std::int64_t slices = 0;  // that were used
  double wanted = 0;        // share of the run's time, of a pseudo-channel that was used
  std::array<Part, 5> parts;
  std::int64_t bursts = 0;
  double hits = 0, closed = 0, conflicts = 0;  // shares of the bursts

  /// But for data, where most of the time went; null: there was none.
  const Part* most_lost() const;
  /// `data 61.0 %, rows 30.2 %, …; of 4000 bursts 12.0 % hit an open row, …`
  std::string text() const;
};

/// The key `dram` of its document; none if its memory does not count, or the file is from before any did.
std::optional<SavedDram> saved_dram(const SavedRun& run);

/// What can be done about a part.
std::string_view dram_advice(std::string_view part);

}  // namespace kernbench::report
