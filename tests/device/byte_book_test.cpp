#include "device/byte_book.hpp"

#include <gtest/gtest.h>

#include <array>

namespace kernbench::device::byte_book_test {
namespace {

using isa::Access;

Cause at(int ps) {
  return Cause::at({0, static_cast<std::uint32_t>(ps)}, Time::from_ps(ps), Reason::operand);
}

void note(ByteBook& book, isa::CommandIndex command, const Access& bytes) { book.note(command, {&bytes, 1}); }

TEST(ByteBook, WhoWritesWaitsForThoseBeforeItOnItsBytes) {
  ByteBook book;
  note(book, 3, {100, 200, false});
  note(book, 5, {200, 300, true});  // touches them, no more
  note(book, 6, {199, 201, true});  // overlaps both
  EXPECT_TRUE(book.is_free(3));
  EXPECT_TRUE(book.is_free(5));
  EXPECT_FALSE(book.is_free(6));
  book.retire(3, at(10));
  EXPECT_FALSE(book.is_free(6));
  EXPECT_EQ(book.freed(5), nullptr);
  book.retire(5, at(20));
  EXPECT_TRUE(book.is_free(6));
  ASSERT_NE(book.freed(6), nullptr);
  EXPECT_EQ(book.freed(6)->met, 20_ps);  // the last of them
}

TEST(ByteBook, WhoReadsWaitsOnlyForWhoWrites) {
  ByteBook book;
  note(book, 0, {0, 10, false});
  note(book, 1, {0, 10, false});
  EXPECT_TRUE(book.is_free(1));
  note(book, 2, {0, 10, true});
  note(book, 3, {5, 6, false});
  EXPECT_FALSE(book.is_free(3));
}

TEST(ByteBook, LaterCommandsAreInNobodysWay) {
  ByteBook book;
  note(book, 0, {0, 10, true});
  note(book, 1, {0, 10, true});
  EXPECT_TRUE(book.is_free(0));
  book.retire(1, at(10));  // out of order: the one before it has not been freed by that
  EXPECT_EQ(book.freed(0), nullptr);
}

// A composite reads two operands and writes a third.
TEST(ByteBook, ACommandWithSeveralRangesWaitsForAll) {
  ByteBook book;
  note(book, 0, {100, 110, true});
  note(book, 1, {300, 310, false});
  const std::array<Access, 3> three = {{{100, 110, false}, {200, 210, false}, {300, 310, true}}};
  book.note(2, three);
  book.retire(0, at(10));
  EXPECT_FALSE(book.is_free(2));
  book.retire(1, at(20));
  EXPECT_TRUE(book.is_free(2));
  note(book, 3, {205, 206, true});
  EXPECT_FALSE(book.is_free(3));
  book.retire(2, at(30));
  EXPECT_TRUE(book.is_free(3));
  EXPECT_EQ(book.freed(3)->met, 30_ps);
}

}  // namespace
}  // namespace kernbench::device::byte_book_test
