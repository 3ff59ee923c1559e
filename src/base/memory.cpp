#include "base/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace kernbench {
namespace {

thread_local const char* building = nullptr;

/// The number a file begins with; −1: there is none, or it says `max`.
std::int64_t number_in(const std::string& file) {
  std::int64_t number = -1;
  std::ifstream(file) >> number;
  return number;
}

std::int64_t left_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::int64_t kib = 0; file >> key >> kib; std::getline(file, unit))
    if (key == "MemAvailable:") return kib * 1024;
  return INT64_MAX;
}

std::int64_t left_in_group() {
  const std::int64_t most = number_in("/sys/fs/cgroup/memory.max"),
                     used = number_in("/sys/fs/cgroup/memory.current");
  return most < 0 || used < 0 ? INT64_MAX : most - used;
}

/// Addresses that were reserved and not used count as taken.
std::int64_t left_of_limit(int resource, std::int64_t pages) {
  rlimit limit{};
  const bool is_limited = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (!is_limited) return INT64_MAX;
  return static_cast<std::int64_t>(limit.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE);
}

/// The smaller of two limits: on all addresses, and on those for data. None if it cannot be known what is in use.
std::int64_t left_of_limits() {
  std::int64_t all = 0, resident = 0, shared = 0, code = 0, library = 0, data = 0;
  std::ifstream file("/proc/self/statm");
  if (!(file >> all >> resident >> shared >> code >> library >> data)) return INT64_MAX;
  return std::min(left_of_limit(RLIMIT_AS, all), left_of_limit(RLIMIT_DATA, data));
}

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

std::int64_t memory_left() {
  return std::max<std::int64_t>(std::min({left_on_machine(), left_in_group(), left_of_limits()}), 0);
}

void explain_out_of_memory() { throw OutOfMemory(0); }

void* allocate_or_explain(std::size_t bytes) {
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw OutOfMemory(bytes);
}

}  // namespace kernbench
