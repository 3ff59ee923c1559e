// A pool of objects that belong to one partition.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "device/prefetch.hpp"

namespace kernbench::device {

/// `T` has a pointer `next` that is the pool's while the object is in it. Objects are taken in the pool's own
/// partition; they may end their way in another one, and on another thread, and are then handed back.
template <class T>
class HomePool {
 public:
  T& take() {
    if (!free_) refill();
    T& object = *std::exchange(free_, free_->next);
    prefetch(free_);  // for whoever is next
    return object;
  }
  /// In the pool's own partition.
  void give_back(T& object) { object.next = std::exchange(free_, &object); }
  /// From another partition.
  void hand_back(T& object) {
    object.next = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(object.next, &object, std::memory_order_release)) {
    }
  }
  std::size_t made() const { return chunks_.size() * kChunk; }

 private:
  static constexpr std::size_t kChunk = 64;

  void refill() {
    free_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (free_) return;
    chunks_.push_back(std::make_unique<std::array<T, kChunk>>());
    for (T& object : *chunks_.back()) give_back(object);
  }

  T* free_ = nullptr;
  std::atomic<T*> returned_ = nullptr;
  std::vector<std::unique_ptr<std::array<T, kChunk>>> chunks_;
};

}  // namespace kernbench::device
