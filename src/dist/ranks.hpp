// Ranks that take turns.
//
// Only one rank runs at a time: a baton goes from rank to rank. So ranks never race, and what happens depends on
// simulated time and rank numbers alone. Whoever must wait, or has ended, hands the baton to the first rank that can go
// on; if none can, to the scheduler, which is the code that called `run` and lets time pass. A rank that waits keeps its
// place on a strand of its own, one that has ended leaves its strand to the next one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "dist/strand.hpp"
#include "kernbench/distributed.hpp"
#include "runtime/engine.hpp"

namespace kernbench::dist {

class Ranks final : public runtime::Waiter, private runtime::CompletionWatcher {
 public:
  using Function = std::function<void(int rank)>;
  /// Told when a rank has ended without an error, and when no rank can go on; null: nobody. What they throw is the
  /// failure of that rank, or of all that wait.
  struct Watch {
    std::function<void(int rank)> on_end;
    std::function<void()> on_stall;
  };

  Ranks(runtime::Engine& engine, int count, Function function, Watch watch, Strands& strands);

  /// Comes back when all have ended. Throws SpawnException if one has failed; Interrupted and std::bad_alloc, which are no
  /// failure of one rank.
  void run();

  int count() const { return static_cast<int>(ranks_.size()); }
  /// The rank that runs lets the others run until each of them waits, and goes on then. Where all others wait already,
  /// time passes until one of them need not, or nothing is under way any more.
  void yield();
  /// The one that runs.
  int current() const { return turn_; }
  bool has_ended(int rank) const { return at(rank).state == State::ended; }
  /// `has ended`, `waits for read 'x'`.
  std::string what_it_does(int rank) const;

 private:
  enum class State { ready, waiting, ended };
  struct Rank {
    runtime::HostThread host;
    State state = State::ready;
    Strand* strand = nullptr;  // that it runs on; null: it has not begun
    bool falls = false;        // it goes on only to end, because another one has failed
    runtime::Request* waits_for = nullptr;
    std::exception_ptr to_throw;  // from its wait
    std::exception_ptr failure;   // what it ended with
  };
  static constexpr int kScheduler = -1;

  Rank& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const { return *ranks_[static_cast<std::size_t>(rank)]; }
  void wait(runtime::Request& request) override;
  void on_complete(runtime::Request& request) override;

  // By whoever holds the baton.
  int first_ready() const { return ready_.empty() ? kScheduler : *ready_.begin(); }
  void await(int rank, runtime::Request& request);
  void end_waiting(int rank);
  void end(int rank);
  void stop_all();
  void break_off(std::exception_ptr why);
  void make_ready(int rank);
  void pass_baton(int to);
  void take_turn(int rank);
  void go_on_with(Strand& strand);
  Strand& free_strand();

  // On a rank's stack.
  [[noreturn]] void work();
  void live(int rank);

  // On the scheduler's.
  void let_time_pass();
  void fail_waiting(const std::exception_ptr& why);
  void finish();

  runtime::Engine& engine_;
  const Function function_;
  const Watch watch_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::set<int> ready_;        // that can go on, the one that runs left out
  std::set<int> waiting_;      // whose requests are not complete
  std::optional<int> yields_;  // the rank that lets time pass for the others
  int idle_yields_ = 0;        // so many in a row after which no other rank could go on
  std::unordered_map<const runtime::Request*, std::vector<int>> awaited_by_;
  int ended_ = 0;
  Strands& family_;
  const std::unique_ptr<Strand> scheduler_;
  std::vector<std::unique_ptr<Strand>> strands_;
  std::vector<Strand*> free_;  // whose rank has ended
  Strand* running_ = scheduler_.get();
  int turn_ = kScheduler;  // who holds the baton
  bool stopping_ = false;
  std::exception_ptr broken_off_;  // by what is no failure of one rank
};

}  // namespace kernbench::dist
