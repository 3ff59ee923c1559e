#include "base/simd.hpp"

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kernbench {
namespace {

#if defined(__x86_64__)
bool has_f16c() {  // clang's __builtin_cpu_supports does not know it
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

Simd detect() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2) return avx512 ? Simd::avx512 : Simd::avx2;
#endif
  return Simd::generic;
}

std::atomic<Simd> cap{Simd::avx512};

}  // namespace

Simd simd_level() {
  static const Simd best = detect();
  return std::min(best, cap.load(std::memory_order_relaxed));
}

SimdCap::SimdCap(Simd at_most) { cap = at_most; }
SimdCap::~SimdCap() { cap = Simd::avx512; }

}  // namespace kernbench
