// A list that only grows at its end, for many millions of small records.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace kernbench {

/// Elements never move once the first block is full, and growing copies nothing after that: memory is taken
/// block by block as elements come, where a vector would hold up to three times as much while it grows. `T`
/// is a plain record.
template <class T>
class Table {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kBlockBits = 10;
  static constexpr std::size_t kBlock = std::size_t{1} << kBlockBits;

  Table() = default;
  Table(Table&& other) noexcept { swap(other); }
  Table& operator=(Table&& other) noexcept {
    Table(std::move(other)).swap(*this);
    return *this;
  }
  Table(const Table& other) {
    for (const auto& item : other) push_back(item);
  }
  Table& operator=(const Table& other) {
    Table(other).swap(*this);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return i < kBlock ? first_[i] : far(i); }
  T& operator[](std::size_t i) { return i < kBlock ? first_[i] : far(i); }
  const T& back() const { return (*this)[size_ - 1]; }

  void push_back(const T& item) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    (*this)[size_++] = item;
  }

  /// Takes room for so many at once, as far as they fit the first block.
  void reserve(std::size_t size) {
    if (capacity_ < std::min(size, kBlock)) resize_first(std::min(size, kBlock));
  }
  /// Gives back what a short table took too much.
  void trim() {
    if (capacity_ <= kBlock && size_ < capacity_) resize_first(size_);
  }

  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = const T&;
    using pointer = const T*;
    using iterator_category = std::forward_iterator_tag;
    Iterator() = default;
    Iterator(const Table* table, std::size_t i) : table_(table), i_(i) {}
    const T& operator*() const { return (*table_)[i_]; }
    const T* operator->() const { return &(*table_)[i_]; }
    Iterator& operator++() { return ++i_, *this; }
    Iterator operator++(int) { return {table_, i_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.i_ == b.i_; }

   private:
    const Table* table_ = nullptr;
    std::size_t i_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

  void swap(Table& other) noexcept {
    first_.swap(other.first_);
    more_.swap(other.more_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  using Block = std::unique_ptr<T[]>;

  T& far(std::size_t i) const { return more_[(i >> kBlockBits) - 1][i & (kBlock - 1)]; }

  // The first block doubles until it is full, so that short tables stay small.
  void grow() {
    if (capacity_ >= kBlock) {
      more_.push_back(std::make_unique_for_overwrite<T[]>(kBlock));
      capacity_ += kBlock;
    } else {
      resize_first(std::clamp<std::size_t>(2 * capacity_, 8, kBlock));
    }
  }

  void resize_first(std::size_t capacity) {
    auto block = std::make_unique_for_overwrite<T[]>(capacity);
    std::copy_n(first_.get(), size_, block.get());
    first_ = std::move(block);
    capacity_ = capacity;
  }

  Block first_;  // of most tables all there is, and without a way through another place in memory
  std::vector<Block> more_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace kernbench
