// The extents of a tile or tensor. A value of fixed size: copying one allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace kernbench {

/// Up to `kMaxRank` extents, each ≥ 0, outermost first. No extents: a scalar, one element.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

  Shape() = default;
  /// InputError on a negative extent, a rank above kMaxRank or more than kMaxElements; extents of 0 make no
  /// others fit, so that strides and bytes of any shape are numbers.
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  std::int64_t elements() const { return elements_; }

  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return begin() + rank_; }

  /// `axis` counted from the front (0 …) or the back (−1 …), as 0 … rank−1; InputError if there is none such.
  int axis(int axis) const;
  /// This shape without that axis.
  Shape without(int axis) const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
  std::int64_t elements_ = 1;
};

/// NumPy's rule: aligned at the last axis, extents are equal or one of them is 1. InputError otherwise.
Shape broadcast(const Shape& a, const Shape& b);

/// `[32, 64]`, `[]`.
std::string to_string(const Shape& s);

}  // namespace kernbench
