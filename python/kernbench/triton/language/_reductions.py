"""Along an axis: reductions, scans, sorting, counting."""

import numpy as np

from .._arithmetic import as_data
from .._casts import cast
from .._record import KernelTypeError, current
from .._shapes import reshape
from .._tensor import tensor
from .._types import float32, int1, int32, uint32
from .._values import as_tensor, recorded, tile_of, whole
from ._blocks import _one_axis, _stacked
from ._functions import where, with_nan, without_bfloat16


def _reduced(x, axis, keep_dims, name, known, type=None):
    type = type or x.dtype
    axis = None if axis is None else _one_axis(x, axis)
    keep_dims = bool(keep_dims)

    def record():
        tile = getattr(current().core(), name)(tile_of(x), axis=axis, keep_dims=keep_dims)
        return tile

    if not x.shape:
        return x
    if not x.known:
        return recorded(type, record())
    data = known(x.data, axis=axis, keepdims=keep_dims)
    data = as_data(data, type)
    return tensor(type, np.shape(data), data, made=record)


def widened(x):
    """The largest of types under 32 bits is found in 32, as Triton does."""
    x = as_tensor(x)
    if x.dtype.primitive_bitwidth >= 32:
        return x
    return cast(x, float32 if x.dtype.is_floating() else int32)


def _summed(x, dtype):
    """What is summed: in the type asked for; integers under 32 bits in 32."""
    x = as_tensor(x)
    if dtype is not None:
        return cast(x, dtype)
    if x.dtype.is_floating() or x.dtype.primitive_bitwidth >= 32:
        return x
    return cast(x, int32 if x.dtype.is_int_signed() else uint32)


def sum(input, axis=None, keep_dims=False, dtype=None):
    x = _summed(input, dtype)
    if x.dtype is int1:
        return xor_sum(x, axis, keep_dims)  # a sum of one bit
    return _reduced(x, axis, keep_dims, "sum", lambda n, axis, keepdims: np.sum(n, axis=axis, keepdims=keepdims, dtype=n.dtype))


def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False, propagate_nan=None):
    x = without_bfloat16(input) if return_indices else widened(input)
    largest = _extreme(x, axis, keep_dims, "max", propagate_nan)
    return (largest, _place(x, axis, keep_dims, "argmax", propagate_nan)) if return_indices else largest


def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False, propagate_nan=None):
    x = without_bfloat16(input) if return_indices else widened(input)
    smallest = _extreme(x, axis, keep_dims, "min", propagate_nan)
    return (smallest, _place(x, axis, keep_dims, "argmin", propagate_nan)) if return_indices else smallest


_BEST = {"max": np.fmax, "min": np.fmin, "argmax": np.fmax, "argmin": np.fmin}
_BEST_OR_NAN = {"max": np.maximum, "min": np.minimum, "argmax": np.maximum, "argmin": np.minimum}


def _best(data, name, propagate_nan, axis, keepdims):
    """The largest or smallest of numbers that are known; of zeros the largest is +0, the smallest −0."""
    ufunc = (_BEST_OR_NAN if propagate_nan else _BEST)[name]
    best = ufunc.reduce(data, axis=axis, keepdims=keepdims)
    if data.dtype.kind != "f":
        return best
    negative = name.endswith("min")
    decides = ((data == 0) & (np.signbit(data) == negative)).any(axis=axis, keepdims=keepdims)
    zero = np.where(decides == negative, -0.0, 0.0)
    return np.where(best == 0, zero, best).astype(data.dtype)


def _extreme(x, axis, keep_dims, name, propagate_nan=None):
    """A NaN loses against any number, unless NaN are to be propagated: then it wins."""
    known = lambda data, axis, keepdims: _best(data, name, propagate_nan, axis, keepdims)
    return _reduced(x, axis, keep_dims, with_nan(name, propagate_nan), known)


def _place(x, axis, keep_dims, name, propagate_nan=None):
    """Where the first largest or smallest is; NaN as for the number itself."""
    def known(data, axis, keepdims):
        best = _best(data, name, propagate_nan, axis, True)
        return np.argmax((data == best) | ((data != data) & (best != best)), axis=axis, keepdims=keepdims)
    return _reduced(x, axis, keep_dims, with_nan(name, propagate_nan), known, int32)


def argmax(input, axis, tie_break_left=True, keep_dims=False):
    return _place(as_tensor(input), axis, keep_dims, "argmax")


def argmin(input, axis, tie_break_left=True, keep_dims=False):
    return _place(as_tensor(input), axis, keep_dims, "argmin")


def xor_sum(input, axis=None, keep_dims=False):
    x = as_tensor(input)
    if not x.dtype.is_int():
        raise KernelTypeError(f"xor_sum of {x.dtype}: it is for integers")
    return _reduced(x, axis, keep_dims, "xor_sum", np.bitwise_xor.reduce)


def reduce_or(input, axis, keep_dims=False):
    return _combined((as_tensor(input),), axis, lambda a, b: a | b, keep_dims)[0]


def _part(x, axis, begin, end):
    return x[tuple([slice(None)] * axis + [slice(begin, end)])]


def _called(combine, *values):
    result = current().elementwise(combine, *values)
    return result if isinstance(result, (tuple, list)) else (result,)


def _combined(xs, axis, combine, keep_dims):
    """Halves are combined with each other until one element is left: log2 n steps of the whole width."""
    if axis is None:
        xs, axis = tuple(reshape(x, [x.numel]) for x in xs), 0
    axis = _one_axis(xs[0], axis)
    n = xs[0].shape[axis]
    while n > 1:
        half = n // 2
        left = [_part(x, axis, 0, half) for x in xs]
        right = [_part(x, axis, half, 2 * half) for x in xs]
        pairs = _called(combine, *left, *right)
        if n % 2:
            pairs = [_stacked([cast(as_tensor(p), x.dtype), _part(x, axis, n - 1, n)], axis, False) for p, x in zip(pairs, xs)]
        xs = tuple(as_tensor(p) for p in pairs)
        n = half + n % 2
    if keep_dims:
        return xs
    return tuple(x[tuple([slice(None)] * axis + [0])] for x in xs)


def reduce(input, axis, combine_fn, keep_dims=False):
    several = isinstance(input, (tuple, list))
    xs = tuple(as_tensor(x) for x in (input if several else (input,)))
    result = _combined(xs, axis, combine_fn, keep_dims)
    return result if several else result[0]


def associative_scan(input, axis, combine_fn, reverse=False):
    """Each element combined with all before it: log2 n steps."""
    several = isinstance(input, (tuple, list))
    xs = tuple(as_tensor(x) for x in (input if several else (input,)))
    axis = _one_axis(xs[0], axis)
    n = xs[0].shape[axis]
    distance = 1
    while distance < n:
        near = [_part(x, axis, distance, n) for x in xs] if not reverse else [_part(x, axis, 0, n - distance) for x in xs]
        far = [_part(x, axis, 0, n - distance) for x in xs] if not reverse else [_part(x, axis, distance, n) for x in xs]
        rest = [_part(x, axis, 0, distance) if not reverse else _part(x, axis, n - distance, n) for x in xs]
        pairs = _called(combine_fn, *far, *near)
        xs = tuple(_stacked([r, cast(as_tensor(p), r.dtype)] if not reverse else [cast(as_tensor(p), r.dtype), r], axis, False)
                   for p, r in zip(pairs, rest))
        distance *= 2
    return xs if several else xs[0]


def _scanned(x, axis, reverse, name, known):
    axis = _one_axis(x, axis)
    record = lambda: getattr(current().core(), name)(tile_of(x), axis=axis, reverse=reverse)
    if not x.known:
        return recorded(x.dtype, record())
    turned = np.flip(x.data, axis) if reverse else x.data
    data = known(turned, axis=axis, dtype=x.dtype.numpy)
    return tensor(x.dtype, x.shape, as_data(np.flip(data, axis) if reverse else data, x.dtype), made=record)


def cumsum(input, axis=0, reverse=False, dtype=None):
    x = _summed(without_bfloat16(input), dtype)
    if x.dtype is int1:
        return associative_scan(x, axis, lambda a, b: a ^ b, reverse)
    return _scanned(x, axis, reverse, "cumsum", np.cumsum)


def cumprod(input, axis=0, reverse=False):
    return _scanned(without_bfloat16(input), axis, reverse, "cumprod", np.cumprod)


def histogram(input, num_bins, mask=None):
    """How often each number below num_bins occurs."""
    x = as_tensor(input)
    if not x.shape or not x.dtype.is_int():
        raise KernelTypeError(f"histogram of {x!r}: a block of integers was expected")
    bins = whole(num_bins, "the number of bins")
    if mask is not None:
        x = where(mask, cast(x, int32), bins)
    record = lambda: current().core().histogram(tile_of(x), bins)
    if not x.known:
        return recorded(int32, record())
    inside = x.data[(x.data >= 0) & (x.data < bins)].astype(np.int64)
    return tensor(int32, (bins,), np.bincount(inside, minlength=bins).astype(np.int32), made=record)


def gather(src, index, axis):
    """src at the places that index names along the axis."""
    src, index = as_tensor(src), as_tensor(index)
    axis = _one_axis(src, axis)
    record = lambda: current().core().gather(tile_of(src), tile_of(index), axis)
    if not (src.known and index.known):
        return recorded(src.dtype, record())
    data = np.take_along_axis(src.data, index.data.astype(np.int64), axis)
    return tensor(src.dtype, data.shape, data, made=record)


def sort(x, dim=None, descending=False):
    x = as_tensor(x)
    axis = _one_axis(x, dim)
    record = lambda: current().core().sort(tile_of(x), axis, descending)
    if not x.known:
        return recorded(x.dtype, record())
    data = np.sort(x.data, axis)
    return tensor(x.dtype, x.shape, np.flip(data, axis) if descending else data, made=record)


def topk(x, k, dim=None):
    """The k largest, the largest first."""
    x = widened(x)
    return _part(sort(x, dim, True), _one_axis(x, dim), 0, whole(k, "the number of elements of topk"))


def bitonic_merge(x, dim=None, descending=False):
    """Sorts what rises and then falls along the last axis: log2 n steps."""
    x = as_tensor(x)
    shape, distance = x.shape, x.shape[_one_axis(x, dim)] // 2
    while distance:
        pairs = reshape(x, [*shape[:-1], -1, 2, distance])
        low, high = pairs[..., 0, :], pairs[..., 1, :]
        swaps = low < high if descending else low > high
        x = reshape(_stacked([where(swaps, high, low), where(swaps, low, high)], len(pairs.shape) - 2, True), shape)
        distance //= 2
    return x
