// Ranks of Python programs: a thread for each, of which one runs. CPython keeps frames and exceptions by thread, so ranks
// cannot be swapped on bare stacks under it as C++ ranks are.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "dist/strand.hpp"
#include "python/host.hpp"

namespace kernbench::python {

/// Threads that hand a baton on. All calls come without the GIL.
class RankThreads final : public dist::Strands {
 public:
  explicit RankThreads(Host& host) : host_(host) {}
  std::unique_ptr<dist::Strand> of_caller() override;
  std::unique_ptr<dist::Strand> make(std::function<void()> body) override;

 private:
  class Turn;
  class Thread;
  void interrupt_running();

  Host& host_;
  std::atomic<unsigned long> running_ = 0;  // Python's number of the thread that has the baton
};

}  // namespace kernbench::python
