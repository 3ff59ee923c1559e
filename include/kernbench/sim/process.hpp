// Processes: components written as straight-line code that waits.
//
//   Process dma(Fifo<Request>& requests, Link& link) {
//     while (true) {
//       const Request r = co_await requests.get();
//       co_await delay(12_ns);
//       co_await link.cross(r.occupancy);
//     }
//   }
//   partition.spawn(dma(requests, link));
//
// A `Process` belongs to the partition that spawned it; a `Task<T>` is a part of a process that it awaits
// like a function call. Whatever a process refers to must outlive it: processes end with their simulation, or
// earlier.
#pragma once

#include <kernbench/sim/partition.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace kernbench::sim {

class Waiting;
class WaitList;

namespace detail {

/// Coroutine frames come from free lists by size, one set per thread.
struct PooledFrame {
  static void* operator new(std::size_t size);
  static void operator delete(void* frame, std::size_t size) noexcept;
};

/// What a process is to the kernel: the event that resumes it. A process waits for one thing at a time, so
/// that this one node serves for delays (in the event queue) and for waiting (in a wait list).
class ProcessState : public Event {
 public:
  ProcessState() : Event(&resume) {}

  ProcessState& process() { return *this; }

  /// Suspends the process in the coroutine `at`, which `Event::fire` will resume.
  void suspend_until(Time when, std::coroutine_handle<> at) {
    leaf_ = at;
    partition_->schedule_at(*this, when);
  }
  void suspend_for(Time length, std::coroutine_handle<> at) { suspend_until(partition_->now() + length, at); }
  void suspend_to_choose(std::uint64_t rank, std::coroutine_handle<> at) {
    leaf_ = at;
    partition_->choose(*this, rank);
  }
  /// Goes on with `next` as soon as the coroutine that is running now is suspended.
  void continue_with(std::coroutine_handle<> next) { partition_->ready_ = next; }

  static void resume(Event& e);

 protected:
  void fail(std::exception_ptr error) { partition_->fail(std::move(error)); }

 private:
  friend class sim::Partition;
  friend class sim::WaitList;

  Partition* partition_ = nullptr;
  std::coroutine_handle<> leaf_;  // the innermost coroutine, where the process is suspended
  Waiting* waiting_ = nullptr;    // in a wait list
  std::size_t index_ = 0;         // among the partition's processes
};

inline void ProcessState::resume(Event& e) {
  auto& process = static_cast<ProcessState&>(e);
  Partition& here = *process.partition_;
  process.leaf_.resume();
  while (here.ready_) {
    const auto next = std::exchange(here.ready_, nullptr);
    if (next.done()) return here.retire(process);  // the process itself: a task that is done is never ready
    next.resume();
  }
}

}  // namespace detail

/// The return type of a process's coroutine. Starts when spawned.
class [[nodiscard]] Process {
 public:
  struct promise_type;  // NOLINT(readability-identifier-naming): the language asks for this name
  Process(Process&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Process& operator=(Process&&) = delete;
  ~Process() {
    if (frame_) frame_.destroy();
  }

 private:
  friend class Partition;
  explicit Process(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

// NOLINTNEXTLINE(readability-identifier-naming)
struct Process::promise_type : detail::PooledFrame, detail::ProcessState {
  struct Final : std::suspend_always {
    void await_suspend(std::coroutine_handle<promise_type> h) const noexcept { h.promise().continue_with(h); }
  };
  Process get_return_object() { return Process(std::coroutine_handle<promise_type>::from_promise(*this)); }
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void return_void() {}
  void unhandled_exception() { fail(std::current_exception()); }
};

namespace detail {

/// What the promises of all tasks share: who awaits them, and on behalf of which process.
class TaskState : public PooledFrame {
 public:
  struct Final : std::suspend_always {
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> h) const noexcept {
      TaskState& task = h.promise();
      if (task.awaiting_) task.process_->continue_with(task.awaiting_);
    }
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { error_ = std::current_exception(); }
  ProcessState& process() { return *process_; }

  // Runs the task `self` at once. Only if it does not complete at once does the awaiting coroutine suspend:
  // g++ 12 makes no tail calls of symmetric transfers without optimisation, so those would use up the stack.
  bool start(std::coroutine_handle<> self, ProcessState& process, std::coroutine_handle<> awaiting) {
    process_ = &process;
    self.resume();
    if (self.done()) return false;
    awaiting_ = awaiting;
    return true;
  }

 protected:
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  ProcessState* process_ = nullptr;
  std::coroutine_handle<> awaiting_;
  std::exception_ptr error_;
};

template <class T>
class TaskPromise : public TaskState {
 public:
  void return_value(T value) { value_.emplace(std::move(value)); }
  T result() { return rethrow(), std::move(*value_); }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> : public TaskState {
 public:
  void return_void() {}
  void result() { rethrow(); }
};

}  // namespace detail

/// A part of a process with a result, awaited like a call: `const int n = co_await count(fifo);`.
template <class T = void>
class [[nodiscard]] Task {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): the language asks for this name
  struct promise_type : detail::TaskPromise<T> {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiting) {
    return frame_.promise().start(frame_, awaiting.promise().process(), awaiting);
  }
  T await_resume() { return frame_.promise().result(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

/// Awaitable that lasts until an instant.
class [[nodiscard]] Until {
 public:
  explicit Until(Time when) : when_(when) {}
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) const {
    h.promise().process().suspend_until(when_, h);
  }
  void await_resume() const {}

 private:
  Time when_;
};

/// Awaitable that lasts for a length of time.
class [[nodiscard]] Delay {
 public:
  explicit Delay(Time length) : length_(length) {}
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) const {
    h.promise().process().suspend_for(length_, h);
  }
  void await_resume() const {}

 private:
  Time length_;
};

/// `co_await delay(5_ns)`. A delay of zero lets everything else that is due at this instant go first; one of
/// `Time::never()` lasts until the simulation is destroyed.
inline Delay delay(Time length) { return Delay(length); }

/// Awaitable that lasts until everything that happens at this instant has: see `Partition::choose`.
class [[nodiscard]] Choice {
 public:
  explicit Choice(std::uint64_t rank) : rank_(rank) {}
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) const {
    h.promise().process().suspend_to_choose(rank_, h);
  }
  void await_resume() const {}

 private:
  std::uint64_t rank_;
};

/// `co_await choice(rank)`: goes on at this instant when everything else has come, the smaller rank first.
inline Choice choice(std::uint64_t rank) { return Choice(rank); }

/// Suspended processes, first come first served. The building blocks are made of these.
class WaitList {
 public:
  explicit WaitList(Partition& partition) : partition_(partition) {}
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  /// The processes that still wait here will not be woken; their simulation destroys them.
  ~WaitList() {
    while (!empty()) remove(first());
  }

  bool empty() const { return tail_ == nullptr; }
  /// Whether more than one process waits.
  bool has_several() const { return tail_ != nullptr && tail_->next_ != tail_; }
  /// What the first process awaits.
  Waiting& front() const { return *first().waiting_; }
  /// Lets the first process go on at this instant, behind what is already scheduled for it.
  void wake_first() {
    detail::ProcessState& process = first();
    remove(process);
    partition_.schedule(process, Time());
  }
  /// Runs the first process inside the present event, until it waits again. Only for a process whose next
  /// step does not depend on what else happens at this instant.
  void resume_first() {
    detail::ProcessState& process = first();
    remove(process);
    detail::ProcessState::resume(process);
  }

 private:
  friend class Waiting;
  detail::ProcessState& first() const { return static_cast<detail::ProcessState&>(*tail_->next_); }
  void add(detail::ProcessState& process, std::coroutine_handle<> at, Waiting& waiting);
  void remove(detail::ProcessState& process);

  Partition& partition_;
  Event* tail_ = nullptr;  // the last of a circular list
};

/// The base of awaitables that wait in a list. If its process is destroyed while it waits, it leaves the
/// list.
class [[nodiscard]] Waiting {
 public:
  explicit Waiting(WaitList& list) : list_(list) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (process_ != nullptr) list_.remove(*process_);
  }

  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) {
    list_.add(h.promise().process(), h, *this);
  }
  void await_resume() const {}

 private:
  friend class WaitList;
  WaitList& list_;
  detail::ProcessState* process_ = nullptr;  // null unless it waits
};

inline void WaitList::add(detail::ProcessState& process, std::coroutine_handle<> at, Waiting& waiting) {
  KB_ASSERT(process.partition_ == &partition_, "a process of partition {} waits in partition {}",
            process.partition_->id(), partition_.id());
  process.leaf_ = at;
  process.waiting_ = &waiting;
  waiting.process_ = &process;
  process.next_ = tail_ != nullptr ? std::exchange(tail_->next_, &process) : &process;
  tail_ = &process;
}

inline void WaitList::remove(detail::ProcessState& process) {
  Event* before = tail_;
  while (before->next_ != &process) before = before->next_;
  if (before == &process) {
    tail_ = nullptr;
  } else {
    before->next_ = process.next_;
    if (tail_ == &process) tail_ = before;
  }
  process.next_ = nullptr;
  process.waiting_->process_ = nullptr;
}

}  // namespace kernbench::sim
