// Energy over time, in windows of equal length from 0 on.
#pragma once

#include <cstddef>
#include <vector>

#include "kernbench/energy.hpp"

namespace kernbench::trace {

/// What was spent in each window. An amount that is spread over several is cut at their borders by whole femtojoules, so
/// that nothing is lost. Of a run of more than 2²⁰ windows two become one, again and again: the borders that are left are
/// borders from the beginning, so the sums are those of the longer windows.
class PowerWindows {
 public:
  static constexpr Time kShortest = Time::from_ps(1'000'000);  // 1 µs
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  /// Evenly from `begin` to `end`; all of it at once, if they are the same.
  void add(Energy energy, Time begin, Time end);
  void add(const PowerWindows& other);

  Time window() const { return window_; }
  const std::vector<Energy>& sums() const { return sums_; }

 private:
  Energy& at(std::size_t index);
  void reach(Time instant);
  void widen();

  Time window_ = kShortest;
  std::vector<Energy> sums_;
};

}  // namespace kernbench::trace
