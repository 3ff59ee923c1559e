"""Kernels written for Triton, as people write them. This file says `import triton` and runs under Triton itself unchanged."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    num = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + cols, num / tl.sum(num, axis=0), mask=mask)


@triton.jit
def log_softmax_kernel(out_ptr, in_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, 0)
    y = x - tl.log(tl.sum(tl.exp(x), 0))
    tl.store(out_ptr + row * stride + cols, y, mask=cols < n_cols)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                  ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(c_ptr.dtype.element_ty)
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


@triton.jit
def layer_norm_kernel(X, Y, W, B, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        a = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(Y + cols, y, mask=mask)


@triton.jit
def rms_norm_kernel(y_ptr, x_ptr, w_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * stride + cols, (x * rstd).to(w.dtype) * w, mask=mask)


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    new_weight = weight_1 + weight_2
    w2_over_w = tl.where(new_weight == 0.0, 0.0, weight_2 / new_weight)
    return mean_1 + delta * w2_over_w, m2_1 + m2_2 + delta * delta * weight_1 * w2_over_w, new_weight


@triton.jit
def welford_kernel(x_ptr, mean_ptr, var_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    weight = mask.to(tl.float32)
    mean, m2, total = tl.reduce((x, tl.zeros_like(x), weight), 0, welford_combine)
    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, m2 / total)


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, stride, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < half
    x1 = tl.load(x_ptr + row * stride + cols, mask=mask)
    x2 = tl.load(x_ptr + row * stride + half + cols, mask=mask)
    c = tl.load(cos_ptr + row * half + cols, mask=mask)
    s = tl.load(sin_ptr + row * half + cols, mask=mask)
    tl.store(out_ptr + row * stride + cols, x1 * c - x2 * s, mask=mask)
    tl.store(out_ptr + row * stride + half + cols, x2 * c + x1 * s, mask=mask)


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def swiglu_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    a_ptr += program * stride
    b_ptr += program * stride
    c_ptr += program * stride
    col_offsets = tl.arange(0, BLOCK)
    mask = col_offsets < n_cols
    a = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    tl.store(c_ptr + col_offsets, silu(a).cast(b.dtype) * b, mask=mask)


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = 0.5 * x * (1 + libdevice.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    tl.store(y_ptr + offsets, y, mask=mask)


@triton.jit
def cross_entropy_kernel(logits_ptr, labels_ptr, loss_ptr, stride, n_cols, ignore_index, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    if label == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        return
    logits_ptr += row * stride
    m = float("-inf")
    d = 0.0
    for i in range(0, n_cols, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    correct = tl.load(logits_ptr + label).to(tl.float32)
    tl.store(loss_ptr + row, m + tl.log(d) - correct)


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    random = tl.rand(seed, offsets)
    keep = random > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def attention_kernel(Q, K, V, Out, sm_scale, stride_h, stride_m, N_CTX, HEAD: tl.constexpr, BLOCK_M: tl.constexpr,
                     BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head.to(tl.int64) * stride_h
    q_block = tl.make_block_ptr(base=Q + base, shape=(N_CTX, HEAD), strides=(stride_m, 1), offsets=(start_m * BLOCK_M, 0),
                                block_shape=(BLOCK_M, HEAD), order=(1, 0))
    k_block = tl.make_block_ptr(base=K + base, shape=(HEAD, N_CTX), strides=(1, stride_m), offsets=(0, 0),
                                block_shape=(HEAD, BLOCK_N), order=(0, 1))
    v_block = tl.make_block_ptr(base=V + base, shape=(N_CTX, HEAD), strides=(stride_m, 1), offsets=(0, 0),
                                block_shape=(BLOCK_N, HEAD), order=(1, 0))
    o_block = tl.make_block_ptr(base=Out + base, shape=(N_CTX, HEAD), strides=(stride_m, 1), offsets=(start_m * BLOCK_M, 0),
                                block_shape=(BLOCK_M, HEAD), order=(1, 0))
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = tl.load(q_block, boundary_check=(0,), padding_option="zero")
    hi = min((start_m + 1) * BLOCK_M, N_CTX) if CAUSAL else N_CTX
    for start_n in range(0, hi, BLOCK_N):
        k = tl.load(k_block, boundary_check=(1,), padding_option="zero")
        qk = tl.dot(q, k) * qk_scale
        mask = start_n + offs_n[None, :] < N_CTX
        if CAUSAL:
            mask = mask & (offs_m[:, None] >= start_n + offs_n[None, :])
        qk = tl.where(mask, qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_block, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
        k_block = tl.advance(k_block, (0, BLOCK_N))
        v_block = tl.advance(v_block, (BLOCK_N, 0))
    acc = acc / l_i[:, None]
    tl.store(o_block, acc.to(Out.type.element_ty), boundary_check=(0,))


@triton.jit
def attention_descriptor_kernel(Q, K, V, Out, sm_scale, N_CTX, HEAD: tl.constexpr, BLOCK_M: tl.constexpr,
                                BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    q_desc = tl.make_tensor_descriptor(Q, shape=[N_CTX, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_M, HEAD])
    k_desc = tl.make_tensor_descriptor(K, shape=[N_CTX, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_N, HEAD])
    v_desc = tl.make_tensor_descriptor(V, shape=[N_CTX, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_N, HEAD])
    o_desc = tl.make_tensor_descriptor(Out, shape=[N_CTX, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_M, HEAD])
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    q = q_desc.load([start_m * BLOCK_M, 0])
    for start_n in tl.range(0, N_CTX, BLOCK_N, num_stages=2):
        k = k_desc.load([start_n, 0])
        qk = tl.dot(q, k.T) * (sm_scale * 1.44269504)
        inside = start_n + tl.arange(0, BLOCK_N) < N_CTX
        qk = tl.where(inside[None, :], qk, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = v_desc.load([start_n, 0])
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    o_desc.store([start_m * BLOCK_M, 0], (acc / l_i[:, None]).to(o_desc.dtype))


@triton.jit
def int8_matmul_kernel(a_ptr, b_ptr, c_ptr, as_ptr, bs_ptr, M, N, K, GROUPS, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                       BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] + k * BLOCK_K < K), other=0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] + k * BLOCK_K < K) & (offs_n[None, :] < N), other=0)
        a_s = tl.load(as_ptr + offs_m * GROUPS + k, mask=offs_m < M, other=0.0)
        b_s = tl.load(bs_ptr + k * N + offs_n, mask=offs_n < N, other=0.0)
        acc += tl.dot(a, b).to(tl.float32) * a_s[:, None] * b_s[None, :]
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    c_ptrs = c_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def unpack_int4_kernel(packed_ptr, scale_ptr, out_ptr, n_packed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_packed
    packed = tl.load(packed_ptr + offsets, mask=mask, other=0)
    low = (packed & 0xF).to(tl.int8) - 8
    high = ((packed >> 4) & 0xF).to(tl.int8) - 8
    both = tl.interleave(low, high)
    scale = tl.load(scale_ptr)
    out = tl.program_id(0) * BLOCK * 2 + tl.arange(0, 2 * BLOCK)
    tl.store(out_ptr + out, both.to(tl.float32) * scale, mask=out < 2 * n_packed)


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, n_ids, dim, BLOCK_I: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_I + tl.arange(0, BLOCK_I)
    cols = tl.arange(0, BLOCK_D)
    valid = rows < n_ids
    ids = tl.load(ids_ptr + rows, mask=valid, other=0)
    mask = valid[:, None] & (cols[None, :] < dim)
    x = tl.load(table_ptr + ids[:, None] * dim + cols[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + rows[:, None] * dim + cols[None, :], x, mask=mask)


@triton.jit
def paged_attention_kernel(q_ptr, k_cache, v_cache, table_ptr, lengths_ptr, out_ptr, scale, table_stride, DIM: tl.constexpr,
                           PAGE: tl.constexpr):
    seq = tl.program_id(0)
    dims = tl.arange(0, DIM)
    length = tl.load(lengths_ptr + seq)
    q = tl.load(q_ptr + seq * DIM + dims).to(tl.float32) * scale
    m = -float("inf")
    total = 0.0
    acc = tl.zeros([DIM], dtype=tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        block = tl.load(table_ptr + seq * table_stride + page)
        tokens = page * PAGE + tl.arange(0, PAGE)
        places = block * PAGE * DIM + tl.arange(0, PAGE)[:, None] * DIM + dims[None, :]
        mask = tokens < length
        k = tl.load(k_cache + places, mask=mask[:, None], other=0.0).to(tl.float32)
        scores = tl.where(mask, tl.sum(q[None, :] * k, 1), -float("inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        p = tl.exp(scores - m_new)
        alpha = tl.exp(m - m_new)
        v = tl.load(v_cache + places, mask=mask[:, None], other=0.0).to(tl.float32)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        total = total * alpha + tl.sum(p, 0)
        m = m_new
    tl.store(out_ptr + seq * DIM + dims, acc / total)


@triton.jit
def grouped_matmul_kernel(x_ptr, w_ptr, y_ptr, expert_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                          BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    expert = tl.load(expert_ptr + pid_m)
    if expert < 0:
        return
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    w_ptr += expert.to(tl.int64) * K * N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + offs_m[:, None] * K + k + offs_k[None, :],
                    mask=(offs_m[:, None] < M) & (k + offs_k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + (k + offs_k[:, None]) * N + offs_n[None, :],
                    mask=(k + offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(x, w)
    tl.store(y_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def histogram_kernel(x_ptr, hist_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(hist_ptr + x, 1, mask=mask)


@triton.jit
def linear_attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, D: tl.constexpr, CHUNK: tl.constexpr):
    rows = tl.arange(0, CHUNK)
    cols = tl.arange(0, D)
    state = tl.zeros((D, D), dtype=tl.float32)
    causal = rows[:, None] >= rows[None, :]
    for start in range(0, T, CHUNK):
        places = (start + rows)[:, None] * D + cols[None, :]
        mask = (start + rows)[:, None] < T
        q = tl.load(q_ptr + places, mask=mask, other=0.0)
        k = tl.load(k_ptr + places, mask=mask, other=0.0)
        v = tl.load(v_ptr + places, mask=mask, other=0.0)
        scores = tl.where(causal, tl.dot(q, tl.trans(k)), 0.0)
        o = tl.dot(scores.to(q.dtype), v) + tl.dot(q, state.to(q.dtype))
        state += tl.dot(tl.trans(k), v)
        tl.store(o_ptr + places, o, mask=mask)


@triton.jit
def conv2d_kernel(x_ptr, w_ptr, y_ptr, C_IN, H, W, C_OUT, OH, OW, KH: tl.constexpr, KW: tl.constexpr, BLOCK_P: tl.constexpr,
                  BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr):
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    outs = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    oh, ow = pixels // OW, pixels % OW
    ins = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for kh in tl.static_range(KH):
        for kw in tl.static_range(KW):
            for c in range(0, C_IN, BLOCK_K):
                cin = c + ins
                x = tl.load(x_ptr + cin[None, :] * H * W + (oh + kh)[:, None] * W + (ow + kw)[:, None],
                            mask=(pixels[:, None] < OH * OW) & (cin[None, :] < C_IN), other=0.0)
                w = tl.load(w_ptr + outs[None, :] * C_IN * KH * KW + cin[:, None] * KH * KW + kh * KW + kw,
                            mask=(outs[None, :] < C_OUT) & (cin[:, None] < C_IN), other=0.0)
                acc += tl.dot(x, w)
    tl.store(y_ptr + outs[None, :] * OH * OW + pixels[:, None], acc,
             mask=(pixels[:, None] < OH * OW) & (outs[None, :] < C_OUT))


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row * n_cols + cols, tl.cumsum(x, axis=0), mask=cols < n_cols)


@triton.jit
def first_order(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def recurrence_kernel(a_ptr, b_ptr, h_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    row = tl.program_id(0) * BLOCK
    a = tl.load(a_ptr + row + cols)
    b = tl.load(b_ptr + row + cols)
    _, h = tl.associative_scan((a, b), 0, first_order)
    tl.store(h_ptr + row + cols, h)


@triton.jit
def sort_keys_kernel(x_ptr, key_ptr, power_ptr, n, BLOCK: tl.constexpr):
    """Integers in the order of the floats, and the power of two below each."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=1.0) * 3
    bits = x.to(tl.int32, bitcast=True)
    tl.store(key_ptr + offs, bits ^ ((bits >> 31) & 0x7FFFFFFF), mask=offs < n)
    tl.store(power_ptr + offs, (bits & 0x7F800000).to(tl.float32, bitcast=True), mask=offs < n)


@triton.jit
def scatter_add_kernel(out_ptr, index_ptr, x_ptr, n, width, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, WIDTH)
    mask = (rows < n)[:, None] & (cols < width)[None, :]
    to = tl.load(index_ptr + rows, mask=rows < n, other=0)
    x = tl.load(x_ptr + rows[:, None] * width + cols[None, :], mask=mask)
    tl.atomic_add(out_ptr + to[:, None] * width + cols[None, :], x, mask=mask, sem="relaxed")


@triton.jit
def ordered_rows_kernel(x_ptr, up_ptr, down_ptr, turned_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(up_ptr + offs, tl.sort(x))
    tl.store(down_ptr + offs, tl.sort(x, descending=True))
    tl.store(turned_ptr + offs, tl.flip(x, 0))


@triton.jit
def gathered_kernel(x_ptr, index_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    offs = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + offs, tl.gather(tl.load(x_ptr + offs), tl.load(index_ptr + offs), axis=1))


@triton.jit
def counted_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram((x * BINS).to(tl.int32), BINS))


@triton.jit
def swizzled_kernel(out_ptr, M, N, GROUP: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    to_i, to_j = tl.swizzle2d(i, j, M, N, GROUP)
    tl.store(out_ptr + i * N + j, to_i * N + to_j)
