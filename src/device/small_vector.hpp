// A vector whose first few elements lie in the object itself: what mostly has one or two entries then costs no
// cache line of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace kernbench::device {

/// Keeps the storage it once needed. References are valid until the next insertion.
template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  ~SmallVector() {
    if (is_far()) delete[] far_;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* begin() { return is_far() ? far_ : near_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return is_far() ? far_ : near_.data(); }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void clear() { size_ = 0; }
  /// Up to so many elements stay where they are.
  void reserve(std::size_t size) {
    while (capacity_ < size) grow();
  }
  /// To fewer elements.
  void shrink(std::size_t size) { size_ = static_cast<std::uint32_t>(size); }
  void push_back(const T& value) {
    if (size_ == capacity_) return insert(size_, value);
    *end() = value;
    ++size_;
  }
  void insert(std::size_t at, T value) {
    if (size_ == capacity_) grow();
    std::copy_backward(begin() + at, end(), end() + 1);
    begin()[at] = value;
    ++size_;
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }

 private:
  bool is_far() const { return capacity_ > N; }
  void grow() {
    auto more = std::make_unique<T[]>(std::size_t{2} * capacity_);
    std::copy(begin(), end(), more.get());
    if (is_far()) delete[] far_;
    far_ = more.release();
    capacity_ *= 2;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  union {
    std::array<T, N> near_{};
    T* far_;  // if there have been more: owned
  };
};

}  // namespace kernbench::device
