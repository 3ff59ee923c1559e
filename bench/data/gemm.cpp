// The matrix product of replay, 1024³ from f16 inputs on one thread, beside sgemm of OpenBLAS on one thread
// with the inputs already in f32.
#include "data/numerics/gemm.hpp"

#include <bit>
#include <vector>

#include "blas.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

constexpr int kSize = 1024;
constexpr std::int64_t kMacs = std::int64_t{kSize} * kSize * kSize;

NdArray random_matrix(std::uint32_t seed) {
  Lcg random(seed);
  NdArray m(DType::f16, {kSize, kSize});
  for (auto& x : m.view<F16>()) x = F16(static_cast<float>(random.next() >> 7) * 0x1p-23f - 1);  // −1 … 1
  return m;
}

std::uint64_t checksum_of(std::span<const float> values) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a over whole elements
  for (const float x : values) hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 1099511628211ull;
  return hash;
}

}  // namespace

Result gemm() {
  const auto a = random_matrix(1), b = random_matrix(2);
  NdArray c(DType::f32, {kSize, kSize});
  data::gemm(a, b, {}, c);  // warm
  const double seconds = seconds_of([&] { data::gemm(a, b, {}, c); });
  return {kMacs, checksum_of(c.view<float>()), seconds};
}

Result gemm_openblas() {
  const auto a = random_matrix(1), b = random_matrix(2);
  std::vector<float> left(kSize * kSize), right(kSize * kSize), c(kSize * kSize);
  to_f32(a.view<F16>(), left);
  to_f32(b.view<F16>(), right);
  const auto sgemm = [&] { openblas_sgemm(kSize, kSize, kSize, left.data(), right.data(), c.data()); };
  sgemm();
  return {kMacs, checksum_of(c), seconds_of(sgemm)};
}

}  // namespace kernbench::bench
