"""`triton.language.standard`: names that some files import from here, also ones that Triton keeps to itself."""

import operator as _operator

from . import *  # noqa: F401,F403
from . import arange, maximum, minimum, reshape, sum, where
from .core import _unwrap_if_constexpr  # noqa: F401


def _sum_combine(a, b):
    return a + b


def _prod_combine(a, b):
    return a * b


def _xor_combine(a, b):
    return a ^ b


def _or_combine(a, b):
    return a | b


def _elementwise_max(a, b):
    return maximum(a, b)


def _elementwise_min(a, b):
    return minimum(a, b)


def _argmax_combine(value1, index1, value2, index2, tie_break_left):
    first = value1 > value2
    if tie_break_left:
        first = first | ((value1 == value2) & (index1 < index2))
    return where(first, value1, value2), where(first, index1, index2)


def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, True)


def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, False)


def _argmin_combine(value1, index1, value2, index2, tie_break_left):
    first = value1 < value2
    if tie_break_left:
        first = first | ((value1 == value2) & (index1 < index2))
    return where(first, value1, value2), where(first, index1, index2)


def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, True)


def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, False)


def _log2(i):
    """Of a power of two."""
    return _operator.index(i).bit_length() - 1


def _is_power_of_two(i):
    return (_operator.index(i) & (_operator.index(i) - 1)) == 0 and i != 0


def _get_sort_dim(dim, shape):
    return len(shape) - 1 if dim is None else _operator.index(dim)


def _indicator(n_dims, idx, pos=1):
    """1 where axis idx, counted from the last, is at `pos`, else 0: of a block whose axes all have two elements."""
    ones = arange(0, 2) if pos == 1 else 1 - arange(0, 2)
    return reshape(ones, [1] * (n_dims - idx - 1) + [2] + [1] * idx)


def _take_slice(x, n_dims, idx, pos, keep_dim=True):
    return sum(x * _indicator(n_dims, idx, pos), n_dims - 1 - idx, keep_dims=keep_dim)
