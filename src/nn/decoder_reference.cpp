// What a decoder layer computes, plainly: f32 numbers, sums in f64.
#include <cmath>

#include "kernbench/decoder.hpp"
#include "kernbench/fixed_math.hpp"
#include "nn/attention_reference.hpp"

namespace kernbench::nn {
namespace {

using Numbers = std::vector<double>;

struct PlainMatrix {
  std::int64_t rows, cols;
  Numbers x;
  double& at(std::int64_t r, std::int64_t c) { return x[static_cast<std::size_t>(r * cols + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return x[static_cast<std::size_t>(r * cols + c)]; }
};

PlainMatrix matrix_of(const NdArray& a) {
  const std::int64_t cols = a.shape()[a.shape().rank() - 1];
  return {a.shape().elements() / cols, cols, as_doubles(a)};
}

PlainMatrix operator*(const PlainMatrix& a, const PlainMatrix& b) {
  PlainMatrix c{a.rows, b.cols, Numbers(static_cast<std::size_t>(a.rows * b.cols))};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.cols; ++k)
      for (std::int64_t j = 0; j < b.cols; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

PlainMatrix plus(PlainMatrix a, const PlainMatrix& b) {
  for (std::size_t i = 0; i < a.x.size(); ++i) a.x[i] += b.x[i];
  return a;
}

PlainMatrix plain_norm(PlainMatrix x, const PlainMatrix& weight, double eps) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double squares = 0;
    for (std::int64_t c = 0; c < x.cols; ++c) squares += x.at(r, c) * x.at(r, c);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.cols) + eps);
    for (std::int64_t c = 0; c < x.cols; ++c) x.at(r, c) *= scale * weight.at(0, c);
  }
  return x;
}

/// Columns of heads as (batch, heads, tokens, d), turned by their positions if asked.
NdArray heads_of(const PlainMatrix& x, std::int64_t batch, std::int64_t d, std::optional<std::int64_t> first,
                 double base) {
  const std::int64_t heads = x.cols / d, tokens = x.rows / batch, half = d / 2;
  NdArray out(DType::f32, {batch, heads, tokens, d});
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t t = 0; t < tokens; ++t)
        for (std::int64_t i = 0; i < half; ++i) {
          const double turn = static_cast<double>(-2 * i) / static_cast<double>(d);
          const double angle = first ? static_cast<double>(*first + t) * fixed::pow(base, turn) : 0.0;
          const double p = x.at(b * tokens + t, h * d + i), q = x.at(b * tokens + t, h * d + half + i);
          out.at<float>({b, h, t, i}) = static_cast<float>(p * fixed::cos(angle) - q * fixed::sin(angle));
          out.at<float>({b, h, t, half + i}) =
              static_cast<float>(q * fixed::cos(angle) + p * fixed::sin(angle));
        }
  return out;
}

PlainMatrix columns_of(const NdArray& o) {
  const std::int64_t batch = o.shape()[0], heads = o.shape()[1], tokens = o.shape()[2], d = o.shape()[3];
  PlainMatrix out{batch * tokens, heads * d, Numbers(static_cast<std::size_t>(o.shape().elements()))};
  const auto numbers = as_doubles(o);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i), row = n / d, b = row / (heads * tokens);
    out.at(b * tokens + row % tokens, row / tokens % heads * d + n % d) = numbers[i];
  }
  return out;
}

/// The cache with the last key replaced.
NdArray with_last(const NdArray& cache, const NdArray& last) {
  NdArray out(DType::f32, cache.shape());
  const std::int64_t s = cache.shape()[2], d = cache.shape()[3];
  const auto from = cache.view<float>(), new_rows = last.view<float>();
  for (std::int64_t row = 0; row < cache.shape().elements() / d; ++row)
    for (std::int64_t c = 0; c < d; ++c)
      out.view<float>()[static_cast<std::size_t>(row * d + c)] =
          row % s == s - 1 ? new_rows[static_cast<std::size_t>(row / s * d + c)]
                           : from[static_cast<std::size_t>(row * d + c)];
  return out;
}

}  // namespace

NdArray plain_decoder_layer(const DecoderShape& s, const DecoderRun& run, const DecoderWeights& w,
                            const NdArray& x, const NdArray& keys, const NdArray& values) {
  const PlainMatrix input = matrix_of(x);
  const PlainMatrix h = plain_norm(input, matrix_of(w.attention_norm), s.norm_eps);
  const std::int64_t first = run.prefill ? 0 : run.context - 1;
  const auto heads = [&](const NdArray& weight, bool turned) {
    return heads_of(h * matrix_of(weight), run.batch, s.head_dim,
                    turned ? std::optional(first) : std::nullopt, s.rope_base);
  };
  NdArray k = heads(w.k, true), v = heads(w.v, false);
  if (!run.prefill) k = with_last(keys, k), v = with_last(values, v);
  const NdArray a = plain_attention(heads(w.q, true), k, v, {.causal = run.prefill, .threads = 1});
  const PlainMatrix y = plus(input, columns_of(a) * matrix_of(w.o));
  const PlainMatrix f = plain_norm(y, matrix_of(w.ffn_norm), s.norm_eps);
  PlainMatrix gate = f * matrix_of(w.gate);
  const PlainMatrix up = f * matrix_of(w.up);
  for (std::size_t i = 0; i < gate.x.size(); ++i) gate.x[i] *= up.x[i] / (1 + fixed::exp(-gate.x[i]));
  const PlainMatrix result = plus(y, gate * matrix_of(w.down));
  NdArray out(DType::f32, x.shape());
  for (std::size_t i = 0; i < result.x.size(); ++i) out.view<float>()[i] = static_cast<float>(result.x[i]);
  return out;
}

}  // namespace kernbench::nn
