// Runs a program to its end and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace kernbench {

struct Outcome {
  int exit_code = -1;  // −1: ended by a signal
  std::string out, err;
};

struct RunOptions {
  std::string stdout_to =
      "";  // a file that takes standard output instead; "closed": none; "gone": a pipe nobody reads
  std::string stderr_to = "";  // likewise a file, or "closed"
  long largest_file = 0;       // bytes any file may have; 0: no limit
};

Outcome run_program(const std::vector<std::string>& command, const RunOptions& options = {});

/// The built `kernbench` with these words.
Outcome kernbench_with(std::vector<std::string> words, const RunOptions& options = {});
/// Expects exit code 0 and nothing on stderr; gives stdout.
std::string succeeds(const std::vector<std::string>& words);
/// Expects exit code 2, nothing on stdout, one paragraph on stderr with a hint; gives it.
std::string refused(const std::vector<std::string>& words);
// The same of a run that has ended.
std::string expect_success(const Outcome& outcome);
std::string expect_refusal(const Outcome& outcome);

}  // namespace kernbench
