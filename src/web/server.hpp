// A server for a page on one's own computer.
//
//   Server server({.port = 8765}, [](const Request& request) { return Response{.body = "{}"}; });
//   server.serve(interrupted);
//
// A server that listens on this computer alone answers only callers that use a name of this computer, so that no page of
// another server can reach it. Bodies are JSON and at most 1 MiB.
//
// One thread reads and writes all connections, and a few others make the answers. A connection that is slow therefore costs
// its buffer and no thread. What a caller can make the server hold is bounded: bytes of a request, connections, requests
// in work, bytes of answers that wait to be read. Time is bounded, too: see `patience_s`.
#pragma once

#include <atomic>
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
  std::string file;      // to be sent in place of the body; only a regular file is, and no link
  std::string filename;  // that a browser keeps it under; empty: it shows the answer
};

/// `{"error": {"id", "where", "what", "hint"}}`
Response error_response(int status, const std::string& id, const std::string& what,
                        const std::string& hint = "", const std::string& where = "");

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: any that is free
  /// Seconds in which a whole request must have come, and in which each MiB of its answer must have been read.
  int patience_s = 10;
};

class Server {
 public:
  /// Calls to `handler` come from several threads at once. InputError (`web.address`) if nobody can listen there.
  Server(const ServerOptions& options, std::function<Response(const Request&)> handler);
  /// Waits for answers that are being made.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  std::string url() const;
  /// Serves until `stop` is set; then it closes all connections. Returns whether no answer is being made any more. If one
  /// still is, after half a second, only the end of the process ends it.
  bool serve(const std::atomic<bool>& stop);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// Whether only this computer can reach an address: 127.0.0.0/8, ::1, localhost.
bool is_loopback(const std::string& address);

}  // namespace kernbench::web
