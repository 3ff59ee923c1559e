#include "data/numerics/strided.hpp"

#include <algorithm>
#include <cstring>

#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

template <class T>
void copy_spaced(const std::byte* from, std::int64_t stride, std::int64_t n, std::byte* to) {
  const auto* in = reinterpret_cast<const T*>(from);
  auto* out = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
}

}  // namespace

StridedReader::StridedReader(const std::byte* data, int itemsize, const Shape& shape,
                             std::span<const std::int64_t> strides)
    : here_(data), itemsize_(itemsize) {
  KB_ASSERT(strides.size() == static_cast<std::size_t>(shape.rank()), "{} strides for {}", strides.size(),
            to_string(shape));
  for (int i = 0; i < shape.rank(); ++i) add_inner_axis(shape[i], strides[i]);
}

StridedReader StridedReader::broadcast_to(const ConstArray& array, const Shape& shape) {
  if (array.shape == shape) return {array.data, itemsize(array.dtype), shape.elements()};
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  const int missing = shape.rank() - array.shape.rank();
  KB_ASSERT(missing >= 0, "{} broadcast to {}", to_string(array.shape), to_string(shape));
  std::int64_t stride = 1;
  for (int i = array.shape.rank() - 1; i >= 0; --i) {
    const bool repeated = array.shape[i] == 1;
    KB_ASSERT(repeated || array.shape[i] == shape[i + missing], "{} broadcast to {}", to_string(array.shape),
              to_string(shape));
    strides[i + missing] = repeated ? 0 : stride;
    stride *= array.shape[i];
  }
  return {array.data, itemsize(array.dtype), shape,
          std::span(strides).first(static_cast<std::size_t>(shape.rank()))};
}

void StridedReader::add_inner_axis(std::int64_t extent, std::int64_t stride) {
  if (extent == 1) return;
  if (axes_ > 0) {
    auto& outer = axis_[axes_ - 1];
    if (outer.stride == stride * extent) {
      outer.extent *= extent;
      outer.stride = stride;
      return;
    }
  }
  axis_[axes_++] = {extent, stride, 0};
}

std::byte* StridedReader::copy_run(std::int64_t n, std::byte* to) const {
  const auto stride = axis_[axes_ - 1].stride;
  if (stride == 1)
    std::memcpy(to, here_, static_cast<std::size_t>(n * itemsize_));
  else if (itemsize_ == 8)
    copy_spaced<std::uint64_t>(here_, stride, n, to);
  else if (itemsize_ == 4)
    copy_spaced<std::uint32_t>(here_, stride, n, to);
  else if (itemsize_ == 2)
    copy_spaced<std::uint16_t>(here_, stride, n, to);
  else
    copy_spaced<std::uint8_t>(here_, stride, n, to);
  return to + n * itemsize_;
}

/// The innermost axis is done: back to its start and on to the next row, like an odometer.
void StridedReader::advance_outer() {
  for (int i = axes_ - 1; i >= 0; --i) {
    auto& axis = axis_[i];
    if (axis.index < axis.extent) return;
    here_ -= axis.extent * axis.stride * itemsize_;
    axis.index = 0;
    if (i == 0) return;
    auto& outer = axis_[i - 1];
    ++outer.index;
    here_ += outer.stride * itemsize_;
  }
}

void StridedReader::read(std::size_t n, std::byte* to) {
  if (axes_ == 0) {
    std::memcpy(to, here_, n * static_cast<std::size_t>(itemsize_));
    return;
  }
  auto& inner = axis_[axes_ - 1];
  for (auto left = static_cast<std::int64_t>(n); left > 0;) {
    const auto run = std::min(left, inner.extent - inner.index);
    to = copy_run(run, to);
    inner.index += run;
    here_ += run * inner.stride * itemsize_;
    left -= run;
    advance_outer();
  }
}

void gather(DType dtype, const std::byte* from, const Shape& shape, std::span<const std::int64_t> strides,
            std::byte* to) {
  if (shape.elements() == 0) return;
  StridedReader(from, itemsize(dtype), shape, strides).read(static_cast<std::size_t>(shape.elements()), to);
}

}  // namespace kernbench::data
