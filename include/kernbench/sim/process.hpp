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
#include <exception>
#include <optional>
#include <utility>

namespace kernbench::sim {

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
  ~ProcessState();

  ProcessState& process() { return *this; }

  /// Suspends the process in the coroutine `at`, which `Event::fire` will resume.
  void suspend_until(Time when, std::coroutine_handle<> at) {
    leaf_ = at;
    partition_->queue_.push(*this, when);
  }
  void suspend_for(Time length, std::coroutine_handle<> at) { suspend_until(partition_->now() + length, at); }
  /// Goes on with `next` as soon as the coroutine that is running now is suspended.
  void continue_with(std::coroutine_handle<> next) { ready_ = next; }

 protected:
  void fail(std::exception_ptr error) { partition_->fail(std::move(error)); }

 private:
  friend class sim::Partition;
  friend class sim::WaitList;
  static void resume(Event& e);

  Partition* partition_ = nullptr;
  std::coroutine_handle<> leaf_;   // the innermost coroutine, where the process is suspended
  std::coroutine_handle<> ready_;  // see `continue_with`
  WaitList* waiting_in_ = nullptr;
  void* offer_ = nullptr;          // what the process gives or takes where it waits
  std::coroutine_handle<> frame_;  // of the process itself
  ProcessState* older_ = nullptr;  // its neighbours among the partition's processes
  ProcessState* newer_ = nullptr;
};

}  // namespace detail

/// The return type of a process's coroutine. Starts when spawned.
class [[nodiscard]] Process {
 public:
  struct promise_type;
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

/// `co_await delay(5_ns)`. A delay of zero lets everything else that is due at this instant go first.
class [[nodiscard]] delay {
 public:
  explicit delay(Time length) : length_(length) {}
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) const {
    h.promise().process().suspend_for(length_, h);
  }
  void await_resume() const {}

 private:
  Time length_;
};

/// Suspended processes, first come first served. The building blocks are made of these.
class WaitList {
 public:
  explicit WaitList(Partition& partition) : partition_(partition) {}
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList();

  bool empty() const { return tail_ == nullptr; }
  /// Suspends `process` here. `offer` is for the one who wakes it.
  void add(detail::ProcessState& process, std::coroutine_handle<> at, void* offer = nullptr);
  void* first_offer() const { return first().offer_; }
  /// Lets the first process go on at this instant, behind what is already scheduled for it.
  void wake_first();

 private:
  friend class detail::ProcessState;
  detail::ProcessState& first() const { return static_cast<detail::ProcessState&>(*tail_->next_); }
  void remove(detail::ProcessState& process);

  Partition& partition_;
  Event* tail_ = nullptr;  // the last of a circular list
};

}  // namespace kernbench::sim
