// A partition: one clock, one event queue, one mailbox. All that happens in a partition happens on one
// thread.
#pragma once

#include <kernbench/sim/event_queue.hpp>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <vector>

namespace kernbench::sim {

class Partition;
class Process;
namespace detail {
class ProcessState;
}

/// An event on its way to another partition.
struct Letter {
  Time at;
  int from = 0;           // the sending partition
  std::uint64_t seq = 0;  // counts the sender's letters
  Event* event = nullptr;
  Partition* to = nullptr;
};

/// Letters in order of (time, source partition, sequence): whenever they came in, they leave in this order.
class Mailbox {
 public:
  bool empty() const { return letters_.empty(); }
  /// Time of the next letter, `never` if there is none.
  Time next() const { return letters_.empty() ? Time::never() : letters_.front().at; }
  static void seal(Event& e, Time at) { e.next_ = &e, e.time_ = at; }
  static void open(Event& e) { e.next_ = nullptr; }
  void put(const Letter& letter);
  Event& take();
  void clear();

 private:
  std::vector<Letter> letters_;  // a binary heap; keeps its storage
};

/// Where components live: they hold a reference to their partition, ask it for the time and give it events.
///
/// Order: at one instant letters from other partitions come first, by (source partition, sequence), then the
/// partition's own events in the order in which they were scheduled; then, when everything has come, whoever asked to choose
/// chooses, by rank. What a choice schedules for the same instant opens another round.
class Partition {
 public:
  ~Partition();
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  int id() const { return id_; }
  Time now() const { return queue_.now(); }

  /// Fires `e` after `delay` (zero: later at this instant, behind what is already scheduled for it). An event for
  /// `Time::never()` is not scheduled: it never fires, and it does not keep the simulation running.
  void schedule(Event& e, Time delay) { schedule_at(e, now() + delay); }
  void schedule_at(Event& e, Time at) {
    if (at != Time::never()) [[likely]]
      queue_.push(e, at);
  }
  /// Fires `e` at this instant when everything that happens at it has: for who must choose among those who come at one
  /// instant. The smaller rank goes first, of equal ones who asked first. It cannot be taken back.
  void choose(Event& e, std::uint64_t rank);
  /// How many rounds of choices have begun at this instant.
  std::uint32_t round() const { return round_at_ == now() ? round_ : 0; }
  /// A component may leave out a choice that it is sure of. It keeps `round()` as it was then, and its rank.
  /// `would_have_chosen`: whether its turn would have come by now. If not, `choose_after_all` asks late: `e`
  /// fires in the same round and at the same place as if it had been asked then.
  bool would_have_chosen(std::uint64_t rank, std::uint32_t round) const;
  void choose_after_all(Event& e, std::uint64_t rank, std::uint32_t round);
  /// Takes back an event of this partition; false if it was not scheduled here. A posted letter cannot be
  /// taken back.
  bool cancel(Event& e) { return queue_.cancel(e); }
  /// Fires `e` in partition `to` after `delay`, which must be at least the simulation's lookahead; never, if it is
  /// `Time::never()`.
  void post(Partition& to, Event& e, Time delay);

  /// Starts a process at this instant; the partition owns it from here on.
  void spawn(Process process);
  /// Ends `Simulation::run` after the present event (other partitions complete their window). A later `run`
  /// goes on exactly where this one stopped.
  void stop() { stop_ = true; }

  /// While the processes are being destroyed: what they hold is not worth giving back.
  bool closing() const { return closing_; }

  std::uint64_t events() const { return events_; }
  std::size_t peak_queue() const { return queue_.peak_size(); }

 private:
  friend class Simulation;
  friend class detail::ProcessState;

  Partition(int id, Time lookahead, Time& next) : id_(id), lookahead_(lookahead), next_(next) {}
  void run(Time limit, const std::atomic<bool>* interrupt);
  void run_events(Time limit, const std::atomic<bool>* interrupt);
  void run_own(Time limit, const std::atomic<bool>* interrupt);
  void run_choices(const std::atomic<bool>* interrupt);
  void look_for_interrupt(const std::atomic<bool>* interrupt);
  bool has_choices() const { return !choices_.empty() || !choosing_.empty(); }
  bool idle() const { return queue_.size() == 0 && mail_.empty() && !has_choices(); }
  /// Nothing happens here before this.
  Time next_time() const { return has_choices() ? now() : std::min(queue_.bound(), mail_.next()); }
  void deliver(const Letter& letter);
  void fail(std::exception_ptr error);
  void retire(detail::ProcessState& process);
  void destroy_processes();
  void reset();

  const int id_;
  const Time lookahead_;
  Time& next_;  // nothing happens here before this; kept by the simulation, beside those of the other
                // partitions
  EventQueue queue_;
  Mailbox mail_;
  struct Choice {
    std::uint64_t rank;
    std::uint64_t asked;  // of equal ranks who asked first
    Event* event;
    bool operator<(const Choice& other) const {
      return rank != other.rank ? rank < other.rank : asked < other.asked;
    }
  };
  std::vector<Choice> choices_;        // of this instant
  std::vector<Choice> choosing_;       // of the round that is under way
  std::uint32_t round_ = 0;            // its number,
  Time round_at_ = Time::from_ps(-1);  // its instant,
  std::uint64_t rank_ = 0;             // and the rank of the latest choice in it; `kLast` when all are made
  std::uint64_t letters_sent_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t next_look_ = 0;  // so many events: time to see whether the run is interrupted
  bool stop_ = false;
  bool closing_ = false;
  std::exception_ptr error_;
  int worker_ = 0;                                    // the thread that runs this partition
  std::vector<std::vector<Letter>>* bags_ = nullptr;  // that thread's letters to the others
  std::coroutine_handle<> ready_;  // the coroutine to go on with when the running one is suspended
  std::vector<detail::ProcessState*> processes_;  // alive
};

}  // namespace kernbench::sim
