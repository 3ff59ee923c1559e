"""What each kernel is given and what it must give, by NumPy alone. Whoever runs a case turns arrays into tensors."""
import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Case:
    kernel: str
    grid: tuple
    args: list  # arrays and numbers, in the kernel's order; arrays that it writes are among them
    expected: dict  # place among the arguments → array
    meta: dict = field(default_factory=dict)
    tolerance: float = 1e-5

    def __str__(self):
        shapes = "-".join("x".join(map(str, a.shape)) for a in self.args if isinstance(a, np.ndarray))
        return f"{self.kernel}-{shapes}"


def cdiv(a, b):
    return -(-a // b)


def power_of_2(n):
    return 1 << max(n - 1, 0).bit_length()


def normal(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def vector_add(n):
    x, y = normal(1, n), normal(2, n)
    return Case("add_kernel", (cdiv(n, 256),), [x, y, np.zeros_like(x), n], {2: x + y}, {"BLOCK": 256})


def row_softmax(rows, cols, dtype=np.float32):
    x = normal(3, rows, cols, dtype=dtype)
    y = softmax(x.astype(np.float64)).astype(dtype)
    tolerance = 2e-3 if dtype == np.float16 else 1e-5
    return Case("softmax_kernel", (rows,), [np.zeros_like(x), x, cols, cols, cols], {0: y}, {"BLOCK": power_of_2(cols)}, tolerance)


def log_softmax(rows, cols):
    x = normal(4, rows, cols)
    y = np.log(softmax(x.astype(np.float64)))
    return Case("log_softmax_kernel", (rows,), [np.zeros_like(x), x, cols, cols], {0: y}, {"BLOCK": power_of_2(cols)})


def matmul(m, n, k, activation="", group=4):
    a, b = normal(5, m, k, dtype=np.float16), normal(6, k, n, dtype=np.float16)
    c = a.astype(np.float64) @ b.astype(np.float64)
    c = np.where(c >= 0, c, 0.01 * c) if activation else c
    meta = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": group, "ACTIVATION": activation}
    args = [a, b, np.zeros((m, n), np.float16), m, n, k, k, 1, n, 1, n, 1]
    return Case("matmul_kernel", (cdiv(m, 32) * cdiv(n, 64),), args, {2: c}, meta, 1e-2)


def layer_norm(rows, cols):
    x, w, b = normal(7, rows, cols), normal(8, cols), normal(9, cols)
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    y = (x - mean) / np.sqrt(var + 1e-5) * w + b
    return Case("layer_norm_kernel", (rows,), [x, np.zeros_like(x), w, b, cols, cols, 1e-5], {1: y}, {"BLOCK": 64}, 1e-4)


def rms_norm(rows, cols):
    x, w = normal(10, rows, cols, dtype=np.float16), normal(11, cols, dtype=np.float16)
    f = x.astype(np.float64)
    y = f / np.sqrt((f * f).mean(1, keepdims=True) + 1e-6) * w
    return Case("rms_norm_kernel", (rows,), [np.zeros_like(x), x, w, cols, cols, 1e-6], {0: y}, {"BLOCK": power_of_2(cols)}, 5e-3)


def welford(rows, cols):
    x = normal(12, rows, cols) + 3
    args = [x, np.zeros(rows, np.float32), np.zeros(rows, np.float32), cols]
    return Case("welford_kernel", (rows,), args, {1: x.mean(1), 2: x.var(1)}, {"BLOCK": power_of_2(cols)}, 1e-4)


def rotary(rows, half):
    x, angle = normal(13, rows, 2 * half), normal(14, rows, half)
    c, s = np.cos(angle), np.sin(angle)
    y = np.concatenate([x[:, :half] * c - x[:, half:] * s, x[:, half:] * c + x[:, :half] * s], 1)
    return Case("rotary_kernel", (rows,), [x, c, s, np.zeros_like(x), 2 * half, half], {3: y}, {"BLOCK": power_of_2(half)})


def swiglu(rows, cols):
    a, b = normal(15, rows, cols, dtype=np.float16), normal(16, rows, cols, dtype=np.float16)
    f = a.astype(np.float64)
    y = f / (1 + np.exp(-f)) * b
    return Case("swiglu_kernel", (rows,), [a, b, np.zeros_like(a), cols], {2: y}, {"n_cols": cols, "BLOCK": power_of_2(cols)}, 5e-3)


def gelu(n):
    x = normal(17, n)
    y = 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    return Case("gelu_kernel", (cdiv(n, 128),), [x, np.zeros_like(x), n], {1: y}, {"BLOCK": 128})


def cross_entropy(rows, cols):
    x = normal(18, rows, cols)
    labels = np.random.default_rng(19).integers(0, cols, rows).astype(np.int64)
    labels[::3] = -100
    p = np.log(softmax(x.astype(np.float64)))
    loss = np.where(labels < 0, 0, -p[np.arange(rows), np.maximum(labels, 0)])
    return Case("cross_entropy_kernel", (rows,), [x, labels, np.zeros(rows, np.float32), cols, cols, -100], {2: loss},
                {"BLOCK": 64}, 1e-4)


def philox(seed, counter):
    """Philox 4×32 with ten rounds, its first word."""
    c = [np.asarray(counter, np.uint64) & 0xFFFFFFFF] + [np.zeros(len(counter), np.uint64) for _ in range(3)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p2 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p2 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p2 & np.uint64(0xFFFFFFFF),
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & np.uint64(0xFFFFFFFF)]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0].astype(np.uint32)


def dropout(n, p=0.3, seed=123):
    x = normal(20, n)
    signed = philox(seed, np.arange(n)).view(np.int32).astype(np.int64)
    uniform = (np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)).astype(np.float32)
    y = np.where(uniform > p, x / (1 - p), 0)
    return Case("dropout_kernel", (cdiv(n, 128),), [x, np.zeros_like(x), n, p, seed], {1: y}, {"BLOCK": 128}, 1e-5)


def attention_reference(q, k, v, causal, scale):
    scores = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k.astype(np.float64)) * scale
    if causal:
        n = q.shape[1]
        scores = np.where(np.arange(n)[:, None] >= np.arange(n)[None, :], scores, -1e6)
    return np.einsum("hmn,hnd->hmd", softmax(scores), v.astype(np.float64))


def flash_attention(heads, n, d, causal):
    q, k, v = (normal(s, heads, n, d, dtype=np.float16) for s in (21, 22, 23))
    o = attention_reference(q, k, v, causal, d**-0.5)
    args = [q, k, v, np.zeros_like(q), d**-0.5, n * d, d, n]
    return Case("attention_kernel", (cdiv(n, 32), heads), args, {3: o},
                {"HEAD": d, "BLOCK_M": 32, "BLOCK_N": 32, "CAUSAL": causal}, 1e-2)


def descriptor_attention(n, d):
    q, k, v = (normal(s, n, d, dtype=np.float16) for s in (24, 25, 26))
    o = attention_reference(q[None], k[None], v[None], False, d**-0.5)[0]
    return Case("attention_descriptor_kernel", (cdiv(n, 32),), [q, k, v, np.zeros_like(q), d**-0.5, n], {3: o},
                {"HEAD": d, "BLOCK_M": 32, "BLOCK_N": 32}, 1e-2)


def int8_matmul(m, n, k):
    random = np.random.default_rng(27)
    a, b = (random.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    groups = cdiv(k, 32)
    a_s, b_s = random.random((m, groups), np.float32), random.random((groups, n), np.float32)
    c = np.zeros((m, n))
    for g in range(groups):
        part = slice(32 * g, 32 * g + 32)
        c += (a[:, part].astype(np.int64) @ b[part].astype(np.int64)) * a_s[:, g, None] * b_s[None, g]
    args = [a, b, np.zeros((m, n), np.float32), a_s, b_s, m, n, k, groups]
    return Case("int8_matmul_kernel", (cdiv(m, 32), cdiv(n, 32)), args, {2: c}, {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, 1e-4)


def unpack_int4(n):
    packed = np.random.default_rng(28).integers(0, 256, n).astype(np.uint8)
    numbers = np.stack([(packed & 15).astype(np.int32) - 8, (packed >> 4).astype(np.int32) - 8], 1).reshape(-1)
    scale = np.array([0.125], np.float32)
    args = [packed, scale, np.zeros(2 * n, np.float32), n]
    return Case("unpack_int4_kernel", (cdiv(n, 64),), args, {2: numbers * scale}, {"BLOCK": 64}, 0)


def embedding(n_ids, vocabulary, dim):
    table = normal(29, vocabulary, dim, dtype=np.float16)
    ids = np.random.default_rng(30).integers(0, vocabulary, n_ids).astype(np.int32)
    args = [ids, table, np.zeros((n_ids, dim), np.float16), n_ids, dim]
    return Case("embedding_kernel", (cdiv(n_ids, 4),), args, {2: table[ids]}, {"BLOCK_I": 4, "BLOCK_D": power_of_2(dim)}, 0)


def paged_attention(lengths, dim=32, page=16):
    random = np.random.default_rng(31)
    sequences, pages = len(lengths), sum(cdiv(n, page) for n in lengths)
    order = iter(random.permutation(pages + 3)[:pages])
    width = max(cdiv(n, page) for n in lengths)
    table = np.full((sequences, width), -1, np.int32)
    for s, n in enumerate(lengths):
        table[s, : cdiv(n, page)] = [next(order) for _ in range(cdiv(n, page))]
    q = normal(32, sequences, dim, dtype=np.float16)
    k, v = (normal(s, pages + 3, page, dim, dtype=np.float16) for s in (33, 34))
    out = np.zeros((sequences, dim))
    for s, n in enumerate(lengths):
        ks, vs = (c[table[s, : cdiv(n, page)]].reshape(-1, dim)[:n].astype(np.float64) for c in (k, v))
        out[s] = softmax(ks @ q[s].astype(np.float64) * dim**-0.5) @ vs
    args = [q, k, v, table, np.array(lengths, np.int32), np.zeros((sequences, dim), np.float32), dim**-0.5, width]
    return Case("paged_attention_kernel", (sequences,), args, {5: out}, {"DIM": dim, "PAGE": page}, 1e-3)


def grouped_matmul(m, n, k, experts=3):
    x, w = normal(35, m, k, dtype=np.float16), normal(36, experts, k, n, dtype=np.float16)
    blocks = cdiv(m, 32)
    ids = np.random.default_rng(37).integers(-1, experts, blocks).astype(np.int32)
    y = np.zeros((m, n))
    for i, e in enumerate(ids):
        rows = slice(32 * i, 32 * i + 32)
        if e >= 0:
            y[rows] = x[rows].astype(np.float64) @ w[e].astype(np.float64)
    args = [x, w, np.zeros((m, n), np.float16), ids, m, n, k]
    return Case("grouped_matmul_kernel", (blocks, cdiv(n, 32)), args, {2: y}, {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, 1e-2)


def histogram(n, bins=16):
    x = np.random.default_rng(38).integers(0, bins, n).astype(np.int32)
    return Case("histogram_kernel", (cdiv(n, 64),), [x, np.zeros(bins, np.int32), n], {1: np.bincount(x, minlength=bins)},
                {"BLOCK": 64}, 0)


def linear_attention(t, d):
    q, k, v = (0.1 * normal(s, t, d, dtype=np.float16) for s in (39, 40, 41))
    f = [a.astype(np.float64) for a in (q, k, v)]
    o = np.tril(f[0] @ f[1].T) @ f[2]
    args = [a.astype(np.float16) for a in (q, k, v)] + [np.zeros((t, d), np.float16), t]
    return Case("linear_attention_kernel", (1,), args, {3: o}, {"D": d, "CHUNK": 32}, 1e-2)


def conv2d(c_in, h, w, c_out, k):
    x, weights = normal(42, c_in, h, w, dtype=np.float16), normal(43, c_out, c_in, k, k, dtype=np.float16)
    oh, ow = h - k + 1, w - k + 1
    y = np.zeros((c_out, oh, ow))
    for i in range(k):
        for j in range(k):
            y += np.einsum("oc,chw->ohw", weights[:, :, i, j].astype(np.float64), x[:, i : i + oh, j : j + ow].astype(np.float64))
    args = [x, weights, np.zeros((c_out, oh, ow), np.float32), c_in, h, w, c_out, oh, ow]
    meta = {"KH": k, "KW": k, "BLOCK_P": 32, "BLOCK_C": 16, "BLOCK_K": 16}
    return Case("conv2d_kernel", (cdiv(oh * ow, 32), cdiv(c_out, 16)), args, {2: y}, meta, 1e-2)


def cumsum(rows, cols):
    x = normal(44, rows, cols)
    return Case("cumsum_kernel", (rows,), [x, np.zeros_like(x), cols], {1: x.cumsum(1)}, {"BLOCK": power_of_2(cols)}, 1e-4)


def recurrence(rows, n):
    a, b = np.random.default_rng(45).random((rows, n), np.float32), normal(46, rows, n)
    h = np.zeros((rows, n))
    state = np.zeros(rows)
    for i in range(n):
        state = a[:, i] * state + b[:, i]
        h[:, i] = state
    return Case("recurrence_kernel", (rows,), [a, b, np.zeros_like(a)], {2: h}, {"BLOCK": n}, 1e-4)


def sort_keys(n):
    x = normal(47, n)
    bits = (x * np.float32(3)).view(np.int32)
    keys, powers = bits ^ ((bits >> 31) & 0x7FFFFFFF), (bits & 0x7F800000).view(np.float32)
    args = [x, np.zeros(n, np.int32), np.zeros(n, np.float32), n]
    return Case("sort_keys_kernel", (cdiv(n, 128),), args, {1: keys, 2: powers}, {"BLOCK": 128}, 0)


def scatter_add(n, rows, width):
    to, x = np.random.default_rng(48).integers(0, rows, n).astype(np.int64), normal(49, n, width)
    sums = np.zeros((rows, width))
    np.add.at(sums, to, x)
    args = [np.zeros((rows, width), np.float32), to, x, n, width]
    return Case("scatter_add_kernel", (cdiv(n, 16),), args, {0: sums}, {"BLOCK": 16, "WIDTH": power_of_2(width)}, 1e-4)


def ordered_rows(rows, n):
    x = normal(50, rows, n)
    args = [x] + [np.zeros_like(x) for _ in range(3)]
    return Case("ordered_rows_kernel", (rows,), args, {1: np.sort(x, 1), 2: -np.sort(-x, 1), 3: x[:, ::-1]}, {"BLOCK": n})


def gathered(rows, cols):
    x, index = normal(51, rows, cols), np.random.default_rng(52).integers(0, cols, (rows, cols)).astype(np.int32)
    args = [x, index, np.zeros_like(x)]
    return Case("gathered_kernel", (1,), args, {2: np.take_along_axis(x, index, 1)}, {"ROWS": rows, "COLS": cols})


def counted(n, bins):
    x = np.random.default_rng(53).random(n, np.float32) * 0.99
    block = power_of_2(n)
    counts = np.bincount(np.pad((x * bins).astype(np.int64), (0, block - n)), minlength=bins)
    return Case("counted_kernel", (1,), [x, np.zeros(bins, np.int32), n], {1: counts}, {"BLOCK": block, "BINS": bins})


def swizzled(m, n, group):
    places = np.zeros(m * n, np.int32)
    for first in range(0, m, group):
        rows = min(group, m - first)
        for at in range(rows * n):
            places[first * n + at] = (first + at % rows) * n + at // rows
    return Case("swizzled_kernel", (m, n), [np.zeros((m, n), np.int32), m, n], {0: places.reshape(m, n)}, {"GROUP": group})


def all_cases():
    return [vector_add(1000), vector_add(256), vector_add(1), row_softmax(5, 33), row_softmax(3, 127, np.float16),
            log_softmax(4, 100), matmul(64, 64, 64), matmul(33, 70, 45, "leaky_relu"), matmul(96, 130, 31, group=2),
            layer_norm(3, 100), layer_norm(2, 64), rms_norm(4, 96), rms_norm(2, 31), welford(4, 50), welford(2, 64),
            rotary(6, 24), swiglu(5, 70), gelu(300), cross_entropy(7, 150), dropout(500), flash_attention(2, 64, 64, False),
            flash_attention(2, 75, 64, True), descriptor_attention(70, 64), int8_matmul(40, 50, 70), unpack_int4(100),
            embedding(10, 50, 48), paged_attention([5, 40, 16, 33]), grouped_matmul(100, 60, 40), histogram(1000),
            linear_attention(75, 32), conv2d(5, 12, 11, 7, 3), cumsum(3, 50), recurrence(3, 64),
            sort_keys(300), scatter_add(50, 7, 12), ordered_rows(3, 64), gathered(4, 16), counted(100, 16), swizzled(5, 6, 2)]


def near(got, expected, tolerance):
    """The first place where they differ by more than the tolerance, or None."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    wrong = ~(np.abs(got - expected) <= tolerance + tolerance * np.abs(expected))
    if not wrong.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {got[at]} instead of {expected[at]}"


assert math.isclose(philox(0, np.arange(1))[0], 0x6627E8D5)  # the published first word of Philox 4×32-10
