#include <kernbench/sim/process.hpp>

namespace kernbench::sim {

void Partition::spawn(Process process) {
  const auto frame = std::exchange(process.frame_, nullptr);
  detail::ProcessState& state = frame.promise();
  state.partition_ = this;
  state.leaf_ = frame;
  state.index_ = processes_.size();
  processes_.push_back(&state);
  schedule(state, Time());
}

void Partition::retire(detail::ProcessState& process) {
  processes_.back()->index_ = process.index_;
  processes_[process.index_] = processes_.back();
  processes_.pop_back();
  auto& promise = static_cast<Process::promise_type&>(process);
  std::coroutine_handle<Process::promise_type>::from_promise(promise).destroy();
}

void Partition::destroy_processes() {
  closing_ = true;
  while (!processes_.empty()) retire(*processes_.back());
  closing_ = false;
}

}  // namespace kernbench::sim
