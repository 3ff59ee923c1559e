// Dense row-major arrays that somebody else owns: what the numerics read and write. The data is aligned to
// the element's size.
#pragma once

#include <cstddef>

#include "kernbench/ndarray.hpp"

namespace kernbench::data {

struct ConstArray {
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;

  ConstArray() = default;
  ConstArray(DType t, const Shape& s, const std::byte* d) : dtype(t), shape(s), data(d) {}
  ConstArray(const NdArray& a)
      : ConstArray(a.dtype(), a.shape(), a.bytes().data()) {}  // NOLINT: a view of it
};

struct Array {
  DType dtype;
  Shape shape;
  std::byte* data;

  Array(DType t, const Shape& s, std::byte* d) : dtype(t), shape(s), data(d) {}
  Array(NdArray& a) : Array(a.dtype(), a.shape(), a.bytes().data()) {}  // NOLINT: a view of it
  operator ConstArray() const { return {dtype, shape, data}; }          // NOLINT: reading what may be written
};

}  // namespace kernbench::data
