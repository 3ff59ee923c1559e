#include "kernbench/half.hpp"

#include "base/simd.hpp"
#include "kernbench/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernbench {
namespace {

// The loops below are written once and compiled twice, for AVX2 and for the baseline. Only f16 has
// instructions of its own (F16C).
template <class T>
[[gnu::always_inline]] inline void decode_loop(const T* in, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

template <class T>
[[gnu::always_inline]] inline void encode_loop(const float* in, T* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = T(in[i]);
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,f16c")]] void decode_avx2(const T* in, float* out, std::size_t n) {
  decode_loop(in, out, n);
}

template <class T>
[[gnu::target("avx2,f16c")]] void encode_avx2(const float* in, T* out, std::size_t n) {
  encode_loop(in, out, n);
}

template <>
[[gnu::target("avx2,f16c")]] void decode_avx2(const F16* in, float* out, std::size_t n) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kCanonicalNan)));
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
    _mm256_storeu_ps(out + i, _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
  }
  decode_loop(in + i, out + i, n - i);
}

template <>
[[gnu::target("avx2,f16c")]] void encode_avx2(const float* in, F16* out, std::size_t n) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kCanonicalNan)));
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_loadu_ps(in + i);
    const __m256 clean = _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  encode_loop(in + i, out + i, n - i);
}
#endif

template <class T>
void decode(std::span<const T> in, std::span<float> out) {
  KB_ASSERT(in.size() == out.size(), "converting {} elements into {}", in.size(), out.size());
#if defined(__x86_64__)
  if (simd_level() >= Simd::avx2) return decode_avx2(in.data(), out.data(), in.size());
#endif
  decode_loop(in.data(), out.data(), in.size());
}

template <class T>
void encode(std::span<const float> in, std::span<T> out) {
  KB_ASSERT(in.size() == out.size(), "converting {} elements into {}", in.size(), out.size());
#if defined(__x86_64__)
  if (simd_level() >= Simd::avx2) return encode_avx2(in.data(), out.data(), in.size());
#endif
  encode_loop(in.data(), out.data(), in.size());
}

}  // namespace

void to_f32(std::span<const F16> in, std::span<float> out) { decode(in, out); }
void to_f32(std::span<const BF16> in, std::span<float> out) { decode(in, out); }
void to_f32(std::span<const F8E4M3> in, std::span<float> out) { decode(in, out); }
void to_f32(std::span<const F8E5M2> in, std::span<float> out) { decode(in, out); }
void from_f32(std::span<const float> in, std::span<F16> out) { encode(in, out); }
void from_f32(std::span<const float> in, std::span<BF16> out) { encode(in, out); }
void from_f32(std::span<const float> in, std::span<F8E4M3> out) { encode(in, out); }
void from_f32(std::span<const float> in, std::span<F8E5M2> out) { encode(in, out); }

}  // namespace kernbench
