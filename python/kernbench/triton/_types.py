"""Element types under Triton's names, and how two of them meet in an operation."""

import functools

import numpy as np

from ._record import KernelTypeError, KernelValueError


class dtype:
    """An element type: `tl.float16`, `tl.int32` … Compared by identity, as there is one of each."""

    def __init__(self, name, kind, bits, core, numpy):
        self.name = name
        self.kind = kind  # "bool", "int", "uint", "float"
        self.primitive_bitwidth = bits
        self.core = core  # the kernel language's name, None where no unit computes it
        self.numpy = np.dtype(numpy)
        self.itemsize = max(bits, 8) // 8
        self.low, self.high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind == "int" else (0, (1 << bits) - 1)  # of integers

    @property
    def scalar(self):
        return self

    element_ty = property(lambda self: self._no_pointer())
    int_bitwidth = property(lambda self: self.primitive_bitwidth)
    fp_mantissa_width = property(lambda self: _MANTISSA.get(self.name, 0))

    def _no_pointer(self):
        raise AttributeError(f"{self} is no pointer type and has no element_ty")

    def is_floating(self):
        return self.kind == "float"

    def is_int(self):
        return self.kind in ("int", "uint", "bool")

    def is_int_signed(self):
        return self.kind == "int"

    def is_int_unsigned(self):
        return self.kind in ("uint", "bool")

    def is_bool(self):
        return self.kind == "bool"

    def get_int_min_value(self):
        return self.low

    def get_int_max_value(self):
        return self.high

    def is_ptr(self):
        return False

    def is_block(self):
        return False

    def is_const(self):
        return False

    def is_fp8(self):
        return self.name.startswith("fp8")

    def is_standard_floating(self):
        return self.name in ("fp16", "bf16", "fp32", "fp64")

    def __getattr__(self, name):
        # is_fp16(), is_int64(), is_fp8e4nv() … : one question for each type.
        if name.startswith("is_"):
            return lambda: self.name == name[3:]
        raise AttributeError(f"a dtype has no attribute '{name}'")

    def __str__(self):
        return self.name

    __repr__ = __str__

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self is other or (isinstance(other, dtype) and not isinstance(other, pointer_type)
                                 and not isinstance(self, pointer_type) and self.name == other.name)

    def __call__(self, value):
        """`tl.int32(5)`: a number of this type."""
        from ._values import as_tensor
        return as_tensor(value).to(self)


class pointer_type(dtype):
    """A pointer to elements of a type."""

    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = element_ty.value if hasattr(element_ty, "value") else element_ty
        super().__init__(f"pointer<{element_ty}>", "pointer", 64, None, np.int64)
        self._element = element_ty
        self.const = const

    element_ty = property(lambda self: self._element)

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return isinstance(other, pointer_type) and self._element == other._element


_MANTISSA = {"fp16": 10, "bf16": 7, "fp32": 23, "fp64": 53, "fp8e4nv": 3, "fp8e5": 2}

int1 = dtype("int1", "bool", 1, "i1", np.bool_)
int8 = dtype("int8", "int", 8, "i8", np.int8)
int16 = dtype("int16", "int", 16, "i16", np.int16)
int32 = dtype("int32", "int", 32, "i32", np.int32)
int64 = dtype("int64", "int", 64, "i64", np.int64)
uint8 = dtype("uint8", "uint", 8, "u8", np.uint8)
uint16 = dtype("uint16", "uint", 16, "u16", np.uint16)
uint32 = dtype("uint32", "uint", 32, "u32", np.uint32)
uint64 = dtype("uint64", "uint", 64, "u64", np.uint64)
float8e5 = dtype("fp8e5", "float", 8, "f8e5m2", np.float32)
float8e4nv = dtype("fp8e4nv", "float", 8, "f8e4m3", np.float32)
float8e4b8 = dtype("fp8e4b8", "float", 8, None, np.float32)
float8e4b15 = dtype("fp8e4b15", "float", 8, None, np.float32)
float8e5b16 = dtype("fp8e5b16", "float", 8, None, np.float32)
float16 = dtype("fp16", "float", 16, "f16", np.float16)
bfloat16 = dtype("bf16", "float", 16, "bf16", np.float32)
float32 = dtype("fp32", "float", 32, "f32", np.float32)
float64 = dtype("fp64", "float", 64, None, np.float64)
void = dtype("void", "void", 8, None, np.int8)
pi32_t = pointer_type(int32)

ALL = [int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8e5, float8e4nv, float16, bfloat16,
       float32, float64]
OF_CORE = {t.core: t for t in ALL if t.core}
_OF_NAME = {t.name: t for t in ALL} | {"i1": int1, "u1": int1} | {f"i{t.primitive_bitwidth}": t for t in
                                                                (int8, int16, int32, int64)}


def by_name(name):
    """A type by Triton's short name, as in signatures: "fp16", "i32", "u8"."""
    short = {f"u{t.primitive_bitwidth}": t for t in (uint8, uint16, uint32, uint64)}
    found = _OF_NAME.get(name) or short.get(name)
    if found is None:
        raise KernelValueError(f"unknown element type '{name}'; known: {', '.join(sorted(_OF_NAME))}")
    return found


def of_python(value):
    """The type that a Python number has beside tensors."""
    if isinstance(value, (bool, np.bool_)):
        return int1
    if isinstance(value, (int, np.integer)):
        if not -(2**63) <= value < 2**64:
            raise KernelValueError(f"the whole number {value} needs more than 64 bits; beside floats write it as one: {float_text(value)}")
        if -(2**31) <= value < 2**31:
            return int32
        if 2**31 <= value < 2**32:
            return uint32
        return uint64 if value >= 2**63 else int64
    size = abs(value)
    return float32 if size == 0 or 2.0**-126 <= size <= _LARGEST or not size < float("inf") else float64


_LARGEST = (2 - 2.0**-23) * 2.0**127  # of float32


def float_text(value):
    """A whole number as a float is written; of one that no float holds, its size."""
    return repr(float(value)) if abs(value) < 2**1023 else f"1e{len(str(abs(value))) - 1}"


_KIND = {"bool": 0, "int": 1, "uint": 1, "float": 2}


@functools.lru_cache(maxsize=None)
def promote(a, b, a_is_number, b_is_number, divides):
    """The type that an operation on `a` and `b` computes in, by Triton's rules."""
    if a_is_number != b_is_number:
        number, other = (a, b) if a_is_number else (b, a)
        if _KIND[number.kind] <= _KIND[other.kind]:
            return float32 if divides and other in (float16, bfloat16) else other
    for wide in (float64, float32):
        if a is wide or b is wide:
            return wide
    if a is float16 or b is float16:
        return float32 if divides else float16
    if a is bfloat16 or b is bfloat16:
        return float32 if divides or a is not b else bfloat16
    if a.is_floating() and b.is_floating():
        return a if a is b else float16
    if a.is_floating() or b.is_floating():
        return a if a.is_floating() else b
    if divides and a.is_int_signed() != b.is_int_signed():
        raise KernelTypeError(f"/, // or % of {a} and {b}: their signedness differs; cast one of them first")
    return promote_integers(a, b)


def promote_integers(a, b):
    """The integer type that two of them meet in: that of more bits; of as many, the unsigned one."""
    signed_alike = a.is_int_signed() == b.is_int_signed()
    wide, narrow = (a, b) if a.primitive_bitwidth >= b.primitive_bitwidth else (b, a)
    if signed_alike or wide.is_int_unsigned():
        return wide
    # A signed type stands beside an unsigned one: the unsigned one wins where it is as wide.
    return wide if wide.primitive_bitwidth > narrow.primitive_bitwidth else narrow


def bfloat16_rounded(array):
    """float32 numbers rounded to the nearest bfloat16, still as float32."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), np.float32(np.nan), rounded.view(np.float32))


FLOAT8 = {float8e5: (2, -14, 57344.0, np.inf), float8e4nv: (3, -6, 448.0, np.nan)}  # digits, least exponent, largest, what is beyond


def float8_rounded(array, type):
    """Numbers rounded to the nearest float8 of that type, as float32."""
    digits, least, largest, beyond = FLOAT8[type]
    array = np.asarray(array, np.float32).astype(np.float64)
    exponent = np.maximum(np.frexp(array)[1] - 1, least)
    unit = np.ldexp(1.0, exponent - digits)
    nearest = np.where(np.isfinite(array), np.rint(array / unit) * unit, array)
    return np.where(np.abs(nearest) > largest, np.copysign(beyond, nearest), nearest).astype(np.float32)


def int_type(bitwidth, signed):
    """The integer type of that many bits."""
    return by_name(f"{'i' if signed else 'u'}{bitwidth}")
