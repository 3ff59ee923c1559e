"""Values of a kernel: known ones, which are numbers while it is recorded, and tiles, which are computed later.

A known value remembers what it was made of. Where it meets a tile it becomes one by recording those operations, so that
arithmetic on offsets and masks costs nothing as long as it only steers, and its price where it computes. Integers that a
kernel loads are both: the numbers that lie there, and the tile that was read.
"""

import math
import operator

import numpy as np

from . import _types as types
from ._record import KernelTypeError, KernelValueError, Refused, current
from ._types import dtype, pointer_type, promote


def _shape_text(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


class tensor:
    """A value of a kernel: a scalar or a block of elements."""

    __slots__ = ("dtype", "shape", "data", "tile", "made", "dot")
    __array_ufunc__ = None

    def __init__(self, type, shape, data=None, tile=None, made=None, dot=None):
        self.dtype = type
        self.shape = shape
        self.data = data  # a number or an array, if it is known
        self.tile = tile  # of the kernel language, if it was recorded
        self.made = made  # a function that records it
        self.dot = dot  # a product that waits for what it is added to

    # ── what it is ──
    @property
    def known(self):
        return self.data is not None

    @property
    def type(self):
        return self.dtype if not self.shape else block_type(self.dtype, self.shape)

    @property
    def numel(self):
        return math.prod(self.shape)

    @property
    def T(self):
        return trans(self)

    @property
    def value(self):
        return self.data if self.known else self

    def __repr__(self):
        what = "known" if self.known else "computed"
        return f"<{what} {self.dtype}{_shape_text(self.shape)}>"

    def __len__(self):
        if not self.shape:
            raise TypeError("a scalar has no len()")
        return self.shape[0]

    # ── as a Python number ──
    def _number(self, what):
        if self.known and not self.shape:
            return self.data
        if self.known and self.numel == 1:
            return self.data.reshape(())[()].item()
        if self.known:
            raise KernelTypeError(f"{what} of a block {self!r}: only a scalar has one; reduce it with tl.sum or tl.max first")
        raise KernelTypeError(
            f"{what} of {self!r}: floating-point values are computed after the kernel was recorded, so a kernel cannot branch "
            "on them or count by them. Use tl.where, or steer by integers and program ids")

    def __bool__(self):
        return bool(self._number("the truth value"))

    def __index__(self):
        number = self._number("an index")
        if not isinstance(number, (int, bool, np.integer)):
            raise KernelTypeError(f"an index of type {self.dtype}: cast it to an integer first")
        return int(number)

    def __int__(self):
        return int(self._number("int()"))

    def __float__(self):
        return float(self._number("float()"))

    def __hash__(self):
        return id(self)

    # ── operators ──
    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return sub(self, other)

    def __rsub__(self, other):
        return sub(other, self)

    def __mul__(self, other):
        return binary("mul", self, other)

    def __rmul__(self, other):
        return binary("mul", other, self)

    def __truediv__(self, other):
        return truediv(self, other)

    def __rtruediv__(self, other):
        return truediv(other, self)

    def __floordiv__(self, other):
        return floordiv(self, other)

    def __rfloordiv__(self, other):
        return floordiv(other, self)

    def __mod__(self, other):
        return mod(self, other)

    def __rmod__(self, other):
        return mod(other, self)

    def __and__(self, other):
        return bitwise("bit_and", self, other)

    def __rand__(self, other):
        return bitwise("bit_and", other, self)

    def __or__(self, other):
        return bitwise("bit_or", self, other)

    def __ror__(self, other):
        return bitwise("bit_or", other, self)

    def __xor__(self, other):
        return bitwise("bit_xor", self, other)

    def __rxor__(self, other):
        return bitwise("bit_xor", other, self)

    def __lshift__(self, other):
        return bitwise("shl", self, other)

    def __rlshift__(self, other):
        return bitwise("shl", other, self)

    def __rshift__(self, other):
        return bitwise("shr", self, other)

    def __rrshift__(self, other):
        return bitwise("shr", other, self)

    def __neg__(self):
        return negate(self)

    def __pos__(self):
        return self

    def __abs__(self):
        return absolute(self)

    def __invert__(self):
        return invert(self)

    def __eq__(self, other):
        return compare("eq", self, other)

    def __ne__(self, other):
        return compare("ne", self, other)

    def __lt__(self, other):
        return compare("lt", self, other)

    def __le__(self, other):
        return compare("le", self, other)

    def __gt__(self, other):
        return compare("gt", self, other)

    def __ge__(self, other):
        return compare("ge", self, other)

    def logical_and(self, other):
        return logical("bit_and", self, other)

    def logical_or(self, other):
        return logical("bit_or", self, other)

    def __getitem__(self, key):
        return subscript(self, key)

    def to(self, type, fp_downcast_rounding=None, bitcast=False):
        return cast(self, type, bitcast)

    def cast(self, type, fp_downcast_rounding=None, bitcast=False):
        return cast(self, type, bitcast)

    def trans(self, *axes):
        return trans(self, *axes)

    def __getattr__(self, name):
        # x.sum(0), x.exp(), x.reshape(...): every function of the language is a method too.
        if name.startswith("_"):
            raise AttributeError(name)
        from . import language
        function = language._METHODS.get(name)
        if function is None:
            raise AttributeError(f"a tensor of a kernel has no attribute '{name}'")
        return lambda *args, **options: function(self, *args, **options)


class block_type:
    """The type of a block: its element type and shape."""

    def __init__(self, element_ty, shape):
        self.element_ty = element_ty
        self.scalar = element_ty
        self.shape = list(shape)

    def is_block(self):
        return True

    def is_ptr(self):
        return False

    def get_block_shapes(self):
        return self.shape

    def __getattr__(self, name):
        return getattr(self.element_ty, name)

    def __eq__(self, other):
        return isinstance(other, block_type) and (self.element_ty, self.shape) == (other.element_ty, other.shape)

    def __repr__(self):
        return f"<{self.shape}, {self.element_ty}>"


# ── numbers ──

def rounded(value, type):
    """A number or array as the type holds it."""
    if isinstance(value, np.ndarray):
        if type is types.bfloat16:
            return types.bfloat16_rounded(value)
        if type is types.int1:
            return value != 0
        if value.dtype.kind == "f" and type.numpy.kind in "iu":
            return np.trunc(value).astype(np.int64).astype(type.numpy)
        return value.astype(type.numpy, copy=False)
    if type is types.int1:
        return bool(value)
    if type.is_int():
        value = int(value)
        bits = type.primitive_bitwidth
        low = -(1 << bits - 1) if type.kind == "int" else 0
        return (value - low) % (1 << bits) + low
    if type is types.bfloat16:
        return float(types.bfloat16_rounded(np.asarray([value], np.float32))[0])
    return float(type.numpy.type(value)) if type.is_floating() else value


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
    raise KernelTypeError(f"a kernel computes with tensors and numbers, not with {value.__class__.__name__}")


def is_number(value):
    return isinstance(value, (bool, int, float, np.number, np.bool_))


# ── from known to recorded ──

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
            x.tile = x.made()
            x.made = None
        else:
            x.tile = current().core().full(x.shape, float(x.data), core_type(x.dtype))
    return x.tile


def operand(x):
    """A tile, or a number where the value is a known scalar."""
    if x.known and not x.shape and x.tile is None and x.made is None:
        return x.data
    return tile_of(x)


def recorded(type, tile):
    return tensor(type, tuple(tile.shape), tile=tile)


def _converted(x, type):
    """An operand in that type."""
    if x.known and not x.shape and x.tile is None and x.made is None:
        value = rounded(x.data, type)
        return float(value) if type.is_floating() else int(value)
    if x.dtype is type:
        return tile_of(x)
    return current().core().cast(tile_of(x), core_type(type))


# Operations that the kernel language has under another name.
CORE = {"bit_and": "logical_and", "bit_or": "logical_or", "bit_xor": "xor"}


def _calculated(op, xs, type, result):
    """Records an elementwise operation that computes in `type`."""
    core_type(type)
    operands = [_converted(x, type) for x in xs]
    core = current().core()
    if all(is_number(o) for o in operands):
        operands[0] = core.full((), operands[0], core_type(type))
    tile = getattr(core, CORE.get(op, op))(*operands)
    return tile if result is type or result is types.int1 else core.cast(tile, core_type(result))


# ── elementwise ──

def _broadcast(a, b):
    try:
        return np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise KernelValueError(f"blocks of shapes {_shape_text(a.shape)} and {_shape_text(b.shape)} do not broadcast") from None


def _truncated_division(a, b):
    if isinstance(a, (int, bool)) and isinstance(b, (int, bool)):
        if b == 0:
            raise KernelValueError("division by zero")
        q = abs(int(a)) // abs(int(b))
        return q if (a < 0) == (b < 0) else -q
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = np.broadcast_arrays(a, b)
        q = np.abs(a.astype(np.int64)) // np.where(b == 0, 1, np.abs(b.astype(np.int64)))
        return np.where((a < 0) == (b < 0), q, -q)


def _remainder(a, b):
    return a - _truncated_division(a, b) * b


def _float_remainder(a, b):
    return math.fmod(a, b) if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) else np.fmod(a, b)


def _quotient(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.asarray(a, np.float64) / np.asarray(b, np.float64))[()]


KNOWN = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _quotient,
    "floordiv": _truncated_division, "mod": _remainder,
    "bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "maximum": np.maximum, "minimum": np.minimum,
}


def _in_type(x, type):
    return x.data if x.dtype is type else rounded(x.data, type)


def _evaluate(op, xs, type, result):
    """The numbers of an operation on known values."""
    numbers = [_in_type(x, type) for x in xs]
    if any(isinstance(n, np.ndarray) for n in numbers) and type.numpy.kind in "iuf":
        numbers = [n if isinstance(n, np.ndarray) else type.numpy.type(n) for n in numbers]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        value = KNOWN[op](*numbers)
    return _as_data(value, result)


def _as_data(value, type):
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, (np.number, np.bool_)):
        value = value.item()
    return rounded(value, type)


def elementwise(op, xs, type, result):
    """An operation on values that computes in `type` and gives `result`."""
    if all(x.known for x in xs):
        data = _evaluate(op, xs, type, result)
        shape = data.shape if isinstance(data, np.ndarray) else ()
        made = None
        if shape or any(x.tile is not None or x.made is not None for x in xs):
            made = lambda: _calculated(op, xs, type, result)
        return tensor(result, shape, data, made=made)
    _check_shapes(xs)
    return recorded(result, _calculated(op, xs, type, result))


def _check_shapes(xs):
    for x in xs[1:]:
        _broadcast(xs[0], x)


def binary(op, a, b, divides=False):
    a_number, b_number = is_number(a), is_number(b)
    a, b = as_tensor(a), as_tensor(b)
    _refuse_pointers(op, a, b)
    type = promote(a.dtype, b.dtype, a_number, b_number, divides)
    if type is types.int1 and op in ("add", "sub", "mul"):
        type = types.int32
    return elementwise(op, (a, b), type, type)


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
        return _calculated("add", (self.base, tensor(type, (), rounded(self.by, type))), type, type)


def _folded(a, b):
    """x + 1 + 1 … keeps one sum: loops that move offsets on do not grow a chain."""
    if not (isinstance(a, tensor) and a.known and a.shape and a.dtype.is_int() and a.dtype is not types.int1):
        return None
    if isinstance(b, tensor):
        if not b.known or b.shape or b.tile is not None or b.made is not None or b.dtype is not a.dtype:
            return None
        b = b.data
    if not isinstance(b, int) or isinstance(b, bool) or promote(a.dtype, types.of_python(b), False, True, False) is not a.dtype:
        return None
    base, by = (a.made.base, a.made.by) if isinstance(a.made, _Moved) else (a, 0)
    with np.errstate(over="ignore"):
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
    if at.dtype.is_int() and bt.dtype.is_int():
        return elementwise("div", (at, bt), types.float32, types.float32)
    return binary("div", a, b, divides=True)


def floordiv(a, b):
    if as_tensor(a).dtype.is_floating() or as_tensor(b).dtype.is_floating():
        raise KernelTypeError("// is for integers; use / and tl.floor")
    return binary("floordiv", a, b, divides=True)


def mod(a, b):
    if as_tensor(a).dtype.is_floating() or as_tensor(b).dtype.is_floating():
        a, b = as_tensor(a), as_tensor(b)
        if a.known and b.known:
            type = promote(a.dtype, b.dtype, False, False, True)
            data = _as_data(_float_remainder(_in_type(a, type), _in_type(b, type)), type)
            return tensor(type, np.shape(data), data)
        from . import language
        quotient = a / b
        return a - language.trunc(quotient) * b
    return binary("mod", a, b, divides=True)


def bitwise(op, a, b):
    at, bt = as_tensor(a), as_tensor(b)
    _refuse_pointers(op, at, bt)
    if not (at.dtype.is_int() and bt.dtype.is_int()):
        raise KernelTypeError(f"{op} of {at.dtype} and {bt.dtype}: bits are of integers; cast or bitcast first")
    type = promote(at.dtype, bt.dtype, is_number(a), is_number(b), False)
    return elementwise(op, (at, bt), type, type)


def logical(op, a, b):
    a, b = (truth(as_tensor(x)) for x in (a, b))
    return elementwise(op, (a, b), types.int1, types.int1)


def truth(x):
    return x if x.dtype is types.int1 else compare("ne", x, 0)


def compare(op, a, b):
    a_number, b_number = is_number(a), is_number(b)
    if b is None or isinstance(b, (str, dtype)) or a is None:
        return op == "ne"  # a tensor equals no string, no type and not None
    a, b = as_tensor(a), as_tensor(b)
    if isinstance(a.dtype, pointer_type) or isinstance(b.dtype, pointer_type):
        data = KNOWN[op](a.data, b.data)
        return tensor(types.int1, np.shape(data), _as_data(data, types.int1))
    type = promote(a.dtype, b.dtype, a_number, b_number, False)
    return elementwise(op, (a, b), type, types.int1)


def negate(x):
    if x.known:
        data = rounded(-x.data if x.dtype is not types.int1 else -np.asarray(x.data, np.int32), x.dtype)
        return tensor(x.dtype, x.shape, data, made=_if_made((x,), lambda: current().core().neg(tile_of(x)), x.shape))
    return recorded(x.dtype, current().core().neg(tile_of(x)))


def absolute(x):
    x = as_tensor(x)
    if x.known:
        data = abs(x.data)
        return tensor(x.dtype, x.shape, data, made=_if_made((x,), lambda: current().core().abs(tile_of(x)), x.shape))
    return recorded(x.dtype, current().core().abs(tile_of(x)))


def invert(x):
    if not x.dtype.is_int():
        raise KernelTypeError(f"~ of {x.dtype}: bits are of integers")
    if x.known:
        data = (not x.data if not x.shape else ~x.data) if x.dtype is types.int1 else rounded(~x.data, x.dtype)
        return tensor(x.dtype, x.shape, data, made=_if_made((x,), lambda: current().core().logical_not(tile_of(x)), x.shape))
    return recorded(x.dtype, current().core().logical_not(tile_of(x)))


def _if_made(xs, record, shape):
    """How a known value is recorded: by the operation, unless it is a plain number."""
    return record if shape or any(x.tile is not None or x.made is not None for x in xs) else None


def cast(x, type, bitcast=False):
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
    record = lambda: current().core().cast(tile_of(x), core_type(type))
    if x.known:
        return tensor(type, x.shape, rounded(x.data, type), made=_if_made((x,), record, x.shape))
    return recorded(type, record())


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
    record = lambda: _recorded_bitcast(x, type)
    numpys = [t not in (types.bfloat16, types.float8e5, types.float8e4nv, types.int1) for t in (x.dtype, type)]
    if x.known and all(numpys):
        array = np.ascontiguousarray(np.asarray(x.data, x.dtype.numpy)).view(type.numpy)
        data = array if x.shape else array.reshape(())[()].item()
        return tensor(type, x.shape, data, made=_if_made((x,), record, x.shape))
    return recorded(type, record())


def _recorded_bitcast(x, type):
    """Between integers of one width: what is beyond the other's range wraps. Bits of computed floats have no operation."""
    if not (x.dtype.is_int() and type.is_int()):
        raise Refused(f"a bitcast of computed {x.dtype} to {type}: the vector unit keeps floats and integers apart; bits of "
                      "integers that are loaded or known can be taken")
    core = current().core()
    wide = core.cast(tile_of(x), "i64")
    half, full = 1 << type.primitive_bitwidth - 1, 1 << type.primitive_bitwidth
    if type.is_int_signed():
        wide = core.where(core.ge(wide, half), core.sub(wide, full), wide)
    else:
        wide = core.where(core.lt(wide, 0), core.add(wide, full), wide)
    return core.cast(wide, core_type(type))


# ── pointers ──

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


# ── shapes ──

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
    return tuple(operator.index(getattr(n, "value", n)) for n in shape)


def expand_dims(x, axis):
    x = as_tensor(x)
    axes = sorted(a if a >= 0 else a + len(x.shape) + 1 for a in (axis if isinstance(axis, (list, tuple)) else (axis,)))
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


def reshape(x, *shape):
    shape = _ints(shape)
    x = as_tensor(x)
    if -1 not in shape and math.prod(shape) != x.numel:
        raise KernelValueError(f"reshape of {_shape_text(x.shape)} to {_shape_text(shape)}: the number of elements differs")
    return _view(x, lambda n: np.reshape(n, shape), lambda t: current().core().reshape(t, shape))


def trans(x, *axes):
    axes = _ints(axes) if axes else None
    if axes is None and len(x.shape) < 2:
        raise KernelValueError(f"trans of a block of shape {_shape_text(x.shape)}: it has fewer than two axes")
    order = axes or tuple(range(len(x.shape) - 2)) + (len(x.shape) - 1, len(x.shape) - 2)
    return _view(x, lambda n: np.transpose(n, order), lambda t: current().core().trans(t, order))


def broadcast_to(x, *shape):
    shape = _ints(shape)
    x = as_tensor(x)
    if x.shape == shape:
        return x
    try:
        np.broadcast_shapes(x.shape, shape)
    except ValueError:
        raise KernelValueError(f"a block of shape {_shape_text(x.shape)} does not broadcast to {_shape_text(shape)}") from None
    if x.known and not x.shape and x.tile is None and x.made is None and not isinstance(x.dtype, pointer_type):
        data = np.full(shape, x.data, x.dtype.numpy)
        return tensor(x.dtype, shape, data, made=lambda: current().core().full(shape, float(x.data), core_type(x.dtype)))
    return _view(x, lambda n: np.broadcast_to(n, shape), lambda t: current().core().broadcast_to(t, shape))
