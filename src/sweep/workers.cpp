#include "sweep/workers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

namespace kernbench::sweep {
namespace {

bool read_all(int fd, void* out, std::size_t bytes) {
  for (char* at = static_cast<char*>(out); bytes > 0;) {
    const ssize_t n = ::read(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool send_all(int fd, const void* data, std::size_t bytes) {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t n = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool send_text(int fd, const std::string& text) {
  const std::uint64_t size = text.size();
  return send_all(fd, &size, sizeof size) && send_all(fd, text.data(), text.size());
}

bool read_text(int fd, std::string& text) {
  std::uint64_t size = 0;
  if (!read_all(fd, &size, sizeof size)) return false;
  text.resize(size);
  return read_all(fd, text.data(), size);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("its process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("its process ended with exit code {}", WEXITSTATUS(status));
}

class ForkedWorkers final : public Workers {
 public:
  ForkedWorkers(int count, Work work) : work_(std::move(work)), children_(static_cast<std::size_t>(count)) {
    for (Child& child : children_) start(child);
  }
  ~ForkedWorkers() override {
    for (const Child& child : children_) end(child);
  }

  int count() const override { return static_cast<int>(children_.size()); }

  /// A child that is gone is seen by `wait`.
  void give(int worker, std::size_t point) override {
    const std::uint64_t number = point;
    send_all(children_[static_cast<std::size_t>(worker)].fd, &number, sizeof number);
  }

  std::optional<Done> wait(const std::atomic<bool>* interrupt) override {
    std::vector<pollfd> fds;
    for (const Child& child : children_) fds.push_back({child.fd, POLLIN, 0});
    while (interrupt == nullptr || !*interrupt) {
      constexpr int kMilliseconds = 200;  // until it looks whether it was interrupted
      if (::poll(fds.data(), fds.size(), kMilliseconds) <= 0) continue;
      for (std::size_t i = 0; i < fds.size(); ++i)
        if (fds[i].revents != 0) return answer_of(i);
    }
    return {};
  }

 private:
  struct Child {
    pid_t pid = -1;
    int fd = -1;
  };

  Done answer_of(std::size_t i) {
    Done done{.worker = static_cast<int>(i), .line = {}, .how = {}};
    if (read_text(children_[i].fd, done.line)) return done;
    ::close(children_[i].fd);
    int status = 0;
    ::waitpid(children_[i].pid, &status, 0);
    done.line.clear();
    done.how = how_it_ended(status);
    start(children_[i]);
    return done;
  }

  void start(Child& child) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "a worker's socket");
    const pid_t parent = ::getpid();
    child = {::fork(), ends[0]};
    if (child.pid < 0) throw std::system_error(errno, std::generic_category(), "a worker process");
    if (child.pid > 0) {
      ::close(ends[1]);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // it ended before that
    ::signal(SIGINT, SIG_IGN);              // the parent decides
    for (const Child& other : children_)
      if (other.fd >= 0) ::close(other.fd);
    serve(ends[1]);
  }

  [[noreturn]] void serve(int fd) const {
    std::uint64_t point = 0;
    while (read_all(fd, &point, sizeof point))
      if (!send_text(fd, work_(point))) break;
    ::_exit(0);
  }

  static void end(const Child& child) {
    ::close(child.fd);
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
  }

  const Work work_;
  std::vector<Child> children_;
};

}  // namespace

std::unique_ptr<Workers> forked_workers(int count, Work work) {
  return std::make_unique<ForkedWorkers>(count, std::move(work));
}

}  // namespace kernbench::sweep
