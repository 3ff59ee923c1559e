#include "base/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "base/memory.hpp"

namespace kernbench {
namespace {

constexpr std::size_t kWorthwhile = 2 * kHugePage;

}  // namespace

std::byte* allocate_bytes(std::size_t bytes) {
  if (bytes < kWorthwhile) return static_cast<std::byte*>(::operator new(bytes));
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const at = std::aligned_alloc(kHugePage, whole);
  if (at == nullptr) fail_for_want_of_memory(bytes);
#ifdef MADV_HUGEPAGE
  madvise(at, whole, MADV_HUGEPAGE);  // a wish: without it the memory is as good, only slower to get
#endif
  return static_cast<std::byte*>(at);
}

void free_bytes(std::byte* at, std::size_t bytes) noexcept {
  bytes < kWorthwhile ? ::operator delete(at) : std::free(at);
}

}  // namespace kernbench
