#include "web/server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "kernbench/error.hpp"

namespace kernbench::web {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a request's body
constexpr int kThreads = 64;                 // so that callers who say nothing do not keep others waiting
constexpr int kMostAtOnce = 24;              // answers in the making
constexpr int kPatience = 5;                 // seconds for a caller to say something

/// Another server on the same port is an error, not a partner.
void set_options(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

/// A message for what httplib refuses by itself.
const char* reason(int status) {
  switch (status) {
    case 400:
      return "this is no HTTP request that can be understood";
    case 404:
      return "there is nothing under this address";
    case 413:
      return "the request is longer than 1 MiB";
    case 414:
      return "the address is too long";
    default:
      return "the request cannot be answered";
  }
}

void fill(httplib::Response& out, const Response& response) {
  out.status = response.status;
  if (!response.filename.empty())
    out.set_header("Content-Disposition", fmt::format("attachment; filename=\"{}\"", response.filename));
  if (response.file.empty()) return out.set_content(response.body, response.type);
  const auto file = std::make_shared<std::ifstream>(response.file, std::ios::binary);
  std::error_code error;
  const auto size = std::filesystem::file_size(response.file, error);
  if (error || !*file) {
    const Response gone = error_response(404, "web.gone", "the file is not there any more");
    out.status = gone.status;
    return out.set_content(gone.body, gone.type);
  }
  out.set_content_provider(
      size, response.type, [file](std::size_t at, std::size_t length, httplib::DataSink& sink) {
        std::string piece(std::min<std::size_t>(length, 1 << 16), '\0');
        file->seekg(static_cast<std::streamoff>(at));
        file->read(piece.data(), static_cast<std::streamsize>(piece.size()));
        return file->gcount() > 0 && sink.write(piece.data(), static_cast<std::size_t>(file->gcount()));
      });
}

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

class Server::Http {
 public:
  Http(const ServerOptions& options, std::function<Response(const Request&)> handler)
      : options_(options), handler_(std::move(handler)) {
    http_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    http_.set_payload_max_length(kMostBytes);
    http_.set_keep_alive_max_count(1);  // a connection that waits for more would keep a thread
    http_.set_read_timeout(kPatience);
    http_.set_write_timeout(kPatience);
    http_.set_socket_options(set_options);
    http_.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                               {"X-Frame-Options", "DENY"},
                               {"Referrer-Policy", "no-referrer"},
                               {"Cache-Control", "no-store"}});
    add_handlers();
    bind();
  }

  int port() const { return port_; }
  const std::string& address() const { return options_.address; }
  void serve() {
    if (!stopped_) http_.listen_after_bind();
  }
  void stop() {
    stopped_ = true;
    http_.stop();
  }

 private:
  void bind() {
    port_ = options_.port;
    const bool bound = options_.port == 0 ? (port_ = http_.bind_to_any_port(options_.address)) > 0
                                          : http_.bind_to_port(options_.address, options_.port);
    if (!bound)
      throw InputError({"web.address", fmt::format("{}:{}", options_.address, options_.port),
                        "nobody can listen there: the port is taken, or the address is not of this computer",
                        "give another --port; 0 takes any that is free"});
  }

  void add_handlers() {
    const auto answer = [this](const httplib::Request& in, httplib::Response& out) {
      fill(out, respond(in));
    };
    http_.Get(".*", answer);
    http_.Post(".*", answer);
    http_.set_error_handler([](const httplib::Request&, httplib::Response& out) {
      if (!out.body.empty()) return;
      const Response error = error_response(out.status, "web.request", reason(out.status));
      out.set_content(error.body, error.type);
    });
    http_.set_exception_handler([](const httplib::Request&, httplib::Response& out, std::exception_ptr) {
      fill(out, error_response(500, "web.internal", "the server failed on this request"));
    });
  }

  Response respond(const httplib::Request& in) {
    const Counted counted(at_work_);
    if (counted.value > kMostAtOnce)
      return error_response(503, "web.busy", "too many requests at once", "try again in a moment");
    if (!called_by_name(in.get_header_value("Host")))
      return error_response(403, "web.host",
                            "this server answers only those who call it by a name of this computer",
                            "open " + url());
    if (in.method == "POST") {
      if (const auto origin = in.get_header_value("Origin");
          !origin.empty() && origin != "http://" + in.get_header_value("Host"))
        return error_response(403, "web.origin", "pages of other servers may not ask for this");
      if (!in.get_header_value("Content-Type").starts_with("application/json"))
        return error_response(415, "web.type", "a request's body is JSON",
                              "send Content-Type: application/json");
    }
    Request request{in.method, in.path, {}, in.body};
    for (const auto& [name, value] : in.params) request.query.emplace(name, value);
    return handler_(request);
  }

  bool called_by_name(const std::string& host) const {
    if (!is_loopback(options_.address)) return true;
    for (const char* name : {"127.0.0.1", "localhost", "[::1]"})
      if (host == fmt::format("{}:{}", name, port_)) return true;
    return host == fmt::format("{}:{}", options_.address, port_);
  }

 public:
  std::string url() const {
    const bool six = options_.address.find(':') != std::string::npos;
    const std::string name = options_.address == "0.0.0.0" || options_.address == "::" ? "localhost"
                             : six ? "[" + options_.address + "]"
                                   : options_.address;
    return fmt::format("http://{}:{}/", name, port_);
  }

 private:
  struct Counted {
    explicit Counted(std::atomic<int>& n) : count(n), value(++n) {}
    ~Counted() { --count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<int>& count;
    const int value;
  };

  ServerOptions options_;
  std::function<Response(const Request&)> handler_;
  httplib::Server http_;
  int port_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> at_work_ = 0;
};

Server::Server(const ServerOptions& options, std::function<Response(const Request&)> handler)
    : http_(std::make_unique<Http>(options, std::move(handler))) {}
Server::~Server() = default;
int Server::port() const { return http_->port(); }
std::string Server::url() const { return http_->url(); }
void Server::serve() { http_->serve(); }
void Server::stop() { http_->stop(); }

}  // namespace kernbench::web
