// Runs a bench and gathers everything that is to be said about it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/lower_bound.hpp"
#include "bench/utilization.hpp"
#include "kernbench/bench.hpp"
#include "kernbench/run_bench.hpp"

namespace kernbench::bench {

/// How far a run is.
struct RunProgress {
  std::size_t done = 0, submitted = 0;  // requests
  std::string current;                  // the oldest one that is not done: `launch q`
  Time now;                             // simulated
  std::uint64_t events = 0;
};

struct RunResult;

struct RunOptions {
  runtime::DeviceSelector device;
  std::string ccl = {};  // the ccl.yaml to use; empty: that of the current folder, else the one that ships
  std::optional<std::string> ccl_text;         // what it holds, if that is known: then no file is read
  const ccl::Registry* collectives = nullptr;  // that it may name; null: those that ship
  std::vector<std::string> ccl_overrides;      // of its values: ccl.defaults.n_slots=8
  bool verify = false;                         // compute numbers, and have the bench compare them
  bool hazards = false;                        // look for races; `verify` and `strict` do so too
  bool strict = false;                         // hazards are failures
  int threads = 0;                             // that simulate and compute; 0: one per core, where they pay
  bool packets = false;                        // move every packet by itself: the same result, slower
  bool skip = true;  // what comes again in the same state is taken over, not simulated: the same result
  runtime::LogStorage log = runtime::LogStorage::memory;  // none: without a critical path
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const RunProgress&)> progress;  // called about ten times a second while time passes
  /// Called at the end, while the context is still there: to save the run. Also if it failed; then what it threw is
  /// thrown afterwards.
  std::function<void(Torch&, const RunResult&)> finished;

  bool looks_for_hazards() const { return hazards || verify || strict; }
};

struct LaunchResult {
  runtime::Trace trace;
  LowerBound bound;          // of its pe_exec
  std::uint32_t number = 0;  // of the request
};

struct Wall {
  double seconds = 0;
  std::uint64_t events = 0;
  double peak_rss_mb = 0;
  int threads_missing = 0;       // that were asked for and could not be started
  std::uint64_t taken_over = 0;  // launches that came again and were not simulated
  double events_per_s() const { return seconds > 0 ? static_cast<double>(events) / seconds : 0; }
};

struct RunResult {
  std::string bench;
  Options options;
  topology::Machine machine;
  std::string device;    // as it was selected
  std::string ccl;       // the ccl.yaml that was used
  std::string ccl_text;  // and what it held
  bool strict = false;
  BenchReport report;
  std::string failure;  // what it threw; empty: it ran to its end
  Time total;
  std::uint64_t hash = 0;
  std::vector<LaunchResult> launches;
  LowerBound lower_bound;  // launches of a stream one after the other; of several streams the longest
  trace::Summary summary;
  std::optional<trace::RunLog> log;   // none: it was not kept
  trace::CriticalPath critical_path;  // refers to the log; unknown without it
  Utilization utilization;
  std::optional<trace::EnergyReport> energy;   // none: the machine has no prices
  std::vector<runtime::LinkQueue> links;       // at which packets waited, the longest wait first
  std::vector<runtime::SliceActivity> slices;  // that were used, if their memory counts; the busiest first
  std::optional<std::vector<runtime::HazardReport>> hazards;  // none: nobody looked for them
  std::vector<std::string> warnings;  // queues that limit the bandwidth of their links
  Wall wall;

  /// Launches that were faster than they can be: the models are wrong.
  std::vector<const LaunchResult*> beaten_bounds() const;
  /// Nothing is wrong with the run: comparisons, bounds and, if strict, hazards.
  bool ok() const;
};

/// Where buffers were full. With unbounded ones: packets that came to a router when more than its buffer was before them. With
/// credits: links that stood idle, for there was no room beyond them.
struct PushBack {
  bool credits = false;
  std::int64_t buffer_packets = 0;
  std::uint64_t packets = 0;                 // that came too early
  Time stalled;                              // over all links
  std::size_t links = 0;                     // at which it was so
  const runtime::LinkQueue* most = nullptr;  // the worst of them, if there is one; of the result
};
/// None if the machine file does not say how much a router holds.
std::optional<PushBack> push_back(const RunResult& result);

/// The same for a host program of one's own: all that its context did so far.
RunResult result_of(Torch& torch);

/// What the simulated program throws is thrown; what else a host function throws becomes a SimulationError.
RunResult run(const Bench& bench, const Options& options, const topology::Machine& machine,
              const RunOptions& how = {});

/// Runs a bench's host function over a context that already exists. The report has the figures of its launches, as in `run`.
void run_over(const Bench& bench, Torch& torch, const Options& options, BenchReport& report);

}  // namespace kernbench::bench
