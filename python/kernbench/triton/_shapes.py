"""Other looks at the same elements, which cost nothing."""

import math
import operator

import numpy as np

from ._record import KernelValueError, current
from ._tensor import shape_text, tensor
from ._types import pointer_type
from ._values import as_tensor, filled, recorded, tile_of, whole


def _view(x, numbers, record):
    """Another look at the same elements, which costs nothing."""
    if isinstance(x.dtype, pointer_type):
        data = numbers(np.asarray(x.data))
        return tensor(x.dtype, data.shape, data)
    if x.known:
        data = numbers(np.asarray(x.data, x.dtype.numpy if not x.shape else None))
        return tensor(x.dtype, data.shape, data, made=lambda: record(tile_of(x)))
    return recorded(x.dtype, record(tile_of(x)))


def _ints(shape):
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = shape[0]
    return tuple(whole(n, "an extent or axis") for n in shape)


def expand_dims(x, axis):
    """New axes of one element, at their places in the result."""
    x = as_tensor(x)
    given = [whole(a, "an axis") for a in (axis if isinstance(axis, (list, tuple)) else (axis,))]
    rank = len(x.shape) + len(given)
    for a in given:
        if not -rank <= a < rank:
            raise KernelValueError(f"expand_dims of {shape_text(x.shape)} at {given}: the result has {rank} axes, and {a} is not "
                                   f"from {-rank} to {rank - 1}")
    axes = sorted(a % rank for a in given)
    if len(set(axes)) < len(axes):
        raise KernelValueError(f"expand_dims of {shape_text(x.shape)} at {given}: one axis is named twice")
    for a in axes:
        x = _view(x, lambda n, a=a: np.expand_dims(n, a), lambda t, a=a: current().core().expand_dims(t, a))
    return x


def subscript(x, key):
    """x[:, None]: slices of whole axes and new axes, as Triton has them; and an index or slice that is known."""
    key = key if isinstance(key, tuple) else (key,)
    key = tuple(operator.index(k) if isinstance(k, tensor) else k for k in key)
    if all(k is None or (isinstance(k, slice) and k == slice(None)) for k in key):
        axis = 0
        for k in key:
            if k is None:
                x = expand_dims(x, axis)
            axis += 1
        return x
    return _view(x, lambda n: n[key], lambda t: t[key])


def reshape(x, *shape, can_reorder=False):
    shape = _ints(shape)
    x = as_tensor(x)
    if -1 not in shape and math.prod(shape) != x.numel:
        raise KernelValueError(f"reshape of {shape_text(x.shape)} to {shape_text(shape)}: the number of elements differs")
    return _view(x, lambda n: np.reshape(n, shape), lambda t: current().core().reshape(t, shape))


def trans(x, *axes):
    x = as_tensor(x)
    axes = _ints(axes) if axes else None
    if axes is None and len(x.shape) < 2:
        raise KernelValueError(f"trans of a block of shape {shape_text(x.shape)}: it has fewer than two axes")
    if axes is not None and sorted(axes) != list(range(len(x.shape))):
        raise KernelValueError(f"an order of axes {list(axes)} for a block of shape {shape_text(x.shape)}: each of its axes is named once")
    order = axes or tuple(range(len(x.shape) - 2)) + (len(x.shape) - 1, len(x.shape) - 2)
    return _view(x, lambda n: np.transpose(n, order), lambda t: current().core().trans(t, order))


def _broadcasts(shape, to):
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def broadcast_to(x, *shape):
    shape = _ints(shape)
    x = as_tensor(x)
    if x.shape == shape:
        return x
    if not _broadcasts(x.shape, shape):
        raise KernelValueError(f"a block of shape {shape_text(x.shape)} does not broadcast to {shape_text(shape)}")
    if x.known and not x.shape and x.tile is None and x.made is None and not isinstance(x.dtype, pointer_type):
        data = np.full(shape, x.data, x.dtype.numpy)
        return tensor(x.dtype, shape, data, made=lambda: filled(shape, x.data, x.dtype))
    return _view(x, lambda n: np.broadcast_to(n, shape), lambda t: current().core().broadcast_to(t, shape))
