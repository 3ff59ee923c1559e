// Helpers that are welcome, but not needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace kernbench {

/// Starts `n` threads that call `work(1)` … `work(n)`, or as many as can be had. They are joined when the vector goes. The
/// work must get done by fewer, and by the caller alone.
template <class Work>
std::vector<std::jthread> start_helpers(int n, const Work& work) {
  std::vector<std::jthread> helpers;
  try {
    for (int i = 1; i <= n; ++i) helpers.emplace_back([work, i] { work(i); });
  } catch (const std::system_error&) {  // no more of them
  }
  return helpers;
}

/// fn(i) for i in 0 … n−1, on so many threads; 0: on all cores. Throws what a call of it throws; then not all are made.
template <class Fn>
void in_parallel(std::int64_t n, int threads, const Fn& fn) {
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;  // the first one
  const auto work = [&](int) {
    try {
      for (std::int64_t i = next++; i < n; i = next++) fn(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
      next = n;
    }
  };
  const int most = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  {
    const auto helpers = start_helpers(most - 1, work);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kernbench
