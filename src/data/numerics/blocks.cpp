#include "data/numerics/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

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

/// Saturates; the bounds are those of Int as f32, the upper one exclusive.
template <class Int>
Int truncated(float x, float low, float end) {
  if (!(x >= low)) return x < low ? static_cast<Int>(low) : Int{0};  // below, or NaN
  return x < end ? static_cast<Int>(x) : std::numeric_limits<Int>::max();
}

template <class From, class To>
void convert_each(const From* from, std::size_t n, To* to) {
  std::transform(from, from + n, to, [](From x) { return static_cast<To>(x); });
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
    case DType::i32:
      convert_each(elements<std::int32_t>(from, n).data(), n, to);
      return;
    case DType::i8:
      convert_each(elements<std::int8_t>(from, n).data(), n, to);
      return;
    case DType::i1:
      convert_each(elements<std::uint8_t>(from, n).data(), n, to);
      return;
  }
}

void load(DType dtype, const std::byte* from, std::size_t n, std::int32_t* to) {
  switch (dtype) {
    case DType::i32:
      std::memcpy(to, from, n * sizeof(std::int32_t));
      return;
    case DType::i8:
      convert_each(elements<std::int8_t>(from, n).data(), n, to);
      return;
    case DType::i1:
      convert_each(elements<std::uint8_t>(from, n).data(), n, to);
      return;
    default:
      KB_ASSERT(false, "{} read as integers", to_string(dtype));
  }
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
    case DType::i32:
      std::ranges::transform(in, elements<std::int32_t>(to, n).begin(),
                             [](float x) { return truncated<std::int32_t>(x, -0x1p31f, 0x1p31f); });
      return;
    case DType::i8:
      std::ranges::transform(in, elements<std::int8_t>(to, n).begin(),
                             [](float x) { return truncated<std::int8_t>(x, -128, 128); });
      return;
    case DType::i1:
      std::ranges::transform(in, elements<std::uint8_t>(to, n).begin(),
                             [](float x) { return x != 0 ? 1 : 0; });
      return;
  }
}

void store(DType dtype, const std::int32_t* from, std::size_t n, std::byte* to) {
  switch (dtype) {
    case DType::i32:
      std::memcpy(to, from, n * sizeof(std::int32_t));
      return;
    case DType::i8:
      convert_each(from, n, elements<std::int8_t>(to, n).data());
      return;
    case DType::i1:
      std::transform(from, from + n, elements<std::uint8_t>(to, n).data(),
                     [](std::int32_t x) { return x != 0; });
      return;
    default:
      break;
  }
  constexpr std::size_t kBlockSize = 256;
  float rounded[kBlockSize];
  for (std::size_t i = 0; i < n; i += kBlockSize) {
    const auto count = std::min(kBlockSize, n - i);
    convert_each(from + i, count, rounded);
    store(dtype, rounded, count, to + i * static_cast<std::size_t>(itemsize(dtype)));
  }
}

void canonicalize(float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    values[i] = values[i] != values[i] ? std::bit_cast<float>(kCanonicalNan) : values[i];
}

}  // namespace kernbench::data
