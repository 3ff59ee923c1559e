"""From Python numbers to known values, and from known values to tiles that are recorded."""

import operator

import numpy as np

from . import _types as types
from ._record import KernelTypeError, Refused, TritonError, current, kernel_line, line_text
from ._tensor import tensor
from ._types import pointer_type


class AtomicResult:
    """What an atomic returns. Its use is refused: the order of programs is the machine's, not the kernel's."""

    def __init__(self, name):
        self._text = (f"the result of {name} at {line_text(kernel_line())} is used: which program comes first is known only after the "
                      "simulation, so a kernel cannot be recorded that depends on it")

    def _refuse(self, *args, **options):
        raise Refused(self._text)

    def __getattr__(self, name):
        self._refuse()


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod and rand or ror xor rxor lshift rlshift "
              "rshift rrshift neg invert abs eq ne lt le gt ge bool index int float getitem iter len").split():
    setattr(AtomicResult, f"__{_name}__", AtomicResult._refuse)
AtomicResult.__hash__ = object.__hash__


def rounded(value, type):
    """A number or array as the type holds it."""
    if isinstance(value, np.ndarray):
        if type is types.bfloat16:
            return types.bfloat16_rounded(value)
        if type in types.FLOAT8:
            return types.float8_rounded(value, type)
        if type is types.int1:
            return value != 0
        if value.dtype.kind == "f" and type.numpy.kind in "iu":
            return _whole_array(value, type)
        return value.astype(type.numpy, copy=False)
    if type is types.int1:
        return bool(value)
    if type.is_int():
        value = _whole_number(value, type) if isinstance(value, float) else int(value)
        bits = type.primitive_bitwidth
        low = -(1 << bits - 1) if type.kind == "int" else 0
        return (value - low) % (1 << bits) + low
    if type.is_floating() and isinstance(value, int):
        value = _float_of(value, types.float32 if type is types.bfloat16 else type)
    if type in types.FLOAT8:
        return float(types.float8_rounded(np.asarray(value, np.float32), type))
    if type is types.bfloat16:
        return float(types.bfloat16_rounded(np.asarray([value], np.float32))[0])
    return float(type.numpy.type(value)) if type.is_floating() else value


def _whole_number(value, type):
    """A float toward zero, as tiles are cast: beyond the type's range its nearest end, 0 for NaN."""
    if value != value:
        return 0
    return type.low if value <= type.low else type.high if value >= type.high else int(value)


def _whole_array(value, type):
    value = value.astype(np.float64)  # which no bound of 32 bits or less is rounded in
    inside = (value > type.low) & (value < type.high)
    whole = np.where(inside, value, 0).astype(type.numpy)  # toward zero; NaN is not inside
    whole[value <= type.low] = type.low
    whole[value >= type.high] = type.high
    return whole


def _float_of(value, type):
    """A whole number rounded once to the type's NumPy type; beyond its range, infinite."""
    if -(1 << 53) <= value <= 1 << 53:
        return float(type.numpy.type(value))
    size = abs(value)
    above = max(size.bit_length() - 2 - np.finfo(type.numpy).nmant - 1, 0)  # bits that only decide how the rest is rounded
    kept = (size >> above) | bool(size & ((1 << above) - 1))
    try:
        number = float(type.numpy.type(float(kept) * 2.0**above))
    except OverflowError:
        number = float("inf")
    return -number if value < 0 else number


def as_tensor(value, type=None):
    """A tensor of the kernel; a Python number becomes a known scalar."""
    if isinstance(value, tensor):
        return value
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        value = value.item() if isinstance(value, (np.number, np.bool_)) else value
        type = type or types.of_python(value)
        return tensor(type, (), rounded(value, type))
    if isinstance(value, np.ndarray):
        return tensor(type or types.OF_CORE[str(value.dtype)], value.shape, value)
    if value is None:
        raise KernelTypeError("None where a value was expected: did the launch leave out an argument?")
    if isinstance(value, AtomicResult):
        value._refuse()
    raise KernelTypeError(f"a kernel computes with tensors and numbers, not with {value.__class__.__name__}")


def constant(value):
    """The plain number of a scalar that is known; anything else as it is."""
    return value.data if isinstance(value, tensor) and value.known and not value.shape and not value.dtype.is_ptr() else value


def whole(value, what):
    """A whole number that is known: an extent, an axis, a bound."""
    try:
        return operator.index(value if isinstance(value, tensor) else getattr(value, "value", value))
    except TritonError as error:
        raise KernelTypeError(f"{what}: {error}") from None
    except TypeError:
        raise KernelTypeError(f"{what} is a whole number that is known while the kernel is recorded, not {value!r}") from None


def number_as(value, type):
    """A number as a scalar of a type that is given: rounded, or its low bits."""
    if type.is_int() and isinstance(value, (int, np.integer)):
        types.of_python(value)  # refuses what has more than 64 bits
    return tensor(type, (), rounded(value, type))


def is_number(value):
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def core_type(type):
    if isinstance(type, pointer_type):
        raise KernelTypeError("pointers live only in addresses: they cannot be stored, selected by data or computed with")
    if type.core is None:
        raise Refused(f"{type} has no unit on this machine; cast to float32 before computing")
    return type.core


def tile_of(x):
    """The kernel language's tile of a value; records what it is made of if need be."""
    if x.tile is None:
        if x.dot is not None:
            x.tile = x.dot(None)
        elif x.made is not None:
            x.tile = tile_as(x.made(), x.dtype)
            x.made = None
        else:
            x.tile = filled(x.shape, x.data, x.dtype)
    return x.tile


def operand(x):
    """A tile, or a number where the value is a known scalar."""
    if x.known and not x.shape and x.tile is None and x.made is None and is_exact(x.data):
        return x.data
    return tile_of(x)


def recorded(type, tile):
    return tensor(type, tuple(tile.shape), tile=tile_as(tile, type))


def tile_as(tile, type):
    """The tile in the type that Triton gives the result, where the kernel language gives another one."""
    return tile if type.core is None or str(tile.dtype) == type.core else current().core().cast(tile, type.core)


def is_exact(value):
    """Whether the kernel language, whose numbers are of double precision, takes it as it is."""
    return isinstance(value, float) or -(1 << 53) <= value <= 1 << 53


def filled(shape, value, type):
    """A tile of one number; a long integer is put together from two halves."""
    core, name = current().core(), core_type(type)
    if is_exact(value):
        return core.full(shape, float(value), name)
    high, low = (core.full(shape, float(half), name) for half in (value >> 32, value & 0xFFFFFFFF))
    return core.logical_or(core.shl(high, 32), low)


def converted(x, type):
    """An operand in that type."""
    if x.known and not x.shape and x.tile is None and x.made is None:
        value = rounded(x.data, type)
        if not is_exact(value):
            return filled((), value, type)
        return float(value) if type.is_floating() else int(value)
    if x.dtype is type:
        return tile_of(x)
    return current().core().cast(tile_of(x), core_type(type))


def if_made(xs, record, shape):
    """How a known value is recorded: by the operation, unless it is a plain number."""
    return record if shape or any(x.tile is not None or x.made is not None for x in xs) else None
