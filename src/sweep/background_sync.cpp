#include "sweep/background_sync.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace kernbench::sweep {

BackgroundSync::~BackgroundSync() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundSync::request() {
  {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // no thread to be had
    sync_now();
    is_wanted_ = false;
  }
}

int BackgroundSync::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_wanted_ && !is_busy_; });
  return error_;
}

void BackgroundSync::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_wanted_ || is_over_; });
    if (!is_wanted_) return;
    is_wanted_ = false, is_busy_ = true;
    lock.unlock();
    sync_now();
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void BackgroundSync::sync_now() {
  const int error = ::fsync(file_) == 0 ? 0 : errno;
  if (error == 0) return;
  const std::lock_guard lock(mutex_);
  error_ = error;
}

}  // namespace kernbench::sweep
