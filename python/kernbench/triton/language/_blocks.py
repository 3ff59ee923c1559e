"""Blocks: made, and taken apart and put together."""

import builtins

import numpy as np

from .. import _types
from .._arithmetic import common_shape
from .._record import KernelTypeError, KernelValueError, current
from .._shapes import broadcast_to, expand_dims, reshape, trans
from .._tensor import tensor
from .._types import int32
from .._values import as_tensor, is_number, number_as, recorded, tile_of, whole


def _shape(shape):
    shape = shape if isinstance(shape, (list, tuple)) else [shape]
    return tuple(whole(n, "an extent") for n in shape)


def arange(start, end):
    start, end = whole(start, "the start of arange"), whole(end, "the end of arange")
    if end <= start:
        raise KernelValueError(f"arange({start}, {end}): the end must be greater than the start")
    if start < int32.low or end > int32.high + 1:
        raise KernelValueError(f"arange({start}, {end}): its numbers are int32; add an int64 scalar to a shorter one")
    return tensor(int32, (end - start,), np.arange(start, end, dtype=np.int32),
                  made=lambda: current().core().arange(start, end))


def full(shape, value, dtype=None):
    shape = _shape(shape)
    if isinstance(dtype, _types.dtype) and not dtype.is_ptr() and is_number(value):
        return broadcast_to(number_as(value, dtype), shape)
    x = as_tensor(value)
    x = cast(x, dtype) if dtype is not None else x
    return broadcast_to(x, shape)


def zeros(shape, dtype):
    return full(shape, 0, dtype)


def zeros_like(input):
    return full_like(input, 0)


def full_like(input, value, dtype=None):
    input = as_tensor(input)
    return full(input.shape, value, dtype or input.dtype)


def cast(input, dtype, fp_downcast_rounding=None, bitcast=False):
    return as_tensor(input).to(dtype, fp_downcast_rounding, bitcast)


def bitcast(x, type):
    return cast(x, type, bitcast=True)


def broadcast(input, other):
    input, other = as_tensor(input), as_tensor(other)
    shape = common_shape(input.shape, other.shape)
    return broadcast_to(input, shape), broadcast_to(other, shape)


def permute(input, *dims):
    return trans(input, *dims)


def view(input, *shape):
    return reshape(input, *shape)


def ravel(x, can_reorder=False):
    return reshape(x, [as_tensor(x).numel])


def _stacked(parts, axis, new_axis):
    """Several blocks as one, along an axis that is there or a new one."""
    parts = [expand_dims(as_tensor(p), axis) if new_axis else as_tensor(p) for p in parts]
    types = parts[0].dtype
    if builtins.any(p.dtype != types for p in parts):
        raise KernelTypeError(f"blocks of {', '.join(str(p.dtype) for p in parts)} as one: cast them to one type first")
    record = lambda: current().core().cat([tile_of(p) for p in parts], axis)
    if builtins.all(p.known for p in parts):
        data = np.concatenate([np.asarray(p.data, p.dtype.numpy).reshape(p.shape) for p in parts], axis)
        return tensor(types, data.shape, data, made=record)
    return recorded(types, record())


def join(a, b):
    a, b = broadcast(a, b)
    type = _types.promote(a.dtype, b.dtype, False, False, False)
    return _stacked([cast(a, type), cast(b, type)], len(a.shape), True)


def split(a):
    a = as_tensor(a)
    if not a.shape or a.shape[-1] != 2:
        raise KernelValueError(f"split of a block of shape {list(a.shape)}: its last axis has 2 elements")
    return a[..., 0], a[..., 1]


def interleave(a, b):
    joined = join(a, b)
    return reshape(joined, list(joined.shape[:-2]) + [joined.shape[-2] * 2]) if len(joined.shape) > 1 else joined


def cat(input, other, can_reorder=False, dim=0):
    return _stacked([input, other], dim, False)


def flip(x, dim=None):
    x = as_tensor(x)
    axis = _one_axis(x, dim)
    record = lambda: current().core().flip(tile_of(x), axis)
    if x.known:
        return tensor(x.dtype, x.shape, np.flip(x.data, axis), made=record)
    return recorded(x.dtype, record())


def squeeze(x, dim):
    x = as_tensor(x)
    axis = _one_axis(x, dim)
    return reshape(x, x.shape[:axis] + x.shape[axis + 1:])


def unsqueeze(x, dim):
    return expand_dims(x, dim)


def _one_axis(x, axis):
    axis = len(x.shape) - 1 if axis is None else whole(axis, "an axis")
    axis = axis + len(x.shape) if axis < 0 else axis
    if not 0 <= axis < len(x.shape):
        raise KernelValueError(f"axis {axis} of a block of shape {list(x.shape)}")
    return axis
