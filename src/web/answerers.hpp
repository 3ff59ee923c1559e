// Threads that make answers, so that the thread which reads and writes connections never waits for one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "web/server.hpp"

namespace kernbench::web {

class Answerers {
 public:
  using Handler = std::function<Response(const Request&)>;
  /// `ready` is called from the threads whenever an answer can be taken.
  Answerers(Handler handler, std::function<void()> ready);
  /// Waits for the answers that are being made; requests that no thread has started on are dropped.
  ~Answerers();
  Answerers(const Answerers&) = delete;
  Answerers& operator=(const Answerers&) = delete;

  /// `connection` comes back with the answer.
  void give(std::uint64_t connection, Request request);
  std::vector<std::pair<std::uint64_t, Response>> take();
  /// Requests that were given, and whose answers were not taken yet.
  std::size_t in_work() const;
  /// Drops requests that no thread has started on. Returns whether all threads are idle before the time is over.
  bool stop(std::chrono::milliseconds patience);

 private:
  void work();
  Response answer(const Request& request) const;

  const Handler handler_;
  const std::function<void()> ready_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::uint64_t, Request>> waiting_;
  std::vector<std::pair<std::uint64_t, Response>> made_;
  std::size_t busy_ = 0;  // threads that are making an answer
  bool closing_ = false;
  std::vector<std::thread> threads_;  // last: they use all the others
};

}  // namespace kernbench::web
