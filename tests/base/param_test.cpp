#include "kernbench/param.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml.hpp"
#include "kernbench/error.hpp"

namespace kernbench::param_test {
namespace {

using ::testing::HasSubstr;

ParamValue read(const Param& param, const std::string& text) {
  return param.read(parse_yaml(text, "f.yaml"));
}

Error::Info refusal(const Param& param, const std::string& text) {
  try {
    read(param, text);
  } catch (const InputError& e) {
    return {e.id(), e.where(), e.message(), e.hint()};
  }
  ADD_FAILURE() << param.name << " accepted " << text;
  return {};
}

const Param kCount = Param::integer("count", 4, {1, 100}, "how many");
const Param kOverhead = Param::number("overhead_ns", 5, {0, 1e6}, "latency");
const Param kRate = Param::number("bw_gbs", 512, {kAboveZero, 1e6}, "rate");

TEST(Param, ReadsWholeNumbersInTheUsualSpellings) {
  EXPECT_EQ(std::get<std::int64_t>(read(kCount, "7")), 7);
  EXPECT_EQ(std::get<std::int64_t>(read(kCount, "+7")), 7);
  EXPECT_EQ(std::get<std::int64_t>(read(kCount, "1e1")), 10);
  EXPECT_EQ(std::get<std::int64_t>(read(kCount, "4.0")), 4);
}

TEST(Param, RefusesWhatIsNoWholeNumber) {
  for (const char* text :
       {"010", "0x10", "1_000", "4.5", "four", "'4'", "[4]", "{a: 4}", "true", "1e", "--4", "4 4"})
    EXPECT_EQ(refusal(kCount, text).id, "param.type") << text;
}

TEST(Param, WithoutSentenceHintHasNoEmptyBrackets) {
  EXPECT_EQ(refusal(kCount, "four").hint, "count: a whole number from 1 to 100 (how many)");
  EXPECT_EQ(refusal(Param::number("load", 0.1, {0.5, 1}, ""), "abc").hint, "load: a number from 0.5 to 1");
}

TEST(Param, RefusesNumbersOutOfRangeIncludingBothEndsPlusOne) {
  EXPECT_NO_THROW(read(kCount, "1"));
  EXPECT_NO_THROW(read(kCount, "100"));
  for (const char* text : {"0", "101", "-3", "1e18", "9223372036854775807"})
    EXPECT_EQ(refusal(kCount, text).id, "param.range") << text;
}

TEST(Param, RefusesNumbersThatAreNotFinite) {
  for (const char* text : {".nan", ".NaN", ".inf", "-.inf", "nan", "inf", "1e999", "-1e999"}) {
    const std::string id = refusal(kOverhead, text).id;
    EXPECT_TRUE(id == "param.range" || id == "param.type") << text << ": " << id;
    const std::string id_of_integer = refusal(kCount, text).id;
    EXPECT_TRUE(id_of_integer == "param.range" || id_of_integer == "param.type") << text;
  }
  EXPECT_EQ(refusal(kOverhead, ".nan").id, "param.range");
}

TEST(Param, RefusesZeroWhereOnlyAboveZeroMakesSense) {
  EXPECT_EQ(refusal(kRate, "0").id, "param.range");
  EXPECT_EQ(refusal(kRate, "-0").id, "param.range");
  EXPECT_EQ(refusal(kRate, "-128").id, "param.range");
  EXPECT_NO_THROW(read(kRate, "0.5"));
}

TEST(Param, ARefusalNamesPlaceExpectationUnitAndSentence) {
  const Error::Info info = refusal(kOverhead, "\n\n  fast");
  EXPECT_EQ(info.where, "f.yaml:3:3");
  EXPECT_THAT(info.what, HasSubstr("'overhead_ns' must be a number of ns from 0 to 1000000, not 'fast'"));
  EXPECT_THAT(info.hint, HasSubstr("latency"));
}

TEST(Param, ChoicesSuggestTheNearest) {
  const Param model = Param::choice("model", "plain", {"plain", "rows"}, "memory model");
  EXPECT_EQ(std::get<std::string>(read(model, "rows")), "rows");
  EXPECT_EQ(refusal(model, "rwos").hint, "did you mean 'rows'?");
  EXPECT_EQ(refusal(model, "[rows]").id, "param.type");
}

TEST(Param, ListsHaveTheLengthOfTheirDefault) {
  const Param size = Param::numbers("size_mm", {18, 14}, {0.1, 100}, "size");
  EXPECT_EQ(std::get<std::vector<double>>(read(size, "[2, 3.5]")), (std::vector<double>{2, 3.5}));
  EXPECT_EQ(refusal(size, "[2]").id, "param.type");
  EXPECT_EQ(refusal(size, "2").id, "param.type");
  EXPECT_EQ(refusal(size, "[2, 0]").id, "param.range");
  EXPECT_EQ(refusal(size, "[2,\n 0]").where, "f.yaml:2:2");
}

TEST(Param, WordsComeFromTheirChoicesOnceEach) {
  const Param corners = Param::words("corners", {"NW"}, {"NW", "NE"}, "corners");
  EXPECT_EQ(std::get<std::vector<std::string>>(read(corners, "[NE, NW]")),
            (std::vector<std::string>{"NE", "NW"}));
  EXPECT_EQ(refusal(corners, "[NW, NW]").id, "param.twice");
  EXPECT_EQ(refusal(corners, "[N]").id, "param.choice");
  EXPECT_EQ(refusal(corners, "[]").id, "param.type");
}

TEST(Param, FlagsAreTrueOrFalse) {
  const Param flag = Param::flag("on", false, "a switch");
  EXPECT_TRUE(std::get<bool>(read(flag, "true")));
  EXPECT_FALSE(std::get<bool>(read(flag, "false")));
  for (const char* text : {"yes", "1", "on"}) EXPECT_EQ(refusal(flag, text).id, "param.type") << text;
}

TEST(Param, ValuesPrintAsTheYamlThatReadsBack) {
  const Param text = Param::text("name", "", "a name");
  for (const std::string word : {"plain",
                                 "two words",
                                 "it's",
                                 "a: b",
                                 "true",
                                 "12",
                                 "1e5",
                                 "null",
                                 "~",
                                 "",
                                 "-x",
                                 "#c",
                                 "[x]",
                                 "*a",
                                 "&a",
                                 "!t",
                                 "%d",
                                 "@a",
                                 "`b`",
                                 "a\tb",
                                 " x",
                                 "x ",
                                 ".inf",
                                 "<<",
                                 "a,b",
                                 "ä",
                                 "back\\slash",
                                 "\"q\"",
                                 "=",
                                 "0x1F",
                                 "two\nlines\n",
                                 "a\r\nb",
                                 "\x01\x7f",
                                 "tab\t\"and\\quote\""})
    EXPECT_EQ(std::get<std::string>(read(text, to_yaml(ParamValue(word)))), word)
        << to_yaml(ParamValue(word));
  const Param number = Param::number("x", 0, {-1e300, 1e300}, "any");
  for (const double v : {0.1, 1.0 / 3, 1e-9, 123456789.125, 1e22, -2.5, 1e15, 999999999999999.0})
    EXPECT_EQ(std::get<double>(read(number, to_yaml(ParamValue(v)))), v) << to_yaml(ParamValue(v));
}

TEST(ParamSet, ConvertsByTheUnitInTheName) {
  const ParamSet set(
      {Param::number("overhead_ns", 2.5, {0, 10}, ""), Param::number("bw_gbs", 128, {1, 1e3}, ""),
       Param::number("capacity_mb", 1.5, {0, 10}, ""), Param::number("total_gb", 2, {0, 10}, ""),
       Param::integer("burst_bytes", 256, {1, 1000}, "")});
  EXPECT_EQ(set.time("overhead_ns"), 2500_ps);
  EXPECT_EQ(set.bandwidth("bw_gbs"), Bandwidth::from_gbs(128));
  EXPECT_EQ(set.bytes("capacity_mb"), 1536_KiB);
  EXPECT_EQ(set.bytes("total_gb"), 2_GiB);
  EXPECT_EQ(set.bytes("burst_bytes"), 256_B);
}

TEST(ParamSet, GivesEveryTypeOfValueByItsName) {
  ParamSet set({Param::integer("w", 3, {1, 9}, ""), Param::number("x", 0.5, {0, 1}, ""),
                Param::flag("on", true, ""), Param::text("name", "a", "")});
  EXPECT_EQ(set.integer("w"), 3);
  EXPECT_EQ(set.number("x"), 0.5);
  EXPECT_TRUE(set.flag("on"));
  EXPECT_EQ(set.text("name"), "a");
  set.set("on", false);
  EXPECT_FALSE(set.flag("on"));
}

TEST(ParamSet, OptionalValuesAreAbsentUntilGiven) {
  ParamSet set({Param::integer("w", 1, {1, 9}, "").optional()});
  EXPECT_FALSE(set.has("w"));
  set.set("w", std::int64_t{3});
  EXPECT_TRUE(set.has("w"));
  EXPECT_FALSE(set.has("nothing"));
  EXPECT_THROW(set.integer("nothing"), InternalError);
}

TEST(Param, FilesToReadMayBeNamesThatAreBuiltIn) {
  const Param file = Param::input_file("beside", "", {"h200"}, "measured times");
  EXPECT_EQ(file.file, Param::File::read);
  EXPECT_THAT(file.expectation(), HasSubstr("h200"));
  for (const char* name : {"h200", "other.csv", "/a/b.csv"})
    EXPECT_EQ(std::get<std::string>(read(file, name)), name);
}

TEST(Param, DroppedOutputFilesAreEmptyAndNothingElseChanges) {
  ParamSet set({Param::input_file("in", "a.csv", {}, ""), Param::output_file("out", "b.csv", ""),
                Param::text("name", "c", "")});
  set.set("out", std::string("/somewhere/else"));
  set.drop_output_files();
  EXPECT_EQ(set.text("in"), "a.csv");
  EXPECT_EQ(set.text("out"), "");
  EXPECT_EQ(set.text("name"), "c");
}

}  // namespace
}  // namespace kernbench::param_test
