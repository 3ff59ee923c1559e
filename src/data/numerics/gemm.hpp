// Matrix products with one order of operations everywhere.
//
// Floats of any dtypes are multiplied as f32: each output starts from 0, or from its accumulator, and takes
// one fused multiply-add per k, k ascending. That order is the same for every vector width, block size and
// number of threads, so the bits are too. Integers accumulate in i32, wrapping. A NaN result is the canonical
// one.
#pragma once

#include <cstdint>
#include <optional>

#include "data/numerics/array.hpp"

namespace kernbench::data {

/// f32 for two float dtypes, i32 for two of i8 and i32; InputError for other pairs.
DType dot_dtype(DType a, DType b);

/// Rows and columns of a result: [begin, end).
struct GemmPart {
  std::int64_t row_begin, row_end, column_begin, column_end;
};

/// c[M,N] = a[M,K] · b[K,N] (+ acc[M,N]). `c` and `acc` are of dot_dtype and may be the same memory;
/// otherwise nothing overlaps. InputError if shapes or dtypes do not fit. Uses up to `threads` threads.
void gemm(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc, const Array& c,
          int threads = 1);

/// The same for arrays with leading axes, which broadcast: c[…, M, N] = a[…, M, K] · b[…, K, N] (+ acc of c's shape).
void batched_gemm(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc,
                  const Array& c, int threads = 1);

/// The same for a part of `c` only; parts that do not overlap may be computed at once.
void gemm_part(const ConstArray& a, const ConstArray& b, const std::optional<ConstArray>& acc, const Array& c,
               const GemmPart& part);

}  // namespace kernbench::data
