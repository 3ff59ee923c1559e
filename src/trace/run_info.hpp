// What records refer to: the machine, and the programs and requests they come from. Holds what summaries,
// paths, hashes and files need, so that a log read back from disk, without its programs, is as good as a
// fresh one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/origins.hpp"

namespace kernbench::trace {

struct LineInfo {
  std::string file;  // name without folders
  std::uint32_t line = 0;
  friend bool operator==(const LineInfo&, const LineInfo&) = default;
};

struct OriginInfo {
  PeCoord pe;
  std::uint32_t launch = 0;
  std::string name;                  // of the kernel or of the request
  std::uint64_t fingerprint = 0;     // of the program
  std::vector<std::uint32_t> lines;  // per command, into RunInfo::lines

  bool is_host() const { return pe.cube < 0; }
  /// Where it is at work.
  std::uint16_t partition() const { return is_host() ? 0 : static_cast<std::uint16_t>(pe.sip + 1); }
  friend bool operator==(const OriginInfo&, const OriginInfo&) = default;
};

struct RunInfo {
  std::string machine;              // its effective description
  std::vector<OriginInfo> origins;  // records' `origin` counts in them
  std::vector<LineInfo> lines;
  friend bool operator==(const RunInfo&, const RunInfo&) = default;
};

/// Programs whose fingerprint was noted when they came may be gone: they are named as their request, without lines.
/// `requests` names the launches and other requests of the host; an origin's `launch` counts in them. Takes a second
/// thread where that pays, unless `threads` is 1.
RunInfo describe_run(std::string machine, const device::Origins& origins,
                     std::span<const std::string> requests, int threads = 1);

}  // namespace kernbench::trace
