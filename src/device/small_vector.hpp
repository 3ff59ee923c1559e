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
  SmallVector() { data_ = near_.data(); }
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  /// Up to so many elements stay where they are.
  void reserve(std::size_t size) {
    while (capacity_ < size) grow();
  }
  /// To fewer elements.
  void shrink(std::size_t size) { size_ = static_cast<std::uint32_t>(size); }
  void push_back(const T& value) {
    if (size_ == capacity_) return insert(size_, value);
    data_[size_++] = value;
  }
  void insert(std::size_t at, T value) {
    if (size_ == capacity_) grow();
    std::copy_backward(data_ + at, data_ + size_, data_ + size_ + 1);
    data_[at] = value;
    ++size_;
  }
  void erase(std::size_t at) {
    std::copy(data_ + at + 1, data_ + size_, data_ + at);
    --size_;
  }

 private:
  void grow() {
    auto more = std::make_unique<T[]>(std::size_t{2} * capacity_);
    std::copy(begin(), end(), more.get());
    far_ = std::move(more);
    data_ = far_.get();
    capacity_ *= 2;
  }

  T* data_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  std::array<T, N> near_{};
  std::unique_ptr<T[]> far_;
};

}  // namespace kernbench::device
