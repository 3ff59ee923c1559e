// A copy of the test's process that does something on its own.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

namespace kernbench::testing {

/// Runs `work` in a forked process. That process ends by `_exit` whatever happens in it, never through the test runner, whose
/// copy would otherwise run fixtures' destructors and the remaining tests a second time. It is killed and reaped when this
/// object goes, and dies with the test.
class Forked {
 public:
  /// The process ends with exit code 0 when `work` returns, and with 1 and a line on standard error when it throws.
  template <typename Work>
  explicit Forked(Work&& work) {
    const pid_t test = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) ::_exit(run(work, test));
  }
  ~Forked() {
    kill(SIGKILL);
    wait();
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  pid_t pid() const { return pid_; }
  /// Does nothing once `wait` has returned: the number may belong to another process by then.
  void kill(int signal) const {
    if (!is_reaped_) ::kill(pid_, signal);
  }
  /// Whether the process has ended, so that nothing need be waited for that it will not do. `wait` still returns its status.
  bool has_ended() const {
    siginfo_t found{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &found, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           found.si_pid == pid_;
  }
  /// Waits for the process to end. Returns its status as `waitpid` gives it.
  int wait() {
    while (!is_reaped_ && ::waitpid(pid_, &status_, 0) < 0)
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    is_reaped_ = true;
    return status_;
  }

 private:
  template <typename Work>
  static int run(Work& work, pid_t test) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != test) return 1;  // it died before that
    std::signal(SIGINT, SIG_DFL);       // a shell that starts the tests in the background has it ignored
    try {
      work();
      return 0;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in a forked process of a test: %s\n", e.what());
    } catch (...) {
      std::fprintf(stderr, "in a forked process of a test: an exception of an unknown type\n");
    }
    return 1;
  }

  pid_t pid_ = -1;
  int status_ = 0;
  bool is_reaped_ = false;
};

}  // namespace kernbench::testing
