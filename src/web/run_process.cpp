#include "web/run_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/parse.hpp"
#include "kernbench/error.hpp"

namespace kernbench::web {
namespace {

// What comes from the processes begins with one of these.
constexpr char kBegins = 'b';  // and the number of the process that works
constexpr char kSays = 's';    // and a message
constexpr char kOver = 'o';    // and how it ended, if not by itself

constexpr int kMilliseconds = 100;  // between two looks at whether to stop
constexpr int kLongestEnd = 1000;   // ms, for the memory of a process that was killed

bool send_packet(int socket, std::string_view packet) {
  while (::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return false;
  return true;
}

/// The next packet. None: the other side is gone.
std::optional<std::string> receive_packet(int socket) {
  std::string packet(RunProcess::kLongest + 1, '\0');
  ssize_t n = 0;
  do n = ::recv(socket, packet.data(), packet.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return {};
  packet.resize(static_cast<std::size_t>(n));
  return packet;
}

/// The process ends when the one that started it does.
void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it ended before that
}

/// Where memory runs short the system shall end this process, and not the server.
void offer_memory() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!::write(fd, "1000", 4);
  ::close(fd);
}

std::string how_it_ended(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED)
    return info.si_status == 0 ? "" : fmt::format("its process ended with exit code {}", info.si_status);
  return fmt::format("its process was ended by signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

}  // namespace

RunProcess::RunProcess(Work work) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket between processes");
  const pid_t parent = ::getpid();
  server_ = ::fork();
  if (server_ < 0) throw std::system_error(errno, std::generic_category(), "a process for runs");
  if (server_ == 0) {
    die_with(parent);
    ::signal(SIGINT, SIG_IGN);  // the parent decides
    ::signal(SIGTERM, SIG_DFL);
    ::close(ends[0]);
    serve(ends[1], work);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

RunProcess::~RunProcess() {
  end();
  ::waitpid(server_, nullptr, 0);
  ::close(socket_);
}

void RunProcess::serve(int socket, const Work& work) {
  pid_t ended = 0;  // reaped late: until then `run` may send it a signal, and its number is not used again
  while (const auto request = receive_packet(socket)) {
    if (ended > 0) ::waitpid(ended, nullptr, 0);
    ended = 0;
    const pid_t parent = ::getpid(), child = ::fork();
    if (child < 0) {
      send_packet(socket, kOver + fmt::format("no process can be started: {}", std::strerror(errno)));
      continue;
    }
    if (child == 0) {
      die_with(parent);
      offer_memory();
      try {
        send_packet(socket, kBegins + std::to_string(::getpid()));
        work(*request, [socket](const std::string& message) { send_packet(socket, kSays + message); });
      } catch (...) {
        ::_exit(3);
      }
      ::_exit(0);
    }
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    send_packet(socket, kOver + how_it_ended(info));
    ended = child;
  }
  ::_exit(0);
}

std::string RunProcess::run(const std::string& request, const Say& hear, const std::function<bool()>& stop) {
  if (request.size() > kLongest)
    throw InputError({"web.long", fmt::format("{} bytes", request.size()),
                      fmt::format("a run is asked for in at most {} bytes", kLongest),
                      "set fewer values, or keep them in a machine file"});
  if (!send_packet(socket_, request)) return "the process that starts runs has ended";
  pid_t worker = 0;
  bool stopped = false;
  while (true) {
    if (!stopped && worker > 0 && stop()) stopped = ::kill(worker, SIGKILL) == 0;
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, kMilliseconds) <= 0) continue;
    const auto packet = receive_packet(socket_);
    if (!packet) return "the process that starts runs has ended";
    const std::string content = packet->substr(1);
    if (packet->front() == kOver) return content;
    if (packet->front() == kBegins) worker = parse_whole<pid_t>(content).value_or(0);
    if (packet->front() == kSays) hear(content);
  }
}

void RunProcess::end() {
  ::kill(server_, SIGKILL);
  // Both hold the other end of the socket: it is closed when they are gone.
  pollfd gone{socket_, 0, 0};
  while (::poll(&gone, 1, kLongestEnd) < 0 && errno == EINTR) {
  }
}

}  // namespace kernbench::web
