"""The helpers that kernels made by torch's compiler call (`torch._inductor.runtime.triton_helpers`), in this language's operations."""

from . import language as tl
from ._pairs import sorted_pairs
from ._values import as_tensor
from .language import math  # noqa: F401
from .language.extra import libdevice  # noqa: F401


def set_driver_to_gpu():
    """No effect."""


set_driver_to_cpu = set_driver_to_gpu


def promote_to_tensor(x):
    return as_tensor(x)


def is_floating(x):
    return as_tensor(x).dtype.is_floating()


def device_assert_then(cond, msg, r):
    tl.device_assert(cond, msg)
    return r


# ── numbers ──

def maximum(a, b):
    """NaN wins."""
    a = as_tensor(a)
    first = a > b
    return tl.where(first | (a != a) if is_floating(a) else first, a, b)


def minimum(a, b):
    a = as_tensor(a)
    first = a < b
    return tl.where(first | (a != a) if is_floating(a) else first, a, b)


def div_floor_integer(a, b):
    quotient, rest = a // b, a % b
    return tl.where(((a < 0) != (b < 0)) & (rest != 0), quotient - 1, quotient)


def remainder_integer(a, b):
    rest = a % b
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def exp(x, use_fast_math):
    return tl.exp(x)


def randint64(seed, offset, low, high):
    """A number of [low, high) from 64 random bits."""
    r0, r1, _, _ = tl.randint4x(seed, offset)
    number = r0.to(tl.uint64) | (r1.to(tl.uint64) << 32)
    return (number % as_tensor(high - low).to(tl.uint64)).to(tl.int64) + low


# ── reductions ──

def max2(a, dim):
    """NaN wins."""
    return tl.max(a, dim, propagate_nan=tl.PropagateNan.ALL)


def min2(a, dim):
    return tl.min(a, dim, propagate_nan=tl.PropagateNan.ALL)


def any(a, dim):
    return tl.max(as_tensor(a).to(tl.int32), dim) != 0


def prod(input, axis):
    return tl.reduce(input, axis, lambda a, b: a * b)


def select_one(x, mask, dim, keep_dims=False):
    """The element along the axis that the mask has."""
    return tl.sum(tl.where(mask, x, 0), dim, keep_dims=keep_dims)


def maximum_with_index(a_value, a_index, b_value, b_index):
    first = (a_value > b_value) | ((a_value == b_value) & (a_index < b_index))
    if is_floating(a_value):
        first = first | ((a_value != a_value) & (b_value == b_value))
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


def minimum_with_index(a_value, a_index, b_value, b_index):
    first = (a_value < b_value) | ((a_value == b_value) & (a_index < b_index))
    if is_floating(a_value):
        first = first | ((a_value != a_value) & (b_value == b_value))
    return tl.where(first, a_value, b_value), tl.where(first, a_index, b_index)


def max_with_index(value, index, dim):
    return tl.reduce((value, index), dim, maximum_with_index)


def min_with_index(value, index, dim):
    return tl.reduce((value, index), dim, minimum_with_index)


def welford_reduce(value, mean, m2, weight, first_iteration):
    if first_iteration:
        return value, tl.zeros_like(m2), tl.full(weight.shape, 1, weight.dtype)
    delta = value - mean
    weight = weight + 1
    mean = mean + delta / weight
    return mean, m2 + delta * (value - mean), weight


def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta, weight = mean_2 - mean_1, weight_1 + weight_2
    share = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    return mean_1 + delta * share, m2_1 + m2_2 + delta * delta * weight_1 * share, weight


def welford(mean, m2, weight, dim):
    return tl.reduce((mean, m2, weight), dim, welford_combine)


def online_softmax_combine(lhs_max, lhs_sum, rhs_max, use_fast_math):
    out_max = maximum(lhs_max, rhs_max)
    left = tl.where(lhs_max == out_max, 1.0, tl.exp(lhs_max - out_max))
    right = tl.where(rhs_max == out_max, 1.0, tl.exp(rhs_max - out_max))
    return out_max, lhs_sum * left + right


def online_softmax_reduce(lhs_max, lhs_sum, dim, use_fast_math):
    out_max = max2(lhs_max, dim)
    largest = tl.expand_dims(out_max, dim)
    share = tl.where(lhs_max == largest, 1.0, tl.exp(lhs_max - largest))
    return out_max, tl.sum(lhs_sum * share, dim)


def sort_with_index(x, idxs, rnumel, dim=-1, stable=False, descending=False):
    return sorted_pairs(x, idxs, rnumel, descending)
