// Objects that are used again: the one pool of this layer.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "device/prefetch.hpp"

namespace kernbench::device {

/// `T` has a pointer `next` that is the pool's while the object is in it. Objects are made `kChunk` at a time, all from what
/// `take` is given, and live as long as the pool. They are taken in the pool's own partition; they may end their way in another
/// one, and on another thread, and are then handed back.
template <class T, std::size_t kChunk = 64>
class Pool {
 public:
  template <class... From>
  T& take(From&... from) {
    if (!free_) refill(from...);
    T& object = *std::exchange(free_, static_cast<T*>(free_->next));
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
  class Chunk {
   public:
    template <class... From>
    explicit Chunk(From&... from) {
      for (; made_ < kChunk; ++made_) new (bytes_ + made_ * sizeof(T)) T(from...);
    }
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;
    ~Chunk() {
      for (std::size_t i = 0; i < made_; ++i) at(i).~T();
    }
    T& at(std::size_t i) { return *std::launder(reinterpret_cast<T*>(bytes_ + i * sizeof(T))); }

   private:
    std::size_t made_ = 0;
    alignas(T) std::byte bytes_[kChunk * sizeof(T)];
  };

  template <class... From>
  void refill(From&... from) {
    free_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (free_) return;
    chunks_.push_back(std::make_unique<Chunk>(from...));
    for (std::size_t i = 0; i < kChunk; ++i) give_back(chunks_.back()->at(i));
  }

  T* free_ = nullptr;
  std::atomic<T*> returned_ = nullptr;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace kernbench::device
