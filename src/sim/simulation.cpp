#include <kernbench/sim/simulation.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "sim/meeting.hpp"

namespace kernbench::sim {

Simulation::Simulation(int partitions, Time lookahead)
    : lookahead_(lookahead), next_(static_cast<std::size_t>(std::max(partitions, 0)), Time::never()) {
  KB_ASSERT(partitions >= 1, "a simulation needs at least one partition, not {}", partitions);
  KB_ASSERT(lookahead >= Time::from_ps(1), "the lookahead must be at least 1 ps, not {} ps", lookahead.ps());
  for (int id = 0; id < partitions; ++id)
    partitions_.emplace_back(new Partition(id, lookahead, next_[static_cast<std::size_t>(id)]));
}

Simulation::~Simulation() = default;

Time Simulation::now() const {
  Time latest;
  for (const auto& p : partitions_) latest = std::max(latest, p->now());
  return latest;
}

Counters Simulation::counters() const {
  Counters sum;
  for (const auto& p : partitions_) {
    sum.events += p->events();
    sum.peak_queue = std::max(sum.peak_queue, p->peak_queue());
  }
  sum.threads_missing = threads_missing_;
  return sum;
}

bool Simulation::idle() const {
  return std::ranges::all_of(partitions_, [](const auto& p) { return p->idle(); });
}

void Simulation::set_clock(Time to) {
  KB_ASSERT(idle(), "something is scheduled: the clocks cannot be set to {} ps", to.ps());
  for (auto& p : partitions_) p->queue_.set_clock(to);
}

void Simulation::reset() {
  for (auto& p : partitions_) p->reset();
}

/// A thread's share: a contiguous range of partitions, and the letters between its partitions and the
/// others'.
struct Simulation::Worker {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t events = 0;  // of the last window
  Time next;                 // earliest thing known to happen in its partitions or by its letters
  bool stopped = false;      // one of its partitions has stopped
  std::vector<std::vector<Letter>> outgoing;  // per receiving worker; filled during a window
  std::vector<std::vector<Letter>> incoming;  // per sending worker; emptied at the start of the next
};

/// Events that a window must take off the busiest thread to be worth a meeting of all threads, if that is for
/// the run to judge. A meeting takes about a microsecond, an event 50 to 150 ns.
constexpr std::uint64_t kWorthSharing = 20;
/// A share of so many events is over before anybody who waits for it falls asleep, unless its thread has no core.
constexpr std::uint64_t kShortShare = 300;
/// A window takes this long for its events at most, and this long for the meeting, unless threads wait for cores.
constexpr std::chrono::microseconds kLongestEvent{1};
constexpr std::chrono::microseconds kLongestMeeting{300};
constexpr int kLongestRest = 64;
/// Events that are run alone before threads are started, which takes about a tenth of a millisecond.
constexpr std::uint64_t kBeforeThreads = 1000;

/// One call of `run`. Each round every worker runs its partitions to the end of the window; when all have
/// come to the end, one of them plans the next window, and runs it for all while that is not worth sharing.
class Simulation::Run {
 public:
  Run(Simulation& simulation, const RunOptions& options);
  ~Run();
  Outcome operator()();

 private:
  bool plan();
  bool shares();
  std::uint64_t most_events() const {
    return std::ranges::max_element(workers_, {}, &Worker::events)->events;
  }
  void share_out(std::size_t workers);
  void do_with_fewer(std::size_t started);
  void note_meeting(int asleep);
  void run_alone();
  void open_window(Time start);
  void exchange_letters();
  void receive(Worker& worker);
  void run_window(Worker& worker);
  void run_on_threads();
  void find_next(Worker& worker);
  void settle_clocks();
  void throw_first_error();
  bool interrupted() const { return options_.interrupt != nullptr && options_.interrupt->load(); }

  Simulation& sim_;
  const RunOptions options_;
  std::vector<Worker> workers_;
  Time window_start_;
  Time window_end_;  // inclusive
  Outcome outcome_ = Outcome::drained;
  bool done_ = false;
  std::uint64_t events_alone_ = 0;
  std::chrono::steady_clock::time_point window_opened_;
};

Simulation::Run::Run(Simulation& simulation, const RunOptions& options)
    : sim_(simulation), options_(options) {
  for (auto& p : sim_.partitions_) {
    p->stop_ = false;
    p->next_ = p->next_time();
  }
  share_out(std::min(static_cast<std::size_t>(std::max(options.threads, 1)), sim_.partitions_.size()));
}

/// Gives each of `n` workers its partitions. Nothing may be under way between the workers there were.
void Simulation::Run::share_out(std::size_t n) {
  workers_ = std::vector<Worker>(n);
  for (std::size_t w = 0; w < n; ++w) {
    Worker& worker = workers_[w];
    // Rounded up: the first share has partition 0 in it, the host of a machine, which has little to do.
    worker.begin = (sim_.partitions_.size() * w + n - 1) / n;
    worker.end = (sim_.partitions_.size() * (w + 1) + n - 1) / n;
    worker.outgoing.resize(n);
    worker.incoming.resize(n);
    for (std::size_t i = worker.begin; i < worker.end; ++i) {
      Partition& p = *sim_.partitions_[i];
      p.worker_ = static_cast<int>(w);
      p.bags_ = &worker.outgoing;
    }
    find_next(worker);
  }
}

Simulation::Run::~Run() {
  for (auto& p : sim_.partitions_) {
    p->worker_ = 0;
    p->bags_ = nullptr;
  }
}

Outcome Simulation::Run::operator()() {
  while (!done_ && plan()) {
    if (shares())
      run_on_threads();  // mostly to the end
    else
      run_alone();
  }
  for (Worker& worker : workers_) receive(worker);
  settle_clocks();
  throw_first_error();
  return outcome_;
}

/// Whether the window that was planned is for all threads: judged by what the last one gave them to do.
bool Simulation::Run::shares() {
  if (workers_.size() == 1) return false;
  if (options_.sharing == Sharing::always) return true;
  if (std::chrono::steady_clock::now() < sim_.rest_until_) return false;
  if (options_.sharing == Sharing::unless_crowded) return true;
  std::uint64_t sum = 0;
  for (const Worker& w : workers_) sum += w.events;
  return sum - most_events() >= kWorthSharing && events_alone_ >= kBeforeThreads;
}

void Simulation::Run::note_meeting(int asleep) {
  const auto now = std::chrono::steady_clock::now();
  const auto took = now - window_opened_;
  const bool crowded = (asleep > 0 && most_events() <= kShortShare) ||
                       took > kLongestMeeting + static_cast<std::int64_t>(most_events()) * kLongestEvent;
  if (crowded) sim_.rest_until_ = now + sim_.rest_ * took;
  sim_.rest_ = crowded ? std::min(4 * sim_.rest_, kLongestRest) : std::max(sim_.rest_ / 2, 1);
}

void Simulation::Run::run_alone() {
  for (Worker& worker : workers_) {
    receive(worker);
    run_window(worker);
    events_alone_ += worker.events;
  }
}

// Brings idle partitions up to the others, so that whatever is scheduled between two runs respects the
// lookahead.
void Simulation::Run::settle_clocks() {
  Time floor = window_start_;
  if (outcome_ == Outcome::limit) floor = options_.until;
  if (outcome_ == Outcome::drained) floor = std::min(sim_.now(), options_.until);
  for (auto& p : sim_.partitions_)
    if (p->now() < floor) p->queue_.advance(floor);
}

void Simulation::Run::throw_first_error() {
  std::exception_ptr error;
  Time when = Time::never();
  for (auto& p : sim_.partitions_) {
    const std::exception_ptr own = std::exchange(p->error_, nullptr);
    if (own == nullptr || p->now() >= when) continue;
    error = own;
    when = p->now();
  }
  if (error) std::rethrow_exception(error);
}

// Decides on the next window; false if the run is over. Called while no worker is at work.
bool Simulation::Run::plan() {
  exchange_letters();
  Time start = Time::never();
  bool stopped = false;
  for (const Worker& w : workers_) {
    start = std::min(start, w.next);
    stopped |= w.stopped;
  }
  done_ = true;
  if (interrupted()) {
    outcome_ = Outcome::interrupted;
  } else if (stopped) {
    outcome_ = Outcome::stopped;
  } else if (start == Time::never()) {
    outcome_ = Outcome::drained;
  } else if (start > options_.until) {
    outcome_ = Outcome::limit;
  } else {
    open_window(start);
  }
  return !done_;
}

void Simulation::Run::open_window(Time start) {
  const bool alone = sim_.partitions_.size() == 1;
  const bool last = alone || options_.until - start < sim_.lookahead_;
  window_start_ = start;
  window_end_ = last ? options_.until : start + sim_.lookahead_ - Time::from_ps(1);
  done_ = false;
}

void Simulation::Run::exchange_letters() {
  for (std::size_t from = 0; from < workers_.size(); ++from)
    for (std::size_t to = 0; to < workers_.size(); ++to)
      std::swap(workers_[from].outgoing[to], workers_[to].incoming[from]);
}

void Simulation::Run::receive(Worker& worker) {
  for (auto& bag : worker.incoming) {
    for (const Letter& letter : bag) try {
        letter.to->deliver(letter);
      } catch (...) {  // no memory: on a thread of the run's own nobody else would notice
        letter.to->fail(std::current_exception());
        worker.stopped = true;
      }
    bag.clear();
  }
}

void Simulation::Run::run_window(Worker& worker) {
  worker.events = 0;
  for (std::size_t i = worker.begin; i < worker.end; ++i)
    if (sim_.next_[i] <= window_end_) {
      Partition& p = *sim_.partitions_[i];
      const std::uint64_t before = p.events_;
      p.run(window_end_, options_.interrupt);
      worker.events += p.events_ - before;
      worker.stopped |= p.stop_;
    }
  find_next(worker);
}

void Simulation::Run::find_next(Worker& worker) {
  worker.next = Time::never();
  for (std::size_t i = worker.begin; i < worker.end; ++i) worker.next = std::min(worker.next, sim_.next_[i]);
  for (const auto& bag : worker.outgoing)
    for (const Letter& letter : bag) worker.next = std::min(worker.next, letter.at);
}

/// Runs the window that was planned and all that follow.
void Simulation::Run::run_on_threads() {
  Meeting meeting(static_cast<int>(workers_.size()));
  const auto work = [&](Worker& worker) {
    while (!done_) {
      receive(worker);
      run_window(worker);
      meeting.come([this](int asleep) {
        note_meeting(asleep);
        while (plan() && !shares()) run_alone();
        window_opened_ = std::chrono::steady_clock::now();
      });
    }
  };
  // Threads wait until all of them exist: one that is missing would be waited for in every round.
  enum Start { undecided, go, give_up };
  std::atomic<Start> start = undecided;
  const auto decide = [&](Start decision) {
    start = decision;
    start.notify_all();
  };
  std::vector<std::jthread> threads;
  try {
    for (std::size_t w = 1; w < workers_.size(); ++w)
      threads.emplace_back([&, w] {
        start.wait(undecided);
        if (start == go) work(workers_[w]);
      });
  } catch (const std::system_error&) {
    decide(give_up);
    return do_with_fewer(threads.size() + 1);
  } catch (const std::bad_alloc&) {
    decide(give_up);
    return do_with_fewer(threads.size() + 1);
  }
  window_opened_ = std::chrono::steady_clock::now();
  decide(go);
  work(workers_.front());
}

/// Shares the work out among those that could be started, and runs the window that was planned.
void Simulation::Run::do_with_fewer(std::size_t started) {
  sim_.threads_missing_ = std::max(sim_.threads_missing_, options_.threads - static_cast<int>(started));
  for (Worker& worker : workers_) receive(worker);
  share_out(started);
  run_alone();
}

Outcome Simulation::run(const RunOptions& options) { return Run(*this, options)(); }

}  // namespace kernbench::sim
