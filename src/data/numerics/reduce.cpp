#include "data/numerics/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/ordering.hpp"
#include "data/numerics/blocks.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kColumns = 64;  // reduced side by side when the axis is not the last

/// The array as [outer, length, inner], reduced over the middle.
struct Extents {
  std::size_t outer = 1, length = 1, inner = 1;
};

Extents extents_around(const Shape& shape, int axis) {
  Extents e;
  for (int i = 0; i < axis; ++i) e.outer *= static_cast<std::size_t>(shape[i]);
  e.length = static_cast<std::size_t>(shape[axis]);
  for (int i = axis + 1; i < shape.rank(); ++i) e.inner *= static_cast<std::size_t>(shape[i]);
  return e;
}

/// Integers go through unsigned, which wraps.
template <std::integral T>
T wrapping(std::make_unsigned_t<T> x) {
  return static_cast<T>(x);
}

struct Sum {
  template <class T>
  static constexpr T start(T) {
    return 0;
  }
  static float join(float a, float b) { return a + b; }
  template <std::integral T>
  static T join(T a, T b) {
    return wrapping<T>(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  }
};
struct ProductOf {
  template <class T>
  static constexpr T start(T) {
    return 1;
  }
  static float join(float a, float b) { return a * b; }
  template <std::integral T>
  static T join(T a, T b) {
    return wrapping<T>(std::make_unsigned_t<T>(a) * std::make_unsigned_t<T>(b));
  }
};
struct XorOf {
  template <class T>
  static constexpr T start(T) {
    return 0;
  }
  template <std::integral T>
  static T join(T a, T b) {
    return a ^ b;
  }
};
struct Max {
  static constexpr float start(float) { return -std::numeric_limits<float>::infinity(); }
  template <std::integral T>
  static constexpr T start(T) {
    return std::numeric_limits<T>::min();
  }
  template <class T>
  static T join(T a, T b) {
    return larger(a, b);
  }
};
struct Min {
  static constexpr float start(float) { return std::numeric_limits<float>::infinity(); }
  template <std::integral T>
  static constexpr T start(T) {
    return std::numeric_limits<T>::max();
  }
  template <class T>
  static T join(T a, T b) {
    return smaller(a, b);
  }
};

/// Lanes begin with NaN, over which every number wins: nothing but NaN stays NaN.
struct MaxNumber : Max {
  using Max::start;
  static constexpr float start(float) { return std::numeric_limits<float>::quiet_NaN(); }
  template <class T>
  static T join(T a, T b) {
    return larger_number(a, b);
  }
};
struct MinNumber : Min {
  using Min::start;
  static constexpr float start(float) { return std::numeric_limits<float>::quiet_NaN(); }
  template <class T>
  static T join(T a, T b) {
    return smaller_number(a, b);
  }
};

template <class Op, class T>
void join_into(T* into, const T* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] = Op::join(into[i], from[i]);
}

/// Upper half into lower, until one row of `width` is left.
template <class Op, class T>
void fold(T* partial, std::size_t width) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    join_into<Op>(partial, partial + half * width, half * width);
}

/// The last axis: `length` elements side by side.
template <class Op, class T>
T reduce_run(DType dtype, const std::byte* from, std::size_t length) {
  constexpr std::size_t kBlockSize = 64 * kLanes;
  alignas(64) std::array<T, kLanes> partial;
  alignas(64) std::array<T, kBlockSize> block;
  partial.fill(Op::start(T{}));
  for (std::size_t i = 0; i < length; i += kBlockSize) {
    const auto n = std::min(kBlockSize, length - i);
    load(dtype, from + i * static_cast<std::size_t>(itemsize(dtype)), n, block.data());
    const auto whole = n / kLanes * kLanes;
    for (std::size_t j = 0; j < whole; j += kLanes) join_into<Op>(partial.data(), block.data() + j, kLanes);
    join_into<Op>(partial.data(), block.data() + whole, n - whole);
  }
  fold<Op>(partial.data(), 1);
  return partial[0];
}

/// Another axis: `width` ≤ kColumns columns at once, their elements `stride` bytes apart.
template <class Op, class T>
void reduce_columns(DType dtype, const std::byte* from, std::size_t stride, std::size_t length,
                    std::size_t width, T* result) {
  alignas(64) std::array<T, kLanes * kColumns> partial;
  alignas(64) std::array<T, kColumns> row;
  partial.fill(Op::start(T{}));
  for (std::size_t i = 0; i < length; ++i) {
    load(dtype, from + i * stride, width, row.data());
    join_into<Op>(partial.data() + i % kLanes * width, row.data(), width);
  }
  fold<Op>(partial.data(), width);
  std::copy_n(partial.data(), width, result);
}

struct ArgMax {
  template <class T>
  static bool beats(T x, T best) {
    return x > best || (x != x && best == best);
  }
};
struct ArgMin {
  template <class T>
  static bool beats(T x, T best) {
    return x < best || (x != x && best == best);
  }
};
struct ArgMaxNumber {
  template <class T>
  static bool beats(T x, T best) {
    return x > best || (best != best && x == x);
  }
};
struct ArgMinNumber {
  template <class T>
  static bool beats(T x, T best) {
    return x < best || (best != best && x == x);
  }
};
template <class Op>
inline constexpr bool kFindsIndex = std::is_same_v<Op, ArgMax> || std::is_same_v<Op, ArgMin> ||
                                    std::is_same_v<Op, ArgMaxNumber> || std::is_same_v<Op, ArgMinNumber>;

template <class Op, class T>
std::int32_t index_in_run(DType dtype, const std::byte* from, std::size_t length) {
  std::array<T, 1024> block;
  T best{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < length; i += block.size()) {
    const auto n = std::min(block.size(), length - i);
    load(dtype, from + i * static_cast<std::size_t>(itemsize(dtype)), n, block.data());
    for (std::size_t j = 0; j < n; ++j)
      if (i + j == 0 || Op::beats(block[j], best)) best = block[j], at = i + j;
  }
  return static_cast<std::int32_t>(at);
}

template <class Op, class T>
void index_in_columns(DType dtype, const std::byte* from, std::size_t stride, std::size_t length,
                      std::size_t width, std::int32_t* result) {
  std::array<T, kColumns> best, row;
  std::fill_n(result, width, 0);
  load(dtype, from, width, best.data());
  for (std::size_t i = 1; i < length; ++i) {
    load(dtype, from + i * stride, width, row.data());
    for (std::size_t c = 0; c < width; ++c)
      if (Op::beats(row[c], best[c])) best[c] = row[c], result[c] = static_cast<std::int32_t>(i);
  }
}

/// How a piece of the result comes about: a run if the axis is the last one, else up to kColumns columns.
template <class Op, class T, class Result>
void reduce_piece(DType dtype, const std::byte* from, const Extents& e, std::size_t width, Result* result) {
  const std::size_t stride = e.inner * static_cast<std::size_t>(itemsize(dtype));
  if constexpr (kFindsIndex<Op>) {
    if (e.inner == 1)
      *result = index_in_run<Op, T>(dtype, from, e.length);
    else
      index_in_columns<Op, T>(dtype, from, stride, e.length, width, result);
  } else {
    if (e.inner == 1)
      *result = reduce_run<Op, T>(dtype, from, e.length);
    else
      reduce_columns<Op, T>(dtype, from, stride, e.length, width, result);
  }
}

template <class Op, class T, class Result = T>
void reduce_all(const ConstArray& in, const Extents& e, const Array& out) {
  const auto size = static_cast<std::size_t>(itemsize(in.dtype));
  const auto out_size = static_cast<std::size_t>(itemsize(out.dtype));
  std::array<Result, kColumns> result;
  for (std::size_t o = 0; o < e.outer; ++o)
    for (std::size_t j = 0; j < e.inner; j += kColumns) {
      const auto width = std::min(kColumns, e.inner - j);
      reduce_piece<Op, T>(in.dtype, in.data + (o * e.length * e.inner + j) * size, e, width, result.data());
      store(out.dtype, result.data(), width, out.data + (o * e.inner + j) * out_size);
    }
}

void check(MathOp op, const ConstArray& in, const Extents& e, const Shape& shape, const Array& out) {
  KB_ASSERT(info(op).kind == MathKind::reduction, "{} is not a reduction", to_string(op));
  const auto dtype = result_dtype(op, {&in.dtype, 1});
  KB_ASSERT(may_convert(op, dtype, out.dtype) && out.shape == shape, "{} gives {} {}, not {} {}",
            to_string(op), to_string(dtype), to_string(shape), to_string(out.dtype), to_string(out.shape));
  if (e.length == 0 && op != MathOp::sum && op != MathOp::prod && op != MathOp::xor_sum)
    throw InputError({.id = "reduce.empty",
                      .where = "",
                      .what = fmt::format("{} over no elements of {}", to_string(op), to_string(in.shape)),
                      .hint = "the axis must have at least one"});
}

template <class T>
void reduce_in(MathOp op, const ConstArray& in, const Extents& e, const Array& out) {
  switch (op) {
    case MathOp::sum:
      return reduce_all<Sum, T>(in, e, out);
    case MathOp::max:
      return reduce_all<Max, T>(in, e, out);
    case MathOp::min:
      return reduce_all<Min, T>(in, e, out);
    case MathOp::prod:
      return reduce_all<ProductOf, T>(in, e, out);
    case MathOp::argmax:
      return reduce_all<ArgMax, T, std::int32_t>(in, e, out);
    case MathOp::argmin:
      return reduce_all<ArgMin, T, std::int32_t>(in, e, out);
    case MathOp::max_number:
      return reduce_all<MaxNumber, T>(in, e, out);
    case MathOp::min_number:
      return reduce_all<MinNumber, T>(in, e, out);
    case MathOp::argmax_number:
      return reduce_all<ArgMaxNumber, T, std::int32_t>(in, e, out);
    case MathOp::argmin_number:
      return reduce_all<ArgMinNumber, T, std::int32_t>(in, e, out);
    case MathOp::xor_sum:
      if constexpr (std::integral<T>) return reduce_all<XorOf, T>(in, e, out);
      [[fallthrough]];
    default:
      KB_ASSERT(false, "{} is no reduction of {}", to_string(op), to_string(in.dtype));
  }
}

/// From one end of the axis to the other, element by element.
template <class Op, class T>
void scan_all(const ConstArray& in, const Extents& e, bool reverse, const Array& out) {
  const auto size = static_cast<std::size_t>(itemsize(in.dtype)),
             out_size = static_cast<std::size_t>(itemsize(out.dtype));
  std::vector<T> sums(e.inner), row(e.inner);
  for (std::size_t o = 0; o < e.outer; ++o) {
    std::ranges::fill(sums, Op::start(T{}));
    for (std::size_t i = 0; i < e.length; ++i) {
      const auto at = (o * e.length + (reverse ? e.length - 1 - i : i)) * e.inner;
      load(in.dtype, in.data + at * size, e.inner, row.data());
      join_into<Op>(sums.data(), row.data(), e.inner);
      store(out.dtype, sums.data(), e.inner, out.data + at * out_size);
    }
  }
}

template <class T>
void scan_in(MathOp op, const ConstArray& in, const Extents& e, bool reverse, const Array& out) {
  switch (op) {
    case MathOp::cumsum:
      return scan_all<Sum, T>(in, e, reverse, out);
    case MathOp::cumprod:
      return scan_all<ProductOf, T>(in, e, reverse, out);
    case MathOp::cummax:
      return scan_all<Max, T>(in, e, reverse, out);
    case MathOp::cummin:
      return scan_all<Min, T>(in, e, reverse, out);
    default:
      KB_ASSERT(false, "{} is no scan", to_string(op));
  }
}

}  // namespace

void reduce(MathOp op, const ConstArray& in, int axis, const Array& out) {
  const int at = in.shape.axis(axis);
  const auto e = extents_around(in.shape, at);
  check(op, in, e, in.shape.without(at), out);
  if (is_float(in.dtype)) return reduce_in<float>(op, in, e, out);
  with_int_type(promote(in.dtype, out.dtype == DType::i1 || info(op).result == ResultRule::index ? in.dtype
                                                                                                 : out.dtype),
                [&](auto t) { reduce_in<decltype(t)>(op, in, e, out); });
}

void scan(MathOp op, const ConstArray& in, int axis, bool reverse, const Array& out) {
  const auto e = extents_around(in.shape, in.shape.axis(axis));
  KB_ASSERT(info(op).kind == MathKind::scan && out.shape == in.shape, "{} of {} into {}", to_string(op),
            to_string(in.shape), to_string(out.shape));
  if (is_float(in.dtype)) return scan_in<float>(op, in, e, reverse, out);
  with_int_type(promote(in.dtype, out.dtype), [&](auto t) { scan_in<decltype(t)>(op, in, e, reverse, out); });
}

NdArray reduce(MathOp op, const ConstArray& in, int axis) {
  NdArray out(result_dtype(op, {&in.dtype, 1}), in.shape.without(axis));
  reduce(op, in, axis, out);
  return out;
}

}  // namespace kernbench::data
