#include "bench/run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>

#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"

namespace kernbench::bench {
namespace {

using runtime::Engine;
using runtime::Phase;

/// What each launch asks for, counted as it is submitted; by number of request.
using Workloads = std::map<std::uint32_t, Workload>;

void count_launches(Engine& engine, Workloads& works) {
  engine.watch_launches([&, nothing = Workload(engine.machine(), engine.device().graph())](
                            const runtime::LaunchRequest& launch) {
    Workload& work = works.try_emplace(launch.number(), nothing).first->second;
    for (const auto& program : launch.programs())
      work.add(*program, [&](PeCoord pe, address::VirtAddr begin, Bytes size, auto& out) {
        return engine.find_memory(pe, begin, size, out);
      });
  });
}

RunProgress progress_of(Engine& engine, const runtime::Progress& clock) {
  RunProgress progress{.done = engine.requests().size(),
                       .submitted = engine.requests().size(),
                       .current = {},
                       .now = clock.now,
                       .events = clock.events};
  for (const auto& stream : engine.streams()) {
    const auto& open = stream->open();
    progress.done -= open.size();
    if (progress.current.empty() && !open.empty())
      progress.current = fmt::format("{} {}", to_string(open.front()->phase()), open.front()->name());
  }
  return progress;
}

/// The host function is the user's: what it throws is no defect of ours.
void call_host(const Bench& bench, Torch& torch, const Options& options, BenchReport& report) {
  try {
    bench.run(torch, options, report);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw SimulationError({"bench.failed", fmt::format("bench '{}'", bench.name),
                           fmt::format("its host function failed: {}", error.what()), ""});
  }
  if (report.verify() && !report.outcome())
    report.verified(false, "the bench was to verify its results, and compared nothing");
}

/// An interrupt that came while the host function computed.
void check_interrupt(const RunOptions& how) {
  if (how.interrupt && *how.interrupt)
    throw runtime::Interrupted({"bench.interrupted", "", "the run was stopped", ""});
}

double peak_rss_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Of launches that follow each other: each leaves the host when the one before it is complete.
struct StreamBound {
  Time sum;
  LowerBound longest;
  void add(const LowerBound& launch) {
    sum += launch.time;
    if (launch.time > longest.time) longest = launch;
  }
};

/// Traces of launches with their bounds, and what they moved.
void add_launches(RunResult& result, Engine& engine, const Workloads& works) {
  TrafficTotals totals;
  std::map<int, StreamBound> of_stream;
  for (const auto& request : engine.requests()) {
    if (request->phase() != Phase::launch) continue;
    const Workload& work = works.at(request->number());
    result.launches.push_back({request->trace(), lower_bound(work)});
    const LaunchResult& launch = result.launches.back();
    totals.add(work, launch.trace.pe_exec);
    of_stream[request->stream().number()].add(launch.bound);
  }
  for (const auto& [stream, bound] : of_stream)
    if (bound.sum > result.lower_bound.time) result.lower_bound = {bound.sum, bound.longest.resource};
  result.utilization = totals.over(result.summary, engine.device().graph());
}

/// All of these only look at what happened, so some do it beside the others.
void add_run(RunResult& result, const BenchRun& done, int threads) {
  const auto when = threads == 1 ? std::launch::deferred : std::launch::async;
  std::future hazards = std::async(when, [&] { return done.hazards(); });
  result.total = done.completed;
  result.log = done.log();
  std::future hash = std::async(when, [&] { return result.log->hash(); });
  result.summary = result.log->summary();
  result.critical_path = result.log->critical_path();
  result.hash = hash.get();
  result.hazards = hazards.get();
}

}  // namespace

std::vector<const LaunchResult*> RunResult::beaten_bounds() const {
  std::vector<const LaunchResult*> beaten;
  for (const LaunchResult& launch : launches)
    if (launch.trace.pe_exec < launch.bound.time) beaten.push_back(&launch);
  return beaten;
}

bool RunResult::ok() const {
  return report.outcome().value_or(true) && beaten_bounds().empty() && !(strict && !hazards.empty());
}

RunResult run(const Bench& bench, const Options& options, const topology::Machine& machine,
              const RunOptions& how) {
  const auto begin = std::chrono::steady_clock::now();
  RunResult result{.bench = bench.name,
                   .options = options,
                   .machine = machine,
                   .device = to_string(how.device),
                   .strict = how.strict,
                   .report = BenchReport(how.verify)};
  Workloads works;
  Engine* engine = nullptr;
  TorchOptions torch_options{.data = how.verify,
                             .threads = how.threads,
                             .replay_threads = how.threads,
                             .hazards = how.threads != 1,
                             .interrupt = how.interrupt};
  if (how.progress)
    torch_options.progress = [&](const runtime::Progress& clock) {
      how.progress(progress_of(*engine, clock));
    };
  const BenchRun done = run_bench(
      machine,
      [&](Torch& torch) {
        engine = &torch.engine();
        count_launches(*engine, works);
        if (how.collectives)
          dist::configure(torch, how.ccl, how.ccl_overrides, *how.collectives);
        else if (how.ccl != "default" || !how.ccl_overrides.empty())
          dist::configure(torch, how.ccl, how.ccl_overrides);
        call_host(bench, torch, options, result.report);
        check_interrupt(how);
      },
      how.device, std::move(torch_options));
  add_run(result, done, how.threads);
  add_launches(result, *engine, works);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  result.wall = {took.count(), done.torch->events(), peak_rss_mb()};
  return result;
}

}  // namespace kernbench::bench
