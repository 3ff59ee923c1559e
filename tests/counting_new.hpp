// This test program replaces the global operator new by one that counts.
#pragma once

#include <cstdint>

namespace kernbench::testing {

/// Calls of operator new so far, by all threads.
std::int64_t allocations();

}  // namespace kernbench::testing
