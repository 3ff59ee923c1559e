// Helpers that are welcome, but not needed.
#pragma once

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

}  // namespace kernbench
