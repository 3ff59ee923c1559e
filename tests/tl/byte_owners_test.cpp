// Who else touched the bytes of an access.
#include "tl/byte_owners.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace kernbench::tl::byte_owners_test {
namespace {

using Addresses = std::vector<std::uint64_t>;

Addresses block(std::uint64_t first, int elements) {
  Addresses addresses;
  for (int i = 0; i < elements; ++i) addresses.push_back(first + 4 * static_cast<std::uint64_t>(i));
  return addresses;
}

TEST(ByteOwners, ProgramsThatShareNoByteDoNotMeet) {
  ByteOwners owners;
  const Addresses mine = block(0x1000, 16), next = block(0x1040, 16);
  owners.add({mine}, 4, {0, 0});
  EXPECT_FALSE(owners.other({mine}, 4, 0));  // its own
  EXPECT_FALSE(owners.other({next}, 4, 1));
  const Addresses last_byte = {0x103f};
  EXPECT_EQ(owners.other({last_byte}, 1, 1)->number, 0u);
}

TEST(ByteOwners, TheSecondProgramIsFoundByTheFirst) {
  ByteOwners owners;
  const Addresses all = block(0x1000, 16), some = block(0x1010, 2);
  owners.add({all}, 4, {0, 10});
  owners.add({some}, 4, {1, 11});
  EXPECT_EQ(owners.other({all}, 4, 0)->number, 11u);
  EXPECT_EQ(owners.other({all}, 4, 1)->number, 10u);
}

TEST(ByteOwners, LanesThatAreOffTouchNothing) {
  ByteOwners owners;
  const Addresses all = block(0x1000, 3);
  const std::vector<std::uint8_t> on = {1, 0, 1};
  owners.add({all, on}, 4, {0, 0});
  const Addresses middle = {0x1004};
  EXPECT_FALSE(owners.other({middle}, 4, 1));
}

// The definition: for each byte the accesses to it.
TEST(ByteOwners, RandomAccessesMeetAsTheirBytesDo) {
  std::mt19937 random(1);
  ByteOwners owners;
  std::map<std::uint64_t, std::vector<std::uint32_t>> programs_at;
  for (std::uint32_t n = 0; n < 400; ++n) {
    const auto program = static_cast<std::uint32_t>(random() % 6);
    const int size = 1 << random() % 4;
    Addresses lanes;
    for (auto count = 1 + random() % 5; count > 0; --count)
      lanes.push_back(random() % 3 == 0 || lanes.empty() ? 1 + random() % 4000
                                                         : lanes.back() + static_cast<std::uint64_t>(size));
    bool meets = false;
    for (const auto lane : lanes)
      for (int byte = 0; byte < size; ++byte)
        for (const auto other : programs_at[lane + static_cast<std::uint64_t>(byte)])
          meets |= other != program;
    ASSERT_EQ(owners.other({lanes}, size, program).has_value(), meets) << n;
    owners.add({lanes}, size, {program, n});
    for (const auto lane : lanes)
      for (int byte = 0; byte < size; ++byte)
        programs_at[lane + static_cast<std::uint64_t>(byte)].push_back(program);
  }
}

// A block of each program, forward and backward, and one array that all of them read: one range per block.
TEST(ByteOwners, KeepOneRangeForEachBlockOfAProgram) {
  ByteOwners owners;
  const Addresses table = block(0x1000, 8);
  for (std::uint32_t program = 0; program < 1000; ++program) {
    const Addresses mine = block(0x100000 + 256 * std::uint64_t{program}, 64);
    owners.add({mine}, 4, {program, 0});
    owners.add({mine}, 4, {program, 1});
    owners.add({table}, 4, {program, 2});
  }
  EXPECT_EQ(owners.ranges(), 1001u);
}

}  // namespace
}  // namespace kernbench::tl::byte_owners_test
