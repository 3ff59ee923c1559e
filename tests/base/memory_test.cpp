#include "base/memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>

namespace kernbench::memory_test {
namespace {

/// Sets a limit of this process for as long as it lives.
class Limit {
 public:
  Limit(int resource, rlim_t most) : resource_(resource) {
    ::getrlimit(resource, &before_);
    const rlimit wanted{most, before_.rlim_max};
    ::setrlimit(resource, &wanted);
  }
  ~Limit() { ::setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const int resource_;
  rlimit before_{};
};

// No file can be opened: neither what the machine has nor what this process takes can be known.
TEST(MemoryLeft, HasNoLimitIfNobodyKnowsWhatIsInUse) {
  const Limit addresses(RLIMIT_AS, rlim_t{1} << 60);
  const Limit files(RLIMIT_NOFILE, 0);
  EXPECT_EQ(memory_left(), INT64_MAX);
}

}  // namespace
}  // namespace kernbench::memory_test
