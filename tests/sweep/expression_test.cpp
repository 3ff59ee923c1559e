#include "sweep/expression.hpp"

#include <gmock/gmock.h>

#include "kernbench/error.hpp"

namespace kernbench::sweep::expression_test {
namespace {

using ::testing::HasSubstr;

YamlPlace here() { return {std::make_shared<const std::string>("s.yaml"), 3, 8}; }

bool holds(const std::string& text) {
  return Expression(text, here()).holds([](const std::string& name) -> std::int64_t {
    return name == "M" ? 64 : name == "cube.hbm.x" ? 7 : 3;
  });
}

TEST(Condition, CountsAsPythonDoesButForDivision) {
  for (const char* right :
       {"M == 64", "M * 2 + 1 == 129", "1 + 2 * 3 == 7", "(1 + 2) * 3 == 9", "7 / 2 == 3", "-7 / 2 == -3",
        "7 % 4 == 3", "not M == 3", "not not M == 64", "M > 3 and 3 < M", "M < 3 or M >= 64", "1 or 1 / 0",
        "cube.hbm.x != 8", "2 - 3 - 4 == -5", "- - M == 64", "M", "not 0", "1 < 2 and not 2 < 1 or 0"})
    EXPECT_TRUE(holds(right)) << right;
  for (const char* wrong : {"M == 63", "0", "not M", "M <= 63", "M > 64", "1 and 0", "0 or 0"})
    EXPECT_FALSE(holds(wrong)) << wrong;
}

TEST(Condition, MistakesAreRefusedWithTheirPlace) {
  struct Bad {
    std::string text, says;
  };
  std::string deep(5000, '(');
  for (const Bad& bad : std::vector<Bad>{{"", "missing at its end"},
                                         {"M <", "missing at its end"},
                                         {"M 3", "'3' is not expected"},
                                         {"(M", "not closed"},
                                         {"M ** 2", "'*' is not expected"},
                                         {"M = 3", "'=' is not expected"},
                                         {"3x == 1", "'3x' is no integer"},
                                         {"9999999999999999999 > 1", "is no integer"},
                                         {"M / 0 == 1", "divides by zero"},
                                         {"9223372036854775807 + M > 0", "beyond 64 bits"},
                                         {deep, "nested too deep"}})
    try {
      holds(bad.text);
      ADD_FAILURE() << bad.text;
    } catch (const InputError& e) {
      EXPECT_EQ(e.where(), "s.yaml:3:8");
      EXPECT_THAT(e.what(), HasSubstr(bad.says)) << bad.text;
    }
}

}  // namespace
}  // namespace kernbench::sweep::expression_test
