// Where the threads of a run meet between two windows.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace kernbench::sim {

/// A barrier whose waiters first watch, then sleep: windows take tens of microseconds, and a thread that sleeps takes as
/// long to wake (std::barrier sleeps almost at once). Who watches gives way to whoever else wants the core.
class Meeting {
 public:
  explicit Meeting(int members)
      : members_(members), watches_(members <= static_cast<int>(std::thread::hardware_concurrency())) {}

  /// Comes back when all members have come and the last of them has done `decide(how many had fallen asleep)`.
  template <class Decide>
  void come(Decide&& decide) {
    const int round = round_.load(std::memory_order_acquire);
    if (present_.fetch_add(1, std::memory_order_acq_rel) + 1 < members_) return wait(round);
    present_.store(0, std::memory_order_relaxed);
    decide(asleep_.exchange(0, std::memory_order_relaxed));
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
  }

 private:
  static constexpr std::chrono::microseconds kWatch{300};
  static constexpr int kLooks = 100;  // between two looks at the clock

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  bool watch(int round) const {
    const auto end = std::chrono::steady_clock::now() + kWatch;
    do
      for (int look = 0; look < kLooks; ++look) {
        if (round_.load(std::memory_order_acquire) != round) return true;
        pause();
      }
    while (std::this_thread::yield(), std::chrono::steady_clock::now() < end);
    return false;
  }

  void wait(int round) {
    if (watches_ && watch(round)) return;
    asleep_.fetch_add(1, std::memory_order_relaxed);
    round_.wait(round, std::memory_order_acquire);
  }

  const int members_;
  const bool watches_;  // not with fewer cores than members: it would keep another from working
  std::atomic<int> asleep_ = 0;
  alignas(64) std::atomic<int> present_ = 0;
  alignas(64) std::atomic<int> round_ = 0;
};

}  // namespace kernbench::sim
