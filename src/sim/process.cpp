#include <kernbench/sim/process.hpp>

#include <array>
#include <new>

namespace kernbench::sim {

namespace detail {

namespace {

constexpr std::size_t kGrain = 64;  // frames are rounded up to this
constexpr std::size_t kClasses = 32;

// Frames of a simulation that lives longer than a thread's pool (a global one, say) bypass it.
thread_local bool pool_is_gone = false;

struct FramePool {
  struct Free {
    Free* next;
  };
  std::array<Free*, kClasses> free{};

  ~FramePool() {
    pool_is_gone = true;
    for (Free* frame : free)
      while (frame != nullptr) ::operator delete(std::exchange(frame, frame->next));
  }
};

thread_local FramePool pool;

std::size_t class_of(std::size_t size) { return (size - 1) / kGrain; }

}  // namespace

void* PooledFrame::operator new(std::size_t size) {
  const std::size_t c = class_of(size);
  if (c >= kClasses) return ::operator new(size);
  if (pool_is_gone || pool.free[c] == nullptr) return ::operator new((c + 1) * kGrain);
  return std::exchange(pool.free[c], pool.free[c]->next);
}

void PooledFrame::operator delete(void* frame, std::size_t size) noexcept {
  const std::size_t c = class_of(size);
  if (pool_is_gone || c >= kClasses) return ::operator delete(frame);
  pool.free[c] = new (frame) FramePool::Free{pool.free[c]};
}

ProcessState::~ProcessState() {
  if (waiting_in_ != nullptr) waiting_in_->remove(*this);
}

void ProcessState::resume(Event& e) {
  auto& process = static_cast<ProcessState&>(e);
  process.leaf_.resume();
  while (process.ready_) {
    const auto next = std::exchange(process.ready_, nullptr);
    if (next.done())
      return process.partition_->retire(process);  // the process itself: tasks are never ready when done
    next.resume();
  }
}

}  // namespace detail

void WaitList::add(detail::ProcessState& process, std::coroutine_handle<> at, void* offer) {
  KB_ASSERT(process.partition_ == &partition_, "a process of partition {} waits in partition {}",
            process.partition_->id(), partition_.id());
  process.leaf_ = at;
  process.waiting_in_ = this;
  process.offer_ = offer;
  process.next_ = tail_ != nullptr ? std::exchange(tail_->next_, &process) : &process;
  tail_ = &process;
}

void WaitList::wake_first() {
  detail::ProcessState& process = first();
  if (&process == tail_)
    tail_ = nullptr;
  else
    tail_->next_ = process.next_;
  process.next_ = nullptr;
  process.waiting_in_ = nullptr;
  partition_.schedule(process, Time());
}

void WaitList::remove(detail::ProcessState& process) {
  Event* before = tail_;
  while (before->next_ != &process) before = before->next_;
  if (before == &process) {
    tail_ = nullptr;
  } else {
    before->next_ = process.next_;
    if (tail_ == &process) tail_ = before;
  }
  process.next_ = nullptr;
  process.waiting_in_ = nullptr;
}

// The processes that still wait here will never be woken; their simulation destroys them.
WaitList::~WaitList() {
  while (!empty()) remove(first());
}

void Partition::spawn(Process process) {
  const auto frame = std::exchange(process.frame_, nullptr);
  detail::ProcessState& state = frame.promise();
  state.partition_ = this;
  state.leaf_ = frame;
  state.frame_ = frame;
  state.older_ = processes_;
  if (processes_ != nullptr) processes_->newer_ = &state;
  processes_ = &state;
  schedule(state, Time());
}

void Partition::retire(detail::ProcessState& process) {
  if (process.older_ != nullptr) process.older_->newer_ = process.newer_;
  if (process.newer_ != nullptr)
    process.newer_->older_ = process.older_;
  else
    processes_ = process.older_;
  process.frame_.destroy();
}

void Partition::destroy_processes() {
  closing_ = true;
  while (processes_ != nullptr) retire(*processes_);
  closing_ = false;
}

}  // namespace kernbench::sim
