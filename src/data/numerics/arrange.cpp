#include "data/numerics/arrange.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "data/numerics/blocks.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

/// Bytes of the axes from `axis` on: what lies together for each index of those before it.
std::int64_t run_bytes(const ConstArray& array, int axis) {
  std::int64_t bytes = itemsize(array.dtype);
  for (int i = axis; i < array.shape.rank(); ++i) bytes *= array.shape[i];
  return bytes;
}

/// An array as [outer, length, inner] elements.
struct Around {
  std::int64_t outer = 1, length, inner = 1;
};
Around around(const Shape& shape, int axis) {
  Around a{.length = shape[axis]};
  for (int i = 0; i < axis; ++i) a.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) a.inner *= shape[i];
  return a;
}

/// Element i of the axis, in row (o, j), is what was element `source(o, i, j)` of it.
template <class Source>
void move_along(const ConstArray& in, int axis, const Array& out, Source source) {
  const auto from = around(in.shape, axis), to = around(out.shape, axis);
  const auto size = itemsize(in.dtype);
  for (std::int64_t o = 0; o < to.outer; ++o)
    for (std::int64_t i = 0; i < to.length; ++i)
      for (std::int64_t j = 0; j < to.inner; ++j) {
        const auto at = (o * to.length + i) * to.inner + j;
        const auto there = (o * from.length + source(o, i, j)) * from.inner + j;
        std::memcpy(out.data + at * size, in.data + there * size, static_cast<std::size_t>(size));
      }
}

std::vector<std::int64_t> whole_numbers(const ConstArray& array) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(array.shape.elements()));
  load(array.dtype, array.data, numbers.size(), numbers.data());
  return numbers;
}

/// The order of the elements of a row: positions by value.
template <class T>
std::vector<std::int64_t> sorted_order(std::span<const T> values, bool descending) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const T a = values[static_cast<std::size_t>(i)], b = values[static_cast<std::size_t>(j)];
    return descending ? less(b, a) : less(a, b);
  });
  return order;
}

template <class T>
void sort_in(const ConstArray& in, int axis, bool descending, const Array& out) {
  const auto e = around(in.shape, axis);
  std::vector<T> values(static_cast<std::size_t>(in.shape.elements())),
      row(static_cast<std::size_t>(e.length));
  load(in.dtype, in.data, values.size(), values.data());
  std::vector<std::vector<std::int64_t>> orders;  // of each row, by outer and inner index
  for (std::int64_t o = 0; o < e.outer; ++o)
    for (std::int64_t j = 0; j < e.inner; ++j) {
      for (std::int64_t i = 0; i < e.length; ++i)
        row[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>((o * e.length + i) * e.inner + j)];
      orders.push_back(sorted_order(std::span<const T>(row), descending));
    }
  move_along(in, axis, out, [&](std::int64_t o, std::int64_t i, std::int64_t j) {
    return orders[static_cast<std::size_t>(o * e.inner + j)][static_cast<std::size_t>(i)];
  });
}

}  // namespace

void flip(const ConstArray& in, int axis, const Array& out) {
  const auto last = in.shape[axis] - 1;
  move_along(in, axis, out, [&](std::int64_t, std::int64_t i, std::int64_t) { return last - i; });
}

void sort(const ConstArray& in, int axis, bool descending, const Array& out) {
  if (is_float(in.dtype)) return sort_in<float>(in, axis, descending, out);
  with_int_type(in.dtype, [&](auto t) { sort_in<decltype(t)>(in, axis, descending, out); });
}

void gather(const ConstArray& in, const ConstArray& index, int axis, const Array& out) {
  const auto indices = whole_numbers(index);
  const auto to = around(out.shape, axis);
  const auto length = in.shape[axis];
  KB_ASSERT(length > 0 || indices.empty(), "gather from an axis of no elements");
  move_along(in, axis, out, [&](std::int64_t o, std::int64_t i, std::int64_t j) {
    const auto at = indices[static_cast<std::size_t>((o * to.length + i) * to.inner + j)] % length;
    return at < 0 ? at + length : at;
  });
}

void histogram(const ConstArray& in, const Array& out) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(out.shape.elements()));
  for (const auto n : whole_numbers(in))
    if (n >= 0 && n < static_cast<std::int64_t>(counts.size())) ++counts[static_cast<std::size_t>(n)];
  store(out.dtype, counts.data(), counts.size(), out.data);
}

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
