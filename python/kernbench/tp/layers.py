"""Layers whose weights are split over the ranks of a group. Tensors lie whole on PE 0 of cube 0 of each rank's SIP."""
from .. import _core
from .mappings import _itemsize, _rows, gather_from_tp_region, reduce_from_tp_region, scatter_to_tp_region
from .parallel_state import context_of, get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size

#: Tiles of a product: they fit the scratch of a PE several times.
BLOCK_M, BLOCK_K, BLOCK_N = 64, 128, 256


def _share(what, size):
    ranks = get_tensor_model_parallel_world_size()
    if size % ranks:
        raise ValueError(f"{what} ({size}) must be divisible by TP world size ({ranks})")
    return size // ranks


def gemm_kernel(x, w, y, bias, m, k, n, dtype, tl):
    """y[m, n] = x[m, k] · w[k, n] (+ bias), tile by tile, summed up in f32."""
    size = _itemsize(dtype)
    for i in range(0, m, BLOCK_M):
        rows = min(BLOCK_M, m - i)
        for j in range(0, n, BLOCK_N):
            columns, acc = min(BLOCK_N, n - j), None
            for p in range(0, k, BLOCK_K):
                depth = min(BLOCK_K, k - p)
                a = tl.load(x + (i * k + p) * size, (rows, depth), dtype, strides=(k, 1))
                b = tl.load(w + (p * n + j) * size, (depth, columns), dtype, strides=(n, 1))
                acc = tl.dot(a, b) if acc is None else tl.dot(a, b, acc=acc)
            if bias is not None:
                acc = acc + tl.load(bias + j * size, (columns,), dtype)
            tl.store(y + (i * n + j) * size, tl.cast(acc, dtype), strides=(n, 1))


def _product(torch, launch, name, x, w, bias, dtype):
    m, (k, n) = _rows(x), w.shape
    if x.shape[-1] != k:
        raise ValueError(f"x has {x.shape[-1]} features, the layer takes {k}")
    y = torch.empty((*x.shape[:-1], n), dtype=dtype, name=name)
    torch.launch(launch, gemm_kernel, x, w, y, bias, m, k, n, str(dtype))
    return y


class ColumnParallelLinear:
    """y = x · W (+ bias): each rank computes its columns of y."""

    def __init__(self, in_features, out_features, bias=False, dtype="f16", torch=None, gather_output=False, dp=None):
        self.torch = context_of(torch)
        self.in_features, self.out_features, self.n_local = in_features, out_features, _share("out_features", out_features)
        self.dtype, self.gather_output = _core.dtype_of(dtype), gather_output
        self.weight = self.torch.zeros((in_features, self.n_local), dtype=dtype, name="col_parallel_w")
        self.bias = self.torch.zeros((self.n_local,), dtype=dtype, name="col_parallel_b") if bias else None

    def forward(self, x):
        y = _product(self.torch, "col_parallel_gemm", "col_parallel_out", x, self.weight, self.bias, self.dtype)
        return gather_from_tp_region(y, self.torch) if self.gather_output else y

    __call__ = forward


class RowParallelLinear:
    """y = x · W (+ bias): each rank multiplies its part of the features; the products are added up over the ranks."""

    def __init__(self, in_features, out_features, bias=False, dtype="f16", torch=None, input_is_parallel=True, dp=None):
        self.torch = context_of(torch)
        self.in_features, self.out_features, self.k_local = in_features, out_features, _share("in_features", in_features)
        self.dtype, self.input_is_parallel = _core.dtype_of(dtype), input_is_parallel
        self.weight = self.torch.zeros((self.k_local, out_features), dtype=dtype, name="row_parallel_w")
        self.bias = self.torch.zeros((out_features,), dtype=dtype, name="row_parallel_b") if bias else None

    def forward(self, x):
        if not self.input_is_parallel:
            x = scatter_to_tp_region(x, self.torch)
        y = _product(self.torch, "row_parallel_gemm", "row_parallel_partial", x, self.weight, None, self.dtype)
        y = reduce_from_tp_region(y, self.torch)
        if self.bias is not None:
            self.torch.launch("row_parallel_bias", _add_bias, y, self.bias, _rows(y), self.out_features, str(self.dtype))
        return y

    __call__ = forward


def _add_bias(y, bias, rows, width, dtype, tl):
    tl.store(y, tl.load(y, (rows, width), dtype) + tl.load(bias, (width,), dtype))


class VocabParallelEmbedding:
    """Each rank has a range of the table's rows; ids outside of it give zeros, and the sum over the ranks is the result."""

    def __init__(self, num_embeddings, embedding_dim, dtype="f16", torch=None, dp=None):
        self.torch = context_of(torch)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.n_local, self.dtype = _share("num_embeddings", num_embeddings), _core.dtype_of(dtype)
        self.first = get_tensor_model_parallel_rank(self.torch) * self.n_local
        self.weight = self.torch.zeros((self.n_local, embedding_dim), dtype=dtype, name="vocab_parallel_w")

    def forward(self, ids):
        numbers = ids.numpy().astype("int64")
        if numbers.size and not (0 <= numbers.min() and numbers.max() < self.num_embeddings):
            raise ValueError(f"ids must be from 0 to {self.num_embeddings - 1}")
        out = self.torch.zeros((*numbers.shape, self.embedding_dim), dtype=self.dtype, name="vocab_parallel_out")
        rows = [(place, int(i) - self.first) for place, i in enumerate(numbers.reshape(-1)) if 0 <= i - self.first < self.n_local]
        self.torch.launch("vocab_parallel_embedding", _take_rows, self.weight, out, rows, self.embedding_dim, str(self.dtype))
        return reduce_from_tp_region(out, self.torch)

    __call__ = forward


def _take_rows(table, out, rows, width, dtype, tl):
    size = width * _itemsize(dtype)
    for place, row in rows:
        tl.store(out + place * size, tl.load(table + row * size, (width,), dtype))
