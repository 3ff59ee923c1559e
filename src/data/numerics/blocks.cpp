#include "data/numerics/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "kernbench/error.hpp"
#include "kernbench/half.hpp"

namespace kernbench::data {
namespace {

template <class T>
std::span<const T> elements(const std::byte* from, std::size_t n) {
  return {reinterpret_cast<const T*>(from), n};
}
template <class T>
std::span<T> elements(std::byte* to, std::size_t n) {
  return {reinterpret_cast<T*>(to), n};
}

/// Saturates. The bounds are those of Int as f32, the upper one exclusive: both are powers of two, or zero.
template <class Int>
Int truncated(float x) {
  constexpr auto low = static_cast<float>(std::numeric_limits<Int>::min());
  constexpr float end = 2.0F * static_cast<float>(std::numeric_limits<Int>::max() / 2 + 1);
  if (!(x >= low)) return x < low ? std::numeric_limits<Int>::min() : Int{0};  // below, or NaN
  return x < end ? static_cast<Int>(x) : std::numeric_limits<Int>::max();
}

template <class Int>
void truncate_each(std::span<const float> in, std::byte* to) {
  std::ranges::transform(in, elements<Int>(to, in.size()).begin(), truncated<Int>);
}

template <class From, class To>
void convert_each(const From* from, std::size_t n, To* to) {
  std::transform(from, from + n, to, [](From x) { return static_cast<To>(x); });
}

/// Calls `fn(Int{})` with the type that elements of an integer dtype are stored as; false if it is none.
template <class Fn>
bool with_stored_int(DType dtype, Fn fn) {
  switch (dtype) {
    case DType::i8:
      return fn(std::int8_t{}), true;
    case DType::i16:
      return fn(std::int16_t{}), true;
    case DType::i32:
      return fn(std::int32_t{}), true;
    case DType::i64:
      return fn(std::int64_t{}), true;
    case DType::u8:
    case DType::i1:
      return fn(std::uint8_t{}), true;
    case DType::u16:
      return fn(std::uint16_t{}), true;
    case DType::u32:
      return fn(std::uint32_t{}), true;
    case DType::u64:
      return fn(std::uint64_t{}), true;
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2:
      break;
  }
  return false;
}

template <class T>
void load_ints(DType dtype, const std::byte* from, std::size_t n, T* to) {
  const bool done = with_stored_int(dtype, [&](auto as) {
    using Stored = decltype(as);
    if constexpr (std::is_same_v<Stored, T>)
      std::memcpy(to, from, n * sizeof(T));
    else
      convert_each(elements<Stored>(from, n).data(), n, to);
  });
  KB_ASSERT(done, "{} read as integers", to_string(dtype));
}

template <class T>
void store_ints(DType dtype, const T* from, std::size_t n, std::byte* to) {
  if (dtype == DType::i1) {
    std::transform(from, from + n, elements<std::uint8_t>(to, n).data(), [](T x) { return x != 0; });
    return;
  }
  const bool done = with_stored_int(dtype, [&](auto as) {
    using Stored = decltype(as);
    if constexpr (std::is_same_v<Stored, T>)
      std::memcpy(to, from, n * sizeof(T));
    else
      convert_each(from, n, elements<Stored>(to, n).data());
  });
  if (done) return;
  constexpr std::size_t kBlockSize = 256;
  float rounded[kBlockSize];
  for (std::size_t i = 0; i < n; i += kBlockSize) {
    const auto count = std::min(kBlockSize, n - i);
    convert_each(from + i, count, rounded);
    store(dtype, rounded, count, to + i * static_cast<std::size_t>(itemsize(dtype)));
  }
}

}  // namespace

void load(DType dtype, const std::byte* from, std::size_t n, float* to) {
  const std::span out(to, n);
  switch (dtype) {
    case DType::f32:
      std::memcpy(to, from, n * sizeof(float));
      return;
    case DType::f16:
      to_f32(elements<F16>(from, n), out);
      return;
    case DType::bf16:
      to_f32(elements<BF16>(from, n), out);
      return;
    case DType::f8e4m3:
      to_f32(elements<F8E4M3>(from, n), out);
      return;
    case DType::f8e5m2:
      to_f32(elements<F8E5M2>(from, n), out);
      return;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::i1:
      break;
  }
  with_stored_int(dtype, [&](auto as) { convert_each(elements<decltype(as)>(from, n).data(), n, to); });
}

void load(DType dtype, const std::byte* from, std::size_t n, std::int32_t* to) {
  load_ints(dtype, from, n, to);
}
void load(DType dtype, const std::byte* from, std::size_t n, std::uint32_t* to) {
  load_ints(dtype, from, n, to);
}
void load(DType dtype, const std::byte* from, std::size_t n, std::int64_t* to) {
  load_ints(dtype, from, n, to);
}
void load(DType dtype, const std::byte* from, std::size_t n, std::uint64_t* to) {
  load_ints(dtype, from, n, to);
}

void store(DType dtype, const float* from, std::size_t n, std::byte* to) {
  const std::span in(from, n);
  switch (dtype) {
    case DType::f32:
      std::memcpy(to, from, n * sizeof(float));
      canonicalize(reinterpret_cast<float*>(to), n);
      return;
    case DType::f16:
      from_f32(in, elements<F16>(to, n));
      return;
    case DType::bf16:
      from_f32(in, elements<BF16>(to, n));
      return;
    case DType::f8e4m3:
      from_f32(in, elements<F8E4M3>(to, n));
      return;
    case DType::f8e5m2:
      from_f32(in, elements<F8E5M2>(to, n));
      return;
    case DType::i1:
      std::ranges::transform(in, elements<std::uint8_t>(to, n).begin(),
                             [](float x) { return x != 0 ? 1 : 0; });
      return;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      break;
  }
  with_stored_int(dtype, [&](auto as) { truncate_each<decltype(as)>(in, to); });
}

void store(DType dtype, const std::int32_t* from, std::size_t n, std::byte* to) {
  store_ints(dtype, from, n, to);
}
void store(DType dtype, const std::uint32_t* from, std::size_t n, std::byte* to) {
  store_ints(dtype, from, n, to);
}
void store(DType dtype, const std::int64_t* from, std::size_t n, std::byte* to) {
  store_ints(dtype, from, n, to);
}
void store(DType dtype, const std::uint64_t* from, std::size_t n, std::byte* to) {
  store_ints(dtype, from, n, to);
}

void canonicalize(float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    values[i] = values[i] != values[i] ? std::bit_cast<float>(kCanonicalNan) : values[i];
}

}  // namespace kernbench::data
