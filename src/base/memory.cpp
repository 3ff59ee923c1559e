#include "base/memory.hpp"

#include <cstdio>
#include <cstdlib>

namespace kernbench {
namespace {

thread_local const char* building = nullptr;

}  // namespace

Building::Building(const char* what) : before_(building) { building = what; }
Building::~Building() { building = before_; }

OutOfMemory::OutOfMemory(std::size_t bytes) {
  char asked[40] = "";
  const double mib = static_cast<double>(bytes) / (1 << 20);
  if (bytes > 0)
    std::snprintf(asked, sizeof asked, mib < 1 ? ": %.3f MiB were asked for" : ": %.1f MiB were asked for",
                  mib);
  std::snprintf(text_, sizeof text_, "out of memory%s%s%s", building ? " while building " : "",
                building ? building : "", asked);
}

void explain_out_of_memory() { throw OutOfMemory(0); }

void* allocate_or_explain(std::size_t bytes) {
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw OutOfMemory(bytes);
}

}  // namespace kernbench
