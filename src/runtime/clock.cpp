#include "runtime/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "base/memory.hpp"
#include "kernbench/error.hpp"
#include "runtime/requests.hpp"

namespace kernbench::runtime {

Clock::Clock(device::Processors& processors, const TorchOptions& options)
    : processors_(processors),
      simulation_(processors.device().simulation()),
      host_(processors.device().host_partition()),
      options_(options),
      cores_(static_cast<int>(std::thread::hardware_concurrency())) {}

sim::RunOptions Clock::until(Time end) const {
  const bool free = options_.threads <= 0;
  const int of_use = std::min(cores_, simulation_.partitions() - 1);  // the host's partition has little to do
  return {.until = end,
          .threads = free ? of_use : options_.threads,
          .sharing = free ? sim::Sharing::where_it_pays : sim::Sharing::unless_crowded};
}

bool Clock::run_until_stopped(const Request* awaited) {
  rethrow_failure();
  const sim::Outcome outcome = run_with_progress();
  interrupted_ = outcome == sim::Outcome::interrupted;
  if (interrupted_)
    throw Interrupted(
        {"runtime.interrupted", "", fmt::format("the run was stopped at {}", to_string(now())), ""});
  if (outcome != sim::Outcome::stopped) {
    if (awaited == nullptr) return false;
    fail_deadlock(*awaited);
  }
  // The clock stopped at an event; the others of this instant belong to it.
  simulate(until(now()));
  return true;
}

void Clock::run_to(Time instant) {
  while (simulate(until(instant)) == sim::Outcome::stopped) {
  }
}

/// When programs fail side by side, each may fail once more.
void Clock::run_dry() {
  for (auto left = processors_.device().machine().total_pes(); true; --left) try {
      while (simulate(until(Time::never())) == sim::Outcome::stopped) {
      }
      return;
    } catch (const std::bad_alloc&) {
      failure_ = std::current_exception();
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      if (left == 0) throw;
      failure_ = nullptr;
    }
}

/// Whoever watches the queues learns when it pauses, be it by an error.
sim::Outcome Clock::simulate(const sim::RunOptions& how) {
  const Building building(options_.log == LogStorage::none ? "the state of the simulation" : "the op log");
  const auto tell = [this] {
    if (device::QueueWatcher* watcher = processors_.queue_watcher()) watcher->on_pause();
  };
  try {
    const sim::Outcome outcome = simulation_.run(how);
    tell();
    return outcome;
  } catch (...) {
    tell();
    throw;
  }
}

/// In slices of simulated time that take about a tenth of a second each, if somebody wants to know.
sim::Outcome Clock::run_with_progress() {
  sim::RunOptions run = until(Time::never());
  run.interrupt = options_.interrupt;
  if (!options_.progress) return simulate(run);
  using WallClock = std::chrono::steady_clock;
  Time slice = 1_us;
  WallClock::time_point reported{};
  while (true) {
    const auto began = WallClock::now();
    run.until = simulation_.now() + slice;
    const sim::Outcome outcome = simulate(run);
    const auto ended = WallClock::now();
    if (ended - reported > std::chrono::milliseconds(100)) {
      options_.progress({simulation_.now(), simulation_.counters().events});
      reported = ended;
    }
    if (outcome != sim::Outcome::limit) return outcome;
    if (ended - began < std::chrono::milliseconds(10))
      slice = std::min(slice * 2, Time::from_ps(1'000'000'000'000));
    if (ended - began > std::chrono::milliseconds(100)) slice = std::max(1_ns, Time::from_ps(slice.ps() / 2));
  }
}

void Clock::fail_deadlock(const Request& request) {
  if (const auto deadlock = processors_.find_deadlock()) throw IpcqDeadlock(*deadlock);
  const Request& at_work = *request.stream().open().front();
  throw SimulationError(
      {"runtime.deadlock", fmt::format("{} '{}'", to_string(at_work.phase()), at_work.name()),
       fmt::format("nothing is left to do at {}, but it has not completed", to_string(now())),
       "somebody waits for what nobody sends"});
}

}  // namespace kernbench::runtime
