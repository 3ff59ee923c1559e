#include "dist/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
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
  engine.host().seen.share();
  strands_.reserve(static_cast<std::size_t>(count));
  free_.reserve(strands_.capacity());  // nobody could be told that there is no memory to end a rank
  for (int r = 0; r < count; ++r) {
    ranks_.push_back(std::make_unique<Rank>());
    ready_.insert(ready_.end(), r);
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

void Ranks::take_turn(int rank) {
  turn_ = rank;
  if (rank == kScheduler) return;
  ready_.erase(rank);
  at(rank).state = State::ready;
  at(rank).falls = stopping_ && !at(rank).to_throw;
  engine_.set_host(&at(rank).host);
}

namespace {

std::exception_ptr no_room(const std::system_error& why, std::size_t had, int count) {
  return std::make_exception_ptr(SimulationError(
      {"dist.no-room", "", why.what(),
       fmt::format(
           "{} of {} ranks have theirs, and each that waits keeps its own; use fewer ranks (fewer SIPs, as "
           "with --set system.sips.count=N), or allow more memory",
           had, count)}));
}

}  // namespace

/// Comes back when it is the turn of whoever called. Where there is no room for another stack, the rank has failed.
void Ranks::pass_baton(int to) {
  while (to != kScheduler && at(to).strand == nullptr) {
    try {
      at(to).strand = &free_strand();
    } catch (const std::system_error& why) {
      at(to).failure = no_room(why, strands_.size(), count());
      stop_all();
      to = first_ready();
    } catch (const std::bad_alloc&) {
      break_off(std::current_exception());
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
  await(self, request);
  pass_baton(first_ready());
  end_waiting(self);
  if (Rank& me = at(self); me.to_throw) std::rethrow_exception(std::exchange(me.to_throw, nullptr));
  if (stopping_) throw RankStopped();
}

void Ranks::yield() {
  if (stopping_) throw RankStopped();
  const int self = turn_;
  if (ready_.empty() && waiting_.empty()) return;
  if (ready_.empty()) {
    yields_ = self;
    pass_baton(kScheduler);
  } else {
    idle_yields_ = 0;
    const auto after = ready_.upper_bound(self);
    const int next = after == ready_.end() ? *ready_.begin() : *after;
    ready_.insert(self);
    pass_baton(next);
  }
  if (stopping_) throw RankStopped();
}

void Ranks::await(int rank, Request& request) {
  awaited_by_[&request].push_back(rank);
  waiting_.insert(rank);
  at(rank).waits_for = &request;
  at(rank).state = State::waiting;
  request.stops_clock = true;
  request.watcher = this;
}

void Ranks::on_complete(Request& request) {
  const auto found = awaited_by_.find(&request);
  for (const int rank : found->second) make_ready(rank);
  awaited_by_.erase(found);
}

/// One that waits. This takes no memory, so that ranks can be stopped when there is none.
void Ranks::make_ready(int rank) { ready_.insert(waiting_.extract(rank)); }

/// If the request is not complete, it does not matter any more.
void Ranks::end_waiting(int rank) {
  Request& request = *std::exchange(at(rank).waits_for, nullptr);
  if (request.done()) return;
  waiting_.erase(rank);
  awaited_by_.erase(&request);
  request.stops_clock = false;
  request.watcher = nullptr;
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
    break_off(std::current_exception());
  } catch (const std::bad_alloc&) {
    break_off(std::current_exception());
  } catch (...) {
    me.failure = std::current_exception();
  }
  end(rank);
  if (me.falls) me.failure = nullptr;  // only because another one has failed
  if (me.failure) stop_all();
}

void Ranks::end(int rank) {
  at(rank).state = State::ended;
  ready_.erase(rank);
  ++ended_;
}

/// The first reason is the one that is told.
void Ranks::break_off(std::exception_ptr why) {
  if (!broken_off_) broken_off_ = std::move(why);
  stop_all();
}

/// Those that wait go on, to end; those that have not begun are over.
void Ranks::stop_all() {
  stopping_ = true;
  for (int r = 0; r < count(); ++r) {
    if (at(r).state == State::waiting) make_ready(r);
    if (at(r).state == State::ready && at(r).strand == nullptr) end(r);
  }
}

// ── the scheduler ──

void Ranks::run() {
  HostThread& caller = engine_.host();
  engine_.set_waiter(this);
  while (ended_ < count()) {
    if (const int next = first_ready(); next != kScheduler) {
      pass_baton(next);
    } else {
      let_time_pass();
      if (yields_) ready_.insert(*std::exchange(yields_, std::nullopt));
    }
  }
  engine_.set_waiter(nullptr);
  engine_.set_host(&caller);
  finish();
}

/// The others may wait for what a rank that yields does next. So that is no deadlock, unless it yields without end.
void Ranks::let_time_pass() {
  constexpr int kMostIdleYields = 10'000;
  const bool may_be_idle = yields_ && idle_yields_ < kMostIdleYields;
  try {
    const bool passed = engine_.run_until_stopped(may_be_idle ? nullptr : at(*waiting_.begin()).waits_for);
    idle_yields_ = passed ? 0 : idle_yields_ + 1;
  } catch (const runtime::Interrupted&) {
    break_off(std::current_exception());
  } catch (const std::bad_alloc&) {
    break_off(std::current_exception());
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
  for (int r = 0; r < count(); ++r) {
    if (at(r).state != State::waiting) continue;
    at(r).to_throw = better ? better : why;
    make_ready(r);
  }
}

void Ranks::finish() {
  HostThread& caller = engine_.host();
  for (const auto& rank : ranks_) {
    const HostThread& host = rank->host;
    if (host.waited.met > caller.waited.met) caller.waited = host.waited;
    for (const runtime::Seen::Last& last : host.seen.own()) caller.seen.note(last);
  }
  if (broken_off_) std::rethrow_exception(broken_off_);
  std::map<int, std::exception_ptr> causes;
  for (int r = 0; r < count(); ++r)
    if (at(r).failure) causes[r] = at(r).failure;
  if (causes.empty()) return;
  SpawnException failure(std::move(causes));
  engine_.settle(std::make_exception_ptr(failure));
  throw failure;
}

}  // namespace kernbench::dist
