#include "bench/run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <numeric>

#include "base/memory.hpp"
#include "bench/launch_work.hpp"
#include "ccl/plan.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"
#include "trace/launch_summary.hpp"

namespace kernbench::bench {
namespace {

using runtime::Engine;
using runtime::Phase;

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
  const Building building("what the host function asks for");
  try {
    bench.run(torch, options, report);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {  // says what for
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

/// Not what getrusage says, where there is better: that counts the memory of whoever started this program, too.
double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kb = 0; word == "VmHWM:" && status >> kb) return kb / 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// The bound of launches that follow each other: each leaves the host when the one before it is complete.
struct StreamBound {
  Time sum;
  LowerBound longest;
  void add(const LowerBound& launch) {
    sum += launch.time;
    if (launch.time > longest.time) longest = launch;
  }
};

/// In the order in which they began.
TrafficTotals traffic_of(const std::vector<LaunchResult>& launches,
                         const std::vector<std::pair<Time, const Workload*>>& begun) {
  std::vector<std::size_t> order(launches.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return begun[i].first; });
  TrafficTotals totals;
  for (const std::size_t i : order) totals.add(*begun[i].second, begun[i].first, launches[i].trace.pe_exec);
  return totals;
}

/// Queues that held launches up because they hold too little.
void add_warnings(RunResult& result, Engine& engine, const LaunchWorks& works) {
  std::map<std::pair<std::string, Bytes>, std::pair<device::QueueRules, std::set<Workload::Crowded>>> queues;
  for (const auto& request : engine.requests()) {
    if (request->phase() != Phase::launch || !works.contains(request->number())) continue;
    const auto& crowded = works.at(request->number())->work().crowded();
    if (crowded.empty()) continue;
    const device::WiringPtr& wiring = static_cast<const runtime::LaunchRequest&>(*request).wiring();
    auto& [rules, ways] = queues[{wiring->name(), wiring->rules().slot_size}];
    rules = wiring->rules();
    ways.insert(crowded.begin(), crowded.end());
  }
  for (const auto& [which, used] : queues) {
    std::vector<ccl::QueueWay> ways;
    for (const auto& way : used.second) ways.push_back({way.from, way.to, way.direction});
    const auto windows = ccl::link_windows(used.first, ways, engine.machine(), engine.device().graph());
    for (const std::string& text : ccl::warnings(which.second, windows))
      result.warnings.push_back(fmt::format("{}: {}", which.first, text));
  }
}

/// Traces of launches with their bounds, and what they moved.
void add_launches(RunResult& result, Engine& engine, const LaunchWorks& works) {
  std::vector<std::pair<Time, const Workload*>> begun;  // with what the launch of the same place did
  std::map<int, StreamBound> of_stream;
  for (const auto& request : engine.requests()) {
    if (request->phase() != Phase::launch || !request->done()) continue;
    const LaunchWork& work = *works.at(request->number());
    result.launches.push_back({request->trace(), work.bound(), request->number()});
    const LaunchResult& launch = result.launches.back();
    begun.emplace_back(launch.trace.submitted + launch.trace.queued, &work.work());
    of_stream[request->stream().number()].add(launch.bound);
  }
  for (const auto& [stream, bound] : of_stream)
    if (bound.sum > result.lower_bound.time)
      result.lower_bound = {bound.sum, bound.longest.resource, bound.longest.without};
  result.utilization = traffic_of(result.launches, begun).over(result.summary, engine.device().graph());
}

Time last_completion(const Engine& engine) {
  Time last;
  for (const auto& request : engine.requests())
    if (request->done()) last = std::max(last, request->completed());
  return last;
}

/// The busiest unit of each kind.
void add_work(LaunchFigures& figures, const Workload& work) {
  for (const PeWork& pe : work.pes()) {
    figures.matrix = std::max(figures.matrix, pe.gemm);
    figures.vector = std::max(figures.vector, pe.math);
  }
  figures.vector_by = work.vector_by();
  for (const auto& [slice, bytes] : work.slices())
    figures.hbm = std::max(figures.hbm, work.slice_bandwidth().time_for(bytes));
}

LaunchFigures figures_of(Engine& engine, const LaunchWork& launch, const runtime::Request& request) {
  LaunchFigures figures;
  const Workload& work = launch.work();
  figures.lower_bound = launch.bound().time, figures.bound_by = launch.bound().resource;
  add_work(figures, work);
  if (engine.options().log == runtime::LogStorage::none) return figures;
  figures.summary = trace::summarize_launch(engine.books().log.records(), engine.processors().origins(),
                                            request.number(), request.trace().submitted, request.completed());
  TrafficTotals totals;
  totals.add(work, Time(), request.trace().pe_exec);
  const Utilization use = totals.over(*figures.summary, engine.device().graph());
  figures.engines = use.engines, figures.hbm_use = use.hbm, figures.link_use = use.link_max;
  return figures;
}

/// All of these only look at what happened, so some do it beside the others.
void add_run(RunResult& result, const Torch& torch, int threads, bool look_for_hazards) {
  const Building building("the summary of the run");
  const auto when = threads == 1 ? std::launch::deferred : std::launch::async | std::launch::deferred;
  std::future<std::vector<runtime::HazardReport>> hazards;
  result.total = last_completion(torch.engine());
  if (torch.engine().options().log == runtime::LogStorage::none) {
    result.hash = torch.log_hash();
    result.summary = torch.log_summary();
    return;
  }
  if (look_for_hazards) hazards = std::async(when, [&] { return torch.hazards(); });
  result.log = torch.log();
  std::future hash = std::async(when, [&] { return result.log->hash(); });
  result.summary = result.log->summary();
  result.critical_path = result.log->critical_path();
  if (!result.failure
           .empty())  // the launch that failed is never complete; its operations still took their time
    result.total = std::max(result.total, result.critical_path.end);
  result.hash = hash.get();
  if (look_for_hazards) result.hazards = hazards.get();
}

/// What launches asked for, found after the fact: the memory that a PE saw when it ran.
LaunchWorks count_afterwards(Engine& engine) {
  std::map<std::uint32_t, Workload> works;
  const Workload nothing(engine.machine(), engine.device().graph());
  runtime::Facts facts(engine.books());
  const auto& origins = engine.processors().origins();
  for (std::uint32_t i = 0; i < origins.size(); ++i) {
    const device::Origin& origin = origins[i];
    if (origin.program == nullptr || !engine.requests()[origin.launch]->done()) continue;
    Workload& work = works.try_emplace(origin.launch, nothing).first->second;
    const device::WiringPtr wiring = origin.queues ? origin.queues->wiring : nullptr;
    work.add(
        *origin.program,
        [&](PeCoord, address::VirtAddr begin, Bytes size, auto& out) {
          return facts.translate(i, begin, size, out), true;
        },
        queues_of(engine.device().graph(), wiring, origin.program->pe()));
  }
  LaunchWorks all;
  for (auto& [launch, work] : works) all[launch] = std::make_shared<const LaunchWork>(std::move(work));
  return all;
}

/// From now on each launch is counted when it is submitted, and the report gives its figures.
std::shared_ptr<const LaunchWorks> watch_launches(Engine& engine, BenchReport& report) {
  const auto works = std::make_shared<LaunchWorks>();
  engine.watch_launches(
      [works, counter = std::make_shared<LaunchCounter>(engine)](const runtime::LaunchRequest& launch) {
        (*works)[launch.number()] = counter->count(launch);
      });
  report.figures_from([works, &engine](const runtime::Handle& launch) {
    return figures_of(engine, *works->at(launch.request()->number()), *launch.request());
  });
  return works;
}

RunResult begin_result(const Bench& bench, const Options& options, const topology::Machine& machine,
                       const RunOptions& how) {
  return {.bench = bench.name,
          .options = options,
          .machine = machine,
          .device = to_string(how.device),
          .strict = how.strict,
          .report = BenchReport(how.verify, how.threads),
          .failure = {}};
}

}  // namespace

RunResult result_of(Torch& torch) {
  RunResult result = begin_result({}, Options(std::vector<Param>()), torch.machine(), {});
  Engine& engine = torch.engine();
  add_run(result, torch, engine.options().threads, true);
  add_launches(result, engine, count_afterwards(engine));
  result.energy = torch.energy();
  result.wall = {0, torch.events(), peak_rss_mb()};
  return result;
}

std::vector<const LaunchResult*> RunResult::beaten_bounds() const {
  std::vector<const LaunchResult*> beaten;
  for (const LaunchResult& launch : launches)
    if (launch.trace.pe_exec < launch.bound.time) beaten.push_back(&launch);
  return beaten;
}

bool RunResult::ok() const {
  return failure.empty() && report.outcome().value_or(true) && beaten_bounds().empty() &&
         !(strict && hazards && !hazards->empty());
}

namespace {

/// One bench at work.
class BenchJob {
 public:
  BenchJob(const Bench& bench, const Options& options, const topology::Machine& machine,
           const RunOptions& how)
      : bench_(bench), how_(how), result_(begin_result(bench, options, machine, how)) {}

  RunResult run() {
    const BenchRun done = run_bench(
        result_.machine, [this](Torch& torch) { host(torch); }, how_.device, torch_options());
    complete(*done.torch);
    if (how_.finished) how_.finished(*done.torch, result_);
    return std::move(result_);
  }

 private:
  TorchOptions torch_options() {
    TorchOptions options{.data = how_.verify,
                         .threads = how_.threads,
                         .replay_threads = how_.threads,
                         .hazards = how_.threads != 1 && how_.looks_for_hazards(),
                         .packets = how_.packets,
                         .skip = how_.skip,
                         .log = how_.log,
                         .interrupt = how_.interrupt};
    if (how_.progress)
      options.progress = [this](const runtime::Progress& clock) {
        how_.progress(progress_of(*engine_, clock));
      };
    return options;
  }

  /// What it throws is noted, for whoever keeps runs.
  void host(Torch& torch) {
    engine_ = &torch.engine();
    works_ = watch_launches(*engine_, result_.report);
    try {
      configure(torch);
      call_host(bench_, torch, result_.options, result_.report);
      check_interrupt(how_);
      if (!engine_->requests().empty()) engine_->finish();
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      failed(torch, error);
      throw;
    }
  }

  void configure(Torch& torch) {
    const auto collectives = how_.collectives ? *how_.collectives : ccl::builtin_collectives();
    if (how_.ccl_text)
      dist::configure_text(torch, *how_.ccl_text, how_.ccl, how_.ccl_overrides, collectives);
    else
      dist::configure(torch, how_.ccl, how_.ccl_overrides, collectives);
    result_.ccl = dist::config_source(torch);
    result_.ccl_text = dist::config_text(torch);
  }

  void failed(Torch& torch, const std::exception& error) {
    if (!how_.finished || engine_->requests().empty()) return;
    result_.failure = error.what();
    complete(torch);
    how_.finished(torch, result_);
  }

  void complete(const Torch& torch) {
    result_.report.figures_from({});
    add_run(result_, torch, how_.threads, how_.looks_for_hazards());
    add_launches(result_, *engine_, *works_);
    add_warnings(result_, *engine_, *works_);
    result_.links = torch.link_queues();
    result_.slices = torch.memory_activity();
    result_.energy = torch.energy();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    result_.wall = {took.count(), torch.events(), peak_rss_mb(),
                    engine_->device().simulation().counters().threads_missing, torch.taken_over()};
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const Bench& bench_;
  const RunOptions& how_;
  RunResult result_;
  std::shared_ptr<const LaunchWorks> works_;
  Engine* engine_ = nullptr;
};

}  // namespace

std::optional<PushBack> push_back(const RunResult& result) {
  const ParamSet& routers = result.machine.at("cube.routers");
  PushBack all{.credits = routers.text("flow") == "credits",
               .buffer_packets = routers.integer("buffer_packets")};
  if (all.buffer_packets == 0) return std::nullopt;
  const auto is_worse = [&](const runtime::LinkQueue& a, const runtime::LinkQueue& b) {
    return all.credits ? a.stalled > b.stalled : a.pushed_back > b.pushed_back;
  };
  for (const runtime::LinkQueue& link : result.links) {
    if (all.credits ? link.stalls == 0 : link.pushed_back == 0) continue;
    all.packets += link.pushed_back;
    all.stalled += link.stalled;
    ++all.links;
    if (!all.most || is_worse(link, *all.most)) all.most = &link;
  }
  return all;
}

RunResult run(const Bench& bench, const Options& options, const topology::Machine& machine,
              const RunOptions& how) {
  return BenchJob(bench, options, machine, how).run();
}

void run_over(const Bench& bench, Torch& torch, const Options& options, BenchReport& report) {
  struct Watched {
    Engine& engine;
    BenchReport& report;
    ~Watched() {
      engine.watch_launches({});
      report.figures_from({});
    }
  } const watched{torch.engine(), report};
  watch_launches(watched.engine, report);
  call_host(bench, torch, options, report);
}

}  // namespace kernbench::bench
