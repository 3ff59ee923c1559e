// A list that only grows at its end.
#include "kernbench/table.hpp"

#include <gtest/gtest.h>

namespace kernbench::table_test {
namespace {

constexpr std::size_t kBlock = Table<int>::kBlock;

Table<int> counted(std::size_t reserved, std::size_t size) {
  Table<int> table;
  table.reserve(reserved);
  for (std::size_t i = 0; i < size; ++i) table.push_back(static_cast<int>(3 * i));
  return table;
}

void expect_counted(const Table<int>& table, std::size_t size) {
  ASSERT_EQ(table.size(), size);
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(table[i], static_cast<int>(3 * i)) << i << " of " << size;
}

TEST(Table, KeepsWhatIsPutIntoItWhateverRoomWasMadeBefore) {
  for (const std::size_t reserved : {std::size_t{0}, std::size_t{1}, kBlock - 1, kBlock, 3 * kBlock})
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, kBlock - 1, kBlock, kBlock + 1, 5 * kBlock / 2}) {
      Table<int> table = counted(reserved, size);
      expect_counted(table, size);
      table.trim();
      expect_counted(table, size);
      table.push_back(static_cast<int>(3 * size));
      expect_counted(table, size + 1);
      expect_counted(Table<int>(table), size + 1);
      const Table<int> moved = std::move(table);
      expect_counted(moved, size + 1);
    }
}

TEST(Table, DoesNotMoveItsElementsWithinTheRoomThatWasMade) {
  Table<int> table;
  table.reserve(700);
  table.push_back(0);
  const int* first = &table[0];
  for (int i = 1; i < 700; ++i) table.push_back(i);
  EXPECT_EQ(&table[0], first);
}

TEST(Table, DoesNotMoveItsElementsOnceItsFirstBlockIsFull) {
  Table<int> table = counted(0, kBlock);
  const int* first = &table[0];
  for (int i = 0; i < 3000; ++i) table.push_back(i);
  EXPECT_EQ(&table[0], first);
}

}  // namespace
}  // namespace kernbench::table_test
