"""Values of a kernel: known ones, which are numbers while it is recorded, and tiles, which are computed later.

A known value remembers what it was made of. Where it meets a tile it becomes one by recording those operations, so that
arithmetic on offsets and masks costs nothing as long as it only steers, and its price where it computes. Integers that a
kernel loads are both: the numbers that lie there, and the tile that was read.
"""

import math

import numpy as np

from ._errors import missing
from ._record import KernelTypeError


def shape_text(shape):
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
        return _shapes.trans(self)

    @property
    def value(self):
        return self.data if self.known else self

    def __str__(self):
        return str(self.data) if self.known and not self.shape else repr(self)

    def __format__(self, spec):
        return format(self.data, spec) if self.known and not self.shape else format(str(self), spec)

    def __repr__(self):
        what = "known" if self.known else "computed"
        return f"<{what} {self.dtype}{shape_text(self.shape)}>"

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
        if not isinstance(number, (int, bool, np.integer)) or self.dtype.is_ptr():
            raise KernelTypeError(f"an index of type {self.dtype}: cast it to an integer first")
        return int(number)

    def __int__(self):
        return int(self._number("int()"))

    def __float__(self):
        return float(self._number("float()"))

    def __hash__(self):
        return hash(self.data) if self.known and not self.shape else id(self)

    def __iter__(self):
        raise KernelTypeError(f"{self!r} one by one: a kernel works on whole blocks; loop over offsets, or use tl.split")

    # ── operators ──
    def __add__(self, other):
        return _arithmetic.add(self, other)

    def __radd__(self, other):
        return _arithmetic.add(other, self)

    def __sub__(self, other):
        return _arithmetic.sub(self, other)

    def __rsub__(self, other):
        return _arithmetic.sub(other, self)

    def __mul__(self, other):
        return _arithmetic.binary("mul", self, other)

    def __rmul__(self, other):
        return _arithmetic.binary("mul", other, self)

    def __truediv__(self, other):
        return _arithmetic.truediv(self, other)

    def __rtruediv__(self, other):
        return _arithmetic.truediv(other, self)

    def __floordiv__(self, other):
        return _arithmetic.floordiv(self, other)

    def __rfloordiv__(self, other):
        return _arithmetic.floordiv(other, self)

    def __mod__(self, other):
        return _arithmetic.mod(self, other)

    def __rmod__(self, other):
        return _arithmetic.mod(other, self)

    def __and__(self, other):
        return _arithmetic.bitwise("bit_and", self, other)

    def __rand__(self, other):
        return _arithmetic.bitwise("bit_and", other, self)

    def __or__(self, other):
        return _arithmetic.bitwise("bit_or", self, other)

    def __ror__(self, other):
        return _arithmetic.bitwise("bit_or", other, self)

    def __xor__(self, other):
        return _arithmetic.bitwise("bit_xor", self, other)

    def __rxor__(self, other):
        return _arithmetic.bitwise("bit_xor", other, self)

    def __lshift__(self, other):
        return _arithmetic.bitwise("shl", self, other)

    def __rlshift__(self, other):
        return _arithmetic.bitwise("shl", other, self)

    def __rshift__(self, other):
        return _arithmetic.bitwise("shr", self, other)

    def __rrshift__(self, other):
        return _arithmetic.bitwise("shr", other, self)

    def __pow__(self, other):
        return _arithmetic.power(self, other)

    def __rpow__(self, other):
        return _arithmetic.power(other, self)

    def __neg__(self):
        return _arithmetic.negate(self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _arithmetic.absolute(self)

    def __invert__(self):
        return _arithmetic.invert(self)

    def __eq__(self, other):
        return _arithmetic.compare("eq", self, other)

    def __ne__(self, other):
        return _arithmetic.compare("ne", self, other)

    def __lt__(self, other):
        return _arithmetic.compare("lt", self, other)

    def __le__(self, other):
        return _arithmetic.compare("le", self, other)

    def __gt__(self, other):
        return _arithmetic.compare("gt", self, other)

    def __ge__(self, other):
        return _arithmetic.compare("ge", self, other)

    def logical_and(self, other):
        return _arithmetic.logical("bit_and", self, other)

    def logical_or(self, other):
        return _arithmetic.logical("bit_or", self, other)

    def __getitem__(self, key):
        return _shapes.subscript(self, key)

    def to(self, dtype, fp_downcast_rounding=None, bitcast=False):
        return _casts.cast(self, dtype, bitcast, fp_downcast_rounding)

    cast = to

    def item(self):
        return _shapes.reshape(self, [1])[0]

    def trans(self, *axes):
        return _shapes.trans(self, *axes)

    def __getattr__(self, name):
        # x.sum(0), x.exp(), x.reshape(...): every function of the language is a method too.
        if name.startswith("_"):
            raise AttributeError(name)
        from . import language
        function = language._METHODS.get(name)
        if function is None:
            raise missing("a tensor of a kernel", name, [*dir(type(self)), *language._METHODS])
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


from . import _arithmetic, _casts, _shapes  # noqa: E402: they make tensors
