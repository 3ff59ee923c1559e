// Arrays for the tests of collectives, and what collectives should make of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "data/numerics/blocks.hpp"
#include "kernbench/ccl.hpp"
#include "kernbench/ndarray.hpp"

namespace kernbench::ccl {

using Arrays = std::vector<NdArray>;

/// Row-major elements as f64, exact for every dtype but large i32.
inline std::vector<double> numbers(const NdArray& a) {
  std::vector<float> f(static_cast<std::size_t>(a.elements()));
  data::load(a.dtype(), a.bytes().data(), f.size(), f.data());
  return {f.begin(), f.end()};
}

inline NdArray array_of(DType dtype, const Shape& shape, std::span<const double> values) {
  NdArray a(dtype, shape);
  const std::vector<float> f(values.begin(), values.end());
  data::store(dtype, f.data(), f.size(), a.bytes().data());
  return a;
}

class RandomArrays {
 public:
  explicit RandomArrays(unsigned seed) : random_(seed) {}

  /// Small whole numbers: sums and products of many are exact in f16 in any order.
  Arrays small(int ranks, DType dtype, std::int64_t n, int least = 0, int most = 3) {
    std::uniform_int_distribution<int> pick(least, most);
    return make(ranks, dtype, n, [&] { return static_cast<double>(pick(random_)); });
  }
  /// Fractions of both signs and very different sizes: every order of adding gives other bits.
  Arrays wild(int ranks, DType dtype, std::int64_t n) {
    std::uniform_real_distribution<double> pick(-1, 1);
    std::uniform_int_distribution<int> size(-6, 6);
    return make(ranks, dtype, n, [&] { return std::ldexp(pick(random_), size(random_)); });
  }

 private:
  template <class Pick>
  static Arrays make(int ranks, DType dtype, std::int64_t n, Pick pick) {
    Arrays out;
    for (int r = 0; r < ranks; ++r) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (auto& v : values) v = pick();
      out.push_back(array_of(dtype, {n}, values));
    }
    return out;
  }
  std::mt19937 random_;
};

/// All arrays combined element by element, in f64, in order.
inline NdArray reduced(const Arrays& all, ReduceOp op) {
  auto out = numbers(all.front());
  for (std::size_t r = 1; r < all.size(); ++r) {
    const auto other = numbers(all[r]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = op == ReduceOp::MAX    ? std::max(out[i], other[i])
               : op == ReduceOp::MIN  ? std::min(out[i], other[i])
               : op == ReduceOp::PROD ? out[i] * other[i]
                                      : out[i] + other[i];
    }
  }
  if (op == ReduceOp::AVG)
    for (auto& v : out) v /= static_cast<double>(all.size());
  return array_of(all.front().dtype(), all.front().shape(), out);
}

}  // namespace kernbench::ccl
