#include "dist/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "kernbench/error.hpp"

namespace kernbench::dist {

using runtime::HostThread;
using runtime::Request;

Ranks::Ranks(runtime::Engine& engine, int count, Function function, Watch watch, Strands& strands)
    : engine_(engine),
      function_(std::move(function)),
      watch_(std::move(watch)),
      family_(strands),
      scheduler_(strands.of_caller()) {
  for (int r = 0; r < count; ++r) {
    ranks_.push_back(std::make_unique<Rank>());
    at(r).host = engine.host();
    at(r).host.device_set = at(r).host.submitted = false;
  }
}

std::string Ranks::what_it_does(int rank) const {
  const Rank& it = at(rank);
  if (it.state == State::ended) return "has ended";
  if (it.waits_for == nullptr) return "has not called it yet";
  return fmt::format("waits for {} '{}'", to_string(it.waits_for->phase()), it.waits_for->name());
}

// ── the baton ──

/// The first in rank order that can go on. When all are to stop, those that have not begun are over.
int Ranks::first_ready() {
  for (int r = 0; r < count(); ++r) {
    Rank& rank = at(r);
    if (stopping_ && rank.strand == nullptr) rank.state = State::ended;
    const bool goes_on =
        rank.state == State::waiting && (stopping_ || rank.to_throw || rank.waits_for->done());
    if (goes_on) rank.state = State::ready;
    if (rank.state == State::ready) return r;
  }
  return kScheduler;
}

void Ranks::take_turn(int rank) {
  turn_ = rank;
  if (rank == kScheduler) return;
  at(rank).falls = stopping_ && !at(rank).to_throw;
  engine_.set_host(&at(rank).host);
}

/// Comes back when it is the turn of whoever called. Where there is no room for another stack, the rank has failed.
void Ranks::pass_baton(int to) {
  while (to != kScheduler && at(to).strand == nullptr) {
    try {
      at(to).strand = &free_strand();
    } catch (const std::system_error&) {
      at(to).failure = std::current_exception();
      at(to).state = State::ended;
      stopping_ = true;
      to = first_ready();
    }
  }
  take_turn(to);
  go_on_with(to == kScheduler ? *scheduler_ : *at(to).strand);
}

void Ranks::go_on_with(Strand& strand) {
  Strand& left = *running_;
  if (&left == &strand) return;
  running_ = &strand;
  left.switch_to(strand);
}

Strand& Ranks::free_strand() {
  if (free_.empty()) return *strands_.emplace_back(family_.make([this] { work(); }));
  Strand& strand = *free_.back();
  free_.pop_back();
  return strand;
}

// ── ranks ──

void Ranks::wait(Request& request) {
  if (stopping_) throw RankStopped();
  if (request.done()) return;
  const int self = turn_;
  Rank& me = at(self);
  me.waits_for = &request;
  me.state = State::waiting;
  if (const int next = first_ready(); next != self) pass_baton(next);
  me.waits_for = nullptr;
  if (me.to_throw) std::rethrow_exception(std::exchange(me.to_throw, nullptr));
  if (stopping_) throw RankStopped();
}

/// One rank after the other: the next that has not begun goes on with this stack.
void Ranks::work() {
  while (true) {
    live(turn_);
    free_.push_back(running_);
    pass_baton(first_ready());
  }
}

void Ranks::live(int rank) {
  Rank& me = at(rank);
  try {
    function_(rank);
    if (watch_.on_end && !stopping_) watch_.on_end(rank);
  } catch (const RankStopped&) {
  } catch (const runtime::Interrupted&) {  // while numbers were computed
    interrupted_ = std::current_exception();
    stopping_ = true;
  } catch (...) {
    me.failure = std::current_exception();
  }
  me.state = State::ended;
  if (me.falls) me.failure = nullptr;  // only because another one has failed
  if (me.failure) stopping_ = true;
}

// ── the scheduler ──

void Ranks::run() {
  HostThread& caller = engine_.host();
  engine_.set_waiter(this);
  while (std::ranges::any_of(ranks_, [](const auto& r) { return r->state != State::ended; })) {
    if (const int next = first_ready(); next != kScheduler)
      pass_baton(next);
    else
      let_time_pass();
  }
  engine_.set_waiter(nullptr);
  engine_.set_host(&caller);
  finish();
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
