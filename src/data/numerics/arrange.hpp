// Operations that put elements in other places and change none.
#pragma once

#include <span>

#include "data/numerics/array.hpp"

namespace kernbench::data {

/// The arrays one after the other along an axis. They have the dtype of `out` and its extents along the others.
void concatenate(std::span<const ConstArray> arrays, int axis, const Array& out);
/// The last element of an axis first.
void flip(const ConstArray& in, int axis, const Array& out);
/// Ascending along an axis, or descending; NaN is the largest, and equal elements keep their order.
void sort(const ConstArray& in, int axis, bool descending, const Array& out);
/// out[…, i, …] = in[…, index[…, i, …], …] along an axis; the other extents are equal. An index outside the axis is taken
/// modulo its length, negative ones too.
void gather(const ConstArray& in, const ConstArray& index, int axis, const Array& out);
/// How many elements are 0, 1, …; others are not counted. `out` is i32 of one axis.
void histogram(const ConstArray& in, const Array& out);

}  // namespace kernbench::data
