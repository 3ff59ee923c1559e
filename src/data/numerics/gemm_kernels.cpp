#include "data/numerics/gemm_kernels.hpp"

#include <utility>

#include "base/fused.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernbench::data {
namespace {

/// The meaning of every kernel below, for any processor.
template <class T, int Rows, int Columns, class Step>
[[gnu::always_inline]] inline void plain_kernel(const T* a, const T* b, T* c, std::ptrdiff_t c_stride,
                                                int depth, Step step) {
  T sum[Rows][Columns];
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) sum[i][j] = c[i * c_stride + j];
  for (int k = 0; k < depth; ++k, b += Columns)
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) sum[i][j] = step(a[i * kRowStride + k], b[j], sum[i][j]);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j) c[i * c_stride + j] = sum[i][j];
}

[[gnu::always_inline]] inline std::int32_t wrapping_step(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                                   static_cast<std::uint32_t>(c));
}

struct GenericFloat {
  using Element = float;
  static constexpr int kRows = 4, kColumns = 8;
  template <int Rows>
  static void run(const float* a, const float* b, float* c, std::ptrdiff_t c_stride, int depth) {
    plain_kernel<float, Rows, kColumns>(a, b, c, c_stride, depth, fused_multiply_add<Simd::generic>);
  }
};

struct GenericInt {
  using Element = std::int32_t;
  static constexpr int kRows = 4, kColumns = 8;
  template <int Rows>
  static void run(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, std::ptrdiff_t c_stride,
                  int depth) {
    plain_kernel<std::int32_t, Rows, kColumns>(a, b, c, c_stride, depth, wrapping_step);
  }
};

#if defined(__x86_64__)
struct Avx2Float {
  using Element = float;
  static constexpr int kRows = 6, kVectors = 2, kColumns = 8 * kVectors;  // 12 sums of 16 registers
  template <int Rows>
  [[gnu::target("avx2,fma")]] static void run(const float* a, const float* b, float* c,
                                              std::ptrdiff_t c_stride, int depth) {
    __m256 sum[Rows][kVectors];
#pragma GCC unroll 6
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm256_loadu_ps(c + i * c_stride + 8 * j);
    for (int k = 0; k < depth; ++k, b += kColumns)
#pragma GCC unroll 6
      for (int i = 0; i < Rows; ++i) {
        const __m256 left = _mm256_set1_ps(a[i * kRowStride + k]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j)
          sum[i][j] = _mm256_fmadd_ps(left, _mm256_load_ps(b + 8 * j), sum[i][j]);
      }
#pragma GCC unroll 6
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) _mm256_storeu_ps(c + i * c_stride + 8 * j, sum[i][j]);
  }
};

struct Avx512Float {
  using Element = float;
  static constexpr int kRows = 12, kVectors = 2, kColumns = 16 * kVectors;  // 24 sums of 32 registers
  template <int Rows>
  [[gnu::target("avx512f")]] static void run(const float* a, const float* b, float* c,
                                             std::ptrdiff_t c_stride, int depth) {
    __m512 sum[Rows][kVectors];
#pragma GCC unroll 12
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_loadu_ps(c + i * c_stride + 16 * j);
    for (int k = 0; k < depth; ++k, b += kColumns)
#pragma GCC unroll 12
      for (int i = 0; i < Rows; ++i) {
        const __m512 left = _mm512_set1_ps(a[i * kRowStride + k]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j)
          sum[i][j] = _mm512_fmadd_ps(left, _mm512_load_ps(b + 16 * j), sum[i][j]);
      }
#pragma GCC unroll 12
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) _mm512_storeu_ps(c + i * c_stride + 16 * j, sum[i][j]);
  }
};

struct Avx2Int {
  using Element = std::int32_t;
  static constexpr int kRows = 6, kVectors = 2, kColumns = 8 * kVectors;
  template <int Rows>
  [[gnu::target("avx2")]] static void run(const std::int32_t* a, const std::int32_t* b, std::int32_t* c,
                                          std::ptrdiff_t c_stride, int depth) {
    __m256i sum[Rows][kVectors];
#pragma GCC unroll 6
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm256_loadu_si256(vector_at(c + i * c_stride + 8 * j));
    for (int k = 0; k < depth; ++k, b += kColumns)
#pragma GCC unroll 6
      for (int i = 0; i < Rows; ++i) {
        const __m256i left = _mm256_set1_epi32(a[i * kRowStride + k]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j)
          sum[i][j] =
              _mm256_add_epi32(sum[i][j], _mm256_mullo_epi32(left, _mm256_load_si256(vector_at(b + 8 * j))));
      }
#pragma GCC unroll 6
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * c_stride + 8 * j), sum[i][j]);
  }

 private:
  static const __m256i* vector_at(const std::int32_t* p) { return reinterpret_cast<const __m256i*>(p); }
};
#endif

template <class Kind, int... Row>
constexpr auto set_of(std::integer_sequence<int, Row...>) {
  KernelSet<typename Kind::Element> set{Kind::kRows, Kind::kColumns, {}};
  ((set.for_rows[Row + 1] = &Kind::template run<Row + 1>), ...);
  return set;
}

template <class Kind>
constexpr auto kSet = set_of<Kind>(std::make_integer_sequence<int, Kind::kRows>());

}  // namespace

const KernelSet<float>& float_kernels([[maybe_unused]] Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512) return kSet<Avx512Float>;
  if (level == Simd::avx2) return kSet<Avx2Float>;
#endif
  return kSet<GenericFloat>;
}

const KernelSet<std::int32_t>& int_kernels([[maybe_unused]] Simd level) {
#if defined(__x86_64__)
  if (level >= Simd::avx2) return kSet<Avx2Int>;
#endif
  return kSet<GenericInt>;
}

}  // namespace kernbench::data
