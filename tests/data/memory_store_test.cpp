#include "data/memory_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "data/random_arrays.hpp"

namespace kernbench::data::memory_store_test {
namespace {

using ::testing::HasSubstr;

address::PhysAddr hbm(std::int64_t offset) { return address::hbm_addr({0, 3}, Bytes(offset)); }

std::vector<std::byte> numbered(std::size_t n, int first = 0) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>((static_cast<int>(i) + first) & 0xFF);
  return bytes;
}

TEST(MemoryStore, ReturnsWhatWasWrittenAcrossPages) {
  MemoryStore store;
  const auto bytes = numbered(10000);
  store.write(hbm(4000), bytes);  // ends in the fourth page
  std::vector<std::byte> back(9000);
  store.read(hbm(4500), back);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + 500));
  EXPECT_EQ(store.page_count(), 4u);  // [4000, 14000) lies in pages 0 to 3
}

// Pages of the store that is replaced go back to a pool that is still there (seen by the address sanitizer).
TEST(MemoryStore, IsReplacedByAnother) {
  MemoryStore store, other;
  store.write(hbm(0), numbered(10000));
  other.write(hbm(20000), numbered(10));
  store = std::move(other);
  EXPECT_EQ(store.page_count(), 1u);
  std::vector<std::byte> back(10);
  store.read(hbm(20000), back);
  EXPECT_EQ(back, numbered(10));
  store.write(hbm(40000), numbered(5000));  // [40000, 45000) lies in pages 9 and 10
  EXPECT_EQ(store.page_count(), 3u);
}

TEST(MemoryStore, NamesTheTensorAndTheFirstByteNobodyWrote) {
  MemoryStore store;
  store.names().add(hbm(1000), Bytes(100), "weights");
  store.write(hbm(1000), numbered(64));
  store.write(hbm(1065), numbered(35));
  std::vector<std::byte> to(100);
  try {
    store.read(hbm(1000), to);
    FAIL() << "byte 1064 was never written";
  } catch (const SimulationError& e) {
    EXPECT_EQ(e.id(), "data.unwritten");
    EXPECT_EQ(e.where(), "weights");
    EXPECT_THAT(e.message(), HasSubstr("tensor 'weights' +0x40"));
    EXPECT_THAT(e.message(), HasSubstr("HBM sip=0 cube=3 +0x428"));  // 1064
  }
  EXPECT_NO_THROW(store.read(hbm(1000), std::span(to).first(64)));
}

TEST(MemoryStore, KnowsHolesAtEveryPlaceOfAPage) {
  for (const std::int64_t hole : {0, 1, 63, 64, 65, 4094, 4095, 4096, 8191}) {
    MemoryStore store;
    store.write(hbm(0), numbered(static_cast<std::size_t>(hole)));
    store.write(hbm(hole + 1), numbered(static_cast<std::size_t>(8191 - hole)));
    EXPECT_EQ(store.first_unwritten(hbm(0), Bytes(8192)), hbm(hole));
    store.write(hbm(hole), numbered(1));
    EXPECT_EQ(store.first_unwritten(hbm(0), Bytes(8192)), std::nullopt);
  }
}

TEST(MemoryStore, ForgetsWhatIsGivenBack) {
  MemoryStore store;
  store.write(hbm(0), numbered(8192));
  store.forget(hbm(100), Bytes(50));
  EXPECT_EQ(store.first_unwritten(hbm(0), Bytes(8192)), hbm(100));
  EXPECT_EQ(store.first_unwritten(hbm(150), Bytes(8042)), std::nullopt);
  store.forget(hbm(0), Bytes(4096));
  EXPECT_EQ(store.page_count(), 1u);
}

// Memory of pages is used again: what lay there before is not seen.
TEST(MemoryStore, APageThatComesBackIsUnwritten) {
  MemoryStore store;
  for (int round = 0; round < 3; ++round) {
    store.write(hbm(0), numbered(4096 * 40));
    store.forget(hbm(0), Bytes(4096 * 40));
    EXPECT_EQ(store.page_count(), 0u);
    store.write(hbm(8), numbered(8));
    EXPECT_EQ(store.first_unwritten(hbm(8), Bytes(9)), hbm(16));
    store.forget(hbm(8), Bytes(8));
  }
}

TEST(MemoryStore, KeepsSpacesApart) {
  MemoryStore store;
  store.write(address::cube_sram_addr({0, 0}, Bytes(64)), numbered(8, 1));
  store.write(address::pe_tcm_addr({0, 0, 1}, Bytes(64)), numbered(8, 2));
  store.write(address::hbm_addr({1, 0}, Bytes(64)), numbered(8, 3));
  std::vector<std::byte> back(8);
  store.read(address::pe_tcm_addr({0, 0, 1}, Bytes(64)), back);
  EXPECT_EQ(back, numbered(8, 2));
  EXPECT_THROW(store.read(address::pe_tcm_addr({0, 0, 0}, Bytes(64)), back), SimulationError);
}

TEST(MemoryStore, HoldsArraysInPieces) {
  MemoryStore store;
  const auto array = Random(1).array(DType::f16, {5, 7});  // 70 bytes
  const std::vector<address::PhysPiece> pieces{{hbm(5000), Bytes(33)}, {hbm(100), Bytes(37)}};
  store.write(pieces, array);
  EXPECT_EQ(store.read(pieces, DType::f16, {5, 7}), array);
  std::vector<std::byte> tail(37);
  store.read(hbm(100), tail);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), array.bytes().begin() + 33));
}

TEST(NamedRanges, LaterNamesCoverEarlierOnes) {
  NamedRanges names;
  names.add(hbm(0), Bytes(100), "a");
  names.add(hbm(20), Bytes(10), "b");
  EXPECT_EQ(names.name_of(hbm(19)), "a");
  EXPECT_EQ(names.name_of(hbm(20)), "b");
  EXPECT_THAT(names.describe(hbm(32)), HasSubstr("tensor 'a' +0x20"));
  names.remove(hbm(0), Bytes(25));
  EXPECT_EQ(names.name_of(hbm(10)), "");
  EXPECT_EQ(names.name_of(hbm(26)), "b");
}

}  // namespace
}  // namespace kernbench::data::memory_store_test
