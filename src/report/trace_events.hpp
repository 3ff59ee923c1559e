// A saved run as trace events: the JSON that Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// A process per cube and one for the host; in a cube a track for each engine of each PE, with lanes where operations
// overlap; arrows from sends to receives and along the critical path; counters of HBM, links and queues. Times are
// simulated time, in microseconds.
#pragma once

#include <cstdint>
#include <string>

#include "kernbench/saved_run.hpp"

namespace kernbench::report {

struct TraceOptions {
  std::uint64_t most_ops =
      1'000'000;  // beyond: those on the critical path, then on its PEs, its cubes, elsewhere
};

struct TraceSize {
  std::int64_t ops = 0;    // of the run
  std::int64_t shown = 0;  // in the trace
  std::int64_t flows = 0;
};

/// Writes beside and renames; a name that ends in `.gz` is compressed. InputError (`file.unwritable`) if it cannot.
TraceSize write_trace(const SavedRun& run, const std::string& path, const TraceOptions& options = {});

}  // namespace kernbench::report
