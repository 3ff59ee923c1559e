// Benches by name, and their options from words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/run.hpp"
#include "bench/run_json.hpp"
#include "kernbench/bench.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench::registry_test {
namespace {

using ::testing::HasSubstr;

Bench scale() {
  return {
      "scale-it",
      "multiplies a vector",
      {Param::integer("n", 1024, {1, 1e6}, "elements"), Param::number("factor", 2, {-10, 10}, "what by"),
       Param::choice("dtype", "f16", {"f16", "f32"}, "of the elements"), Param::flag("slow", false, "waits")},
      [](Torch&, const Options&, BenchReport&) {}};
}

template <class Fn>
std::string refused(Fn&& fn) {
  try {
    fn();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Benches, AreFoundByNameDashesAndUnderscoresAlike) {
  Benches benches;
  benches.add(scale());
  EXPECT_EQ(benches.at("scale-it").doc, "multiplies a vector");
  EXPECT_EQ(benches.find("scale_it"), benches.find("scale-it"));
  EXPECT_EQ(benches.find("scale"), nullptr);
}

TEST(Benches, AnUnknownOneIsAnsweredWithTheNearestNames) {
  Benches benches;
  benches.add(scale());
  EXPECT_THAT(refused([&] { benches.at("scal-it"); }), HasSubstr("did you mean 'scale-it'?"));
  EXPECT_THAT(refused([&] { benches.at("xyz"); }), HasSubstr("known benches: scale-it"));
}

TEST(Benches, TwoOfOneNameAndIncompleteOnesAreRefused) {
  Benches benches;
  benches.add(scale());
  Bench again = scale();
  again.name = "scale_it";
  EXPECT_THAT(refused([&] { benches.add(again); }), HasSubstr("already"));
  EXPECT_THAT(refused([&] {
                benches.add({"other", "has no function", {}, {}});
              }),
              HasSubstr("host function"));
}

Bench with_condition() {
  Bench bench = scale();
  bench.applies = {{{"factor", "slow"}, "dtype", {"f32"}}};
  return bench;
}

TEST(BenchOptions, OptionThatDoesNotApplyIsRefusedWithItsCondition) {
  const Bench bench = with_condition();
  const auto with = [&](const std::vector<std::string>& words) {
    return refused([&] { bench.read_options(words); });
  };
  EXPECT_THAT(with({"factor=3"}), HasSubstr("'factor' has no effect with dtype=f16"));
  EXPECT_THAT(with({"factor=2"}), HasSubstr("leave it out, or give dtype=f32"));  // the default, too
  EXPECT_EQ(with({"factor=3", "dtype=f32"}), "accepted");
  EXPECT_EQ(with({"dtype=f32", "n=3", "slow=true"}), "accepted");
  EXPECT_EQ(with({}), "accepted");
}

TEST(BenchOptions, OnlyThoseThatApplyAreListedBesideResults) {
  RunResult result;
  result.machine = topology::load_machine("small", {}, topology::builtin_components());
  result.options = with_condition().read_options(std::vector<std::string>());
  EXPECT_EQ(to_json(result)["options"].dump(), R"({"n":1024,"dtype":"f16"})");
}

TEST(BenchOptions, HaveTheirDefaultsUnlessGivenAndTheLastOfEqualOnesCounts) {
  const std::vector<std::string> words = {"n=16", "factor=-0.5", "n=32", "dtype=f32", "slow=true"};
  const Options given = scale().read_options(words);
  EXPECT_EQ(given.integer("n"), 32);
  EXPECT_EQ(given.number("factor"), -0.5);
  EXPECT_EQ(given.dtype("dtype"), DType::f32);
  EXPECT_EQ(given.value("slow"), ParamValue(true));
  const Options defaults = scale().read_options({});
  EXPECT_EQ(defaults.integer("n"), 1024);
  EXPECT_EQ(defaults.dtype("dtype"), DType::f16);
}

TEST(BenchOptions, AreRefusedWithWhatIsExpected) {
  const auto read = [](std::string word) {
    return refused([&] { scale().read_options(std::span(&word, 1)); });
  };
  EXPECT_THAT(read("m=3"), HasSubstr("did you mean 'n'?"));
  EXPECT_THAT(read("n=0"), HasSubstr("a whole number from 1 to 1000000"));
  EXPECT_THAT(read("n=many"), HasSubstr("n=many: 'n' must be"));
  EXPECT_THAT(read("n="), HasSubstr("must be"));
  EXPECT_THAT(read("dtype=f64"), HasSubstr("known values: f16, f32"));
  EXPECT_THAT(read("slow=yes"), HasSubstr("true or false"));
  EXPECT_THAT(read("n"), HasSubstr("option=value"));
  EXPECT_THAT(read("=3"), HasSubstr("option=value"));
}

TEST(BenchOptions, ListsNeedNoBrackets) {
  Bench bench = scale();
  bench.options.push_back(Param::words("panels", {"a"}, {"a", "b", "c"}, "which"));
  bench.options.push_back(Param::numbers("at", {0, 0}, {0, 9}, "where"));
  const auto panels = [&](std::string word) {
    return bench.read_options(std::span(&word, 1)).words("panels");
  };
  EXPECT_EQ(panels("panels=c,a"), (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(panels("panels=[c, a]"), (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(panels("panels=b"), (std::vector<std::string>{"b"}));
  EXPECT_THAT(refused([&] { panels("panels=a,nothing"); }), HasSubstr("known values: a, b, c"));
  EXPECT_THAT(refused([&] { panels("panels="); }), HasSubstr("a list of a, b, c"));
  const std::vector<std::string> words = {"at=3,4.5"};
  EXPECT_EQ(bench.read_options(words).numbers("at"), (std::vector<double>{3, 4.5}));
}

TEST(BenchOptions, OneThatMustBeGivenIsAskedFor) {
  Bench bench = scale();
  bench.options.push_back(Param::text("file", "", "to read").must_be_given());
  EXPECT_THAT(refused([&] { bench.read_options({}); }), HasSubstr("'file' must be given"));
  const std::vector<std::string> words = {"file=a"};
  EXPECT_EQ(bench.read_options(words).text("file"), "a");
}

}  // namespace
}  // namespace kernbench::bench::registry_test
