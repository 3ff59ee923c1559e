// Who lets simulated time pass.
#pragma once

#include <exception>
#include <utility>

#include "runtime/stream.hpp"

namespace kernbench::runtime {

/// The one seam at which host code waits. Every blocking call comes here. Alone, the host program lets the clock run;
/// where several ranks take turns, a scheduler stands here that lets another rank go on instead, and runs the clock
/// when none can.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Comes back when the request is complete.
  virtual void wait(Request& request) = 0;
};

/// Runs the simulation to the instants that host code waits for.
class Clock {
 public:
  Clock(device::Processors& processors, const TorchOptions& options);

  Time now() const { return host_.now(); }
  /// The machine could not be brought to rest after a failure: nothing more can be simulated.
  bool failed() const { return failure_ != nullptr; }
  /// Nothing more can be simulated, and whoever lets the clock run again is told why.
  void fail(std::exception_ptr why) { failure_ = std::move(why); }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// The last run was stopped from outside, or what came after it.
  bool interrupted() const { return interrupted_; }
  void note_interrupt() { interrupted_ = true; }
  /// To the first instant at which a request is complete that stops the clock; all that happens at that instant has
  /// happened then. Throws what the simulated program throws, IpcqDeadlock if programs wait for each other,
  /// SimulationError `runtime.deadlock` if nothing is left that could complete `awaited`, which is one of them,
  /// Interrupted.
  /// Without `awaited` (null) it returns false if nothing is left to do.
  bool run_until_stopped(const Request* awaited);
  /// Everything up to that instant, whoever stops the clock.
  void run_to(Time instant);
  /// Lets everything end that is under way, without an end of its own of anything that was given up. std::bad_alloc:
  /// there is no memory for that either, and the clock has failed.
  void run_dry();

 private:
  sim::Outcome run_with_progress();
  sim::Outcome simulate(const sim::RunOptions& how);
  sim::RunOptions until(Time end) const;
  [[noreturn]] void fail_deadlock(const Request& request);

  device::Processors& processors_;
  sim::Simulation& simulation_;
  sim::Partition& host_;
  const TorchOptions& options_;
  const int cores_;  // asked once: the answer is read from a file
  std::exception_ptr failure_;
  bool interrupted_ = false;
};

}  // namespace kernbench::runtime
