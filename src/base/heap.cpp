#include "base/heap.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/huge_pages.hpp"
#include "base/memory.hpp"

namespace kernbench {
namespace {

// The largest number of addresses that glibc reserves at once. Memory is used only when pages are touched.
constexpr std::int64_t kMostReserve = 2047 << 20;
constexpr int kLargestPiece = 32 << 20;  // the most that glibc allows to come from the heap

/// How many addresses the heap takes at once: a part of what the process may have, most of which is for what it uses.
int reserve() {
  constexpr int kPart = 8;
  return static_cast<int>(std::min(kMostReserve, memory_left() / kPart));
}

std::uintptr_t heap_end() { return reinterpret_cast<std::uintptr_t>(::sbrk(0)); }

/// Makes the heap grow once, by the reserve. What is asked for is not kept.
void grow(std::uintptr_t from) {
  constexpr std::size_t kStep = std::size_t{100} << 10;
  constexpr int kSteps = 8;  // the room at the end of the heap is about one step
  void* pieces[kSteps] = {};
  for (int i = 0; i < kSteps && heap_end() == from; ++i) pieces[i] = std::malloc(kStep);
  for (void* piece : pieces) std::free(piece);
}

}  // namespace

void prefer_huge_pages() {
  ::mallopt(M_MMAP_THRESHOLD, kLargestPiece);
  ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(kMostReserve));
  ::mallopt(M_TOP_PAD, reserve());
  const std::uintptr_t begin = heap_end();
  grow(begin);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (heap_end() > first)
    ::madvise(reinterpret_cast<void*>(first), heap_end() - first, MADV_HUGEPAGE);  // NOLINT
}

}  // namespace kernbench
