// A simulation: partitions that run in step.
#pragma once

#include <kernbench/sim/partition.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace kernbench::sim {

/// Which windows the threads of a run share. The others are run by one thread while the rest wait.
enum class Sharing {
  always,
  unless_crowded,  // not while other work takes the cores and threads wait for each other most of the time
  where_it_pays,   // and only windows of many events
};

struct RunOptions {
  Time until = Time::never();  // run every event at or before this
  int threads = 1;             // at most one per partition is used, and as many as can be started
  Sharing sharing = Sharing::always;
  const std::atomic<bool>* interrupt =
      nullptr;  // set from outside (Ctrl-C) to end the run between two events
};

/// Why `run` came back.
enum class Outcome {
  drained,      // nothing is left to do; the clocks stand at the last events
  limit,        // `until` is reached; all clocks stand there
  stopped,      // a component called `Partition::stop`
  interrupted,  // the interrupt flag was set
};

struct Counters {
  std::uint64_t events = 0;    // events fired, letters included
  std::size_t peak_queue = 0;  // the longest any partition's queue has been
  int threads_missing = 0;     // threads that a run was to have and that could not be started
};

/// Owns the partitions. Several simulations may exist, and run, side by side.
///
/// Partitions run in windows [T, T + lookahead), where T is the time of the earliest event anywhere. No
/// letter of a window can arrive within it, so the partitions of a window do not depend on each other, and
/// the order of events is the same with any number of threads. A single partition runs without windows.
class Simulation {
 public:
  /// `lookahead`: the least delay of a message between partitions, at least 1 ps.
  explicit Simulation(int partitions = 1, Time lookahead = Time::from_ps(1));
  ~Simulation();

  int partitions() const { return static_cast<int>(partitions_.size()); }
  Partition& partition(int id = 0) { return *partitions_.at(static_cast<std::size_t>(id)); }
  /// The latest of the partitions' clocks.
  Time now() const;
  Counters counters() const;

  /// Whether nothing is scheduled and no letter is under way. Not while it runs.
  bool idle() const;
  /// Moves all clocks of an idle simulation, also back: what is scheduled from then on happens as seen from there.
  void set_clock(Time to);

  /// Runs until nothing is left, or one of the other outcomes. An exception that a process or a handler lets
  /// escape ends the run like a `stop` of its partition and is thrown from here; of several, the one of the
  /// earliest (time, partition).
  Outcome run(const RunOptions& options = {});

  /// Destroys all processes, drops all events and sets the clocks and counters to zero. What processes held
  /// of building blocks is not given back: make the components anew.
  void reset();

 private:
  struct Worker;
  class Run;

  const Time lookahead_;
  std::vector<Time> next_;  // per partition, side by side so that a look at idle ones costs next to nothing
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::chrono::steady_clock::time_point
      rest_until_;  // windows are run alone until then: a shared one was crowded
  int rest_ = 1;    // that many times as long as it took; more each time
  int threads_missing_ = 0;
};

}  // namespace kernbench::sim
