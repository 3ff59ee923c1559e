"""Other element types: converted, or the same bits."""

import numpy as np

from . import _types as types
from ._record import KernelTypeError, KernelValueError, current
from ._tensor import block_type, tensor
from ._types import dtype, pointer_type
from ._values import core_type, if_made, recorded, rounded, tile_of


def cast(x, type, bitcast=False, rounding=None):
    """`rounding`: how floats lose digits, "rtne" (to the nearest, as if nothing is said) or "rtz" (toward zero)."""
    type = getattr(type, "value", type) if not isinstance(type, dtype) else type
    if isinstance(type, block_type):
        type = type.scalar
    if not isinstance(type, dtype):
        raise KernelTypeError(f"cast to {type!r}, which is no element type")
    if type is x.dtype or type == x.dtype:
        return x
    if isinstance(type, pointer_type) or isinstance(x.dtype, pointer_type):
        return _pointer_cast(x, type)
    if bitcast:
        return _bitcast(x, type)
    if rounding not in (None, "rtne"):
        return _toward_zero(x, type, rounding)
    record = lambda: current().core().cast(tile_of(x), core_type(type))
    if x.known:
        return tensor(type, x.shape, rounded(x.data, type), made=if_made((x,), record, x.shape))
    return recorded(type, record())


def _toward_zero(x, type, rounding):
    """Rounded to the nearest, and one step back where that is larger; the bits of floats are ordered as their sizes are."""
    if rounding != "rtz":
        raise KernelValueError(f"fp_downcast_rounding '{rounding}': 'rtne' and 'rtz' are known")
    if not (x.dtype.is_floating() and type.is_floating() and x.dtype.primitive_bitwidth > type.primitive_bitwidth):
        raise KernelValueError(f"fp_downcast_rounding of {x.dtype} to {type}: it is for floats that become narrower")
    from .language import abs, where
    nearest = cast(x, type)
    bits = types.int_type(type.primitive_bitwidth, True)
    back = cast(cast(nearest, bits, bitcast=True) - 1, type, bitcast=True)
    return where(abs(cast(nearest, x.dtype)) > abs(x), back, nearest)


def _pointer_cast(x, type):
    if not x.known:
        raise KernelTypeError(f"{x!r} as {type}: addresses are known while a kernel is recorded; this value is not")
    if not (isinstance(x.dtype, pointer_type) or x.dtype.is_int()):
        raise KernelTypeError(f"{x.dtype} as {type}: pointers are made of integers and other pointers")
    data = x.data.astype(np.int64) if x.shape else int(x.data)
    return tensor(type, x.shape, data)


def _bitcast(x, type):
    if x.dtype.primitive_bitwidth != type.primitive_bitwidth:
        raise KernelValueError(f"bitcast of {x.dtype} to {type}: their sizes differ")
    record = lambda: current().core().bitcast(tile_of(x), core_type(type))
    numpys = [t not in (types.bfloat16, types.float8e5, types.float8e4nv, types.int1) for t in (x.dtype, type)]
    if x.known and all(numpys):
        array = np.ascontiguousarray(np.asarray(x.data, x.dtype.numpy)).view(type.numpy)
        data = array if x.shape else array.reshape(())[()].item()
        return tensor(type, x.shape, data, made=if_made((x,), record, x.shape))
    return recorded(type, record())
