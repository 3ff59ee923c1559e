// Brings what was written to a file to the disk while others go on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace kernbench::sweep {

/// A sync takes as long as a small point: a sweep that waited for it would leave its workers idle.
class BackgroundSync {
 public:
  /// `file` is open for as long as this lives.
  explicit BackgroundSync(int file) : file_(file) {}
  ~BackgroundSync();
  BackgroundSync(const BackgroundSync&) = delete;
  BackgroundSync& operator=(const BackgroundSync&) = delete;

  /// What was written until now is to be brought to the disk. Where no thread can be had this waits for it.
  void request();
  /// Waits for all that was requested. Returns errno of a sync that failed, 0 if none did.
  int finish();

 private:
  void work();
  void sync_now();

  const int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_wanted_ = false, is_busy_ = false, is_over_ = false;
  int error_ = 0;
  std::thread thread_;  // from the first request on
};

}  // namespace kernbench::sweep
