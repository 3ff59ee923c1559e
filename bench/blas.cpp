#include "blas.hpp"

#include <cblas.h>
#include <dlfcn.h>

#include <cstdlib>

#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm;

  OpenBlas() {
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* const library = ::dlopen(KERNBENCH_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    KB_ASSERT(library != nullptr, "OpenBLAS cannot be loaded: {}", ::dlerror());
    sgemm = reinterpret_cast<decltype(sgemm)>(::dlsym(library, "cblas_sgemm"));
    KB_ASSERT(sgemm != nullptr, "{} is not OpenBLAS", KERNBENCH_OPENBLAS);
  }
};

}  // namespace

void openblas_sgemm(int m, int n, int k, const float* a, const float* b, float* c) {
  static const OpenBlas blas;
  blas.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
}

}  // namespace kernbench::bench
