// Reproducible random arrays for the tests of the numerics.
#pragma once

#include <bit>
#include <cstdint>
#include <random>

#include "data/numerics/blocks.hpp"
#include "kernbench/ndarray.hpp"

namespace kernbench::data {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  int below(int n) { return static_cast<int>(bits() % static_cast<std::uint32_t>(n)); }
  /// Any f32: also NaN, infinities and subnormals.
  float any_float() { return std::bit_cast<float>(bits()); }

  /// Numbers of moderate size and both signs; integers of their whole range, truth values.
  NdArray array(DType dtype, const Shape& shape) {
    if (is_integer(dtype)) return any_bits(dtype, shape);
    NdArray a(dtype, shape);
    std::vector<float> values(static_cast<std::size_t>(a.elements()));
    for (auto& x : values) x = static_cast<float>(static_cast<std::int32_t>(bits())) * 0x1p-29f;  // −4 … 4
    store(dtype, values.data(), values.size(), a.bytes().data());
    return a;
  }

  /// Every pattern is equally likely.
  NdArray any_bits(DType dtype, const Shape& shape) {
    NdArray a(dtype, shape);
    for (auto& byte : a.bytes())
      byte = static_cast<std::byte>(dtype == DType::i1 ? bits() & 1 : bits() & 0xFF);
    return a;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace kernbench::data
