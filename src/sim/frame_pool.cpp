// The pool of coroutine frames: free lists by size, one set per thread, cut from slabs. A frame may be freed
// by another thread than the one that took it and then serves there, while the thread that made its slab lives. A slab
// counts how many of its frames are not given back yet, and its maker; the last one to come back frees it.
#include <kernbench/sim/process.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

namespace kernbench::sim::detail {

namespace {

constexpr std::size_t kGrain =
    64;  // frames are cache-line aligned: the event of a process is in its first line
constexpr std::size_t kClasses = 32;
constexpr std::size_t kSlabBytes = std::size_t{1}
                                   << 16;  // also its alignment, so that a frame finds its slab

struct FreeFrame {
  FreeFrame* next;
};

struct alignas(kGrain) Slab {
  std::atomic<std::size_t> held;     // frames that are not given back, and one more while the maker lives
  Slab* next;                        // of the same maker
  std::atomic<bool> orphan = false;  // its maker has ended: frames that come back now serve nobody any more
};

// Plain data, so that using it costs no check for initialisation.
struct Pool {
  std::array<FreeFrame*, kClasses> free;
  Slab* slabs;  // those that the thread made
  bool open;    // its janitor is there
  bool closed;  // its janitor has been: the thread is about to end
};
thread_local constinit Pool pool{};

Slab& slab_of(void* frame) {
  const auto offset = reinterpret_cast<std::uintptr_t>(frame) % kSlabBytes;
  return *reinterpret_cast<Slab*>(static_cast<std::byte*>(frame) - offset);
}

void let_go(Slab& slab) {
  if (slab.held.fetch_sub(1) == 1) ::operator delete (&slab, std::align_val_t{kSlabBytes});
}

// Gives back what the thread's pool holds when the thread ends.
struct Janitor {
  Janitor() { pool.open = true; }
  ~Janitor() {
    pool.open = false;
    pool.closed = true;
    for (FreeFrame*& list : pool.free)
      while (list != nullptr) let_go(slab_of(std::exchange(list, list->next)));
    while (pool.slabs != nullptr) {
      Slab& slab = *std::exchange(pool.slabs, pool.slabs->next);
      slab.orphan.store(true, std::memory_order_relaxed);
      let_go(slab);
    }
  }
};

void open_pool() { thread_local const Janitor janitor; }

void* take_from_new_slab(std::size_t size_class) {
  if (!pool.closed) open_pool();
  const std::size_t size = (size_class + 1) * kGrain;
  const std::size_t count = pool.closed ? 1 : (kSlabBytes - sizeof(Slab)) / size;
  auto* memory = static_cast<std::byte*>(::operator new (kSlabBytes, std::align_val_t{kSlabBytes}));
  // Made while the thread ends, a slab has no maker that could let go of it.
  Slab* slab = new (memory) Slab{{count + !pool.closed}, pool.slabs, pool.closed};
  if (!pool.closed) pool.slabs = slab;
  std::byte* const first = memory + sizeof(Slab);
  for (std::size_t i = count; --i > 0;)
    pool.free[size_class] = new (first + i * size) FreeFrame{pool.free[size_class]};
  return first;
}

std::size_t class_of(std::size_t size) { return (size - 1) / kGrain; }

}  // namespace

void* PooledFrame::operator new(std::size_t size) {
  const std::size_t c = class_of(size);
  if (c >= kClasses) return ::operator new(size);
  if (pool.free[c] == nullptr) return take_from_new_slab(c);
  return std::exchange(pool.free[c], pool.free[c]->next);
}

void PooledFrame::operator delete(void* frame, std::size_t size) noexcept {
  const std::size_t c = class_of(size);
  if (c >= kClasses) return ::operator delete(frame);
  if (!pool.open) [[unlikely]] {
    if (pool.closed) return let_go(slab_of(frame));
    open_pool();
  }
  if (Slab& slab = slab_of(frame); slab.orphan.load(std::memory_order_relaxed)) [[unlikely]]
    return let_go(slab);
  pool.free[c] = new (frame) FreeFrame{pool.free[c]};
}

}  // namespace kernbench::sim::detail
