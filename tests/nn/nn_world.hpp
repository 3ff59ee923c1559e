// Arrays and plain references for tests of operations.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "kernbench/half.hpp"
#include "kernbench/nn.hpp"
#include "runtime/engine.hpp"
#include "runtime/host_world.hpp"

namespace kernbench::nn {

using namespace dtypes;
using runtime::complaint;
using runtime::small;
using ::testing::HasSubstr;

/// A matrix of plain numbers.
struct Plain {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> x;
  double& at(std::int64_t r, std::int64_t c) { return x[static_cast<std::size_t>(r * cols + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return x[static_cast<std::size_t>(r * cols + c)]; }
};

template <class Fn>
void with_elements(NdArray& array, Fn fn) {
  if (array.dtype() == f32) fn(array.view<float>());
  if (array.dtype() == f16) fn(array.view<F16>());
  if (array.dtype() == bf16) fn(array.view<BF16>());
}

/// Uniform in −1 … 1, as the dtype has it.
inline NdArray random_array(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  NdArray array(dtype, shape);
  with_elements(array, [&](auto view) {
    for (auto& e : view) e = std::decay_t<decltype(e)>(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
  });
  return array;
}

inline Plain plain(NdArray array) {
  const Shape shape = array.shape();
  const std::int64_t cols = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  Plain p{shape.elements() / cols, cols, {}};
  with_elements(array, [&](auto view) {
    for (const auto& e : view) p.x.push_back(static_cast<double>(static_cast<float>(e)));
  });
  return p;
}

inline Plain times(const Plain& a, const Plain& b) {
  Plain c{a.rows, b.cols, std::vector<double>(static_cast<std::size_t>(a.rows * b.cols))};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.cols; ++k)
      for (std::int64_t j = 0; j < b.cols; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

template <class Fn>
Plain mapped(Plain p, Fn fn) {
  for (double& e : p.x) e = fn(e);
  return p;
}

/// How far a result in a dtype may be from its reference.
inline double tolerance(DType dtype) { return dtype == f32 ? 1e-4 : dtype == f16 ? 4e-3 : 3e-2; }

/// The largest |got − expected| / (1 + |expected|).
inline double worst(const NdArray& got, const Plain& expected) {
  const Plain p = plain(got);
  if (p.x.size() != expected.x.size()) return 1e9;
  double most = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const double off = std::abs(p.x[i] - expected.x[i]) / (1 + std::abs(expected.x[i]));
    most = std::isnan(off) ? 1e9 : std::max(most, off);
  }
  return most;
}

inline const std::vector<std::int64_t> kOddSizes = {1, 2, 3, 7, 31, 33, 96, 127, 128, 1000};
inline const std::vector<DType> kFloats = {f16, bf16, f32};

/// The launches of a context, last first.
inline runtime::Trace last_launch(Torch& torch) {
  torch.synchronize();
  const auto traces = torch.traces();
  for (auto t = traces.rbegin(); t != traces.rend(); ++t)
    if (t->phase == runtime::Phase::launch) return *t;
  return {};
}

}  // namespace kernbench::nn
