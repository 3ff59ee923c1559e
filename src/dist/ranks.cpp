#include "dist/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "kernbench/error.hpp"

namespace kernbench::dist {

using runtime::HostThread;
using runtime::Request;

Ranks::Ranks(runtime::Engine& engine, int count, Function function, Watch watch)
    : engine_(engine), function_(std::move(function)), watch_(std::move(watch)) {
  for (int r = 0; r < count; ++r) {
    ranks_.push_back(std::make_unique<Rank>());
    at(r).host = engine.host();
    at(r).host.device_set = at(r).host.submitted = false;
  }
}

Ranks::~Ranks() {
  for (const auto& rank : ranks_)
    if (rank->thread.joinable()) rank->thread.join();
}

std::string Ranks::what_it_does(int rank) const {
  const Rank& it = at(rank);
  if (it.state == State::ended) return "has ended";
  if (it.waits_for == nullptr) return "has not called it yet";
  return fmt::format("waits for {} '{}'", to_string(it.waits_for->phase()), it.waits_for->name());
}

// ── ranks ──

void Ranks::pass_baton(std::unique_lock<std::mutex>& lock, int to) {
  const int self = turn_;
  turn_ = to;
  (to == kScheduler ? schedulers_turn_ : at(to).its_turn).notify_one();
  auto& mine = self == kScheduler ? schedulers_turn_ : at(self).its_turn;
  mine.wait(lock, [&] { return turn_ == self; });
}

void Ranks::wait(Request& request) {
  if (stopping_) throw Stopped();
  if (request.done()) return;
  Rank& me = at(turn_);
  me.waits_for = &request;
  me.state = State::waiting;
  std::unique_lock lock(mutex_);
  pass_baton(lock, kScheduler);
  me.waits_for = nullptr;
  if (me.to_throw) std::rethrow_exception(std::exchange(me.to_throw, nullptr));
  if (stopping_) throw Stopped();
}

void Ranks::live(int rank) {
  Rank& me = at(rank);
  {
    std::unique_lock lock(mutex_);
    me.its_turn.wait(lock, [&] { return turn_ == rank; });
  }
  try {
    function_(rank);
    if (watch_.on_end && !stopping_) watch_.on_end(rank);
  } catch (const Stopped&) {
  } catch (const runtime::Interrupted&) {  // while numbers were computed
    interrupted_ = std::current_exception();
    stopping_ = true;
  } catch (...) {
    me.failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  me.state = State::ended;
  turn_ = kScheduler;
  schedulers_turn_.notify_one();
}

// ── the scheduler ──

void Ranks::run() {
  HostThread& caller = engine_.host();
  engine_.set_waiter(this);
  while (std::ranges::any_of(ranks_, [](const auto& r) { return r->state != State::ended; }))
    if (const int next = first_ready(); next != kScheduler)
      give_turn(next);
    else
      let_time_pass();
  engine_.set_waiter(nullptr);
  engine_.set_host(&caller);
  finish();
}

/// The first in rank order that can go on.
int Ranks::first_ready() {
  for (int r = 0; r < count(); ++r) {
    Rank& rank = at(r);
    const bool goes_on =
        rank.state == State::waiting && (stopping_ || rank.to_throw || rank.waits_for->done());
    if (goes_on) rank.state = State::ready;
    if (rank.state == State::ready) return r;
  }
  return kScheduler;
}

void Ranks::give_turn(int r) {
  Rank& rank = at(r);
  if (!rank.thread.joinable() && !begin(r)) return;
  const bool falls = stopping_ && !rank.to_throw;
  engine_.set_host(&rank.host);
  {
    std::unique_lock lock(mutex_);
    pass_baton(lock, r);
  }
  if (rank.state != State::ended) return;
  rank.thread.join();
  if (falls) rank.failure = nullptr;  // only because another one has failed
  if (rank.failure) stopping_ = true;
}

/// False if it is over before it has begun.
bool Ranks::begin(int r) {
  Rank& rank = at(r);
  try {
    if (!stopping_) rank.thread = std::thread([this, r] { live(r); });
  } catch (const std::system_error&) {
    rank.failure = std::current_exception();
    stopping_ = true;
  }
  if (!rank.thread.joinable()) rank.state = State::ended;
  return rank.thread.joinable();
}

void Ranks::let_time_pass() {
  std::vector<Request*> awaited;
  for (const auto& rank : ranks_)
    if (rank->state == State::waiting) awaited.push_back(rank->waits_for);
  try {
    engine_.run_until_any(awaited);
  } catch (const runtime::Interrupted&) {
    interrupted_ = std::current_exception();
    stopping_ = true;
  } catch (...) {
    fail_waiting(std::current_exception());
  }
}

/// If somebody knows better why nobody can go on, that is the failure.
void Ranks::fail_waiting(const std::exception_ptr& why) {
  std::exception_ptr better;
  try {
    if (watch_.on_stall) watch_.on_stall();
  } catch (...) {
    better = std::current_exception();
  }
  for (const auto& rank : ranks_)
    if (rank->state == State::waiting) rank->to_throw = better ? better : why;
}

void Ranks::finish() {
  HostThread& caller = engine_.host();
  for (const auto& rank : ranks_) {
    const HostThread& host = rank->host;
    if (host.waited.met > caller.waited.met) caller.waited = host.waited;
    caller.seen.resize(std::max(caller.seen.size(), host.seen.size()));
    for (std::size_t s = 0; s < host.seen.size(); ++s)
      caller.seen[s] = std::max(caller.seen[s], host.seen[s]);
  }
  if (interrupted_) std::rethrow_exception(interrupted_);
  std::map<int, std::exception_ptr> causes;
  for (int r = 0; r < count(); ++r)
    if (at(r).failure) causes[r] = at(r).failure;
  if (causes.empty()) return;
  SpawnException failure(std::move(causes));
  engine_.settle(std::make_exception_ptr(failure));
  throw failure;
}

}  // namespace kernbench::dist
