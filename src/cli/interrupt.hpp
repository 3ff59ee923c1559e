// Ctrl-C, and a polite kill, as a flag to look at between two events. A second one ends the program at once.
#pragma once

#include <csignal>

#include <atomic>

namespace kernbench::cli {

/// While one is alive SIGINT and SIGTERM set its flag. One at a time.
class InterruptFlag {
 public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  const std::atomic<bool>& flag() const;

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace kernbench::cli
