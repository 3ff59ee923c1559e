// What a bench says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernbench/bench.hpp"

namespace kernbench::bench::report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NdArray f32s(std::initializer_list<float> values) {
  return NdArray::of<float>({static_cast<std::int64_t>(values.size()) / 2, 2}, values);
}

TEST(BenchReport, HasNoOutcomeUntilSomethingIsCompared) {
  const BenchReport report(true);
  EXPECT_TRUE(report.verify());
  EXPECT_EQ(report.outcome(), std::nullopt);
}

TEST(BenchReport, ArraysMatchWithinTheTolerance) {
  BenchReport report(true);
  // 0.1 + 0.01 · 8 = 0.18 is the most that 8 may be off.
  EXPECT_TRUE(report.compare("C", f32s({1, 8.17f}), f32s({1, 8}), {.relative = 0.01, .absolute = 0.1}));
  EXPECT_FALSE(report.compare("C", f32s({1, 8.19f}), f32s({1, 8}), {.relative = 0.01, .absolute = 0.1}));
}

TEST(BenchReport, AComplaintNamesTheFirstElementThatDiffersAndHowMany) {
  BenchReport report(true);
  EXPECT_FALSE(report.compare("C", f32s({1, 2, 3, 4}), f32s({1, 2, 5, 6})));
  EXPECT_THAT(
      report.complaints(),
      ElementsAre("C differs from its reference in 2 of 4 elements, first at [1, 0]: got 3, expected 5"));
}

TEST(BenchReport, NanMatchesNanAloneAndInfinityItself) {
  BenchReport report(true);
  EXPECT_TRUE(report.compare("C", f32s({NAN, INFINITY}), f32s({NAN, INFINITY})));
  EXPECT_FALSE(report.compare("C", f32s({NAN, 1}), f32s({1, 1}), {.absolute = 100}));
  EXPECT_FALSE(report.compare("C", f32s({-INFINITY, 1}), f32s({INFINITY, 1})));
}

TEST(BenchReport, DtypesMayDifferShapesMayNot) {
  BenchReport report(true);
  NdArray halves(DType::f16, {1, 2});
  halves.view<F16>()[0] = F16(1.5f);
  EXPECT_TRUE(report.compare("C", halves, f32s({1.5f, 0})));
  EXPECT_FALSE(report.compare("C", f32s({1, 2}), f32s({1, 2, 3, 4})));
  EXPECT_THAT(report.complaints().back(), HasSubstr("has shape [1, 2], its reference [2, 2]"));
}

TEST(BenchReport, OneWrongComparisonAmongRightOnesIsWrong) {
  BenchReport report(true);
  report.verified(true);
  EXPECT_EQ(report.outcome(), true);
  EXPECT_THAT(report.complaints(), IsEmpty());
  report.verified(false);
  report.verified(true);
  EXPECT_EQ(report.outcome(), false);
}

TEST(BenchReport, KeepsResultsInOrder) {
  BenchReport report;
  report.result("tflops", 7.5);
  report.result("tiles", 2048);
  report.result("variant", "ref_ref");
  EXPECT_THAT(report.results(), ElementsAre(std::pair("tflops", ParamValue(7.5)),
                                            std::pair("tiles", ParamValue(std::int64_t{2048})),
                                            std::pair("variant", ParamValue(std::string("ref_ref")))));
}

}  // namespace
}  // namespace kernbench::bench::report_test
