#include "base/heap.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace kernbench {
namespace {

constexpr rlim_t kReserve = 1 << 30;     // of addresses; memory is taken as pages are touched
constexpr int kLargestPiece = 32 << 20;  // the most that glibc allows to come from the heap
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// The reserve, or a part of what the process may have: most of a small allowance is for what is really used.
int reserve() {
  constexpr rlim_t kPart = 16;
  rlim_t most = kReserve;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (rlimit limit{}; ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      most = std::min(most, limit.rlim_cur / kPart);
  return static_cast<int>(most);
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
  ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(kReserve));
  ::mallopt(M_TOP_PAD, reserve());
  const std::uintptr_t begin = heap_end();
  grow(begin);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (heap_end() > first)
    ::madvise(reinterpret_cast<void*>(first), heap_end() - first, MADV_HUGEPAGE);  // NOLINT
}

}  // namespace kernbench
