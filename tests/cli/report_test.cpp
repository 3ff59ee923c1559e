// `kernbench report` and `run --report` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/run_program.hpp"
#include "temp_folder.hpp"

namespace kernbench::report_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReportCommand : public ::testing::Test, protected testing::TempFolder {
 protected:
  Outcome run(std::vector<std::string> words) const {
    std::vector<std::string> command = {"/usr/bin/env", "-C", path().string(), KERNBENCH_BINARY};
    command.insert(command.end(), words.begin(), words.end());
    return run_program(command);
  }
  std::string succeeds(const std::vector<std::string>& words) const { return expect_success(run(words)); }
  std::string refused(const std::vector<std::string>& words) const { return expect_refusal(run(words)); }
  /// A small run, with more options.
  std::string runs(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"run", "--bench", "matmul-composite", "M=64", "--topology", "small"};
    words.insert(words.end(), more.begin(), more.end());
    return succeeds(words);
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path() / name).rdbuf();
    return text.str();
  }
};

TEST_F(ReportCommand, WritesAPageOfSavedRunsAndSaysWhere) {
  runs({"--quiet", "--save", "a.db"});
  runs({"--quiet", "--save", "b.db", "variant=load_load"});
  EXPECT_THAT(succeeds({"report", "a.db"}), StartsWith("report.html: 1 run, "));
  EXPECT_THAT(succeeds({"report", "a.db", "b.db", "-o", "two.html"}), StartsWith("two.html: 2 runs, "));
  EXPECT_THAT(content("two.html"),
              AllOf(StartsWith("<!doctype html>"), HasSubstr("a.db"), HasSubstr("b.db")));
}

TEST_F(ReportCommand, RunWritesThePageOfItsRunAndNothingElse) {
  EXPECT_THAT(runs({"--report", "out.html"}), HasSubstr("\nout.html: a page about this run"));
  EXPECT_THAT(content("out.html"), HasSubstr("matmul-composite"));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReportCommand, RefusesWhatIsNoRunAndPlacesThatCannotBeWritten) {
  std::ofstream(path() / "text.db") << "no database";
  EXPECT_THAT(refused({"report", "text.db"}), HasSubstr("text.db"));
  EXPECT_THAT(refused({"report", "missing.db"}), HasSubstr("missing.db"));
  EXPECT_THAT(refused({"report"}), HasSubstr("run"));
  EXPECT_THAT(refused({"run", "--bench", "gpt3-qkv", "--report", "no/such/place.html"}),
              HasSubstr("place.html"));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace kernbench::report_test
