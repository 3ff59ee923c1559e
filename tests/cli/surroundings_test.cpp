// What surrounds the program: streams that cannot be written, files that are no plain files, limits, signals.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/run_program.hpp"
#include "temp_folder.hpp"

namespace kernbench::surroundings_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Surroundings : public ::testing::Test, protected testing::TempFolder {
 protected:
  /// Runs a shell's line in the test's folder. `$kb` is the program, `$va` a small run of it, `$ring` one with queues.
  Outcome shell(const std::string& line) const {
    const fs::path program = KERNBENCH_BINARY;
    // The program is found by its name: paths with spaces would be split where `$va` is.
    const std::string names = "cd \"$1\" || exit 125; PATH=\"$2:$PATH\"; kb=" + program.filename().string() +
                              "; va=\"$kb run --bench va-offset-verify n_elem=64 --quiet\""
                              "; ring=\"$kb run --bench ccl-allreduce n_elem=64 --quiet\"; ";
    return run_program(
        {"/bin/sh", "-c", names + line, "sh", path().string(), program.parent_path().string()});
  }
  std::string text_of(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path() / name).rdbuf();
    return text.str();
  }
};

TEST_F(Surroundings, WhatCannotBeSaidOnStandardErrorIsDropped) {
  for (const char* where : {"2>/dev/full", "2>&-", "2>dead"}) {
    fs::remove(path() / "out.json");
    ASSERT_TRUE(where != std::string("2>dead") || ::mkfifo((path() / "dead").c_str(), 0600) == 0);
    // A pipe whose reader has gone: opened for reading by somebody who closes it at once.
    const std::string reader = where == std::string("2>dead") ? "(exec 3<dead; exec 3<&-) & " : "";
    const Outcome outcome =
        shell(reader + "export KERNBENCH_CCL_TRACE=1; $ring --json out.json " + where + " >said");
    EXPECT_EQ(outcome.exit_code, 0) << where;
    EXPECT_THAT(text_of("out.json"), StartsWith("{")) << where;
    EXPECT_THAT(text_of("out.json"), ::testing::Not(HasSubstr("[ccl]"))) << where;
  }
}

TEST_F(Surroundings, JsonToTheFileThatStandardOutputGoesToIsAddedToIt) {
  EXPECT_EQ(shell("echo before >log; $va --json /dev/stdout >>log; echo after >>log").exit_code, 0);
  EXPECT_THAT(text_of("log"), StartsWith("before\n{"));
  EXPECT_THAT(text_of("log"), HasSubstr("va-offset-verify 128 PEs"));
  EXPECT_THAT(text_of("log"), ::testing::EndsWith("after\n"));
  EXPECT_EQ(shell("(echo before; $va --json /dev/fd/3 3>&1 >/dev/null; echo after) >log").exit_code, 0);
  EXPECT_THAT(text_of("log"), StartsWith("before\n{"));
  EXPECT_THAT(text_of("log"), ::testing::EndsWith("after\n"));
}

TEST_F(Surroundings, JsonGoesThroughPipesAndLinksAndToLongNames) {
  EXPECT_EQ(shell("mkfifo pipe; cat pipe >copy & $va --json pipe; wait").exit_code, 0);
  EXPECT_THAT(text_of("copy"), StartsWith("{"));
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const Outcome piped = shell(std::string("$va --json ") + name + " | cat >copy");
    EXPECT_EQ(piped.err, "") << name;
    EXPECT_THAT(text_of("copy"), AllOf(StartsWith("{"), HasSubstr("va-offset-verify 128 PEs"))) << name;
  }
  EXPECT_THAT(shell("$kb topology draw -o /dev/stdout | cat").out, HasSubstr("</svg>"));
  EXPECT_EQ(shell("echo old >real; ln -s real link; $va --json link").exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path() / "link"));
  EXPECT_THAT(text_of("real"), StartsWith("{"));
  const std::string name(250, 'n');
  EXPECT_EQ(shell("$va --json " + name).exit_code, 0);
  EXPECT_THAT(text_of(name), StartsWith("{"));
  EXPECT_EQ(shell("$va --json " + std::string(256, 'n')).exit_code, 2);
}

TEST_F(Surroundings, ALinkThatLeadsNowhereIsRefused) {
  const Outcome outcome = shell("ln -s nowhere link; $va --json link");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("link leads nowhere"));
  EXPECT_EQ(files(), 1u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need address space themselves
TEST_F(Surroundings, ASmallAllowanceOfMemoryIsEnoughForSmallThings) {
  EXPECT_EQ(shell("ulimit -v 900000; $kb version").exit_code, 0);
  EXPECT_EQ(shell("ulimit -v 300000; $kb version").exit_code, 0);
  EXPECT_EQ(shell("ulimit -d 900000; $va").exit_code, 0);
  EXPECT_EQ(shell("ulimit -d 100000; $va").exit_code, 0);
}

// The weights of d_model 12288 do not fit: what was built and how much was asked for, and no defect of ours.
TEST_F(Surroundings, AHostFunctionThatRunsOutOfMemorySaysWhatFor) {
  const Outcome outcome =
      shell("ulimit -v 900000; $kb run --bench gpt3-qkv --verify-data --quiet --threads 1");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("out of memory while building "));
  EXPECT_THAT(outcome.err, HasSubstr(" asked for"));
}

// From less than the machine takes to enough for the run: memory ends in each part of it, in destructors and in ranks
// that have failed already.
TEST_F(Surroundings, WhereverMemoryEndsThereIsOneMessageAndOneExitCode) {
  int ended = 0;
  for (int mib = 48; mib <= 240; mib += 4) {
    const std::string room = "ulimit -c 0; ulimit -v " + std::to_string(mib * 1024) + "; ";
    const Outcome outcome =
        shell(room +
              "$kb run --bench ccl-neighbour --set system.sips.count=16 --log none --quiet "
              "--threads 1 --json out.json");
    if (outcome.exit_code == 0) continue;
    ++ended;
    EXPECT_EQ(outcome.exit_code, 1) << mib << " MiB: " << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("kernbench: out of memory")) << mib << " MiB";
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("building the op log"))) << mib << " MiB";
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("\n  hint: use fewer SIPs or ranks"), HasSubstr("--log none")));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(files(), 0u) << mib << " MiB";
    if (HasFailure()) return;
  }
  EXPECT_GE(ended, 5);
}

// A thread would need a stack of 3 GB where 2.5 may be used: whoever would have several does with one.
TEST_F(Surroundings, WhereNoThreadCanBeStartedWhatWouldHaveSeveralHasOne) {
  const std::string room = "ulimit -s 3000000; ulimit -v 2500000; ";
  const std::string gqa = "$kb run --bench milestone-gqa-llama70b scale=validation output=rows.json --quiet ";
  EXPECT_EQ(shell("$va --save run.db").exit_code, 0);
  for (const std::string& command : {gqa + "--verify-data", gqa + "--verify-data --threads 1",
                                     std::string("$kb explain run.db --sensitivity")}) {
    const Outcome outcome = shell(room + command);
    EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
  }
}

// 512 · 512 output tiles of 256 steps with three records each, and one for each output: 201,588,736 records of 64 bytes. It
// is refused before anything is simulated; without a log it would run.
TEST_F(Surroundings, ARunThatCannotFitSaysSoBeforeItStarts) {
  const Outcome outcome =
      shell("ulimit -v 4000000; $kb run --bench matmul-composite M=16384 K=16384 N=16384 --threads 1");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("it would write about 201588736 records, 12.0 GiB, and "));
  EXPECT_THAT(outcome.err, HasSubstr("--log none"));
  EXPECT_EQ(outcome.out, "");
}
#endif

// The program itself, the folder it works in, its temporary folder and all files have names with spaces and other letters.
TEST_F(Surroundings, NamesWithSpacesAndOtherLettersWorkForWhateverIsReadOrWritten) {
  const fs::path here = path() / "käse platz", temporary = path() / "für später";
  fs::create_directories(here), fs::create_directories(temporary);
  const fs::path program = here / "kern bench";
  fs::copy_file(KERNBENCH_BINARY, program);
  const auto says = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"/usr/bin/env", "-C", here.string(), "TMPDIR=" + temporary.string(), program.string()});
    return expect_success(run_program(words));
  };
  std::ofstream(here / "gerät 1.yaml") << says({"topology", "show", "small", "--yaml"});
  EXPECT_THAT(says({"topology", "check", "gerät 1.yaml"}), StartsWith("gerät 1.yaml: ok: "));
  EXPECT_THAT(says({"topology", "draw", "gerät 1.yaml", "-o", "grundriß 1.svg"}),
              HasSubstr("grundriß 1.svg"));
  says({"run", "--bench", "va-offset-verify", "n_elem=64", "--quiet", "--verify-data", "--topology",
        "gerät 1.yaml", "--log", "disk", "--json", "zahlen ä.json", "--save", "lauf ä.db", "--trace",
        "spur ä.json", "--report", "seite ä.html"});
  EXPECT_THAT(says({"explain", "lauf ä.db"}), HasSubstr("va-offset-verify"));
  EXPECT_THAT(says({"report", "lauf ä.db", "-o", "bericht ä.html"}), StartsWith("bericht ä.html: 1 run"));
  std::ofstream(here / "plan ö.yaml")
      << "bench: va-offset-verify\nvary: {n_elem: [64, 128]}\ncolumns: [total_ns]\n";
  EXPECT_THAT(says({"sweep", "plan ö.yaml", "-o", "reihe ü", "--quiet"}), HasSubstr("2 points, 2 run now"));
  EXPECT_THAT(says({"report", "reihe ü", "-o", "reihe ü.html"}), StartsWith("reihe ü.html: "));
  for (const char* name : {"grundriß 1.svg", "zahlen ä.json", "lauf ä.db", "spur ä.json", "seite ä.html",
                           "bericht ä.html", "reihe ü/results.csv", "reihe ü.html"})
    EXPECT_TRUE(fs::exists(here / name)) << name;
  EXPECT_TRUE(fs::is_empty(temporary));
}

TEST_F(Surroundings, AWebServerWithoutATemporaryFolderIsRefusedWithItsName) {
  const Outcome outcome = shell("TMPDIR=/no/such/folder $kb web --port 0");
  expect_refusal(outcome);
  EXPECT_THAT(
      outcome.err,
      StartsWith("kernbench: TMPDIR=/no/such/folder: the folder for temporary files does not exist\n"));
  EXPECT_THAT(outcome.err, HasSubstr("--keep DIR"));
}

TEST_F(Surroundings, AnInterruptWhileAPipeWaitsForItsReaderIsAnInterrupt) {
  // The run is over when the pipe is opened; nobody reads it.
  const Outcome outcome = shell("mkfifo pipe; timeout --preserve-status -s INT 3 $va --json pipe; echo $?");
  EXPECT_EQ(outcome.out, "130\n");
}

TEST_F(Surroundings, ARunThatWasToIgnoreInterruptsIgnoresThem) {
  const Outcome outcome = shell(
      "trap '' INT; $kb run --bench matmul-composite M=128 K=128 N=128 --verify-data --quiet & pid=$!; "
      "for i in 1 2 3 4 5 6 7 8; do kill -INT $pid 2>/dev/null; sleep 0.01; done; wait $pid; echo $?");
  EXPECT_THAT(outcome.out, ::testing::EndsWith("OK\n0\n")) << outcome.err;
}

}  // namespace
}  // namespace kernbench::surroundings_test
