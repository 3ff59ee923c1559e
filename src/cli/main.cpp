#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/heap.hpp"
#include "base/memory.hpp"
#include "kernbench/cli.hpp"

// So that the message for want of memory can say how much was asked for. Only this program's: a library leaves the
// operator to its user.
void* operator new(std::size_t bytes) { return kernbench::allocate_or_explain(bytes); }
void* operator new[](std::size_t bytes) { return kernbench::allocate_or_explain(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  kernbench::prefer_huge_pages();
  return kernbench::cli_main(argc, argv, [](kernbench::Registry&) {});
}
