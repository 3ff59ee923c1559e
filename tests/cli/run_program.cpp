#include "cli/run_program.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <regex>
#include <system_error>

#include "forked.hpp"

namespace kernbench {
namespace {

/// A file in memory, which no folder has to hold.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("output of a program", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return fd_; }
  std::string content() const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t n = ::pread(fd_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
      if (n < 0) throw std::system_error(errno, std::generic_category(), "output of a program");
      if (n == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

 private:
  int fd_;
};

void redirect(int stream, const std::string& to, const MemoryFile& kept) {
  if (to == "closed") {
    ::close(stream);
  } else if (to == "gone") {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    ::close(ends[0]);
    ::dup2(ends[1], stream);
  } else {
    ::dup2(to.empty() ? kept.descriptor() : ::open(to.c_str(), O_WRONLY), stream);
  }
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command, const RunOptions& options) {
  const MemoryFile out, err;
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  testing::Forked child([&] {
    redirect(STDOUT_FILENO, options.stdout_to, out);
    redirect(STDERR_FILENO, options.stderr_to, err);
    if (options.largest_file > 0) {
      const rlimit limit{static_cast<rlim_t>(options.largest_file),
                         static_cast<rlim_t>(options.largest_file)};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ::execv(argv[0], argv.data());
    ::_exit(127);
  });
  const int status = child.wait();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.content(), err.content()};
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
