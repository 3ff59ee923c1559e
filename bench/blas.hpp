// OpenBLAS, loaded when it is first asked for: linked in, it would cost every case a thread that spins for a while, and
// each new thread 60 KB to clear.
#pragma once

namespace kernbench::bench {

/// c[m, n] = a[m, k] · b[k, n], dense row-major f32, on one thread.
void openblas_sgemm(int m, int n, int k, const float* a, const float* b, float* c);

}  // namespace kernbench::bench
