// Which launches of a run keep their operations in a saved run.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/recording.hpp"

namespace kernbench::report {

/// What a request's operations come to.
struct LaunchOps {
  std::int64_t ops = 0, bytes = 0, macs = 0;
  bool kept = true;
};

class KeptLaunches {
 public:
  /// Beyond `most` operations: the first and the last launch of a kernel and every k-th between, k as small as fits.
  /// Requests of the host that are no launches are kept: they have few.
  KeptLaunches(const trace::Recording& run, std::uint64_t most);

  const LaunchOps& of(std::uint32_t launch) const {
    return launch < launches_.size() ? launches_[launch] : kNothing;
  }
  std::int64_t all() const;
  std::int64_t kept() const;

 private:
  static constexpr LaunchOps kNothing{};
  void count(const trace::Recording& run);
  void keep_every(std::int64_t step, const std::vector<std::size_t>& kernels);

  std::vector<LaunchOps> launches_;  // by request
};

}  // namespace kernbench::report
