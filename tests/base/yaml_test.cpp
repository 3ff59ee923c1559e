#include "base/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernbench/error.hpp"

namespace kernbench::yaml_test {
namespace {

using ::testing::HasSubstr;

/// Id, place and hint of the error that `text` is refused with.
Error::Info refusal(const std::string& text) {
  try {
    parse_yaml(text, "f.yaml");
  } catch (const InputError& e) {
    return {e.id(), e.where(), e.message(), e.hint()};
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

void expect_refused(const std::string& text, const char* id, const char* where) {
  const Error::Info info = refusal(text);
  EXPECT_EQ(info.id, id) << text;
  EXPECT_EQ(info.where, where) << text;
  EXPECT_FALSE(info.hint.empty()) << text;
}

TEST(Yaml, KeepsKindsOrderAndPlaces) {
  const YamlNode root = parse_yaml("# a comment\nb: 1\na:\n  - x\n  - {k: 'v'}\nnone:\n", "f.yaml");
  ASSERT_EQ(root.entries.size(), 3u);
  EXPECT_EQ(root.entries[0].key, "b");
  EXPECT_EQ(root.entries[0].value.scalar, "1");
  EXPECT_EQ(root.entries[0].value.place.text(), "f.yaml:2:4");
  const YamlNode* a = root.find("a");
  ASSERT_TRUE(a && a->items.size() == 2);
  EXPECT_EQ(a->items[1].find("k")->scalar, "v");
  EXPECT_TRUE(a->items[1].find("k")->quoted);
  EXPECT_EQ(root.find("none")->kind, YamlNode::Kind::null);
  EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(Yaml, RefusesADuplicateKeyAndSaysWhereTheFirstIs) {
  expect_refused("a: 1\nb: 2\na: 3\n", "yaml.duplicate-key", "f.yaml:3:1");
  EXPECT_THAT(refusal("a: 1\nb: 2\na: 3\n").hint, HasSubstr("f.yaml:1:1"));
  expect_refused("m: {x: 1, x: 1}", "yaml.duplicate-key", "f.yaml:1:11");
}

TEST(Yaml, RefusesASecondDocument) {
  expect_refused("a: 1\n---\nb: 2\n", "yaml.second-document", "f.yaml:3:1");
}

TEST(Yaml, RefusesAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~"})
    expect_refused(text, "yaml.empty", "f.yaml:1:1");
}

TEST(Yaml, RefusesUnterminatedQuotes) {
  expect_refused("a: \"never closed\nb: 2\n", "yaml.unterminated-quote", "f.yaml:1:4");
  expect_refused("a: 'it''s open\n", "yaml.unterminated-quote", "f.yaml:1:4");
  expect_refused("a: \"escaped \\\" quote\n", "yaml.unterminated-quote", "f.yaml:1:4");
}

TEST(Yaml, AcceptsQuotesThatCloseAndQuotesInsideOthers) {
  EXPECT_EQ(parse_yaml("a: 'it''s'\n", "f").find("a")->scalar, "it's");
  EXPECT_EQ(parse_yaml("a: \"say \\\"hi\\\"\"\n", "f").find("a")->scalar, "say \"hi\"");
  EXPECT_EQ(parse_yaml("a: it's\n", "f").find("a")->scalar, "it's");
  EXPECT_EQ(parse_yaml("a: |\n  it's\nb: 'x'\n", "f").find("a")->scalar, "it's\n");
}

TEST(Yaml, FindsQuotesBehindTextThatIsNotAscii) {
  EXPECT_EQ(parse_yaml("# 4 × 4 – µ\nä: 'x'\n", "f").find("ä")->scalar, "x");
  expect_refused("# 4 × 4 – µ\nk: 'x\n", "yaml.unterminated-quote", "f.yaml:2:4");
}

TEST(Yaml, RefusesMergeKeysAndTags) {
  expect_refused("a: &x {p: 1}\nb:\n  <<: *x\n", "yaml.merge", "f.yaml:3:3");
  expect_refused("a: !!str 5\n", "yaml.tag", "f.yaml:1:4");
  expect_refused("a: !mine [1]\n", "yaml.tag", "f.yaml:1:4");
}

// yaml-cpp reports `! 2` as it reports '2': the mark itself must be found.
TEST(Yaml, RefusesTheTagWithoutAName) {
  expect_refused("a: ! 2\n", "yaml.tag", "f.yaml:1:4");
  expect_refused("a: &x ! 2\n", "yaml.tag", "f.yaml:1:4");
  expect_refused("a: ! '2'\n", "yaml.tag", "f.yaml:1:4");
  expect_refused("a: ! [1]\n", "yaml.tag", "f.yaml:1:4");
  expect_refused("! a: 1\n", "yaml.tag", "f.yaml:1:1");
  expect_refused("# 4 × 4 – µ\nä: 1\nk: ! 2\n", "yaml.tag", "f.yaml:3:4");
  expect_refused("\xEF\xBB\xBFk: ! 2\n", "yaml.tag", "f.yaml:1:4");
  EXPECT_EQ(parse_yaml("\xEF\xBB\xBFk: 7!!!! # !!!!\nj: '!'\n", "f").find("j")->scalar, "!");
  EXPECT_EQ(parse_yaml("# ×××!!!\nk: '! 2'\nj: x!\n", "f").find("k")->scalar, "! 2");
}

TEST(Yaml, ExpandsAnHonestAlias) {
  const YamlNode root = parse_yaml("a: &x [1, 2]\nb: *x\n", "f");
  EXPECT_EQ(root.find("b")->items.size(), 2u);
}

TEST(Yaml, RefusesAnAliasThatContainsItself) {
  expect_refused("a: &x [1, *x]\n", "yaml.alias-cycle", "f.yaml:1:11");
}

TEST(Yaml, RefusesAnAliasNobodyDefined) { EXPECT_EQ(refusal("a: *nobody\n").id, "yaml.syntax"); }

TEST(Yaml, RefusesAnAliasBomb) {
  // Ten aliases of ten aliases of …: 10⁹ values if expanded.
  std::string text = "l0: &l0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n";
  for (int i = 1; i < 9; ++i) {
    text += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k ? ", *l" : "*l") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_EQ(refusal(text).id, "yaml.too-large");
}

TEST(Yaml, RefusesAnchorsWithinAnchorsThatAddUp) {
  // 60 anchors, one in the other, around 5,000 values: 300,000 values are kept for aliases that may come.
  std::string text = "a: ";
  for (int i = 0; i < 60; ++i) text += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 5000; ++i) text += "1, ";
  EXPECT_EQ(refusal(text + "1" + std::string(60, ']') + "\n").id, "yaml.too-large");
}

TEST(Yaml, RefusesWhatIsTooDeep) {
  EXPECT_EQ(refusal(std::string(65, '[')).id, "yaml.too-deep");
  EXPECT_EQ(refusal(std::string(100'000, '[')).id, "yaml.too-deep");
  EXPECT_EQ(refusal(std::string(100'000, '{')).id, "yaml.too-deep");
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "k:\n";
  EXPECT_EQ(refusal(nested).id, "yaml.too-deep");
  EXPECT_NO_THROW(parse_yaml(std::string(60, '[') + std::string(60, ']'), "f"));
}

TEST(Yaml, RefusesBinaryFilesAtTheFirstByteThatIsNoText) {
  expect_refused(std::string("a: 1\nb\0c", 8), "yaml.binary", "f.yaml:2:2");
  expect_refused(
      "\x7f"
      "ELF",
      "yaml.binary", "f.yaml:1:1");
}

TEST(Yaml, RefusesTruncatedText) {
  EXPECT_EQ(refusal("a: {b: 1, c: \n").id, "yaml.syntax");
  EXPECT_EQ(refusal("a: [1, 2\n").id, "yaml.syntax");
}

TEST(Yaml, RefusesKeysThatAreNoWords) {
  EXPECT_EQ(refusal("[1, 2]: x\n").id, "yaml.key");
  EXPECT_EQ(refusal("? {a: 1}\n: x\n").id, "yaml.key");
}

TEST(Yaml, RefusesTabsAsIndentWithAPlace) {
  const Error::Info info = refusal("a:\n\tb: 1\n");
  EXPECT_EQ(info.id, "yaml.syntax");
  EXPECT_THAT(info.where, HasSubstr("f.yaml:2:"));
}

TEST(YamlNode, SetReplacesOrAppends) {
  YamlNode root = parse_yaml("a: 1\n", "f");
  root.set("a", parse_yaml("2", "g"));
  root.set("b", parse_yaml("3", "g"));
  EXPECT_EQ(root.find("a")->scalar, "2");
  EXPECT_EQ(root.find("b")->scalar, "3");
  EXPECT_EQ(root.entries.size(), 2u);
}

}  // namespace
}  // namespace kernbench::yaml_test
