// HTTP, as little of it as a page on one's own computer needs.
//
//   Server server({.port = 8765}, [](const Request& request) { return Response{.body = "{}"}; });
//   std::jthread thread([&] { server.serve(); });
//   …
//   server.stop();
//
// Who listens on this computer alone answers only those who call it by a name of this computer, so that no page of
// another server can reach it. Bodies are JSON and at most 1 MiB. Every answer is a whole one, also to nonsense.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace kernbench::web {

struct Request {
  std::string method, path;                  // `GET`, `/api/state`
  std::map<std::string, std::string> query;  // of several equal names the first
  std::string body;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::string file;      // to be sent in place of the body
  std::string filename;  // that a browser keeps it under; empty: it shows the answer
};

/// `{"error": {"id", "where", "what", "hint"}}`
Response error_response(int status, const std::string& id, const std::string& what,
                        const std::string& hint = "", const std::string& where = "");

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: any that is free
};

class Server {
 public:
  /// Calls to `handler` come from several threads at once. InputError (`web.address`) if nobody can listen there.
  Server(const ServerOptions& options, std::function<Response(const Request&)> handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  std::string url() const;
  /// Returns after `stop`, which any thread may call, before or after.
  void serve();
  void stop();

 private:
  class Http;
  std::unique_ptr<Http> http_;
};

/// Whether only this computer can reach an address: 127.0.0.0/8, ::1, localhost.
bool is_loopback(const std::string& address);

}  // namespace kernbench::web
