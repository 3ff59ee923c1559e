// Which vector units this processor has. Code that dispatches on it must give the same bits at every level.
#pragma once

namespace kernbench {

enum class Simd { generic, avx2, avx512 };  // avx2 means with FMA and F16C; avx512 with F, BW, DQ and VL

/// The best level of this processor, unless a SimdCap is alive.
Simd simd_level();

/// Lowers the level for every thread while it lives, so that a test can walk through all of them. Caps do not
/// nest.
class SimdCap {
 public:
  explicit SimdCap(Simd at_most);
  ~SimdCap();
  SimdCap(const SimdCap&) = delete;
  SimdCap& operator=(const SimdCap&) = delete;
};

}  // namespace kernbench
