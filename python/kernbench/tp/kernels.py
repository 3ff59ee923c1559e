"""The kernel of a layer's product, for programs that launch it themselves."""


def _gemm_kernel(a_ptr, b_ptr, out_ptr, M, K, N, tl, DTYPE="f16"):
    """out[M, N] = a[M, K] · b[K, N]"""
    a = tl.load(a_ptr, (M, K), DTYPE)
    b = tl.load(b_ptr, (K, N), DTYPE)
    tl.store(out_ptr, tl.dot(a, b, out_dtype=DTYPE))
