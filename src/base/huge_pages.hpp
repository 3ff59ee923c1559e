// Memory for buffers of megabytes, in huge pages where the system has them: a fresh page is a fault, and 4 KiB of them take longer
// to get than to fill.
#pragma once

#include <cstddef>

namespace kernbench {

/// As large as they are on x86-64, and on most others.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Not set to anything. std::bad_alloc if there is none.
std::byte* allocate_bytes(std::size_t bytes);
/// With the number that was asked for.
void free_bytes(std::byte* at, std::size_t bytes) noexcept;

}  // namespace kernbench
