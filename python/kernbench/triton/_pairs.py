"""Sorting values along the last axis together with what belongs to them: a bitonic network, log2² n steps."""

from . import language as tl
from ._record import KernelValueError
from ._shapes import broadcast_to, reshape
from ._values import as_tensor
from .language._blocks import _stacked


def _step(values, lead, n, k, j):
    """Exchanges elements that are j apart, in blocks of k that rise and fall in turn."""
    x, at, beyond = ([v[..., side, :] for side in (0, 1)] for v in (reshape(v, [*lead, n // (2 * j), 2, j]) for v in values))
    first = tl.arange(0, n // (2 * j)) * (2 * j)
    falls = broadcast_to(((first & k) != 0)[:, None], x[0].shape[-2:])
    swap = _pairs_after(x, at, beyond) != falls
    mixed = []
    for low, high in (x, at, beyond):
        parts = [tl.where(swap, high, low), tl.where(swap, low, high)]
        mixed.append(reshape(_stacked(parts, len(low.shape) - 1, True), [*lead, n]))
    return mixed


def _pairs_after(x, at, beyond):
    """What lies beyond the end comes after everything else."""
    later = (x[0] > x[1]) | ((x[0] == x[1]) & (at[0] > at[1]))  # of equals the one with the larger index
    return (beyond[0] > beyond[1]) | ((beyond[0] == beyond[1]) & later)


def sorted_pairs(x, index, count, descending):
    x, index = as_tensor(x), as_tensor(index)
    lead, n = x.shape[:-1], x.shape[-1]
    if n & (n - 1):
        raise KernelValueError(f"a sort along an axis of {n} elements: a power of two was expected")
    places = broadcast_to(tl.arange(0, n), x.shape)
    beyond = (places >= (n if count is None else count)).to(tl.int32)
    values = [-x if descending else x, index, beyond]
    k = 2
    while k <= n:
        j = k // 2
        while j >= 1:
            values = _step(values, lead, n, k, j)
            j //= 2
        k *= 2
    return (-values[0] if descending else values[0]), values[1]
