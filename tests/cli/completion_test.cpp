// Completion as bash does it: the script is sourced, the function called with a line as if TAB were pressed at its end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/run_program.hpp"

namespace kernbench::completion_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> pressed_tab(const std::string& line) {
  const std::string folder = std::filesystem::path(KERNBENCH_BINARY).parent_path().string();
  const std::string script = "export PATH=\"" + folder +
                             ":$PATH\"\n"
                             "source <(kernbench completion bash)\n"
                             "complete -p kernbench > /dev/null || exit 1\n"
                             "COMP_LINE='" +
                             line +
                             "' COMP_POINT=${#COMP_LINE}\n"
                             "_kernbench_complete\n"
                             "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const Outcome outcome = run_program({"/bin/bash", "--noprofile", "--norc", "-c", script});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> words;
  std::istringstream lines(outcome.out);
  for (std::string word; std::getline(lines, word);)
    if (!word.empty()) words.push_back(word);
  return words;
}

TEST(Completion, OffersCommandsAndTheirCommands) {
  EXPECT_THAT(pressed_tab("kernbench "),
              IsSupersetOf({"run", "topology", "list", "describe", "probe", "version"}));
  EXPECT_THAT(pressed_tab("kernbench "), Not(Contains("complete")));  // is for scripts
  EXPECT_THAT(pressed_tab("kernbench ver"), ElementsAre("version"));
  EXPECT_THAT(pressed_tab("kernbench topology "), ElementsAre("show", "check", "draw"));
}

TEST(Completion, OffersOptionsAndTheirValues) {
  EXPECT_THAT(pressed_tab("kernbench run --ver"), ElementsAre("--verify-data"));
  EXPECT_THAT(pressed_tab("kernbench run "), Contains("--bench"));
  EXPECT_THAT(pressed_tab("kernbench probe latency a b --op "), ElementsAre("read", "write"));
  EXPECT_THAT(pressed_tab("kernbench run --device si"), ElementsAre("sip:0"));
  EXPECT_THAT(pressed_tab("kernbench run --device sip:"), ElementsAre("0"));  // bash has `sip:` already
}

TEST(Completion, OffersTheSweepsThatShip) {
  EXPECT_THAT(pressed_tab("kernbench sweep al"), ElementsAre("allreduce"));
  EXPECT_THAT(pressed_tab("kernbench sweep "), Not(Contains("benches")));  // a word of `list`
}

TEST(Completion, OffersBenchesAndTheirOptionsByWhicheverNameTheyAreGiven) {
  EXPECT_THAT(pressed_tab("kernbench run --bench ma"), ElementsAre("matmul-composite"));
  EXPECT_THAT(pressed_tab("kernbench run --bench=ma"), ElementsAre("matmul-composite"));
  EXPECT_THAT(pressed_tab("kernbench run --bench matmul_composite "),
              ElementsAre("M=", "K=", "N=", "dtype=", "variant="));
  EXPECT_THAT(pressed_tab("kernbench run --bench=matmul-composite M=3 variant=load_"),
              ElementsAre("load_ref", "load_load"));
  EXPECT_THAT(pressed_tab("kernbench run --bench ccl-allreduce algorithm=tree"),
              ElementsAre("tree_allreduce"));
  EXPECT_THAT(pressed_tab("kernbench describe gpt"), ElementsAre("gpt3-qkv"));
}

TEST(Completion, OffersMachinesFilesAndKeys) {
  EXPECT_THAT(pressed_tab("kernbench topology show sm"), Contains("small"));
  EXPECT_THAT(pressed_tab("kernbench run --topology "), IsSupersetOf({"default", "realistic", "small"}));
  EXPECT_THAT(pressed_tab("kernbench run --json /bin/bas"), Contains("/bin/bash"));
  EXPECT_THAT(pressed_tab("kernbench run --set cube.hbm.num"), ElementsAre("cube.hbm.num_pcs="));
}

TEST(Completion, HasNothingToSayAboutNonsense) {
  EXPECT_THAT(pressed_tab("kernbench run --bench nonsense opt"), ElementsAre());
  EXPECT_THAT(pressed_tab("kernbench version x"), ElementsAre());
}

TEST(Completion, OfAnUnknownShellIsRefused) {
  const Outcome outcome = run_program({KERNBENCH_BINARY, "completion", "bsh"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'bash'"));
  const Outcome zsh = run_program({KERNBENCH_BINARY, "completion", "zsh"});
  EXPECT_EQ(zsh.exit_code, 0);
  EXPECT_THAT(zsh.out,
              AllOf(HasSubstr("#compdef kernbench"), HasSubstr("compdef _kernbench_complete kernbench")));
}

/// Both scripts are read by their shells without complaint; one that is not installed is left out.
TEST(Completion, ScriptsAreUnderstoodByTheirShells) {
  for (const std::string shell : {"bash", "zsh"}) {
    if (run_program({"/bin/sh", "-c", "command -v " + shell}).exit_code != 0) continue;
    const Outcome outcome = run_program(
        {"/bin/sh", "-c", fmt::format("\"$1\" completion {} | {} -n", shell, shell), "sh", KERNBENCH_BINARY});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }
}

}  // namespace
}  // namespace kernbench::completion_test
