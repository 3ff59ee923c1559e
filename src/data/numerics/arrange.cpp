#include "data/numerics/arrange.hpp"

#include <cstring>

#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

/// Bytes of the axes from `axis` on: what lies together for each index of those before it.
std::int64_t run_bytes(const ConstArray& array, int axis) {
  std::int64_t bytes = itemsize(array.dtype);
  for (int i = axis; i < array.shape.rank(); ++i) bytes *= array.shape[i];
  return bytes;
}

}  // namespace

void concatenate(std::span<const ConstArray> arrays, int axis, const Array& out) {
  const auto stride = run_bytes(out, axis);
  if (stride == 0) return;
  const auto runs = out.shape.elements() * itemsize(out.dtype) / stride;
  std::int64_t offset = 0;
  for (const auto& array : arrays) {
    const auto bytes = run_bytes(array, axis);
    KB_ASSERT(array.dtype == out.dtype && offset + bytes <= stride, "{} does not fit into {}",
              to_string(array.shape), to_string(out.shape));
    for (std::int64_t run = 0; run < runs; ++run)
      std::memcpy(out.data + run * stride + offset, array.data + run * bytes,
                  static_cast<std::size_t>(bytes));
    offset += bytes;
  }
  KB_ASSERT(offset == stride, "what is concatenated does not fill {}", to_string(out.shape));
}

}  // namespace kernbench::data
