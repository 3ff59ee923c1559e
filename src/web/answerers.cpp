#include "web/answerers.hpp"

namespace kernbench::web {
namespace {

constexpr int kThreads = 8;

}  // namespace

Answerers::Answerers(Handler handler, std::function<void()> ready)
    : handler_(std::move(handler)), ready_(std::move(ready)) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
}

Answerers::~Answerers() {
  stop({});
  for (std::thread& thread : threads_) thread.join();
}

void Answerers::give(std::uint64_t connection, Request request) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace_back(connection, std::move(request));
  changed_.notify_one();
}

std::vector<std::pair<std::uint64_t, Response>> Answerers::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, {});
}

std::size_t Answerers::in_work() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + busy_ + made_.size();
}

bool Answerers::stop(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  closing_ = true;
  waiting_.clear();
  changed_.notify_all();
  return changed_.wait_for(lock, patience, [this] { return busy_ == 0; });
}

Response Answerers::answer(const Request& request) const try {
  return handler_(request);
} catch (const std::exception&) {
  return error_response(500, "web.internal", "the server failed on this request");
}

void Answerers::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (closing_) return;
    const auto [connection, request] = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    lock.unlock();
    Response response = answer(request);
    lock.lock();
    --busy_;
    made_.emplace_back(connection, std::move(response));
    if (closing_) changed_.notify_all();
    ready_();
  }
}

}  // namespace kernbench::web
