#include "cli/run_program.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <regex>

namespace kernbench {
namespace {

std::string content(std::FILE* file) {
  std::string text;
  std::rewind(file);
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file))
    text.append(buffer.data(), n);
  return text;
}

void redirect(int stream, const std::string& to, std::FILE* kept) {
  if (to == "closed") {
    ::close(stream);
  } else if (to == "gone") {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    ::close(ends[0]);
    ::dup2(ends[1], stream);
  } else {
    ::dup2(to.empty() ? ::fileno(kept) : ::open(to.c_str(), O_WRONLY), stream);
  }
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command, const RunOptions& options) {
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    redirect(STDOUT_FILENO, options.stdout_to, out);
    redirect(STDERR_FILENO, options.stderr_to, err);
    if (options.largest_file > 0) {
      const rlimit limit{static_cast<rlim_t>(options.largest_file),
                         static_cast<rlim_t>(options.largest_file)};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
  std::fclose(out);
  std::fclose(err);
  return outcome;
}

Outcome kernbench_with(std::vector<std::string> words, const RunOptions& options) {
  words.insert(words.begin(), KERNBENCH_BINARY);
  return run_program(words, options);
}

std::string expect_success(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // A run of more than ten seconds, as on a machine with much else to do, says how far it is.
  const std::regex progress("\\[[#-]*\\] [^\n]*\n");
  EXPECT_THAT(std::regex_replace(outcome.err, progress, ""), ::testing::IsEmpty());
  return outcome.out;
}

std::string expect_refusal(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::IsEmpty());
  EXPECT_THAT(outcome.err,
              ::testing::AllOf(::testing::StartsWith("kernbench: "), ::testing::HasSubstr("\n  hint: ")));
  return outcome.err;
}

std::string succeeds(const std::vector<std::string>& words) { return expect_success(kernbench_with(words)); }
std::string refused(const std::vector<std::string>& words) { return expect_refusal(kernbench_with(words)); }

}  // namespace kernbench
