// Reading an array that does not lie in memory as it is meant: broadcast, transposed, sliced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "data/numerics/array.hpp"

namespace kernbench::data {

/// Delivers elements in row-major order of `shape`, where neighbours along axis i are strides[i] elements
/// apart.
class StridedReader {
 public:
  StridedReader(const std::byte* data, int itemsize, const Shape& shape,
                std::span<const std::int64_t> strides);
  /// `array` as if it had been broadcast to `shape`.
  static StridedReader broadcast_to(const ConstArray& array, const Shape& shape);

  /// All elements lie one after the other, from `here()` on.
  bool contiguous() const { return axes_ == 0 || (axes_ == 1 && axis_[0].stride == 1); }
  /// All elements are the one at `here()`.
  bool constant() const { return axes_ == 0 || (axes_ == 1 && axis_[0].stride == 0); }
  const std::byte* here() const { return here_; }

  /// Copies the next `n` elements, which must be there, to `to`.
  void read(std::size_t n, std::byte* to);
  /// Passes over the next `n`; only if contiguous.
  void skip(std::size_t n) { here_ += n * static_cast<std::size_t>(itemsize_); }

 private:
  struct Axis {
    std::int64_t extent, stride, index;
  };
  /// Elements one after the other.
  StridedReader(const std::byte* data, int itemsize, std::int64_t elements)
      : here_(data), itemsize_(itemsize) {
    add_inner_axis(elements, 1);
  }
  void add_inner_axis(std::int64_t extent, std::int64_t stride);
  std::byte* copy_run(std::int64_t n, std::byte* to) const;
  void advance_outer();

  const std::byte* here_;
  int itemsize_;
  int axes_ = 0;  // outermost first; neighbours that form one run are joined
  std::array<Axis, Shape::kMaxRank> axis_;
};

/// A row-major copy of what the reader's arguments describe.
void gather(DType dtype, const std::byte* from, const Shape& shape, std::span<const std::int64_t> strides,
            std::byte* to);

}  // namespace kernbench::data
