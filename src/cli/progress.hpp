// Shows how far a run is: on a terminal a bar that is drawn over, in a log a line now and then. Short runs show nothing.
#pragma once

#include <chrono>
#include <string>

#include "bench/run.hpp"

namespace kernbench::cli {

/// `[######----] about 8 s left, 6/10, 1250.000 us simulated, 12.3 M events, 4.1 M/s, launch q`; `seconds`: since the begin. A
/// narrow terminal cuts off the end, so what matters least comes last.
std::string progress_line(const bench::RunProgress& progress, double seconds);

class ProgressDisplay {
 public:
  enum class Kind { none, bar, lines };
  /// The kind for standard error: a bar if that is a terminal.
  static Kind kind_for_stderr();

  explicit ProgressDisplay(Kind kind) : kind_(kind) {}
  /// Takes the bar away.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void show(const bench::RunProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  const Kind kind_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
  bool drawn_ = false;
};

}  // namespace kernbench::cli
