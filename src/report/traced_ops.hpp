// The operations of a trace: which, and on which track and lane each is drawn.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernbench/saved_run.hpp"

namespace kernbench::report {

/// An engine of a PE, or the host's requests of a SIP.
struct Track {
  PeCoord pe;  // cube and pe are −1 for the host
  std::string engine;
  friend auto operator<=>(const Track&, const Track&) = default;
};

struct TracedOp {
  std::int64_t id = 0, launch = 0, program = 0;
  std::uint32_t track = 0;  // of TracedOps::tracks
  int lane = 0;             // operations of a lane do not overlap
  std::string_view kind, reason;
  Time start, end;
  std::int64_t amount = 0;  // bytes, multiply-adds or elements
  std::int64_t line = -1, command = -1, cause = -1, queue = -1, message = -1;
  bool sends() const { return kind == "ipcq_send"; }
  bool receives() const { return kind == "ipcq_recv"; }
};

class TracedOps {
 public:
  /// If there are more than `most`, those that matter most to the critical path.
  TracedOps(const SavedRun& run, const SavedPath& path, std::uint64_t most);

  const std::vector<TracedOp>& all() const { return ops_; }  // by track and start
  const std::vector<Track>& tracks() const { return tracks_; }
  int lanes(std::size_t track) const { return lanes_[track]; }
  /// Null if it is not shown.
  const TracedOp* find(std::int64_t id) const;

 private:
  void choose(const SavedRun& run, const SavedPath& path, std::uint64_t most);
  void read(const SavedRun& run);
  std::uint32_t track_of(const SavedOp& op);
  void assign_lanes();

  std::vector<bool> chosen_;  // in the order in which the file has them; empty: all
  std::vector<TracedOp> ops_;
  std::vector<Track> tracks_;
  std::vector<int> lanes_;
  std::unordered_map<std::string, std::uint32_t> track_ids_;
  std::unordered_map<std::int64_t, std::size_t> places_;
};

}  // namespace kernbench::report
