"""Elementwise operations: evaluated where the values are known, recorded where one is not; and pointers that move."""

import operator

import numpy as np

from . import _types as types
from ._record import KernelTypeError, KernelValueError, current
from ._tensor import shape_text, tensor
from ._types import dtype, pointer_type, promote
from ._values import as_tensor, constant, converted, core_type, if_made, is_number, recorded, rounded, tile_as, tile_of


# Operations that the kernel language has under another name.
CORE = {"bit_and": "logical_and", "bit_or": "logical_or", "bit_xor": "xor"}


def calculated(op, xs, type, result):
    """Records an elementwise operation that computes in `type`."""
    core_type(type)
    operands = [converted(x, type) for x in xs]
    core = current().core()
    if all(is_number(o) for o in operands):
        operands[0] = core.full((), operands[0], core_type(type))
    return tile_as(getattr(core, CORE.get(op, op))(*operands), result)


def common_shape(*shapes):
    """What blocks of those shapes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise KernelValueError(f"blocks of shapes {' and '.join(map(shape_text, shapes))} do not broadcast") from None


def _truncated_division(a, b):
    """Toward zero. By 0 an element is −1, as the vector unit has it; a scalar is an error."""
    if isinstance(a, (int, bool)) and isinstance(b, (int, bool)):
        if b == 0:
            raise KernelValueError("division by zero")
        q = abs(int(a)) // abs(int(b))
        return q if (a < 0) == (b < 0) else -q
    divisor = np.where(b == 0, np.ones_like(b), b)
    below = a // divisor
    quotient = below + (((a < 0) != (divisor < 0)) & (below * divisor != a))
    return np.where(b == 0, ~np.zeros_like(quotient), quotient)


def _remainder(a, b):
    """What is left of the dividend: all of it where the divisor is 0."""
    quotient = _truncated_division(a, b)
    return a - np.where(b == 0, np.zeros_like(quotient), quotient) * b if isinstance(quotient, np.ndarray) else a - quotient * b


def _shifted_left(a, b):
    """By the width or more, or by a number below 0, nothing is left."""
    bits = _bits(a)
    inside = (b >= 0) & (b < bits)
    return np.where(inside, a << np.where(inside, b, np.zeros_like(b)), np.zeros_like(a))


def _shifted_right(a, b):
    """By the width or more, or by a number below 0, only the sign is left."""
    bits = _bits(a)
    inside = (b >= 0) & (b < bits)
    return np.where(inside, a >> np.where(inside, b, np.zeros_like(b)), np.where(a < 0, ~np.zeros_like(a), np.zeros_like(a)))


def _bits(a):
    return a.dtype.itemsize * 8


def _ordered(wins, zero):
    """maximum or minimum: of +0 and −0 maximum takes +0, whatever their order; `wins` says what becomes of a NaN."""
    def of(a, b):
        result = wins(a, b)
        if isinstance(result, np.ndarray) and result.dtype.kind == "f":
            return np.where((a == 0) & (b == 0), zero(a, b), result).astype(result.dtype)
        return result
    return of


def _plus_zero(a, b):
    return np.where(np.signbit(a), b, a)


def _minus_zero(a, b):
    return np.where(np.signbit(a), a, b)


def _quotient(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.asarray(a, np.float64) / np.asarray(b, np.float64))[()]


KNOWN = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _quotient,
    "floordiv": _truncated_division, "mod": _remainder,
    "bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor,
    "shl": _shifted_left, "shr": _shifted_right,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "maximum": _ordered(np.maximum, _plus_zero), "minimum": _ordered(np.minimum, _minus_zero),
    "maximum_number": _ordered(np.fmax, _plus_zero), "minimum_number": _ordered(np.fmin, _minus_zero),
}


def _in_type(x, type):
    return x.data if x.dtype is type else rounded(x.data, type)


def _evaluate(op, xs, type, result):
    """The numbers of an operation on known values."""
    numbers = [_in_type(x, type) for x in xs]
    if op in _OF_ARRAYS or any(isinstance(n, np.ndarray) for n in numbers) and type.numpy.kind in "iuf":
        numbers = [n if isinstance(n, np.ndarray) else np.asarray(n, type.numpy) for n in numbers]
    return as_data(KNOWN[op](*numbers), result)


_OF_ARRAYS = {"shl", "shr", "maximum", "minimum", "maximum_number", "minimum_number"}


def as_data(value, type):
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, (np.number, np.bool_)):
        value = value.item()
    return rounded(value, type)


def elementwise(op, xs, type, result):
    """An operation on values that computes in `type` and gives `result`."""
    if op not in _OF_ARRAYS and all(x.known and not x.shape and x.tile is None and x.made is None for x in xs):
        return tensor(result, (), rounded(KNOWN[op](*[_in_type(x, type) for x in xs]), result))
    _check_shapes(xs)
    if all(x.known for x in xs):
        data = _evaluate(op, xs, type, result)
        shape = data.shape if isinstance(data, np.ndarray) else ()
        made = None
        if shape or any(x.tile is not None or x.made is not None for x in xs):
            made = lambda: calculated(op, xs, type, result)
        return tensor(result, shape, data, made=made)
    return recorded(result, calculated(op, xs, type, result))


def _check_shapes(xs):
    for x in xs[1:]:
        if x.shape and xs[0].shape and x.shape != xs[0].shape:
            common_shape(xs[0].shape, x.shape)


_OF_ONE_BIT = {"add": "bit_xor", "sub": "bit_xor", "mul": "bit_and"}  # what arithmetic is in integers of one bit


def binary(op, a, b, divides=False):
    at, bt = as_tensor(a), as_tensor(b)
    _refuse_pointers(op, at, bt)
    type = common_type(a, b, at, bt, divides)
    op = _OF_ONE_BIT.get(op, op) if type is types.int1 else op
    return elementwise(op, (at, bt), type, type)


def common_type(a, b, at, bt, divides=False):
    """The type that two operands, `at` and `bt` as tensors, are computed in. A Python number takes the type of the tensor beside
    it and must fit."""
    a_number, b_number = at is not a, bt is not b
    type = promote(at.dtype, bt.dtype, a_number, b_number, divides)
    if a_number or b_number:
        _check_fits(a if a_number else b, type)
    return type


def _check_fits(number, type):
    if type.kind != "float" and not type.low <= number <= type.high:
        raise KernelValueError(f"the number {number} beside a tensor of {type}, which holds {type.low} to {type.high}: cast the "
                               "tensor first")


def _refuse_pointers(op, *xs):
    for x in xs:
        if isinstance(x.dtype, pointer_type):
            raise KernelTypeError(f"{op} of a pointer: add integers to it, or compare it, or load through it")


def add(a, b):
    for x, y in ((a, b), (b, a)):
        if isinstance(x, tensor) and isinstance(x.dtype, pointer_type):
            return moved(x, y, 1)
    for product, other in ((a, b), (b, a)):  # acc + dot(a, b) is one product that adds to acc
        if isinstance(product, tensor) and product.dot is not None and product.tile is None:
            if isinstance(other, tensor) and not other.known and other.dtype is product.dtype and other.shape == product.shape:
                return recorded(product.dtype, product.dot(other))
    folded = _folded(a, b)
    return folded if folded is not None else binary("add", a, b)


class _Moved:
    """How x + n is recorded, for a number n."""

    __slots__ = ("base", "by")

    def __init__(self, base, by):
        self.base, self.by = base, by

    def __call__(self):
        type = self.base.dtype
        return calculated("add", (self.base, tensor(type, (), rounded(self.by, type))), type, type)


def _folded(a, b):
    """x + 1 + 1 … keeps one sum: loops that move offsets on do not grow a chain."""
    if not (isinstance(a, tensor) and a.known and a.shape and a.dtype.is_int() and a.dtype is not types.int1):
        return None
    if isinstance(b, tensor):
        if not b.known or b.shape or b.tile is not None or b.made is not None or b.dtype is not a.dtype:
            return None
        b = b.data
    if not isinstance(b, int) or isinstance(b, bool) or not a.dtype.low <= b <= a.dtype.high:
        return None
    base, by = (a.made.base, a.made.by) if isinstance(a.made, _Moved) else (a, 0)
    data = a.data + a.dtype.numpy.type(rounded(b, a.dtype))
    return tensor(a.dtype, a.shape, data, made=_Moved(base, by + b))


def sub(a, b):
    if isinstance(a, tensor) and isinstance(a.dtype, pointer_type):
        if isinstance(b, tensor) and isinstance(b.dtype, pointer_type):
            difference = (a.data - b.data) // a.dtype.element_ty.itemsize
            return tensor(types.int64, np.shape(difference), difference)
        return moved(a, b, -1)
    return binary("sub", a, b)


def truediv(a, b):
    at, bt = as_tensor(a), as_tensor(b)
    _refuse_pointers("div", at, bt)
    type = common_type(a, b, at, bt, divides=True)
    type = types.float32 if type.is_int() else type
    return elementwise("div", (at, bt), type, type)


def floordiv(a, b):
    if as_tensor(a).dtype.is_floating() or as_tensor(b).dtype.is_floating():
        raise KernelTypeError("// is for integers; use / and tl.floor")
    return binary("floordiv", a, b, divides=True)


def mod(a, b):
    if as_tensor(a).dtype.is_floating() or as_tensor(b).dtype.is_floating():
        return _float_remainder(as_tensor(a), as_tensor(b))
    return binary("mod", a, b, divides=True)


def _float_remainder(a, b):
    """What is left of a, with its sign. The rounded quotient times b is taken off in one rounding, which leaves an exact number;
    it can be one b too far. A second round reaches quotients of up to 2⁴⁶."""
    from .language import abs, fma, trunc, where
    least, left = abs(b), abs(a)
    for _ in range(2):
        left = fma(-trunc(left / least), least, left)
    left = where(abs(a) < least, abs(a), where(left < 0, left + least, left))  # also where b is infinite
    return where(a < 0, -left, left)


def power(a, b):
    """Of numbers that are known; tensors have no ** in Triton."""
    base, exponent = constant(a), constant(b)
    if not (is_number(base) and is_number(exponent)):
        raise KernelTypeError(f"{a!r} ** {b!r}: tensors have no **; multiply, or use libdevice.pow")
    return as_tensor(base ** exponent)


def bitwise(op, a, b):
    at, bt = as_tensor(a), as_tensor(b)
    _refuse_pointers(op, at, bt)
    if not (at.dtype.is_int() and bt.dtype.is_int()):
        raise KernelTypeError(f"{op} of {at.dtype} and {bt.dtype}: bits are of integers; cast or bitcast first")
    type = common_type(a, b, at, bt)
    if op in ("shl", "shr") and type is types.int1:
        raise KernelTypeError(f"a shift of {at.dtype} by {bt.dtype}: one bit cannot be shifted; cast to an integer of more bits first")
    if op == "shr":
        return _right_shift(at, bt, type, (at if isinstance(a, tensor) else bt).dtype.is_int_signed())
    return elementwise(op, (at, bt), type, type)


def _right_shift(x, by, type, keeps_sign):
    """The sign of the shifted tensor decides which bits come in, also where both are computed in an unsigned type."""
    if not keeps_sign or type.is_int_signed():
        return elementwise("shr", (x, by), type, type)
    signed = types.int_type(type.primitive_bitwidth, True)
    cast = lambda value, to: value.to(type).to(to, bitcast=True)
    return elementwise("shr", (cast(x, signed), cast(by, signed)), signed, signed).to(type, bitcast=True)


def logical(op, a, b):
    a, b = (truth(as_tensor(x)) for x in (a, b))
    return elementwise(op, (a, b), types.int1, types.int1)


def truth(x):
    return x if x.dtype is types.int1 else compare("ne", x, 0)


def compare(op, a, b):
    """A number is compared in its own type where that is wider: 0.1 is no float16."""
    if b is None or isinstance(b, (str, dtype)) or a is None:
        return op == "ne"  # a tensor equals no string, no type and not None
    a, b = as_tensor(a), as_tensor(b)
    pointers = isinstance(a.dtype, pointer_type) + isinstance(b.dtype, pointer_type)
    if pointers == 1 and op not in ("eq", "ne"):
        raise KernelTypeError(f"{op} of {a.dtype} and {b.dtype}: was a tensor passed where a number was meant?")
    if pointers:
        data = KNOWN[op](a.data, b.data)
        return tensor(types.int1, np.shape(data), as_data(data, types.int1))
    type = promote(a.dtype, b.dtype, False, False, False)
    return elementwise(op, (a, b), type, types.int1)


def negate(x):
    if x.dtype is types.int1:
        return x
    if x.known:
        data = rounded(-x.data, x.dtype)
        return tensor(x.dtype, x.shape, data, made=if_made((x,), lambda: current().core().neg(tile_of(x)), x.shape))
    return recorded(x.dtype, current().core().neg(tile_of(x)))


def absolute(x):
    x = as_tensor(x)
    if x.dtype.is_int_unsigned():
        return x
    if x.known:
        data = rounded(abs(x.data), x.dtype)
        return tensor(x.dtype, x.shape, data, made=if_made((x,), lambda: current().core().abs(tile_of(x)), x.shape))
    return recorded(x.dtype, current().core().abs(tile_of(x)))


def invert(x):
    if not x.dtype.is_int():
        raise KernelTypeError(f"~ of {x.dtype}: bits are of integers")
    if x.known:
        data = (not x.data if not x.shape else ~x.data) if x.dtype is types.int1 else rounded(~x.data, x.dtype)
        return tensor(x.dtype, x.shape, data, made=if_made((x,), lambda: current().core().logical_not(tile_of(x)), x.shape))
    return recorded(x.dtype, current().core().logical_not(tile_of(x)))


def moved(pointer, offset, sign):
    offset = as_tensor(offset)
    if isinstance(offset.dtype, pointer_type):
        raise KernelTypeError("the sum of two pointers: subtract them, or add integers")
    if not offset.known:
        raise KernelTypeError(
            f"a pointer plus {offset!r}: an address may depend on program ids, arguments and integers that are loaded, "
            "not on floating-point values, which are computed later")
    if not offset.dtype.is_int():
        raise KernelTypeError(f"a pointer plus {offset.dtype}: offsets are integers")
    size = sign * pointer.dtype.element_ty.itemsize
    step = offset.data.astype(np.int64) * size if offset.shape else int(offset.data) * size
    data = pointer.data + step
    return tensor(pointer.dtype, np.shape(data), data)
