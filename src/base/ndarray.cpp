#include "kernbench/ndarray.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/huge_pages.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

[[noreturn]] void reject_array(const char* id, std::string what, std::string hint) {
  throw InputError({.id = id, .where = "", .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

std::byte* UnsetBytes::allocate(std::size_t n) { return allocate_bytes(n); }
void UnsetBytes::deallocate(std::byte* at, std::size_t n) noexcept { free_bytes(at, n); }

NdArray::NdArray(DType dtype, const Shape& shape) : NdArray(dtype, shape, Unset()) {
  std::ranges::fill(bytes_, std::byte{0});
}

NdArray::NdArray(DType dtype, const Shape& shape, Unset) : dtype_(dtype), shape_(shape) {
  std::int64_t size = 0;
  if (__builtin_mul_overflow(shape.elements(), std::int64_t{itemsize(dtype)}, &size))
    reject_array("shape.size", fmt::format("{} {} has too many bytes", to_string(dtype), to_string(shape)),
                 "their number must fit in 63 bits");
  bytes_.resize(static_cast<std::size_t>(size));
}

NdArray NdArray::adopt(DType dtype, const Shape& shape, ByteBuffer bytes) {
  const auto wanted = static_cast<std::size_t>(shape.elements()) * static_cast<std::size_t>(itemsize(dtype));
  KB_ASSERT(bytes.size() == wanted, "{} bytes for {} {}", bytes.size(), to_string(dtype), to_string(shape));
  return {dtype, shape, std::move(bytes)};
}

void NdArray::fill_from(std::span<const std::byte> values) {
  if (values.size() != bytes_.size())
    reject_array("ndarray.count",
                 fmt::format("{} values for shape {}",
                             values.size() / static_cast<std::size_t>(itemsize(dtype_)), to_string(shape_)),
                 fmt::format("{} are needed", elements()));
  std::ranges::copy(values, bytes_.begin());
}

void NdArray::check_dtype(DType wanted) const {
  const bool truth_as_bytes = wanted == DType::u8 && dtype_ == DType::i1;
  if (wanted != dtype_ && !truth_as_bytes)
    reject_array("ndarray.dtype",
                 fmt::format("an array of {} viewed as {}", to_string(dtype_), to_string(wanted)),
                 "views do not convert; cast the array first");
}

std::size_t NdArray::offset(std::span<const std::int64_t> index) const {
  if (index.size() != static_cast<std::size_t>(shape_.rank()))
    reject_array("ndarray.index", fmt::format("{} indices into shape {}", index.size(), to_string(shape_)),
                 "one per axis is needed");
  std::int64_t offset = 0;
  for (int axis = 0; axis < shape_.rank(); ++axis) {
    const auto i = index[static_cast<std::size_t>(axis)];
    if (i < 0 || i >= shape_[axis])
      reject_array("ndarray.index",
                   fmt::format("index {} on axis {} of shape {}", i, axis, to_string(shape_)),
                   fmt::format("indices of that axis are 0 … {}", shape_[axis] - 1));
    offset = offset * shape_[axis] + i;
  }
  return static_cast<std::size_t>(offset);
}

NdArray NdArray::reshaped(const Shape& shape) const {
  if (shape.elements() != elements())
    reject_array("ndarray.reshape",
                 fmt::format("shape {} reshaped to {}", to_string(shape_), to_string(shape)),
                 fmt::format("both must have {} elements", elements()));
  NdArray result = *this;
  result.shape_ = shape;
  return result;
}

}  // namespace kernbench
