#include "base/text.hpp"

#include <gtest/gtest.h>

namespace kernbench {
namespace {

const std::vector<std::string> kKnown = {"overhead_ns", "queue_depth", "impl", "attrs"};

TEST(Nearest, FindsTheNameWithFewestEdits) {
  EXPECT_EQ(nearest("overhaed_ns", kKnown), std::vector<std::string>{"overhead_ns"});
  EXPECT_EQ(nearest("que_depth", kKnown), std::vector<std::string>{"queue_depth"});
  EXPECT_EQ(nearest("impl", kKnown), std::vector<std::string>{"impl"});
}

TEST(Nearest, CountsASwapOfNeighboursAsOneEdit) {
  const std::vector<std::string> kinds = {"sram", "hbm"};
  EXPECT_EQ(nearest("hmb", kinds), std::vector<std::string>{"hbm"});
  EXPECT_TRUE(nearest("mbh", kinds).empty());
}

TEST(Nearest, TakesDashAndUnderscoreAndCaseAsAlike) {
  EXPECT_EQ(nearest("Queue-Depth", kKnown), std::vector<std::string>{"queue_depth"});
}

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_TRUE(nearest("zzzzzz", kKnown).empty());
  EXPECT_TRUE(nearest("", kKnown).empty());
}

TEST(Shown, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(shown("plain ä – µ"), "plain ä – µ");
  EXPECT_EQ(shown("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\xc2\\x9b31m");  // U+009B begins a sequence like ESC [
  EXPECT_EQ(shown("\xc2\xa0"), "\xc2\xa0");
}

TEST(Shown, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(shown("\xff"
                  "a"),
            "\\xffa");
  EXPECT_EQ(shown("\xc3"), "\\xc3");  // cut short
  EXPECT_EQ(shown("\xe2\x80"
                  "a"),
            "\\xe2\\x80a");
  EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf");  // longer than it need be
}

TEST(Shown, LeavesOutWhatIsTooLong) {
  EXPECT_EQ(shown("abcd", 4), "abcd");
  EXPECT_EQ(shown("abcde", 4), "abcd…");
  EXPECT_EQ(shown("ääääää", 4), "ääää…");
  EXPECT_EQ(shown(std::string(1000, 'x')), std::string(60, 'x') + "…");
  EXPECT_EQ(shown_path(std::string(1000, 'x')), std::string(300, 'x') + "…");
  EXPECT_EQ(quote(std::string(1000, 'x')), "'" + std::string(60, 'x') + "…'");
}

TEST(Printable, KeepsLinesAndLength) {
  EXPECT_EQ(printable("a\n  b\x1b"), "a\n  b\\x1b");
  EXPECT_EQ(printable(std::string(1000, 'x')), std::string(1000, 'x'));
}

TEST(Nearest, DoesNotLookForNamesNobodyWrites) {
  EXPECT_TRUE(
      nearest(std::string(100'000, 'a'), std::vector<std::string>{std::string(100'000, 'a')}).empty());
}

TEST(Suggest, NamesTheNearestElseAll) {
  EXPECT_EQ(suggest("ovrhead_ns", kKnown, "keys"), "did you mean 'overhead_ns'?");
  EXPECT_EQ(suggest("zzzzzz", kKnown, "keys"), "known keys: overhead_ns, queue_depth, impl, attrs");
}

}  // namespace
}  // namespace kernbench
