// Elements of any dtype as numbers.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "kernbench/dtype.hpp"
#include "kernbench/half.hpp"
#include "kernbench/ndarray.hpp"

namespace kernbench::runtime {

/// Calls `fn(T{})` with the C++ type of the dtype.
template <class Fn>
decltype(auto) with_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::f16:
      return fn(F16{});
    case DType::bf16:
      return fn(BF16{});
    case DType::f8e4m3:
      return fn(F8E4M3{});
    case DType::f8e5m2:
      return fn(F8E5M2{});
    case DType::i32:
      return fn(std::int32_t{});
    case DType::i8:
      return fn(std::int8_t{});
    case DType::i1:
    case DType::u8:
      return fn(std::uint8_t{});
    case DType::i16:
      return fn(std::int16_t{});
    case DType::i64:
      return fn(std::int64_t{});
    case DType::u16:
      return fn(std::uint16_t{});
    case DType::u32:
      return fn(std::uint32_t{});
    case DType::u64:
      return fn(std::uint64_t{});
    case DType::f32:
      break;
  }
  return fn(float{});
}

template <class T>
double number_of(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

inline double number_at(DType dtype, const std::byte* at) {
  return with_type(dtype, [&](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return number_of(value);
  });
}

}  // namespace kernbench::runtime
