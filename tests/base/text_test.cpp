#include "base/text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/append.hpp"
#include "base/json.hpp"

namespace kernbench::text_test {
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

TEST(Nearest, OnlyTheNameItselfIfNothingButCaseIsWrong) {
  EXPECT_EQ(nearest("m", std::vector<std::string>{"K", "M", "N"}), std::vector<std::string>{"M"});
}

TEST(Nearest, NamesThatBeginSoComeBeforeOtherWordsOfTheSameLength) {
  const std::vector<std::string> nodes = {"cube1.sram", "cube1.hbm_ctrl.pe0", "cube1.r0c0"};
  EXPECT_EQ(nearest("cube1.hbm", nodes).front(), "cube1.hbm_ctrl.pe0");
}

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_TRUE(nearest("zzzzzz", kKnown).empty());
  EXPECT_TRUE(nearest("", kKnown).empty());
}

std::vector<int> ascending(int first, int last, int step = 1) {
  std::vector<int> out;
  for (int i = first; i <= last; i += step) out.push_back(i);
  return out;
}

TEST(Numbers, OfFewAreListed) {
  EXPECT_EQ(numbers({}), "");
  EXPECT_EQ(numbers(std::vector{3}), "3");
  EXPECT_EQ(numbers(ascending(0, 7)), "0, 1, 2, 3, 4, 5, 6, 7");
}

TEST(Numbers, OfManyAreStretches) {
  EXPECT_EQ(numbers(ascending(0, 8)), "0-8");
  auto most = ascending(0, 255);
  most.erase(most.begin() + 63);
  EXPECT_EQ(numbers(most), "0-62, 64-255");
  // Two in a row are no stretch.
  EXPECT_EQ(numbers(std::vector{0, 1, 3, 4, 5, 6, 7, 8, 10, 12, 13}), "0, 1, 3-8, 10, 12, 13");
}

TEST(Numbers, OfManyStretchesAreCounted) {
  EXPECT_EQ(numbers(ascending(0, 14, 2)), "0, 2, 4, 6, 8, 10, 12, 14");
  EXPECT_EQ(numbers(ascending(0, 16, 2)), "0, 2, 4, 6, 8, 10, 12, 14, … (9 in all)");
  EXPECT_EQ(numbers(ascending(1, 255, 2)), "1, 3, 5, 7, 9, 11, 13, 15, … (128 in all)");
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
  EXPECT_EQ(as_markup("a<b> & \"c\" \xff \u00fc"), "a&lt;b&gt; &amp; &quot;c&quot; \\xff \u00fc");
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

TEST(Join, TakesTextsAndNumbers) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}), "a, b");
  EXPECT_EQ(join(std::vector<std::string_view>{"a", "b", "c"}, " and "), "a and b and c");
  EXPECT_EQ(join(std::vector<int>{-1, 0}), "-1, 0");
  EXPECT_EQ(join(std::vector<std::int64_t>{std::int64_t{1} << 40}), "1099511627776");
  EXPECT_EQ(join(std::vector<int>{}), "");
}

TEST(Append, KeepsWhatIsThere) {
  std::string text = "loads: ";
  append(text, "{:>4} of {:.1f}", 3, 2.25);
  EXPECT_EQ(text, "loads:    3 of 2.2");
}

TEST(Json, ReplacesBytesThatAreNoUtf8) { EXPECT_EQ(dump_json("a\xff"), "\"a\xEF\xBF\xBD\""); }

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump_json(parse_json(R"({"b": 1, "a": [2]})")), R"({"b":1,"a":[2]})");
  EXPECT_EQ(dump_json(parse_json("[1]"), 1), "[\n 1\n]");
}

TEST(Json, TextThatIsNoneIsAnErrorOrDiscarded) {
  EXPECT_THROW(parse_json("{"), nlohmann::json::parse_error);
  EXPECT_TRUE(parse_json_or_discard("{").is_discarded());
}

}  // namespace
}  // namespace kernbench::text_test
