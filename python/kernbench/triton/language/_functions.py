"""Matrix products and elementwise functions."""

import operator as _operator

import numpy as np

from ... import _core
from .. import _arithmetic, _types
from .._arithmetic import as_data, calculated, common_shape, truth
from .._casts import cast
from .._record import KernelTypeError, KernelValueError, current, kernel_line
from .._shapes import broadcast_to, trans
from .._tensor import tensor
from .._types import float32, int32, pointer_type
from .._values import as_tensor, core_type, if_made, operand, recorded, rounded, tile_of
from ._blocks import _one_axis


def dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=float32,
        trans_a=False, trans_b=False):
    """The matrix product. `trans_a` and `trans_b` are of Triton 2.0."""
    a, b = as_tensor(input), as_tensor(other)
    a, b = trans(a) if trans_a else a, trans(b) if trans_b else b
    if len(a.shape) < 2 or len(a.shape) != len(b.shape) or a.shape[-1] != b.shape[-2]:
        raise KernelValueError(f"dot of {list(a.shape)} and {list(b.shape)}: [M, K] · [K, N] was expected")
    if a.dtype != b.dtype and not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        raise KernelTypeError(f"dot of {a.dtype} and {b.dtype}: cast one of them first")
    if a.dtype.is_int() and out_dtype in (float32, None):
        out_dtype = int32
    out_dtype = acc.dtype if isinstance(acc, tensor) else out_dtype
    operands = tile_of(a), tile_of(b)
    at = kernel_line()

    def multiplied(sum):
        instance = current()
        instance.tl.set_line(*at)
        instance.pinned = at
        extra = {} if sum is None else {"acc": tile_of(sum)}
        return instance.tl.dot(*operands, out_dtype=core_type(out_dtype), **extra)

    shape = a.shape[:-1] + b.shape[-1:]
    if acc is not None:
        acc = as_tensor(acc)
        zero = acc.known and not np.any(acc.data)
        return recorded(out_dtype, multiplied(None if zero else broadcast_to(acc, shape)))
    return tensor(out_dtype, shape, dot=multiplied)


def where(condition, x, y):
    condition, a, b = truth(as_tensor(condition)), as_tensor(x), as_tensor(y)
    if isinstance(a.dtype, pointer_type) or isinstance(b.dtype, pointer_type):
        return _chosen_pointer(condition, a, b)
    type = _arithmetic.common_type(x, y, a, b)
    x, y = cast(a, type), cast(b, type)
    if condition.known and not condition.shape and condition.tile is None:
        shape = common_shape(x.shape, y.shape)
        return broadcast_to(x if condition.data else y, shape)
    record = lambda: current().core().where(tile_of(condition), *_two_operands(x, y))
    if condition.known and x.known and y.known:
        data = np.where(condition.data, x.data, y.data)
        data = rounded(data, type)
        return tensor(type, data.shape, data if data.shape else data[()].item(), made=record)
    tile = record()
    shape = common_shape(condition.shape, x.shape, y.shape)
    return broadcast_to(recorded(type, tile), shape)


def _two_operands(x, y):
    a, b = operand(x), operand(y)
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a, b
    return tile_of(x), b


def _chosen_pointer(condition, x, y):
    if not condition.known:
        raise KernelTypeError("where of pointers by a computed condition: addresses must be known while the kernel is recorded")
    type = x.dtype if isinstance(x.dtype, pointer_type) else y.dtype
    data = np.where(condition.data, x.data, y.data)
    return tensor(type, data.shape, data if data.shape else int(data))


def _unary(name, known=None, core=None, as_float=True):
    """A function of one value. Where the kernel language has it under another name, `core` says which. What is known has the
    bits of what tiles compute; `known` gives it where NumPy's result is exact."""
    core = core or name
    known = known or (lambda x: _core.float_function(core, np.asarray(x, np.float32)))

    def function(x, _=None):
        x = as_tensor(x)
        if as_float and x.dtype.is_int():
            x = cast(x, float32)
        record = lambda: getattr(current().core(), core)(tile_of(x))
        if not x.known:
            return recorded(x.dtype, record())
        with np.errstate(all="ignore"):
            data = as_data(known(np.asarray(x.data, np.float64)), x.dtype)
        return tensor(x.dtype, x.shape, data, made=if_made((x,), record, x.shape))

    function.__name__ = function.__qualname__ = name
    return function


exp = _unary("exp")
exp2 = _unary("exp2")
log = _unary("log")
log2 = _unary("log2")
sin = _unary("sin")
cos = _unary("cos")
tanh = _unary("tanh")
sqrt = _unary("sqrt", np.sqrt)
sqrt_rn = _unary("sqrt_rn", np.sqrt, core="sqrt")
rsqrt = _unary("rsqrt", lambda x: 1 / np.sqrt(x))
erf = _unary("erf")
sigmoid = _unary("sigmoid")
floor = _unary("floor", np.floor)
ceil = _unary("ceil", np.ceil)


def trunc(x):
    return where(as_tensor(x) < 0, ceil(x), floor(x))


def abs(x):
    return _arithmetic.absolute(x)


def fma(x, y, z):
    x, y, z = as_tensor(x), as_tensor(y), as_tensor(z)
    type = _types.promote(_types.promote(x.dtype, y.dtype, False, False, False), z.dtype, False, False, False)
    record = lambda: calculated("fma", (x, y, z), type, type)
    if not (x.known and y.known and z.known):
        return recorded(type, record())
    common_shape(x.shape, y.shape, z.shape)
    exact = np.float64 if type.is_floating() else type.numpy  # rounded once
    a, b, c = (np.asarray(rounded(v.data, type), exact) for v in (x, y, z))
    data = as_data(a * b + c, type)
    return tensor(type, np.shape(data), data, made=if_made((x, y, z), record, np.shape(data)))


def fdiv(x, y, ieee_rounding=False):
    return as_tensor(x) / y


def div_rn(x, y):
    return as_tensor(x) / y


def without_bfloat16(x):
    """Functions that Triton computes in float32 where bfloat16 comes in."""
    x = as_tensor(x)
    return cast(x, float32) if x.dtype is _types.bfloat16 else x


def with_nan(name, propagate_nan):
    """The operation by which a NaN loses against a number, or wins if it is to be propagated."""
    return name if propagate_nan else f"{name}_number"


def maximum(x, y, propagate_nan=None):
    """A NaN loses unless it is to be propagated. A number is a float32 or an int32 here, also beside narrower tensors."""
    return _arithmetic.binary(with_nan("maximum", propagate_nan), without_bfloat16(x), without_bfloat16(y))


def minimum(x, y, propagate_nan=None):
    return _arithmetic.binary(with_nan("minimum", propagate_nan), without_bfloat16(x), without_bfloat16(y))


def clamp(x, min, max, propagate_nan=None):
    return minimum(maximum(x, min, propagate_nan), max, propagate_nan)


def umulhi(x, y):
    x, y = as_tensor(x), as_tensor(y)
    type = _types.promote(x.dtype, y.dtype, False, False, False)
    bits = type.primitive_bitwidth
    record = lambda: calculated("umulhi", (x, y), type, type)
    if not (x.known and y.known):
        return recorded(type, record())
    unsigned = np.uint64 if bits <= 32 else object
    mask = (1 << bits) - 1
    a, b = (np.asarray(v.data).astype(object) & mask if unsigned is object else
            (np.asarray(v.data).astype(np.int64) & mask).astype(np.uint64) for v in (x, y))
    high = (a * b) >> (bits if unsigned is object else np.uint64(bits))
    data = np.asarray(high).astype(np.uint64).astype(np.dtype(f"u{bits // 8}")).astype(type.numpy)
    data = data if data.shape else data[()].item()
    return tensor(type, np.shape(data), data, made=if_made((x, y), record, np.shape(data)))


def _plain(op):
    def operation(x, y, sanitize_overflow=True):
        return op(as_tensor(x), y)
    return operation


add, sub, mul = _plain(_operator.add), _plain(_operator.sub), _plain(_operator.mul)


def logical_and(x, y):
    return _arithmetic.logical("bit_and", x, y)


def logical_or(x, y):
    return _arithmetic.logical("bit_or", x, y)


def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    x = as_tensor(x)
    x = cast(x, float32) if x.dtype.is_int() else x
    axis = 0 if dim is None else _one_axis(x, dim)
    return recorded(x.dtype, current().core().softmax(tile_of(x), axis))
