// What to say when memory runs out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace kernbench {

/// Says what this thread is about to build, for the message if there is no memory for it. The innermost is told.
class Building {
 public:
  explicit Building(const char* what);  // must outlive it
  ~Building();
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

 private:
  const char* const before_;
};

/// `out of memory while building the op log: 64.0 MiB more were asked for, and the process has 1.4 GiB (1.1 GiB resident) of
/// the 1.4 GiB that its limit allows (ulimit -v)`
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::size_t bytes);  // 0: nobody knows
  const char* what() const noexcept override { return text_; }

 private:
  char text_[360];  // there is no memory to make a string
};

/// Memory that is kept back while it lives. The first who finds none gets it: what is thrown then, and the destructors that
/// run because of it, need some themselves. One at a time.
class MemoryReserve {
 public:
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
};

/// How many bytes this process may still take: the least of what its limits, its group and the machine leave it.
std::int64_t memory_left();

/// Throws OutOfMemory. The reserve is free memory from then on.
[[noreturn]] void fail_for_want_of_memory(std::size_t bytes);
/// Whether that has happened in this process.
bool ran_out_of_memory();

/// A new-handler: throws OutOfMemory.
[[noreturn]] void explain_out_of_memory();

/// What an operator new does that knows how much was asked for.
void* allocate_or_explain(std::size_t bytes);

}  // namespace kernbench
