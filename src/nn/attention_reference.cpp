#include "nn/attention_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/threads.hpp"
#include "kernbench/error.hpp"
#include "kernbench/fixed_math.hpp"

namespace kernbench::nn {
namespace {

template <class T>
std::vector<double> doubles_of(const NdArray& array) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(array.elements()));
  for (const T x : array.view<T>()) out.push_back(static_cast<double>(float(x)));
  return out;
}

/// Extents and elements of the three operands.
struct PlainOperands {
  std::vector<double> q, k, v;
  std::int64_t batch, h_q, h_kv, S_q, S_kv, d;
  double scale;

  const double* q_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return &q[static_cast<std::size_t>(((b * h_q + h) * S_q + i) * d)];
  }
  const double* row(const std::vector<double>& kv, std::int64_t b, std::int64_t h, std::int64_t j) const {
    return &kv[static_cast<std::size_t>(((b * h_kv + h * h_kv / h_q) * S_kv + j) * d)];
  }
};

/// One row of the result over the first `keys` keys.
void attend_row(const PlainOperands& x, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t keys,
                float* out) {
  std::vector<double> p(static_cast<std::size_t>(keys)), sum(static_cast<std::size_t>(x.d));
  const double* q = x.q_row(b, h, i);
  for (std::int64_t j = 0; j < keys; ++j) {
    const double* k = x.row(x.k, b, h, j);
    double s = 0;
    for (std::int64_t c = 0; c < x.d; ++c) s += q[c] * k[c];
    p[static_cast<std::size_t>(j)] = s * x.scale;
  }
  const double largest = keys > 0 ? *std::ranges::max_element(p) : 0;
  double l = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    const double e = fixed::exp(p[static_cast<std::size_t>(j)] - largest);
    const double* v = x.row(x.v, b, h, j);
    l += e;
    for (std::int64_t c = 0; c < x.d; ++c) sum[static_cast<std::size_t>(c)] += e * v[c];
  }
  for (std::int64_t c = 0; c < x.d; ++c)
    out[c] = keys > 0 ? static_cast<float>(sum[static_cast<std::size_t>(c)] / l) : 0;
}

void check_ranks(const NdArray& q, const NdArray& k, const NdArray& v) {
  const bool fits = q.shape().rank() == 4 && k.shape().rank() == 4 && k.shape() == v.shape() &&
                    q.shape()[0] == k.shape()[0] && q.shape()[3] == k.shape()[3] &&
                    q.shape()[1] % k.shape()[1] == 0;
  if (!fits)
    throw InputError({"attention.shape", "",
                      fmt::format("attention of q {}, k {}, v {}", to_string(q.shape()), to_string(k.shape()),
                                  to_string(v.shape())),
                      "it needs (batch, h_q, S, d) and twice (batch, h_kv, S, d), h_q a multiple of h_kv"});
}

}  // namespace

std::vector<double> as_doubles(const NdArray& array) {
  switch (array.dtype()) {
    case DType::f32:
      return doubles_of<float>(array);
    case DType::f16:
      return doubles_of<F16>(array);
    case DType::bf16:
      return doubles_of<BF16>(array);
    default:
      throw InputError({"attention.dtype", "", fmt::format("attention of {}", to_string(array.dtype())),
                        "it is for f16, bf16 and f32"});
  }
}

NdArray plain_attention(const NdArray& q, const NdArray& k, const NdArray& v, const AttentionCase& options) {
  check_ranks(q, k, v);
  const auto& qs = q.shape();
  const auto& ks = k.shape();
  const PlainOperands x{as_doubles(q), as_doubles(k),
                        as_doubles(v), qs[0],
                        qs[1],         ks[1],
                        qs[2],         ks[2],
                        qs[3],         options.scale.value_or(1 / std::sqrt(static_cast<double>(qs[3])))};
  NdArray out(DType::f32, qs);
  float* const first = out.view<float>().data();
  in_parallel(x.batch * x.h_q, options.threads, [&](std::int64_t bh) {
    const std::int64_t b = bh / x.h_q;
    const auto length = options.kv_length.empty() ? x.S_kv : options.kv_length[static_cast<std::size_t>(b)];
    for (std::int64_t i = 0; i < x.S_q; ++i) {
      const auto keys =
          options.causal ? std::clamp<std::int64_t>(length - (x.S_q - 1 - i), 0, length) : length;
      attend_row(x, b, bh % x.h_q, i, keys, first + (bh * x.S_q + i) * x.d);
    }
  });
  return out;
}

}  // namespace kernbench::nn
