// Where the threads of a run meet between two windows.
#pragma once

#include <atomic>
#include <thread>

namespace kernbench::sim {

/// A barrier whose waiters first watch, then sleep: windows take microseconds, and a thread that sleeps takes
/// tens of them to wake (std::barrier sleeps almost at once).
class Meeting {
 public:
  explicit Meeting(int members)
      : members_(members),
        looks_(members <= static_cast<int>(std::thread::hardware_concurrency()) ? kLooks : 0) {}

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
  static constexpr int kLooks = 2000;  // tens of microseconds

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  void wait(int round) {
    for (int look = 0; look < looks_; ++look) {
      if (round_.load(std::memory_order_acquire) != round) return;
      pause();
    }
    asleep_.fetch_add(1, std::memory_order_relaxed);
    round_.wait(round, std::memory_order_acquire);
  }

  const int members_;
  const int looks_;  // none with fewer cores than members: whoever watches would keep another from working
  std::atomic<int> asleep_ = 0;
  alignas(64) std::atomic<int> present_ = 0;
  alignas(64) std::atomic<int> round_ = 0;
};

}  // namespace kernbench::sim
