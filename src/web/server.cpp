#include "web/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "kernbench/error.hpp"
#include "web/answerers.hpp"
#include "web/http.hpp"

namespace kernbench::web {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostConnections = 128;
constexpr std::size_t kMostInWork = 64;          // requests that are answered, or wait for it
constexpr std::size_t kMostUnread = 128 << 20;   // bytes of answers that their callers have not read
constexpr std::size_t kPiece = 64 << 10;         // bytes that are read, or taken from a file, at a time
constexpr int kMostPieces = 16;                  // of one answer, before another connection has its turn
constexpr std::size_t kMostDiscarded = 4 << 20;  // bytes that come after the answer
constexpr milliseconds kLongestWait{200};        // until the loop looks whether it shall stop
constexpr milliseconds kFarewell{2000};          // for a caller to read its answer to the end
constexpr milliseconds kLastAnswers{500};        // when the server stops

/// Closes its descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

/// In the order in which connections make room for a new one.
enum class State { leaving, reading, writing, answering };

struct Connection {
  std::uint64_t id = 0;
  Descriptor socket;  // closed: the connection is over
  State state = State::reading;
  Clock::time_point begun, until;
  std::string in;
  std::optional<RequestHead> head;  // once it has come
  std::string out;                  // of the answer, what is in memory
  std::size_t sent = 0;             // of that; when it is leaving, bytes that were discarded
  Descriptor file;                  // whose rest follows
  off_t file_at = 0, file_end = 0;
};

/// An address of this computer, listened on.
Descriptor listen_on(const ServerOptions& options) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string port = std::to_string(options.port);
  if (::getaddrinfo(options.address.c_str(), port.c_str(), &wanted, &found) != 0) found = nullptr;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, [](addrinfo* list) {
    if (list != nullptr) ::freeaddrinfo(list);
  });
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) continue;
    const int yes = 1;  // another server on the same port is still an error
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket.get(), SOMAXCONN) == 0)
      return socket;
  }
  throw InputError({"web.address", fmt::format("{}:{}", options.address, options.port),
                    "nobody can listen there: the port is taken, or the address is not of this computer",
                    "give another --port; 0 takes any that is free"});
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::system_error(errno, std::generic_category(), "the port of a socket");
  const in_port_t port = address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
  return ntohs(port);
}

/// A regular file that is no link; anything else stays closed. Opening a pipe or a device never waits.
Descriptor open_regular(const std::string& path, off_t& size) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return Descriptor();
  size = about.st_size;
  return file;
}

bool would_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Response error_response(int status, const std::string& id, const std::string& what, const std::string& hint,
                        const std::string& where) {
  const nlohmann::ordered_json error = {{"id", id}, {"where", where}, {"what", what}, {"hint", hint}};
  const nlohmann::ordered_json body = {{"error", error}};
  return {.status = status, .body = dump_json(body)};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

class Server::Loop {
 public:
  Loop(const ServerOptions& options, Answerers::Handler handler)
      : options_(options),
        patience_(std::chrono::seconds(options.patience_s)),
        listener_(listen_on(options)),
        port_(port_of(listener_.get())),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        answerers_(std::move(handler), [this] { ::eventfd_write(wake_.get(), 1); }) {}

  int port() const { return port_; }

  std::string url() const {
    const bool six = options_.address.find(':') != std::string::npos;
    const std::string name = options_.address == "0.0.0.0" || options_.address == "::" ? "localhost"
                             : six ? "[" + options_.address + "]"
                                   : options_.address;
    return fmt::format("http://{}:{}/", name, port_);
  }

  bool serve(const std::atomic<bool>& stop) {
    while (!stop) turn();
    connections_.clear();
    listener_.reset();
    return answerers_.stop(kLastAnswers);
  }

 private:
  /// Waits until something can be done, and does it.
  void turn() {
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Connection& c : connections_) {
      const bool ignored = c.state == State::answering;
      const int events = c.state == State::writing ? POLLOUT : POLLIN;
      fds.push_back({ignored ? -1 : c.socket.get(), static_cast<short>(events), 0});
    }
    if (::poll(fds.data(), fds.size(), static_cast<int>(wait().count())) < 0) return;  // interrupted
    for (std::size_t i = 0; i < connections_.size(); ++i)
      if (fds[i + 2].revents != 0) step(connections_[i]);
    if (fds[0].revents != 0) take_answers();
    const auto now = Clock::now();
    for (Connection& c : connections_)
      if (c.state != State::answering && c.until <= now) expire(c);
    forget_closed();
    if (fds[1].revents != 0) accept_all();
  }

  milliseconds wait() const {
    auto until = Clock::now() + kLongestWait;
    for (const Connection& c : connections_)
      if (c.state != State::answering) until = std::min(until, c.until);
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - Clock::now()));
  }

  void accept_all() {
    while (true) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      const bool full = !socket.is_open() && (errno == EMFILE || errno == ENFILE);
      if (!socket.is_open() && !full) return;
      if ((full || connections_.size() >= kMostConnections) && !make_room()) return;
      if (!socket.is_open()) continue;
      connections_.emplace_back();
      Connection& c = connections_.back();
      c.id = ++last_id_;
      c.socket = std::move(socket);
      c.begun = Clock::now();
      c.until = c.begun + patience_;
    }
  }

  /// Closes the connection that can best be spared; among equal ones, that which has taken longest.
  bool make_room() {
    const auto spared = std::ranges::min_element(
        connections_, {}, [](const Connection& c) { return std::pair(c.state, c.begun); });
    if (spared == connections_.end() || spared->state == State::answering) return false;
    connections_.erase(spared);
    return true;
  }

  void step(Connection& c) {
    if (!c.socket.is_open()) return;  // closed for another one
    if (c.state == State::writing) return write(c);
    char piece[kPiece];
    const ssize_t n = ::recv(c.socket.get(), piece, sizeof piece, 0);
    if (n < 0 && would_wait(errno)) return;
    if (n <= 0) return c.socket.reset();
    if (c.state == State::leaving) return discard(c, static_cast<std::size_t>(n));
    const std::size_t known = c.in.size();
    c.in.append(piece, static_cast<std::size_t>(n));
    if (!c.head) read_head(c, known);
    if (c.head && c.state == State::reading && c.in.size() >= c.head->body_bytes) hand_over(c);
  }

  /// A caller may still be sending a body that was refused, and shall see why.
  static void discard(Connection& c, std::size_t bytes) {
    c.sent += bytes;
    if (c.sent > kMostDiscarded) c.socket.reset();
  }

  void read_head(Connection& c, std::size_t known) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const std::size_t end = c.in.find(kEnd, known < kEnd.size() ? 0 : known - kEnd.size() + 1);
    if (std::min(end, c.in.size()) > kLongestHead)
      return answer(c, error_response(431, "web.request", "the headers are longer than 16 KiB"));
    if (end == c.in.npos) return;
    auto parsed = parse_head(std::string_view(c.in).substr(0, end));
    if (const auto* refusal = std::get_if<Response>(&parsed)) return answer(c, *refusal);
    c.head = std::get<RequestHead>(std::move(parsed));
    c.in.erase(0, end + kEnd.size());
  }

  /// The request has come.
  void hand_over(Connection& c) {
    if (const auto refusal = refusal_of(*c.head)) return answer(c, *refusal);
    c.in.resize(c.head->body_bytes);
    c.state = State::answering;
    answerers_.give(c.id, {c.head->method, c.head->path, c.head->query, std::move(c.in)});
  }

  std::optional<Response> refusal_of(const RequestHead& head) const {
    if (answerers_.in_work() >= kMostInWork)
      return error_response(503, "web.busy", "too many requests at once", "try again in a moment");
    if (!called_by_name(head.header("host")))
      return error_response(403, "web.host",
                            "this server answers only those who call it by a name of this computer",
                            "open " + url());
    if (head.method != "POST") return {};
    if (const auto origin = head.header("origin");
        !origin.empty() && origin != "http://" + head.header("host"))
      return error_response(403, "web.origin", "pages of other servers may not ask for this");
    if (!head.header("content-type").starts_with("application/json"))
      return error_response(415, "web.type", "a request's body is JSON",
                            "send Content-Type: application/json");
    return {};
  }

  bool called_by_name(const std::string& host) const {
    if (!is_loopback(options_.address)) return true;
    for (const char* name : {"127.0.0.1", "localhost", "[::1]"})
      if (host == fmt::format("{}:{}", name, port_)) return true;
    return host == fmt::format("{}:{}", options_.address, port_);
  }

  void take_answers() {
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
    for (const auto& [id, response] : answerers_.take())
      if (const auto c = std::ranges::find(connections_, id, &Connection::id); c != connections_.end())
        answer(*c, response);
  }

  void answer(Connection& c, const Response& response) {
    off_t size = 0;
    Descriptor file = response.file.empty() ? Descriptor() : open_regular(response.file, size);
    if (!response.file.empty() && !file.is_open())
      return answer(c, error_response(404, "web.gone", "the file is not there any more"));
    const std::size_t bytes = file.is_open() ? static_cast<std::size_t>(size) : response.body.size();
    c.in = {};
    c.out = head_text(response, bytes) + response.body;
    c.file = std::move(file);
    c.file_end = size;
    c.state = State::writing;
    c.until = Clock::now() + patience_ * (1 + static_cast<std::int64_t>(bytes >> 20));
    limit_unread(c);
    write(c);
  }

  /// Callers who do not read their answers make room for others.
  void limit_unread(const Connection& newest) {
    std::size_t unread = 0;
    for (const Connection& c : connections_) unread += c.out.size();
    for (Connection& c : connections_) {  // the oldest first
      if (unread <= kMostUnread) return;
      if (c.state != State::writing || &c == &newest) continue;
      unread -= c.out.size();
      c.out = {};
      c.socket.reset();
    }
  }

  void write(Connection& c) {
    for (int i = 0; i < kMostPieces; ++i) {
      if (c.sent == c.out.size() && !next_piece(c)) return leave(c);
      const ssize_t n = ::send(c.socket.get(), c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
      if (n < 0 && would_wait(errno)) return;
      if (n < 0) return c.socket.reset();
      c.sent += static_cast<std::size_t>(n);
    }
  }

  /// Reads the next piece of the file. A file that has become shorter ends the answer early, which its caller sees.
  static bool next_piece(Connection& c) {
    if (c.file_at == c.file_end) return false;
    c.out.resize(static_cast<std::size_t>(std::min<off_t>(kPiece, c.file_end - c.file_at)));
    const ssize_t n = ::pread(c.file.get(), c.out.data(), c.out.size(), c.file_at);
    c.out.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    c.file_at += n;
    c.sent = 0;
    return n > 0;
  }

  /// The answer is sent. A socket that is closed while something is unread in it would take the answer back.
  void leave(Connection& c) {
    ::shutdown(c.socket.get(), SHUT_WR);
    c.out = {};
    c.sent = 0;
    c.file.reset();
    c.state = State::leaving;
    c.until = Clock::now() + std::min(patience_, kFarewell);
  }

  void expire(Connection& c) {
    if (c.state != State::reading || (c.in.empty() && !c.head)) return c.socket.reset();
    answer(c, error_response(408, "web.slow", "the request did not come in time"));
  }

  void forget_closed() {
    std::erase_if(connections_, [](const Connection& c) { return !c.socket.is_open(); });
  }

  const ServerOptions options_;
  const milliseconds patience_;
  Descriptor listener_;
  const int port_;
  const Descriptor wake_;
  std::vector<Connection> connections_;  // the oldest first
  std::uint64_t last_id_ = 0;
  Answerers answerers_;  // last: its threads use the others
};

Server::Server(const ServerOptions& options, std::function<Response(const Request&)> handler)
    : loop_(std::make_unique<Loop>(options, std::move(handler))) {}
Server::~Server() = default;
int Server::port() const { return loop_->port(); }
std::string Server::url() const { return loop_->url(); }
bool Server::serve(const std::atomic<bool>& stop) { return loop_->serve(stop); }

}  // namespace kernbench::web
