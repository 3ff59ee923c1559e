#include "base/memory.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
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

// ── what is said when there is none: without allocating ──

constexpr std::size_t kReserveBytes = std::size_t{1} << 20;
std::atomic<void*> kept_back = nullptr;
std::atomic<bool> ran_out = false;

struct Use {
  double all = 0, resident = 0, data = 0;  // bytes; 0: not known
};

Use use_of_process() {
  char text[128] = "";
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  [[maybe_unused]] const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  long all = 0, resident = 0, data = 0;
  if (std::sscanf(text, "%ld %ld %*d %*d %*d %ld", &all, &resident, &data) != 3) return {};
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {static_cast<double>(all) * page, static_cast<double>(resident) * page,
          static_cast<double>(data) * page};
}

/// A number of bytes in the unit that suits it: `24 bytes`, `64.0 MiB`.
struct Amount {
  explicit Amount(double bytes) {
    constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
      std::snprintf(text, sizeof text, "%.0f bytes", bytes);
      return;
    }
    std::size_t unit = 0;
    for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(kUnits); bytes /= 1024) ++unit;
    std::snprintf(text, sizeof text, "%.1f %s", bytes, kUnits[unit]);
  }
  char text[32];
};

/// What the process has: of its addresses, or its data, if these are limited, and else what is resident.
void write_use(char* to, std::size_t size) {
  const Use use = use_of_process();
  if (use.all == 0) return;
  const Amount resident(use.resident);
  const auto of_limit = [&](int resource, double used, const char* name) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    std::snprintf(to, size, "the process has %s (%s resident) of the %s that its limit allows (%s)",
                  Amount(used).text, resident.text, Amount(static_cast<double>(limit.rlim_cur)).text, name);
  };
  std::snprintf(to, size, "the process has %s (%s resident)", Amount(use.all).text, resident.text);
  of_limit(RLIMIT_DATA, use.data, "ulimit -d");
  of_limit(RLIMIT_AS, use.all, "ulimit -v");
}

}  // namespace

Building::Building(const char* what) : before_(building) { building = what; }
Building::~Building() { building = before_; }

OutOfMemory::OutOfMemory(std::size_t bytes) {
  char asked[64] = "", use[200] = "";
  if (bytes > 0)
    std::snprintf(asked, sizeof asked, "%s more were asked for", Amount(static_cast<double>(bytes)).text);
  write_use(use, sizeof use);
  std::snprintf(text_, sizeof text_, "out of memory%s%s%s%s%s%s", building ? " while building " : "",
                building ? building : "", *asked || *use ? ": " : "", asked, *asked && *use ? ", and " : "",
                use);
}

MemoryReserve::MemoryReserve() { std::free(kept_back.exchange(std::malloc(kReserveBytes))); }
MemoryReserve::~MemoryReserve() { std::free(kept_back.exchange(nullptr)); }

std::int64_t memory_left() {
  return std::max<std::int64_t>(std::min({left_on_machine(), left_in_group(), left_of_limits()}), 0);
}

// The reserve is given up first: memory for the exception is asked for before its constructor runs.
void fail_for_want_of_memory(std::size_t bytes) {
  ran_out = true;
  std::free(kept_back.exchange(nullptr));
  throw OutOfMemory(bytes);
}

bool ran_out_of_memory() { return ran_out; }

void explain_out_of_memory() { fail_for_want_of_memory(0); }

void* allocate_or_explain(std::size_t bytes) {
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  fail_for_want_of_memory(bytes);
}

}  // namespace kernbench
