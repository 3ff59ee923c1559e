// Ranks that take turns.
//
// Every rank has a thread of its own, but only one runs at a time: a baton goes from the scheduler, which is the thread
// that called `run`, to a rank and back. So ranks never race, and what happens depends on simulated time and rank numbers
// alone. A rank gives the baton back where it must wait, and when it ends. The clock runs when all ranks wait.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernbench/distributed.hpp"
#include "runtime/engine.hpp"

namespace kernbench::dist {

class Ranks final : public runtime::Waiter {
 public:
  using Function = std::function<void(int rank)>;
  /// Told when a rank has ended without an error, and when no rank can go on; null: nobody. What they throw is the
  /// failure of that rank, or of all that wait.
  struct Watch {
    std::function<void(int rank)> on_end;
    std::function<void()> on_stall;
  };

  Ranks(runtime::Engine& engine, int count, Function function, Watch watch);
  ~Ranks() override;

  /// Comes back when all have ended. Throws SpawnException if one has failed; Interrupted.
  void run();

  int count() const { return static_cast<int>(ranks_.size()); }
  /// The one that runs.
  int current() const { return turn_; }
  bool has_ended(int rank) const { return at(rank).state == State::ended; }
  /// `has ended`, `waits for read 'x'`.
  std::string what_it_does(int rank) const;

 private:
  enum class State { ready, waiting, ended };
  struct Stopped {};  // thrown in a rank that is to end because another one has failed
  struct Rank {
    std::thread thread;
    std::condition_variable its_turn;
    runtime::HostThread host;
    State state = State::ready;
    runtime::Request* waits_for = nullptr;
    std::exception_ptr to_throw;  // from its wait
    std::exception_ptr failure;   // what it ended with
  };
  static constexpr int kScheduler = -1;

  Rank& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& at(int rank) const { return *ranks_[static_cast<std::size_t>(rank)]; }
  void wait(runtime::Request& request) override;

  // On the rank's thread.
  void live(int rank);
  void pass_baton(std::unique_lock<std::mutex>& lock, int to);

  // On the scheduler's.
  int first_ready();
  void give_turn(int rank);
  bool begin(int rank);
  void let_time_pass();
  void fail_waiting(const std::exception_ptr& why);
  void finish();

  runtime::Engine& engine_;
  const Function function_;
  const Watch watch_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::mutex mutex_;
  std::condition_variable schedulers_turn_;
  int turn_ = kScheduler;  // who holds the baton
  bool stopping_ = false;
  std::exception_ptr interrupted_;
};

}  // namespace kernbench::dist
