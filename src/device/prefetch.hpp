// Loading what will be needed soon: on large machines most of the time goes into waiting for memory.
#pragma once

#include <cstddef>

namespace kernbench::device {

/// The cache lines of an object, or its first `bytes`. Null: nothing. An object may be larger than its type says, for a class may
/// be derived from it: what that adds is not loaded.
template <class T>
inline void prefetch(const T* object, std::size_t bytes = sizeof(T)) {
  if (!object) return;
  const char* begin = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(begin + at, 1);
}

}  // namespace kernbench::device
