#include "base/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>

namespace kernbench::memory_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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

std::string text_of(std::size_t bytes) { return OutOfMemory(bytes).what(); }

TEST(OutOfMemory, SaysHowMuchWasAskedForAndWhatTheProcessHas) {
  EXPECT_THAT(text_of(24), StartsWith("out of memory: 24 bytes more were asked for, and the process has "));
  EXPECT_THAT(text_of(1536), HasSubstr(": 1.5 KiB more were asked for"));
  EXPECT_THAT(text_of(std::size_t{64} << 20), HasSubstr(": 64.0 MiB more were asked for"));
  EXPECT_THAT(text_of(0), AllOf(StartsWith("out of memory: the process has "), HasSubstr(" resident)")));
  const Building building("the op log");
  EXPECT_THAT(text_of(24), StartsWith("out of memory while building the op log: 24 bytes more"));
}

// The largest numbers fit as well.
TEST(OutOfMemory, NamesTheLimit) {
  EXPECT_THAT(text_of(24), Not(HasSubstr("ulimit")));
  {
    const Limit data(RLIMIT_DATA, rlim_t{1000} << 40);
    EXPECT_THAT(text_of(~std::size_t{0}), EndsWith(" of the 1000.0 TiB that its limit allows (ulimit -d)"));
  }
  const Limit addresses(RLIMIT_AS, rlim_t{100} << 40);
  EXPECT_THAT(text_of(24), EndsWith(" of the 100.0 TiB that its limit allows (ulimit -v)"));
}

TEST(MemoryReserve, IsGivenUpByTheFirstWhoFindsNoMemory) {
  const MemoryReserve reserve;
  EXPECT_THROW(fail_for_want_of_memory(24), OutOfMemory);
  EXPECT_TRUE(ran_out_of_memory());
  EXPECT_THROW(fail_for_want_of_memory(24), OutOfMemory);
}

}  // namespace
}  // namespace kernbench::memory_test
