// The innermost part of a matrix product: a few rows times one panel of columns, all in registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/simd.hpp"

namespace kernbench::data {

inline constexpr int kDepth = 384;  // k per block
inline constexpr int kRowStride =
    kDepth + 16;  // of a block of A; not a power of two, so that rows spread over the cache
inline constexpr int kMostRows = 12;  // of any kernel

/// c[i][j] += a[i][k] · b[k][j], k ascending; one fused multiply-add per step (integers wrap). `a` has rows
/// of kRowStride, `b` is packed k by k and 64-byte aligned, `c` has rows of `c_stride`.
template <class T>
using Kernel = void (*)(const T* a, const T* b, T* c, std::ptrdiff_t c_stride, int depth);

template <class T>
struct KernelSet {
  int rows;                                       // most rows of one call
  int columns;                                    // of a panel of B; always all of them
  std::array<Kernel<T>, kMostRows + 1> for_rows;  // [r] takes r rows, 1 … rows
};

/// The kernels of a level; every level gives the same bits.
const KernelSet<float>& float_kernels(Simd level);
const KernelSet<std::int32_t>& int_kernels(Simd level);

}  // namespace kernbench::data
