"""What constants beside kernels take from torch, which need not be there: element types, and the limits of their numbers."""

import numpy as np

from ._types import (bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64)  # noqa: F401
from ._types import float8e4nv as float8_e4m3fn  # noqa: F401
from ._types import float8e5 as float8_e5m2  # noqa: F401
from ._types import int1 as bool  # noqa: F401

half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
inf, pi, nan = np.inf, np.pi, np.nan

_FLOATS = {  # largest, least normal, distance from 1 to the next
    "fp16": (65504.0, 2.0 ** -14, 2.0 ** -10), "bf16": ((2 - 2.0 ** -7) * 2.0 ** 127, 2.0 ** -126, 2.0 ** -7),
    "fp32": ((2 - 2.0 ** -23) * 2.0 ** 127, 2.0 ** -126, 2.0 ** -23), "fp64": (np.finfo(np.float64).max, 2.0 ** -1022, 2.0 ** -52),
    "fp8e4nv": (448.0, 2.0 ** -6, 2.0 ** -3), "fp8e5": (57344.0, 2.0 ** -14, 2.0 ** -2),
}


class finfo:
    """The limits of a float type."""

    def __init__(self, dtype=float32):
        self.max, self.tiny, self.eps = _FLOATS[dtype.name]
        self.min, self.smallest_normal, self.dtype, self.bits = -self.max, self.tiny, dtype, dtype.primitive_bitwidth


class iinfo:
    """The limits of an integer type."""

    def __init__(self, dtype):
        limits = np.iinfo(dtype.numpy)
        self.max, self.min, self.dtype, self.bits = limits.max, limits.min, dtype, dtype.primitive_bitwidth
